"""The page as a user meets it, in a browser that has no network but this machine."""

from __future__ import annotations

import csv
import re
from itertools import combinations
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from conceptor.algebra.affine_map import AffineMap
from conceptor.explore.plane import Planes
from conceptor.explore.session import Session, Settings
from tests.explore.conftest import serving, toy_table

# The page is complete, and nothing moves.
AT_REST = """() => !document.querySelector('.waiting') && document.querySelector('#map[data-drawn]')
  && document.querySelector('#after li, #list li')"""


def open_page(browser, address, query="", **options):
    """Open a window; `complaints` are what the browser reports, and `foreign` other addresses."""
    options = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"} | options
    context = browser.new_context(**options)
    origin = address.partition("/?")[0]
    page = context.new_page()
    page.complaints, page.foreign = [], []

    def complain(text: str) -> None:
        # Browsers also report a question that is answered with "not found", which is an answer.
        if not re.search("load resource.* (404|422) ", text):
            page.complaints.append(text)

    page.on("console", lambda message: complain(message.text))
    page.on("pageerror", lambda error: complain(str(error)))
    page.on(
        "request",
        lambda each: each.url.startswith((origin, "blob:")) or page.foreign.append(each.url),
    )
    page.set_default_timeout(60_000)
    page.goto(f"{address}{query}")
    page.wait_for_function(AT_REST)
    return page


@pytest.fixture
def page(browser, address):
    """The page with `bank` looked up; at its end there is nothing to complain about."""
    opened = open_page(browser, address, "&like=bank")
    yield opened
    assert (opened.complaints, opened.foreign) == ([], [])
    opened.context.close()


def words(page, side: str) -> list[str]:
    return page.locator(f"#{side} .word").all_text_contents()


def query(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def drawn(page, more_than: int = 0) -> int:
    page.wait_for_function(
        "n => Number(document.getElementById('map').dataset.drawn ?? 0) > n", arg=more_than
    )
    return int(page.evaluate("document.getElementById('map').dataset.drawn"))


def layout_shift(page) -> float:
    return page.evaluate(
        """() => new Promise((answer) => {
          const sum = (list) => list.getEntries().reduce((all, each) => all + each.value, 0);
          new PerformanceObserver((list) => answer(sum(list)))
            .observe({ type: 'layout-shift', buffered: true });
          setTimeout(() => answer(0), 300);
        })"""
    )


def look_up(page, word: str, key: str = "Enter") -> None:
    page.fill("#like", word)
    page.press("#like", key)


def wait_for_first(page, side: str, word: str) -> None:
    page.wait_for_function(
        "([side, word]) => document.querySelector(`#${side} .word`)?.textContent === word",
        arg=[side, word],
    )


def names(page, kind: str = "span") -> dict[str, dict[str, float]]:
    """The boxes of the names on the map, by name, relative to the map."""
    return page.evaluate(
        """kind => {
          const own = document.getElementById('map').getBoundingClientRect();
          const all = [...document.querySelectorAll(`#map-labels ${kind}`)];
          return Object.fromEntries(all.filter((each) => !each.hidden).map((each) => {
            const box = each.getBoundingClientRect();
            return [each.textContent, { left: box.left - own.left, top: box.top - own.top,
              right: box.right - own.left, bottom: box.bottom - own.top,
              width: own.width, height: own.height }];
          }));
        }""",
        kind,
    )


def test_a_word_is_typed_completed_and_looked_up(page, session):
    """The typed word replaces the earlier one, and others are added to it."""
    page.keyboard.press("/")  # from anywhere
    page.keyboard.type("riv")
    page.wait_for_function("() => document.querySelector('#like-list option')?.value === 'river'")
    page.evaluate(
        """() => { const like = document.getElementById('like');
          like.value = 'river';  // as a browser does when it is chosen
          like.dispatchEvent(new InputEvent('input', { inputType: 'insertReplacementText' })); }"""
    )
    expected = session.neighbors(session.default, ["river"])
    wait_for_first(page, "before", expected["before"][0].word)
    for side in ("before", "after"):
        assert words(page, side) == [near.word for near in expected[side]]
        scores = page.locator(f"#{side} .figures span:first-child").all_text_contents()
        assert scores == [f"{near.score:.3f}" for near in expected[side]]
    marks = page.locator("#after .moved.new").count()
    assert marks == sum(near.was > 10 for near in expected["after"])
    assert query(page)["like"] == ["river"]
    look_up(page, "bank", "Shift+Enter")
    look_up(page, "music", "Shift+Enter")
    assert query(page)["like"] == ["river", "bank", "music"]
    page.press("#like", "Backspace")  # takes the last word off
    assert query(page)["like"] == ["river", "bank"]
    page.click("#exclude summary")
    page.type("#without", "banks")
    page.press("#without", "Enter")
    expected = session.neighbors(session.default, ["river", "bank"], ["banks"])
    wait_for_first(page, "after", expected["after"][0].word)
    assert words(page, "after") == [near.word for near in expected["after"]]


def test_unknown_words_get_suggestions_and_known_words_stay(page):
    before = words(page, "after")
    look_up(page, "rivre", "Shift+Enter")
    page.wait_for_selector("#word-problem button")
    assert "no word “rivre”" in page.inner_text("#word-problem")
    assert query(page)["like"] == ["bank"]
    assert words(page, "after") == before
    page.click("#word-problem button:has-text('river')")
    page.wait_for_selector("#word-problem", state="hidden")
    assert query(page)["like"] == ["bank", "river"]


@pytest.mark.slow
def test_no_name_on_the_map_covers_another_or_is_cut(browser, address):
    size = {"width": 320, "height": 700}
    words = f"&like=bank&like={'long' * 100}&color=cluster"
    page = open_page(browser, address, words, viewport=size)
    count = drawn(page)
    for press in ("#zoom-all", "#zoom-in", "#zoom-in", "#side-before"):
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
    page.context.close()


def test_the_map_is_moved_by_mouse_wheel_keys_and_a_click_looks_a_word_up(page):
    count = drawn(page)
    at = names(page, ".query")["bank"]
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 230, steps=4)
    page.mouse.up()
    count = drawn(page, count)
    assert names(page, ".query")["bank"]["left"] - at["left"] == pytest.approx(50, abs=12)
    page.focus("#map-view")
    page.keyboard.press("0")
    count = drawn(page, count)
    assert names(page, ".query")["bank"] == at
    near, place = next(iter(names(page, ".near").items()))
    page.mouse.move(box["x"] + place["left"] + 8, box["y"] + place["top"] + 8)
    assert near in page.inner_text("#map-tip")
    # The wheel zooms and never scrolls the page, and the tip goes when the view moves.
    page.evaluate("document.body.style.paddingBottom = '2000px'")
    page.mouse.wheel(0, 300)
    count = drawn(page, count)
    assert page.evaluate("scrollY") == 0
    assert page.is_hidden("#map-tip")
    page.evaluate("document.body.style.paddingBottom = ''")
    page.click("#zoom-all")
    drawn(page, count)
    page.mouse.click(box["x"] + place["left"] + 8, box["y"] + place["top"] + 8)
    page.wait_for_function(
        "word => new URLSearchParams(location.search).get('like') === word", arg=near
    )


def test_a_page_that_opens_with_an_unknown_word_has_a_map(browser, address):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}&like=it'sbanks")
    page.wait_for_selector("#word-problem:not([hidden])", timeout=60_000)
    drawn(page)
    assert words(page, "before") == []
    context.close()


def test_one_sentence_says_what_happened_with_numbers_of_the_map(page, session):
    """Its shares are the R² of the points that are drawn."""
    logs = np.log(np.arange(len(session.table)) + 1)

    def share(points: np.ndarray) -> str:
        inside = np.column_stack([points, np.ones(len(points))])
        rest = logs - inside @ np.linalg.lstsq(inside, logs)[0]
        return f"{100 * (1 - rest.var() / logs.var()):.0f}%"

    rows = session.table.rows
    before, after = (
        share(Planes.fit(each)(each)) for each in (rows, session.fitted(session.default).map(rows))
    )
    assert (
        page.inner_text("#sentence") == f"{before} of this plane was word frequency. Now {after}."
    )
    page.click("#side-before")
    page.wait_for_function(
        "s => document.getElementById('sentence').innerText.endsWith(s)", arg=f"Now {before}."
    )


def test_the_movement_plays_once_on_arrival_and_on_request(browser, address):
    page = open_page(browser, address, "&like=bank", reduced_motion="no-preference")
    page.wait_for_function(
        "() => document.querySelectorAll('#sentence b')[1]?.textContent.length < 3"
    )
    page.evaluate(
        """() => { window.seen = new Set();
          const number = document.querySelectorAll('#sentence b')[1];
          new MutationObserver(() => window.seen.add(number.textContent))
            .observe(number, { childList: true, characterData: true, subtree: true }); }"""
    )
    page.click("#replay")
    page.wait_for_function("() => window.seen.size > 5")
    page.context.close()


def test_a_drag_needs_no_server_and_the_label_follows_the_hand(page):
    """Safari also throws after 100 addresses in 30 seconds."""
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    result = page.evaluate(
        """async () => {
          const knob = document.getElementById('knob'), map = document.getElementById('map');
          const write = history.replaceState.bind(history);
          let written = 0;
          history.replaceState = (...all) => { written += 1; write(...all); };
          const curve = document.querySelector('.curve').getAttribute('d');
          const first = map.dataset.frames;
          for (let at = 380; at < 500; at++) {
            knob.value = at;
            knob.dispatchEvent(new Event('input'));
          }
          await new Promise(requestAnimationFrame);
          await new Promise(requestAnimationFrame);
          return { written, label: document.getElementById('knob-value').textContent,
            isRedrawn: curve !== document.querySelector('.curve').getAttribute('d'),
            hasMoved: map.dataset.frames !== first };
        }"""
    )
    assert (result["written"], requests) == (0, [])
    assert result["isRedrawn"]
    assert result["hasMoved"]
    page.dispatch_event("#knob", "change")
    page.wait_for_function("() => new URLSearchParams(location.search).has('value')")
    assert float(result["label"]) == pytest.approx(float(query(page)["value"][0]), rel=0.01)
    page.wait_for_function(
        "() => document.getElementById('command').textContent.includes('aperture=')"
    )
    # A held arrow key decides with every repetition; the last one counts.
    written = page.evaluate(
        """() => {
          const knob = document.getElementById('knob');
          let written = 0;
          const write = history.replaceState.bind(history);
          history.replaceState = (...all) => { written += 1; write(...all); };
          for (let at = 500; at < 620; at++) {
            knob.value = at;
            for (const kind of ['input', 'change']) { knob.dispatchEvent(new Event(kind)); }
          }
          return written;
        }"""
    )
    assert written < 3
    page.wait_for_function(
        """() => Math.abs(new URLSearchParams(location.search).get('value')
          / document.getElementById('knob-value').textContent - 1) < 0.01"""
    )
    page.click("#marks button:has-text('automatic')")
    page.wait_for_function("() => !new URLSearchParams(location.search).has('value')")


def test_the_curve_is_a_handle_and_its_directions_have_words(page, session):
    gate = page.locator("#gate").bounding_box()
    page.mouse.move(gate["x"] + 45, gate["y"] + 60)
    ends = session.path(session.default)["directions"][0]["ends"]
    page.wait_for_function(
        "word => document.getElementById('direction').textContent.includes(word)", arg=ends[0][0]
    )
    assert all(word in page.inner_text("#direction") for end in ends for word in end)
    assert re.search(r"\|r\| = 0\.\d\d with log rank", page.text_content("#gate .first"))
    # Pull the strongest direction down to a third.
    page.mouse.down()
    page.mouse.move(gate["x"] + 45, gate["y"] + 10 + 148 * 2 / 3, steps=3)
    page.mouse.up()
    page.wait_for_function("() => new URLSearchParams(location.search).has('value')")
    settings = Settings("cn", value=float(query(page)["value"][0]))
    assert session.solve(settings)["gate"][0] == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.slow
def test_umap_is_computed_in_the_background(page):
    pytest.importorskip("umap", reason="needs the explore extra")
    page.select_option("#kind", "neighborhoods")
    page.wait_for_selector("#map.computing")
    count = drawn(page)
    page.focus("#knob")
    page.keyboard.press("ArrowRight")  # the plane still follows
    drawn(page, count)
    places = []
    for kind, name in (("neighborhoods", "map"), ("", "plane")):
        page.select_option("#kind", kind)
        page.wait_for_function(
            "name => document.getElementById('sentence').innerText.includes(`of this ${name} was`)",
            arg=name,
            timeout=120_000,
        )
        assert query(page).get("map", [""]) == [kind]
        places.append(names(page, ".query")["bank"])
    assert places[0] != places[1]


@pytest.mark.slow
def test_methods_are_switched(page):
    page.select_option("#method", "abtt")
    page.wait_for_function(
        "() => document.getElementById('knob-name').textContent === 'Directions'"
    )
    assert "H" in page.get_attribute("#gate .curve", "d")  # a true step
    page.select_option("#method", "whitening")
    page.wait_for_selector("#slider", state="hidden")
    assert query(page)["method"] == ["whitening"]


def test_groups_are_colors_that_can_be_hidden(page, session):
    page.select_option("#color", "cluster")
    expected = session.layout()["names"]
    buttons = page.locator("#legend button")
    assert buttons.all_text_contents() == expected
    count = drawn(page)
    shown = set(names(page, ".cluster"))
    assert shown <= set(expected)
    gone = next(iter(shown))
    page.click(f"#legend button:text-is('{gone}')")
    drawn(page, count)
    assert gone not in names(page, ".cluster")
    assert query(page)["color"] == ["cluster"]


def test_a_lasso_gathers_words_for_a_list_and_a_file(page, tmp_path):
    page.click("#lasso")
    box = page.locator("#map").bounding_box()
    corners = [(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7)]
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    for x, y in corners:
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
    page.mouse.up()
    page.wait_for_selector("#save-list")
    count = int(page.inner_text("#list-title").split()[0].replace(",", ""))
    assert page.locator("#list li").count() == min(count, 300)
    with page.expect_download() as download:
        page.click("#save-list")
    download.value.save_as(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["rank", "word"]
    assert [row[1] for row in rows[1:301]] == page.locator("#list .word").all_text_contents()
    page.click("#close-list")
    assert page.is_visible("#after")


def test_a_shared_link_shows_the_same(page, browser):
    page.select_option("#method", "cn-paper")
    page.wait_for_function(
        "() => document.getElementById('method-note').textContent.includes('paper')"
    )
    assert "token" not in page.url
    page.wait_for_load_state("networkidle")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_function(AT_REST)
    other.wait_for_load_state("networkidle")
    for part in ("#after", "#before", "#sentence"):
        assert other.inner_text(part) == page.inner_text(part)


@pytest.mark.slow
def test_map_picture_and_command_are_exported(page, session, tmp_path):
    page.click("#export")
    for button, name in (("#export-map", "map.safetensors"), ("#export-picture", "map.png")):
        with page.expect_download() as download:
            page.click(button)
        download.value.save_as(tmp_path / name)
    loaded = AffineMap.load(tmp_path / "map.safetensors")
    assert (loaded.matrix == session.fitted(session.default).map.matrix).all()
    image = pytest.importorskip("PIL.Image", reason="pillow reads pictures")
    with image.open(tmp_path / "map.png") as picture:
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 100
    assert page.inner_text("#command") == "conceptor postprocess toys.bin better.bin --method cn"


def test_the_slider_is_few_tabs_away_and_nothing_shifts(browser, address):
    page = open_page(browser, address, "&like=bank", reduced_motion="no-preference")
    assert layout_shift(page) < 0.05
    page.evaluate("document.body.focus()")
    stops = []
    while "knob" not in stops and len(stops) < 25:
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id"))
    assert stops[-1] == "knob", stops
    page.focus("#after .word")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == words(page, "after")[1]
    page.context.close()


@pytest.mark.slow
def test_the_page_is_accessible(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe").Axe()
    options = {"iframes": False, "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]}
    for color in ("", "cluster"):
        page.select_option("#color", color)
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            # Parts without an answer yet are dimmed.
            page.wait_for_function("() => !document.querySelector('.waiting')")
            violations = axe.run(page, options=options).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []


@pytest.mark.slow
def test_the_page_fits_a_phone(browser, address):
    width = 320
    words = f"&like={'long' * 100}&like=😀&without=<b>bold</b>&color=cluster"
    size = {"width": width, "height": 740}
    page = open_page(browser, address, words, viewport=size, has_touch=True)
    assert layout_shift(page) < 0.05
    page.click("#export")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("h1").tap()  # closes the menu
    page.locator("#by-frequency .term").tap()
    box = page.locator("#about-plane").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.keyboard.press("Escape")
    page.click(".jump a:has-text('Method')")
    page.wait_for_function(
        "() => document.getElementById('bench').getBoundingClientRect().top < 300"
    )
    page.context.close()


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A page of texts with columns."""
    arrow = pytest.importorskip("pyarrow", reason="needs the arrow extra")
    import pyarrow.parquet

    topics = ["wing lift drag", "loan bank money", "cell gene protein", "court law judge"]
    rows = toy_table(400)[1][:, :8]
    rows += 4 * np.eye(8, dtype=np.float32)[np.arange(400) % 4]
    contents = [
        f"Text {i} is about the {topics[i % 4]} of one thing. " + "More of it. " * 30
        for i in range(400)
    ]
    columns = {
        "text": contents,
        "year": [1950 + i % 40 for i in range(400)],
        "vector": arrow.array(rows.tolist(), arrow.list_(arrow.float32(), 8)),
    }
    path = tmp_path_factory.mktemp("page") / "texts.parquet"
    pyarrow.parquet.write_table(arrow.table(columns), path)
    with serving(Session(path)) as served:
        yield served, contents


def test_texts_are_searched_read_listed_and_grouped(browser, texts):
    address, contents = texts
    page = open_page(browser, address, "&like=5")
    text = contents[4].strip()
    page.wait_for_function(
        "text => document.getElementById('reading').innerText.includes(text)", arg=text
    )
    assert "year\n1954" in page.inner_text("#reading").replace("\n\n", "\n")
    assert page.inner_text("#sentence").startswith("One direction held ")
    assert layout_shift(page) < 0.05
    # What is about words is not there.
    shown = page.inner_text("body")
    assert not re.search("frequen|common|Weights|Nearest words|log rank", shown)
    assert "layer" not in shown
    assert re.fullmatch(r"=|[↑↓] \d+", page.locator("#list .moved").first.inner_text())
    boxes = [each.bounding_box()["height"] for each in page.locator("#list .word").all()[:5]]
    assert max(boxes) < 60  # two lines
    look_up(page, "gene protein")
    page.wait_for_selector("#save-list")
    assert page.inner_text("#list-title") == "100 texts contain “gene protein”"
    page.locator("#list .word").nth(3).click()
    page.wait_for_function(
        "text => document.getElementById('reading').innerText.includes(text)",
        arg=contents[14].strip(),
    )
    # The list stays while texts are read.
    assert page.inner_text("#list-title").startswith("100 texts")
    look_up(page, "nothing like this")
    page.wait_for_function(
        "() => document.getElementById('list-title').textContent.startsWith('0 texts')"
    )
    page.click("#close-list")
    page.select_option("#color", "column:year")
    page.wait_for_selector("#legend button:has-text('1950 –')")
    page.click("#side-before")
    assert page.inner_text("#list-title") == "Nearest texts before"
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    assert (page.complaints, page.foreign) == ([], [])
    page.context.close()
