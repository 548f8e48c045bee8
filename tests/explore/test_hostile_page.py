"""Words, file names, texts and columns that are HTML or script stay text in a browser."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

import numpy as np
import pytest

from conceptor.explore.session import Session
from conceptor.vectors.files import in_memory
from conceptor.vectors.target import write_vectors
from tests.explore.conftest import serving, toy_table
from tests.processes import call

# Each sets a variable, or sends a request, if it is ever taken for markup or for script.
ATTACKS = [
    "<img src=x onerror=window.owned=1>",
    "<script>window.owned=1</script>",
    "<svg/onload=window.owned=1>",
    '"><img src=x onerror=window.owned=1>',
    "'onmouseover='window.owned=1",
    "</script><script>window.owned=1</script>",
    "</style><img src=x onerror=window.owned=1>",
    "javascript:window.owned=1",
    "${window.owned=1}",
    "<a href=javascript:window.owned=1>bank</a>",
    "<iframe srcdoc='<script>parent.owned=1</script>'>",
    "&lt;img src=x onerror=window.owned=1&gt;",
    "\u202ebank",
    "__proto__",
    "constructor",
]
FILE = "<img src=x onerror=window.owned=1>'\".bin"


def hostile_table() -> tuple[list[str], np.ndarray]:
    """Words that are near each other, so that all are shown."""
    words, rows = toy_table(300)
    near = rows[words.index("bank")]
    noise = np.random.default_rng(0).standard_normal((len(ATTACKS), near.size))
    attacks = [word.replace(" ", "\u00a0") for word in ATTACKS]
    return [*attacks, *words], np.vstack([near + 0.02 * noise, rows]).astype(np.float32)


@pytest.fixture(scope="module")
def address():
    with serving(Session(in_memory(*hostile_table(), name=FILE))) as served:
        yield served


@pytest.fixture
def window(browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    asked, errors, dialogs = [], [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    opened.asked, opened.errors = asked, errors
    yield opened
    assert not opened.evaluate("'owned' in window")
    assert opened.locator("img[src='x'], svg[onload], iframe[srcdoc]").count() == 0
    assert opened.locator("a[href^='javascript:']").count() == 0
    assert (errors, dialogs) == ([], [])
    assert not any(url.endswith("/x") for url in asked)
    context.close()


def type_attacks(window) -> None:
    """Whatever a user can type into takes it as text too."""
    window.click("#exclude summary")
    for field in ("#like", "#without"):
        for attack in (ATTACKS[0], ATTACKS[3], ATTACKS[13]):
            window.fill(field, attack)
            window.press(field, "Enter")
    window.wait_for_load_state("networkidle")


def test_the_page_shows_hostile_words_as_text(window, address):
    words = [word.replace(" ", "\u00a0") for word in ATTACKS]
    window.goto(f"{address}&{urlencode([('like', words[0]), ('color', 'cluster')])}")
    window.wait_for_selector("#after li")
    window.wait_for_selector("#map[data-drawn]")
    window.click("#side-before")
    shown = window.locator("#after").text_content()
    assert sum(word in shown for word in words) > 2, "the control: they are shown"
    type_attacks(window)


def test_the_page_shows_hostile_texts_and_columns_as_text(window, tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="needs the arrow extra")
    import pyarrow.parquet

    words, rows = hostile_table()
    columns = {
        "text": [f"{ATTACKS[i % 15]} {word} is a text" for i, word in enumerate(words)],
        ATTACKS[0]: [ATTACKS[i % 5] for i in range(len(words))],
        "vector": arrow.array(rows.tolist(), arrow.list_(arrow.float32(), rows.shape[1])),
    }
    pyarrow.parquet.write_table(arrow.table(columns), tmp_path / "texts.parquet")
    with serving(Session(tmp_path / "texts.parquet")) as address:
        window.goto(f"{address}&like=1")
        window.wait_for_selector("#list li")
        window.wait_for_selector("#map[data-drawn]")
        window.select_option("#color", f"column:{ATTACKS[0]}")
        window.wait_for_selector(f"#legend button:has-text('{ATTACKS[1]}')")
        assert ATTACKS[0] in window.inner_text("#reading dl"), "the control: it is shown"
        type_attacks(window)


def test_the_report_shows_hostile_words_as_text(window, tmp_path):
    words, rows = hostile_table()
    name = FILE.replace("/", "")
    write_vectors(tmp_path / name, [(words, rows)])
    pairs = "".join(
        f"{left}\t{right}\t{i}\n"
        for i, (left, right) in enumerate(zip(words[:60], words[60:120], strict=True))
    )
    (tmp_path / "<img src=x onerror=window.owned=1>.tsv").write_text(pairs, encoding="utf-8")
    run = call(
        *("compare", name, "--pairs", "<img src=x onerror=window.owned=1>.tsv"),
        *("--methods", "cn,abtt", "-o", "report.html"),
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert escape("<img src=x onerror=window.owned=1>") in report, "the control: it is in there"
    window.goto((tmp_path / "report.html").as_uri())
    window.wait_for_function("word => document.body.textContent.includes(word)", arg=ATTACKS[0])
    assert not [url for url in window.asked if not url.startswith("file:")]
