"""The page as a user meets it, in a browser that has no network but this machine."""

from __future__ import annotations

import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from conceptor import AffineMap
from conceptor.explore.session import Session
from conceptor.explore.table import PageTable
from tests.explore.conftest import HOSTILE, serving, toy_vectors

# What drivers of machines without a graphics card remark.
REMARKS = ("GL Driver Message", "willReadFrequently", "WebGL", "GPU stall")


@pytest.fixture
def blank(browser, address):
    """A window that shows nothing yet, and has nothing to complain about at its end."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    opened = context.new_page()
    complaints, foreign = [], []
    opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    opened.on("request", lambda request: foreign.append(request.url))
    opened.set_default_timeout(60_000)
    yield opened
    context.close()
    found = [c for c in complaints if not any(remark in c for remark in REMARKS)]
    # Browsers also report a question that is answered with "not found", which is an answer.
    assert [c for c in found if not re.search("Failed to load resource.* (404|422) ", c)] == []
    assert [url for url in foreign if not url.startswith((address, "data:", "blob:"))] == []


@pytest.fixture
def page(blank, address):
    """The page with `bank` chosen, as soon as its first answers are there."""
    blank.goto(f"{address}/?like=bank")
    blank.wait_for_selector("#after li")
    blank.wait_for_selector("#scores dd")
    return blank


def words(page, side: str) -> list[str]:
    return page.locator(f"#{side} .word").all_text_contents()


def query(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def drawn(page, more_than: int = 0) -> int:
    page.wait_for_function(
        "n => Number(document.getElementById('map').dataset.drawn ?? 0) > n", arg=more_than
    )
    return int(page.evaluate("document.getElementById('map').dataset.drawn"))


def look_up(page, word: str) -> None:
    page.fill("#like", word)
    page.press("#like", "Enter")


def names(page, kind: str = "span") -> dict[str, dict[str, float]]:
    """The boxes of the names on the map, by name, relative to the map."""
    return page.evaluate(
        """kind => {
          const own = document.getElementById('map').getBoundingClientRect();
          const all = [...document.querySelectorAll(`#map-labels ${kind}`)];
          const shown = all.filter((each) => !each.hidden);
          return Object.fromEntries(shown.map((s) => {
            const box = s.getBoundingClientRect();
            return [s.textContent, { left: box.left - own.left, top: box.top - own.top,
              right: box.right - own.left, bottom: box.bottom - own.top,
              width: own.width, height: own.height }];
          }));
        }""",
        kind,
    )


def test_a_word_is_typed_completed_and_looked_up(page, session):
    """What is typed takes the place of what was there."""
    page.type("#like", "riv")
    # Not the list of what was typed before the last letter.
    page.wait_for_function(
        "() => document.querySelector('#like-list li span')?.textContent === 'river'"
    )
    page.press("#like", "ArrowDown")
    page.press("#like", "Enter")
    expected = session.neighbours(session.default, ["river"], [], 15)
    page.wait_for_function(
        "word => document.querySelector('#before .word')?.textContent === word",
        arg=expected.before[0].word,
    )
    assert words(page, "before") == [near.word for near in expected.before]
    assert words(page, "after") == [near.word for near in expected.after]
    assert query(page)["like"] == ["river"]
    marks = page.locator("#after .moved.new").count()
    assert marks == sum(near.moved == "new" for near in expected.after)
    scores = page.locator("#after .figures span:first-child").all_text_contents()
    assert scores == [f"{near.score:.3f}" for near in expected.after]


def test_a_word_is_added_only_if_that_is_said(page):
    assert page.is_disabled("#like-add")
    page.type("#like", "river")
    page.click("#like-add")
    page.wait_for_function("() => location.search.includes('like=river')")
    assert query(page)["like"] == ["bank", "river"]
    page.type("#like", "music")
    page.press("#like", "Shift+Enter")
    page.wait_for_function("() => location.search.includes('like=music')")
    assert query(page)["like"] == ["bank", "river", "music"]
    page.press("#like", "Backspace")  # takes the last word off
    assert query(page)["like"] == ["bank", "river"]
    look_up(page, "doctor")
    assert query(page)["like"] == ["doctor"]


def test_dragging_the_aperture_moves_everything(page):
    before = page.inner_html("#gate"), page.inner_text("#scores"), page.inner_text("#knob-value")
    knob = page.locator("#knob")
    knob.focus()
    with page.expect_response(lambda response: "/api/neighbours" in response.url):
        for _ in range(40):
            knob.press("ArrowRight")
    page.wait_for_function(
        "old => document.getElementById('knob-value').textContent !== old", arg=before[2]
    )
    page.wait_for_function(
        "old => document.getElementById('gate').innerHTML !== old", arg=before[0]
    )
    page.wait_for_function(
        "old => document.getElementById('scores').innerText !== old", arg=before[1]
    )
    assert float(query(page)["aperture"][0]) > float(before[2])
    page.click("#marks button:has-text('automatic')")
    page.wait_for_function(
        "old => document.getElementById('knob-value').textContent === old", arg=before[2]
    )
    assert "aperture" not in query(page)


@pytest.mark.slow
def test_methods_and_weights_are_switched(page):
    page.select_option("#method", "abtt")
    page.wait_for_function(
        "() => document.getElementById('knob-name').textContent === 'Directions'"
    )
    page.select_option("#method", "whitening")
    page.wait_for_selector("#slider", state="hidden")
    page.select_option("#method", "cn")
    page.select_option("#weights", "uniform")
    page.wait_for_function(
        "() => document.getElementById('method-note').textContent.includes('once each')"
    )
    assert query(page)["weights"] == ["uniform"]


def test_excluded_words_change_what_is_near(page, session):
    page.type("#without", "banks")
    page.press("#without", "Enter")
    expected = session.neighbours(session.default, ["bank"], ["banks"], 15)
    page.wait_for_function(
        "word => document.querySelector('#after .word')?.textContent === word",
        arg=expected.after[0].word,
    )
    assert words(page, "after") == [near.word for near in expected.after]
    assert "banks" not in words(page, "after")


def test_a_word_that_is_not_there_is_said_and_known_words_stay(page):
    before = words(page, "after")
    look_up(page, "docter")
    page.wait_for_selector("#word-problem button")
    assert "no word “docter”" in page.inner_text("#word-problem")
    assert query(page)["like"] == ["bank"]
    assert words(page, "after") == before
    page.click("#word-problem button")
    page.wait_for_selector("#word-problem", state="hidden")
    assert query(page)["like"] == ["doctor"]


def test_an_unknown_word_among_known_ones_is_left_out_and_its_suggestion_added(page):
    page.type("#like", "rivre")
    page.click("#like-add")
    page.wait_for_selector("#word-problem button")
    assert query(page)["like"] == ["bank"]
    page.click("#word-problem button:has-text('river')")
    page.wait_for_selector("#word-problem", state="hidden")
    assert query(page)["like"] == ["bank", "river"]
    page.type("#without", "musik")
    page.press("#without", "Enter")
    page.click("#word-problem button:has-text('music')")
    page.wait_for_selector("#word-problem", state="hidden")
    assert (query(page)["like"], query(page)["without"]) == (["bank", "river"], ["music"])


def test_words_are_text_whatever_they_contain(page):
    shown = page.locator("#before .word", has_text="a&b")
    assert shown.count() == 1
    page.fill("#like", "")
    page.type("#like", "<b>")
    page.wait_for_selector("#like-list li")
    assert page.locator("#like-list li span").first.text_content() == HOSTILE[0]
    page.press("#like", "ArrowDown")
    page.press("#like", "Enter")
    assert page.locator("#like-words b").count() == 0
    page.wait_for_selector("#after li")


@pytest.mark.slow
def test_the_map_is_drawn_and_redrawn(page):
    count = drawn(page)
    page.click("#side-before")
    count = drawn(page, count)
    assert page.get_attribute("#side-before", "aria-pressed") == "true"
    assert page.input_value("#mix") == "0"
    page.select_option("#colour", "cluster")
    count = drawn(page, count)
    assert page.is_hidden("#legend")
    page.select_option("#count", "2000")
    count = drawn(page, count)
    assert query(page) == {
        "like": ["bank"],
        "method": ["cn"],
        "side": ["before"],
        "colour": ["cluster"],
        "count": ["2000"],
    }
    page.click("#theme")
    drawn(page, count)
    image = pytest.importorskip("PIL.Image", reason="pillow reads screenshots")

    def colours() -> int:
        with image.open(io.BytesIO(page.locator("#map").screenshot())) as picture:
            return len(picture.convert("RGB").getcolors(1 << 20))

    whole = colours()
    page.evaluate("document.getElementById('map-dots').remove()")
    assert colours() < 0.8 * whole


@pytest.mark.slow
def test_words_move_from_before_to_after(browser, address):
    """The movement is seen, and goes where the slider of the map is put."""
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{address}/?like=bank&side=before")
    page.wait_for_selector("#map-labels .query")
    start = names(page, ".query")["bank"]
    page.click("#side-after")
    page.wait_for_function("() => Number(document.getElementById('mix').value) > 0.2")
    between = names(page, ".query")["bank"]
    page.wait_for_function("() => document.getElementById('mix').value === '1'")
    drawn(page, 1)
    end = names(page, ".query")["bank"]
    assert len({(box["left"], box["top"]) for box in (start, between, end)}) == 3
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1440, 900), (390, 800), (320, 700)])
@pytest.mark.parametrize("side", ["before", "after"])
def test_no_name_on_the_map_covers_another_or_is_cut(blank, address, size, side):
    page = blank
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{address}/?like=bank&like={'long' * 100}&side={side}&colour=cluster")
    page.wait_for_selector("#map-labels .query")
    count = drawn(page)
    for press in ("#zoom-all", "#zoom-in", "#zoom-in", "#zoom-word"):
        page.click(press)
        count = drawn(page, count)
        found = names(page)
        assert len(found) > 5
        boxes = list(found.values())
        for box in boxes:
            assert box["left"] >= 0
            assert box["top"] >= 0
            assert box["right"] <= box["width"]
            assert box["bottom"] <= box["height"]
        for i, one in enumerate(boxes):
            for other in boxes[i + 1 :]:
                apart = (
                    one["right"] <= other["left"]
                    or other["right"] <= one["left"]
                    or one["bottom"] <= other["top"]
                    or other["bottom"] <= one["top"]
                )
                assert apart, (one, other)


@pytest.mark.slow
def test_all_clusters_have_their_names(page, session):
    drawn(page)
    expected = session.points(session.default, "pca", 20_000).names
    shown = names(page, ".cluster")
    assert set(shown) <= set(expected)
    assert len(shown) >= len(expected) - 1  # one may find no room


@pytest.mark.slow
def test_a_search_flies_to_a_word(page):
    count = drawn(page)
    page.fill("#find", "music")
    page.press("#find", "Enter")
    page.wait_for_selector("#map-labels .query:has-text('music')")
    drawn(page, count)
    assert query(page)["like"] == ["music"]
    box = names(page, ".query")["music"]
    assert abs((box["left"] + box["right"]) / 2 - box["width"] / 2) < 0.2 * box["width"]
    assert abs((box["top"] + box["bottom"]) / 2 - box["height"] / 2) < 0.25 * box["height"]


@pytest.mark.slow
def test_the_map_is_moved_by_mouse_wheel_keys_and_a_click_looks_a_word_up(page):
    count = drawn(page)
    at = names(page, ".query")["bank"]
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 230, steps=4)
    page.mouse.up()
    count = drawn(page, count)
    moved = names(page, ".query")["bank"]
    assert moved["left"] - at["left"] == pytest.approx(50, abs=12)
    page.focus("#map-view")
    page.keyboard.press("ArrowRight")
    count = drawn(page, count)
    assert names(page, ".query")["bank"]["left"] < moved["left"]
    page.keyboard.press("0")
    count = drawn(page, count)
    assert names(page, ".query")["bank"] == at
    near, place = next(iter(names(page, ".near").items()))
    page.mouse.click(box["x"] + place["left"] + 8, box["y"] + place["top"] + 8)
    page.wait_for_function(
        "word => new URLSearchParams(location.search).get('like') === word", arg=near
    )


@pytest.mark.slow
def test_a_hundred_thousand_words_move(browser):
    table = PageTable("many", toy_vectors(100_000, 12))
    with serving(Session(table, methods=["cn"])) as many:
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"{many}/?like=bank&count=100000&side=before")
        page.wait_for_selector("#map-labels .query")
        start = names(page, ".query")["bank"]
        assert page.inner_text("#legend-end") == f"{len(table):,}"
        page.evaluate("document.getElementById('mix').value = 0.5")
        count = drawn(page)
        page.dispatch_event("#mix", "input")
        drawn(page, count)
        assert names(page, ".query")["bank"] != start
        page.close()


@pytest.mark.slow
def test_terms_are_explained_on_hover_focus_and_touch(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(f"{address}/?like=bank")
    page.wait_for_selector("#after li")
    for term, part in (
        ("gate", "1 keeps all"),
        ("aperture", "turned down"),
        ("rank", "most common"),
    ):
        page.locator(f".term[data-term={term}]:visible").first.tap()
        assert part in page.inner_text("#tip")
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.locator("h1").tap()
    assert page.is_hidden("#tip")
    context.close()
    page = browser.new_page()
    page.goto(f"{address}/?like=bank")
    page.wait_for_selector("#after li")
    page.hover(".term[data-term=gate]")
    assert "1 keeps all" in page.inner_text("#tip")
    page.hover("h1")
    assert page.is_hidden("#tip")
    page.focus(".term[data-term=spectrum]")
    assert "strongest first" in page.inner_text("#tip")
    page.close()


@pytest.mark.slow
def test_what_is_lost_stands_beside_the_slider(page, session):
    page.wait_for_selector("#benchmarks dd")
    expected = session.benchmarks(session.default)
    titles = page.locator("#benchmarks dt").all_text_contents()
    assert titles == [score.dataset for score in expected]
    page.locator("#knob").focus()
    with page.expect_response(lambda response: "/api/benchmarks" in response.url) as answered:
        for _ in range(20):
            page.locator("#knob").press("ArrowRight")
    assert "aperture=" in answered.value.url


@pytest.mark.slow
def test_a_map_by_umap_stays_while_words_are_looked_up(page, session):
    pytest.importorskip("umap", reason="umap-learn is not installed")
    count = drawn(page)
    page.select_option("#projection", "umap")
    drawn(page, count)
    assert query(page)["projection"] == ["umap"]
    assert "This plane explains" in page.inner_text("#axis")
    by_pca, by_umap = (session.points(session.default, how, 1000) for how in ("pca", "umap"))
    assert by_pca.after != by_umap.after
    placed = session.place(session.default, ["bank"], [], "umap", 1000)
    assert session.points(session.default, "umap", 1000) == by_umap
    assert len(placed.after) == 2 * len(placed.words)


@pytest.mark.slow
def test_directions_concepts_and_their_words(page):
    page.click("#tab-directions")
    page.wait_for_selector("#directions tbody tr")
    assert page.locator("#directions tbody tr").count() == 10
    page.press("#tab-directions", "ArrowRight")
    page.fill("#concept-lists .concept:nth-child(1) input", "wet")
    page.fill("#concept-lists .concept:nth-child(1) textarea", "river, water")
    page.fill("#concept-lists .concept:nth-child(2) input", "money")
    page.fill("#concept-lists .concept:nth-child(2) textarea", "bank banks")
    page.fill("#expression", "wet and not money")
    page.press("#expression", "Enter")
    page.wait_for_function(
        "() => document.querySelector('#similarity tbody tr th')?.textContent === 'wet'"
    )
    assert "wet and not money" in page.inner_text("#evidence-title")
    assert query(page)["concept"] == ["wet: river, water", "money: bank banks"]
    page.fill("#expression", "wet and dry")
    page.press("#expression", "Enter")
    page.wait_for_selector("#concept-problem")
    assert "dry" in page.inner_text("#concept-problem")
    page.fill("#expression", "wet")
    page.press("#expression", "Enter")
    page.wait_for_selector("#concept-problem", state="hidden")
    page.click("#evidence .word >> nth=0")
    page.wait_for_function("() => new URLSearchParams(location.search).get('like') !== 'bank'")


def test_an_address_that_is_shared_shows_the_same(page, browser, address):
    page.select_option("#method", "cn-paper")
    page.type("#without", "river")
    page.press("#without", "Enter")
    page.wait_for_function("() => location.search.includes('without=river')")
    page.click("#tab-directions")
    page.click("#share")
    page.wait_for_function("() => document.getElementById('share').textContent === 'Copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.url
    page.wait_for_load_state("networkidle")
    other = browser.new_page()
    other.goto(copied)
    other.wait_for_selector("#directions tbody tr")
    other.wait_for_selector("#after li")
    other.wait_for_load_state("networkidle")
    for part in ("#after", "#before", "#directions"):
        assert other.inner_text(part) == page.inner_text(part)
    other.close()


@pytest.mark.slow
def test_map_command_and_snapshot_are_exported(page, session, browser, tmp_path):
    drawn(page)
    page.click("#export summary")
    with page.expect_download() as download:
        page.click("#export-map")
    download.value.save_as(tmp_path / "map.safetensors")
    loaded = AffineMap.load(tmp_path / "map.safetensors")
    assert (loaded.matrix == session.solution(session.default).map.matrix).all()
    assert page.inner_text("#command") == "conceptor postprocess toys.bin better.bin --method cn"
    with page.expect_download() as download:
        page.click("#export-snapshot")
    download.value.save_as(tmp_path / "snapshot.html")
    text = (tmp_path / "snapshot.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<iframe|<button|src=\"/", text)
    still = browser.new_page()
    requests = []
    still.on("request", lambda request: requests.append(request.url))
    still.goto((tmp_path / "snapshot.html").as_uri())
    assert words(page, "after") == still.locator("#after .word").all_text_contents()
    size = still.evaluate(
        "(({ naturalWidth, clientWidth }) => [naturalWidth, clientWidth])"
        "(document.querySelector('img.picture'))"
    )
    assert size[0] == size[1] > 500
    assert still.locator("#map-labels .query").text_content() == "bank"
    assert all(url.startswith(("file:", "data:")) for url in requests)
    still.close()


@pytest.mark.slow
def test_nothing_hinders_those_who_cannot_see_well_or_use_a_mouse(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe").Axe()
    options = {"iframes": False, "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]}
    for tab in ("map", "directions", "concepts", "figures"):
        page.click(f"#tab-{tab}")
        page.wait_for_load_state("networkidle")
        for _ in range(2):
            page.click("#theme")
            # What is still to come is dimmed, on a busy machine for longer.
            page.wait_for_function("!document.querySelector('.waiting')")
            found = axe.run(page, options=options).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_what_is_not_there_hides_nothing_else(page, address):
    """The map shows the other words, and neighbours of an earlier question do not stay."""
    page.goto(f"{address}/?like=it'sbanks")
    page.wait_for_selector("#word-problem:not([hidden])")
    drawn(page)
    assert words(page, "before") == []
    assert "This plane explains" in page.inner_text("#axis")


@pytest.mark.slow
def test_on_a_phone_the_map_is_one_tap_away(blank, address):
    page = blank
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/?like=bank&tab=directions")
    page.wait_for_selector("#directions tbody tr")
    assert page.locator("#map").is_hidden()
    page.evaluate("window.sameDocument = true")
    page.click("#jump-map")
    page.wait_for_selector("#map[data-drawn]")
    page.wait_for_function(
        """() => { const box = document.getElementById('map').getBoundingClientRect();
          return box.top > 0 && box.top < innerHeight / 2; }"""
    )
    assert page.evaluate("window.sameDocument")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (412, "light")])
def test_it_fits_a_phone(blank, address, width, scheme):
    page = blank
    long = "long" * 100
    name = "name" * 20
    concepts = f"concept=money: bank {long}&concept={name}: river {long}er&expression={name}"
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 740})
    page.goto(f"{address}/?like={long}&like=😀&without=<b>bold</b>&{concepts}")
    page.wait_for_selector("#after li")
    page.wait_for_selector("#scores dd")

    def check(what: str) -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width, what

    contents = {
        "map": "#map[data-drawn]",
        "directions": "#directions tbody tr",
        "concepts": "#similarity tbody tr",
        "figures": "#run-figures",
    }
    for tab, content in contents.items():
        page.click(f"#tab-{tab}")
        check(f"{tab}, not drawn yet")
        page.wait_for_selector(content, timeout=20_000)
        check(tab)
    page.click("#export summary")
    check("the menu")
    page.evaluate("document.getElementById('share').textContent = 'Copy it from the address bar'")
    check("a button with a longer text")


@pytest.mark.slow
def test_figures_come_from_the_background(page, data):
    page.click("#tab-figures")
    page.click("#run-figures")
    page.wait_for_selector("#figures-progress")
    page.wait_for_selector("#figures-report svg, #figures-report table", timeout=280_000)
    assert "Word similarity" in page.inner_text("#figures-report")
