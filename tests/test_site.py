"""The site as a reader gets it, and the check that looks at it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.test_docs import ROOT, load

pytest.importorskip("mkdocs")

check_site, hooks = load("check_site"), load("hooks")


def checked(tmp_path: Path, body: str) -> list[str]:
    (tmp_path / "other.html").write_text('<h2 id="there">There</h2>')
    (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>")
    return check_site.check(tmp_path)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<p>```python no-run from x import y</p>", "literal markup"),
        ("<p>| a | b |</p>", "literal markup"),
        ("<p>see [this](other.md)</p>", "literal markup"),
        (f"<pre><code>{'x' * 101}</code></pre>", "cut at 1366 px"),
        ('<a href="gone.html">x</a>', "gone.html"),
        ('<a href="other.html#gone">x</a>', "other.html#gone"),
        ('<a href="#gone">x</a>', "#gone"),
        ('<img src="https://example.org/x.png">', "loaded from elsewhere"),
    ],
)
def test_what_is_wrong_is_found(body, said, tmp_path) -> None:
    (found,) = checked(tmp_path, body)
    assert found.startswith("index.html: ")
    assert said in found


@pytest.mark.parametrize(
    "body",
    [
        "<p><code>```</code> and <code>| a |</code></p>",
        f"<pre><code>{'x' * 100}\n```</code></pre>",
        f'<div class="language-json highlight"><pre><code>{"x" * 200}</code></pre></div>',
        '<a href="other.html#there">x</a><a href="https://example.org">y</a><h1 id="a">A</h1>',
        '<p id="b">b</p><a href="#b">x</a><br><img alt="" src="other.html">',
    ],
)
def test_what_is_right_passes(body, tmp_path) -> None:
    assert checked(tmp_path, body) == []


def page(markdown: str) -> SimpleNamespace:
    file = SimpleNamespace(src_path="a.md", dest_uri="guides/a.html")
    return SimpleNamespace(markdown=markdown, file=file)


def test_a_lost_heading_stops_the_build() -> None:
    kept = '<h1 id="a">A <code>b</code><a class="headerlink" href="#a">&para;</a></h1>'
    assert hooks.on_page_content(kept, page("# A `b`\n\n```sh\n# a comment\n```\n")) == kept
    with pytest.raises(hooks.PluginError, match="the heading 'Lost' is lost"):
        hooks.on_page_content(kept, page("# A `b`\n\n## Lost\n"))


def test_a_line_that_links_to_a_table_becomes_the_table() -> None:
    shown = hooks.on_page_markdown("[Words](../data/search.json#words)\n")
    assert shown.startswith('??? figures "Words"\n\n    | ')
    assert "23.68 / 83.13" in shown
    assert "[search.json](../data/search.json)" in shown
    inline = "See [the table](../data/search.json#words) for more.\n"
    assert hooks.on_page_markdown(inline) == inline
    with pytest.raises(hooks.PluginError, match=r"search\.json has no table gone"):
        hooks.on_page_markdown("[Words](../data/search.json#gone)\n")


def test_a_formula_at_the_beginning_of_a_line_stays_in_its_paragraph() -> None:
    markdown = pytest.importorskip("markdown")
    text = hooks.on_page_markdown("1. as\n   $`1/2`$ of a\n2. then\n\nso\n$`x`$, then\n")
    html = markdown.markdown(text)
    assert html.count("<p>") == 1
    assert html.count("<li>") == html.count("<math") == 2


def test_the_extra_brings_what_formats_signatures() -> None:
    """mkdocstrings wraps them with Ruff or Black, and depends on neither."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(line.startswith("ruff") for line in project["optional-dependencies"]["docs"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "--site-dir", str(target)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return target


@pytest.mark.slow
def test_the_site_works_from_a_disk_and_on_a_phone(site) -> None:
    """In a browser: no code is cut at 1366 pixels, no page is wider than 390, and search finds."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("apt-get install chromium")
    cut = """() => [...document.querySelectorAll('pre > code')]
        .filter(code => code.scrollWidth > code.clientWidth + 1).map(code => code.textContent)"""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        desk = browser.new_page(viewport={"width": 1366, "height": 800})
        phone = browser.new_page(viewport={"width": 390, "height": 800})
        for path in sorted(site.rglob("*.html")):
            desk.goto(path.as_uri())
            assert desk.evaluate(cut) == [], path.name
            phone.goto(path.as_uri())
            assert phone.evaluate("document.documentElement.scrollWidth") <= 390, path.name
            wide = ".filter(each => each.scrollWidth > each.clientWidth).length"
            assert not phone.evaluate(f"[...document.querySelectorAll('.formula')]{wide}"), path
        desk.fill(".md-search__input", "whitening")
        desk.locator(".md-search-result__item h1", has_text="Methods").wait_for()
        browser.close()
