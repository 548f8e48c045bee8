"""Look at the built site as a reader gets it: python docs/check_site.py SITE. The build does too.

MkDocs' strict build follows links between pages, but does not notice a fence that it did not
understand, a code block that is wider than its column, an anchor in HTML, or a picture that is
loaded from elsewhere.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What Markdown leaves in the text if it takes a block for something else.
MARKUP = re.compile(r"```|~~~|^(\?\?\?|!!!) |--8<--|\]\((?!\s)|^\|.*\|$", re.MULTILINE)
# Characters of a line of code that fit beside both columns of a window of 1366 pixels;
# tests/test_site.py measures it in a browser. Of these classes lines are wrapped (site.css).
COLUMNS = 100
WRAPPED = {"language-json", "output"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """What the check needs of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.code: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.open_tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value for key, value in attrs if value is not None}
        if tag not in VOID:
            wrapped = WRAPPED & set(given.get("class", "").split())
            self.open_tags.append("wrapped" if wrapped and tag == "div" else tag)
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "pre" and "wrapped" not in self.open_tags:
            self.code.append("")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or (tag == "link" and given.get("rel") == "stylesheet"):
            self.loaded.append(given.get("src") or given["href"])

    def handle_endtag(self, tag: str) -> None:
        tags = {tag, "wrapped"} if tag == "div" else {tag}
        while tags & set(self.open_tags) and self.open_tags.pop() not in tags:
            pass

    def handle_data(self, data: str) -> None:
        if "pre" in self.open_tags:
            if "wrapped" not in self.open_tags:
                self.code[-1] += data
        elif not {"code", "script", "style"} & set(self.open_tags):
            self.text.append(data)


def check(site: Path) -> list[str]:
    """Return what is wrong with a built site, a line each."""
    pages = {path: Page() for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        page.feed(path.read_text(encoding="utf-8"))
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        found = [*_markup(page), *_wide(page), *_elsewhere(page)]
        if name != "404.html":  # its links are from the root of a server
            found += [link for link in page.links if not _leads_somewhere(link, path, pages)]
        wrong += [f"{name}: {each}" for each in found]
    return wrong


def _markup(page: Page) -> list[str]:
    text = "".join(page.text)
    return [f"literal markup: {_around(text, found)}" for found in MARKUP.finditer(text)]


def _around(text: str, found: re.Match[str]) -> str:
    return " ".join(text[max(found.start() - 20, 0) : found.end() + 40].split())


def _wide(page: Page) -> list[str]:
    lines = [line for block in page.code for line in block.splitlines()]
    return [f"a line of code is cut at 1366 px: {line}" for line in lines if len(line) > COLUMNS]


def _elsewhere(page: Page) -> list[str]:
    return [f"loaded from elsewhere: {url}" for url in page.loaded if "//" in url[:8]]


def _leads_somewhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link in ("#", "."):
        return True
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target /= "index.html"
    page = pages.get(target)
    if page is None:
        return target.is_file()
    return not parts.fragment or unquote(parts.fragment) in page.anchors


if __name__ == "__main__":
    sys.exit("\n".join(check(Path(sys.argv[1]).resolve())))
