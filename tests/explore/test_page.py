"""The page as a user meets it, in a browser that has no network but this machine."""

from __future__ import annotations

import io
import re
from itertools import combinations
from urllib.parse import parse_qs, urlsplit

import pytest

from conceptor.algebra.affine_map import AffineMap


@pytest.fixture
def blank(browser, address):
    """A window that shows nothing yet, and has nothing to complain about at its end."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    origin = address.partition("/?")[0]
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=origin)
    opened = context.new_page()
    complaints, foreign = [], []
    opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    opened.on("request", lambda request: foreign.append(request.url))
    opened.set_default_timeout(60_000)
    yield opened
    context.close()
    # Browsers also report a question that is answered with "not found", which is an answer.
    assert [c for c in complaints if not re.search("load resource.* (404|422) ", c)] == []
    assert [url for url in foreign if not url.startswith(origin)] == []


@pytest.fixture
def page(blank, address):
    """The page with `bank` chosen, as soon as its first answers are there."""
    blank.goto(f"{address}&like=bank")
    blank.wait_for_selector("#after li")
    blank.wait_for_selector("#isotropy dd")
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
    """The typed word replaces the earlier one."""
    page.type("#like", "riv")
    # Not the list for an earlier letter.
    page.wait_for_function(
        "() => document.querySelector('#like-list li span')?.textContent === 'river'"
    )
    page.press("#like", "ArrowDown")
    page.press("#like", "Enter")
    expected = session.neighbors(session.default, ["river"], n=15)
    page.wait_for_function(
        "word => document.querySelector('#before .word')?.textContent === word",
        arg=expected["before"][0].word,
    )
    assert words(page, "before") == [near.word for near in expected["before"]]
    assert words(page, "after") == [near.word for near in expected["after"]]
    assert query(page)["like"] == ["river"]
    marks = page.locator("#after .moved.new").count()
    assert marks == sum(near.moved == "new" for near in expected["after"])
    scores = page.locator("#after .figures span:first-child").all_text_contents()
    assert scores == [f"{near.score:.3f}" for near in expected["after"]]


def test_words_are_added_by_button_and_shift_enter(page):
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


def test_excluded_words_change_what_is_near(page, session):
    page.type("#without", "banks")
    page.press("#without", "Enter")
    expected = session.neighbors(session.default, ["bank"], ["banks"], 15)
    page.wait_for_function(
        "word => document.querySelector('#after .word')?.textContent === word",
        arg=expected["after"][0].word,
    )
    assert words(page, "after") == [near.word for near in expected["after"]]
    assert "banks" not in words(page, "after")


def test_unknown_words_get_suggestions_and_known_words_stay(page):
    before = words(page, "after")
    page.type("#like", "rivre")
    page.click("#like-add")
    page.wait_for_selector("#word-problem button")
    assert "no word “rivre”" in page.inner_text("#word-problem")
    assert query(page)["like"] == ["bank"]
    assert words(page, "after") == before
    page.click("#word-problem button:has-text('river')")
    page.wait_for_selector("#word-problem", state="hidden")
    assert query(page)["like"] == ["bank", "river"]
    page.type("#without", "musik")
    page.press("#without", "Enter")
    page.click("#word-problem button:has-text('music')")
    page.wait_for_selector("#word-problem", state="hidden")
    assert (query(page)["like"], query(page)["without"]) == (["bank", "river"], ["music"])
    look_up(page, "docter")
    page.click("#word-problem button:has-text('doctor')")
    page.wait_for_selector("#word-problem", state="hidden")
    assert query(page)["like"] == ["doctor"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1440, 900), (390, 800), (320, 700)])
@pytest.mark.parametrize("side", ["before", "after"])
def test_no_name_on_the_map_covers_another_or_is_cut(blank, address, size, side):
    page = blank
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{address}&like=bank&like={'long' * 100}&side={side}&color=cluster")
    page.wait_for_selector("#map-labels .query")
    count = drawn(page)
    for press in ("#zoom-all", "#zoom-in", "#zoom-in", "#zoom-word"):
        page.click(press)
        count = drawn(page, count)
        boxes = list(names(page).values())
        assert len(boxes) > 5
        for box in boxes:
            assert min(box["left"], box["top"]) >= 0
            assert box["right"] <= box["width"]
            assert box["bottom"] <= box["height"]
        for one, other in combinations(boxes, 2):
            beside = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert beside or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]


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


def test_a_page_that_opens_with_an_unknown_word_has_a_map(page, address):
    page.goto(f"{address}&like=it'sbanks")
    page.wait_for_selector("#word-problem:not([hidden])")
    drawn(page)
    assert words(page, "before") == []
    assert "This plane explains" in page.inner_text("#axis")


@pytest.mark.slow
def test_the_slider_moves_everything(page):
    before = page.inner_html("#gate"), page.inner_text("#isotropy"), page.inner_text("#knob-value")
    knob = page.locator("#knob")
    knob.focus()
    with page.expect_response(
        lambda response: "/api/scores" in response.url and "value=" in response.url
    ):
        for _ in range(40):
            knob.press("ArrowRight")
    page.wait_for_function(
        """([gate, isotropy, value]) => document.getElementById('knob-value').textContent !== value
          && document.getElementById('gate').innerHTML !== gate
          && document.getElementById('isotropy').innerText !== isotropy""",
        arg=before,
    )
    assert float(query(page)["value"][0]) > float(before[2])
    page.click("#marks button:has-text('automatic')")
    page.wait_for_function(
        "old => document.getElementById('knob-value').textContent === old", arg=before[2]
    )
    assert "value" not in query(page)


def test_dragging_writes_one_address_and_the_label_follows_the_hand(page):
    """Safari throws after 100 addresses in 30 seconds."""
    page.evaluate(
        """() => { window.written = 0; const write = history.replaceState.bind(history);
          history.replaceState = (...all) => { window.written += 1; write(...all); }; }"""
    )
    label = page.evaluate(
        """() => { const knob = document.getElementById('knob');
          for (let at = 380; at < 500; at++) { knob.value = at; knob.dispatchEvent(new Event('input')); }
          const label = document.getElementById('knob-value').textContent;
          knob.dispatchEvent(new Event('change'));
          return label; }"""  # noqa: E501
    )
    page.wait_for_function("() => new URLSearchParams(location.search).has('value')")
    assert float(label) == pytest.approx(float(query(page)["value"][0]), rel=0.01)
    assert page.evaluate("window.written") <= 3


def test_a_change_without_an_interval_is_neither_gain_nor_loss(page):
    assert page.get_attribute("#isotropy dd span:last-child", "class") == "faint"


def test_a_slash_focuses_the_search(page):
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "like"
    assert page.input_value("#like") == ""


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


@pytest.mark.slow
def test_the_map_is_drawn_and_redrawn(page, session):
    count = drawn(page)
    expected = session.points(session.default)["names"]
    clusters = names(page, ".cluster")
    assert set(clusters) <= set(expected)
    assert len(clusters) >= len(expected) - 1  # one may find no room
    after = names(page, ".query")["bank"]
    page.click("#side-before")
    count = drawn(page, count)
    assert page.get_attribute("#side-before", "aria-pressed") == "true"
    assert names(page, ".query")["bank"] != after
    page.select_option("#color", "cluster")
    count = drawn(page, count)
    assert page.is_hidden("#legend")
    expected = {"like": ["bank"], "method": ["cn"], "side": ["before"], "color": ["cluster"]}
    assert query(page) == expected
    page.click("#theme")
    drawn(page, count)
    image = pytest.importorskip("PIL.Image", reason="pillow reads screenshots")

    def colors() -> int:
        with image.open(io.BytesIO(page.locator("#map").screenshot())) as picture:
            return len(picture.convert("RGB").getcolors(1 << 20))

    with_dots = colors()
    page.evaluate("document.getElementById('map-dots').remove()")
    assert colors() < 0.8 * with_dots


@pytest.mark.slow
def test_concepts_and_their_words(page):
    page.press("#tab-map", "ArrowRight")
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


def test_a_shared_link_shows_the_same(page):
    page.select_option("#method", "cn-paper")
    page.type("#without", "river")
    page.press("#without", "Enter")
    page.wait_for_function("() => location.search.includes('without=river')")
    page.click("#share")
    page.wait_for_function("() => document.getElementById('share').textContent === 'Copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.url
    assert "token" not in copied
    page.wait_for_load_state("networkidle")
    other = page.context.new_page()
    other.goto(copied)
    other.wait_for_selector("#after li")
    other.wait_for_load_state("networkidle")
    for part in ("#after", "#before", "#method-note"):
        assert other.inner_text(part) == page.inner_text(part)


@pytest.mark.slow
def test_map_and_command_are_exported(page, session, tmp_path):
    page.click("#export summary")
    with page.expect_download() as download:
        page.click("#export-map")
    download.value.save_as(tmp_path / "map.safetensors")
    loaded = AffineMap.load(tmp_path / "map.safetensors")
    assert (loaded.matrix == session.fitted(session.default).map.matrix).all()
    assert page.inner_text("#command") == "conceptor postprocess toys.bin better.bin --method cn"


@pytest.mark.slow
def test_terms_are_explained_on_focus_and_touch(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(f"{address}&like=bank")
    page.wait_for_selector("#after li")
    terms = {"gate": "1 keeps all", "aperture": "turned down", "rank": "most common"}
    for term, part in terms.items():
        page.locator(f".term[data-term={term}]:visible").first.tap()
        assert part in page.inner_text("#tip")
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.locator("h1").tap()
    assert page.is_hidden("#tip")
    page.focus(".term[data-term=spread]")
    assert "strongest first" in page.inner_text("#tip")
    context.close()


@pytest.mark.slow
def test_the_page_is_accessible(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe").Axe()
    options = {"iframes": False, "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]}
    for tab in ("map", "concepts"):
        page.click(f"#tab-{tab}")
        page.wait_for_load_state("networkidle")
        for _ in range(2):
            page.click("#theme")
            # Parts without an answer yet are dimmed.
            page.wait_for_function("!document.querySelector('.waiting')")
            violations = axe.run(page, options=options).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "dark")])
def test_the_page_fits_a_phone(blank, address, width, scheme):
    page = blank
    long, name = "long" * 100, "name" * 20
    concepts = f"concept=money: bank {long}&concept={name}: river {long}er&expression={name}"
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 740})
    page.goto(f"{address}&like={long}&like=😀&without=<b>bold</b>&tab=concepts&{concepts}")
    page.wait_for_selector("#after li")
    page.wait_for_selector("#isotropy dd")

    def check(what: str) -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width, what

    page.wait_for_selector("#similarity tbody tr")
    check("concepts")
    page.click("#export summary")
    check("the menu")
    # The map is one tap away.
    page.click("#jump-map")
    page.wait_for_selector("#map[data-drawn]")
    check("the map")
    page.wait_for_function(
        """() => { const box = document.getElementById('map').getBoundingClientRect();
          return box.top > 0 && box.top < innerHeight / 2; }"""
    )
