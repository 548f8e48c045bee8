"""Rows of texts: an array or a file, with the text of each row."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.vectors.files import as_vectors, open_vectors
from conceptor.vectors.formats.npy import normal_lines
from conceptor.vectors.table import MISSING
from conceptor.vectors.vectors import RowKind, Rows, Vectors

__all__ = ["BACKGROUND_ROWS", "SomeRows", "as_texts", "plain_text", "read_some"]

# The number of random rows whose pairs give cosines a meaning.
BACKGROUND_ROWS = 4000


def plain_text(text: str) -> str:
    """Return the form of a text for lookups: runs of spaces and line ends become one space."""
    return " ".join(text.split())


def as_texts(vectors: object, texts: Any = None) -> Vectors:  # noqa: ANN401
    """Return vectors whose rows are texts, which may repeat.

    Parameters
    ----------
    vectors : path, array, Vectors, (texts, array), ...
    texts : path or iterable of str, optional
        The text of each row; a file has one per line. By default the labels of the rows, or their
        numbers, from 1, if they have no labels.
    """
    if isinstance(vectors, (str, os.PathLike)):
        opened = open_vectors(vectors, rows=str(RowKind.TEXTS))
    else:
        opened = as_vectors(vectors)
    opened = replace(opened, kind=RowKind.TEXTS, evidence="", ranked=False)
    if texts is None:
        return opened
    if isinstance(texts, (str, os.PathLike)):
        return _labeled(opened, _read_texts(Path(texts)), os.fspath(texts))
    strings = list(texts)
    for text in strings:
        if not isinstance(text, str):
            raise InvalidInputError(f"texts must be strings; one is a {type(text).__name__}")
    return _labeled(opened, list(map(plain_text, strings)), "texts")


def _labeled(vectors: Vectors, texts: list[str], where: str) -> Vectors:
    """Return vectors with a text for each row; reading raises unless there is one per row."""

    def read() -> Iterator[Rows]:
        before = 0
        for labels, rows, places in vectors.read():
            end = before + len(labels)
            if end <= len(texts):
                yield Rows(texts[before:end], rows, places)
            before = end
        if before != len(texts):
            raise InvalidInputError(
                f"{where}: {len(texts):,} texts for the {before:,} rows of {vectors.name}; pass "
                "one text per row, in the same order"
            )

    return replace(vectors, read=read, has_words=True)


def _read_texts(path: Path) -> list[str]:
    """Read one text per line, including empty ones."""
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a directory, not a file of texts")
    try:
        lines = normal_lines(path.read_bytes()).decode().split("\n")
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file of texts") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}, byte {error.start}: not UTF-8") from None
    return lines[:-1]


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Chosen rows of vectors, in the order of the file."""

    count: int  # of all rows
    places: NDArray[np.int64]  # of the chosen rows among all rows, from 0
    texts: list[str]
    vectors: NDArray[Any]
    sample: NDArray[np.intp]  # indices of the rows of a random sample, in random order
    named: dict[str, int]  # for each requested text, the index of the first row with it

    def find(self, request: str | int) -> int:
        """Return the index of a row by text, number or index; `MISSING` if it was not requested."""
        if isinstance(request, str) and plain_text(request) in self.named:
            return self.named[plain_text(request)]
        place = _place(request)
        if place is None or not 0 <= place < self.count:
            return MISSING
        return int(np.searchsorted(self.places, place))


def _place(request: str | int) -> int | None:
    """Return a row's place from 0: an integer is an index, a string a number from 1."""
    if isinstance(request, str):
        text = request.strip()
        return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 16 else None
    return int(request)


def read_some(
    vectors: Vectors,
    size: int = 0,
    requests: Collection[str | int] = (),
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> SomeRows:
    """Return a random sample of rows, and the requested rows, in one pass.

    `requests` are texts, their numbers from 1 as strings, or indices from 0. A matching text wins
    over a matching number. Every row draws a random number, and the rows with the smallest numbers
    are the sample. So no count is needed, and memory holds only the sample.
    """
    texts = {plain_text(each) for each in requests if isinstance(each, str)}
    wanted = {place for each in requests if (place := _place(each)) is not None}
    named: dict[str, int] = {}
    rng = np.random.default_rng(seed)
    keys, drawn = np.zeros(0), np.zeros(0, dtype=np.int64)
    chosen: dict[int, tuple[str, NDArray[Any]]] = {}
    count = 0
    for labels, rows in vectors.chunks(progress):
        before, count = count, count + len(labels)
        if texts:
            for place, label in enumerate(map(plain_text, labels), start=before):
                if label in texts and named.setdefault(label, place) == place:
                    wanted.add(place)
        keys = np.concatenate([keys, rng.random(len(labels))])
        drawn = np.concatenate([drawn, np.arange(before, count)])
        best = np.argsort(keys, kind="stable")[:size]
        keys, drawn = keys[best], drawn[best]
        new = {*drawn[drawn >= before].tolist(), *(each for each in wanted if each >= before)}
        chosen = {place: chosen[place] for place in chosen.keys() & {*drawn.tolist(), *wanted}}
        for place in (each for each in new if each < count):
            chosen[place] = labels[place - before], rows[place - before].copy()
    if not count:
        raise InvalidInputError(f"{vectors.name}: contains no vectors")
    order = sorted(chosen)
    places = np.array(order, dtype=np.int64)
    matrix = np.stack([chosen[each][1] for each in order]) if chosen else rows[:0]
    numbers = {text: int(np.searchsorted(places, place)) for text, place in named.items()}
    sample = np.searchsorted(places, drawn)
    return SomeRows(count, places, [chosen[each][0] for each in order], matrix, sample, numbers)
