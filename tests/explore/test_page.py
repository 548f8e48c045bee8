"""The page as a user meets it, in a browser that has no network but this machine."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from conceptor import AffineMap
from tests.explore.conftest import HOSTILE

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
        "n => Number(document.getElementById('frame').dataset.drawn ?? 0) > n", arg=more_than
    )
    return int(page.evaluate("document.getElementById('frame').dataset.drawn"))


def test_a_word_is_typed_completed_and_looked_up(page, session):
    page.fill("#like", "")
    page.press("#like", "Backspace")  # takes the last word off
    page.type("#like", "riv")
    page.wait_for_selector("#like-list li")
    page.press("#like", "ArrowDown")
    page.press("#like", "Enter")
    page.wait_for_function("() => document.querySelector('#after li button')")
    expected = session.neighbours(session.default, ["river"], [], 12)
    page.wait_for_function(
        "word => document.querySelector('#before .word')?.textContent === word",
        arg=expected.before[0].word,
    )
    assert words(page, "before") == [near.word for near in expected.before]
    assert words(page, "after") == [near.word for near in expected.after]
    assert query(page)["like"] == ["river"]
    marks = page.locator("#after .moved.new").count()
    assert marks == sum(near.moved == "new" for near in expected.after)


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
    expected = session.neighbours(session.default, ["bank"], ["banks"], 12)
    page.wait_for_function(
        "word => document.querySelector('#after .word')?.textContent === word",
        arg=expected.after[0].word,
    )
    assert words(page, "after") == [near.word for near in expected.after]
    assert "banks" not in words(page, "after")


def test_a_word_that_is_not_there_is_said_with_suggestions(page):
    page.type("#like", "docter")
    page.press("#like", "Enter")
    page.wait_for_selector("#word-problem button")
    assert "no word 'docter'" in page.inner_text("#word-problem")
    page.click("#word-problem button")
    page.wait_for_selector("#word-problem", state="hidden")
    assert query(page)["like"] == ["bank", "doctor"]


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
    page.check("input[name=side][value=before]", force=True)
    count = drawn(page, count)
    page.select_option("#colour", "cluster")
    count = drawn(page, count)
    frame = page.frame_locator("#frame")
    assert frame.locator(".main-svg").count() > 0
    assert query(page) == {
        "like": ["bank"],
        "method": ["cn"],
        "side": ["before"],
        "colour": ["cluster"],
    }
    page.click("#theme")
    drawn(page, count)


@pytest.mark.slow
def test_a_map_by_umap_stays_while_words_are_looked_up(page, session):
    pytest.importorskip("umap", reason="umap-learn is not installed")
    count = drawn(page)
    page.select_option("#projection", "umap")
    count = drawn(page, count)
    assert query(page)["projection"] == ["umap"]
    assert "explained by this plane" in page.inner_text("#axis")
    by_pca = session.points(session.default, ["bank"], [], "pca")
    bank, river = (session.points(session.default, [w], [], "umap") for w in ("bank", "river"))
    assert bank.after != by_pca.after
    places = dict(zip(bank.words, zip(bank.before, bank.after, strict=True), strict=True))
    moved = [
        word
        for word, *place in zip(river.words, river.before, river.after, strict=True)
        if tuple(place) != places.get(word, tuple(place))
    ]
    assert set(moved) <= {bank.words[i] for i in bank.neighbours}
    page.click("#after .word >> nth=0")
    drawn(page, count)


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
    assert still.evaluate("document.querySelector('img.picture').naturalWidth") == 1200
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
    assert "explained by this plane" in page.inner_text("#axis")


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
        "map": "#frame[data-drawn]",
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
