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

# The number of random rows whose pairs give cosines a meaning.
BACKGROUND_ROWS = 4000


def plain_text(text: str) -> str:
    """Return the form of a text for lookups: runs of spaces and line ends become one space."""
    return " ".join(text.split())


def as_texts(vectors: object, texts: Any = None) -> Vectors:  # noqa: ANN401
    """Return vectors whose rows are texts, which may repeat.

    `texts` has the text of each row: a file with one per line, or strings. By default they are the
    labels of the rows, or their numbers, from 1.
    """
    if isinstance(vectors, (str, os.PathLike)):
        vectors = open_vectors(vectors, rows=str(RowKind.TEXTS))
    opened = replace(as_vectors(vectors), kind=RowKind.TEXTS, evidence="", ranked=False)
    if texts is None:
        return opened
    if isinstance(texts, (str, os.PathLike)):
        where, path = os.fspath(texts), Path(texts)
        try:
            labels = normal_lines(path.read_bytes()).decode().split("\n")[:-1]
        except (FileNotFoundError, IsADirectoryError):
            raise InvalidInputError(f"{path}: no such file of texts") from None
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{path}, byte {error.start}: not UTF-8") from None
    else:
        where, labels = "texts", []
        for text in texts:
            if not isinstance(text, str):
                raise InvalidInputError(f"texts must be strings; one is a {type(text).__name__}")
            labels.append(plain_text(text))

    def read() -> Iterator[Rows]:
        before = 0
        for _, rows, places in opened.read():
            end = before + len(rows)
            if end <= len(labels):
                yield Rows(labels[before:end], rows, places)
            before = end
        if before != len(labels):
            raise InvalidInputError(
                f"{where}: {len(labels):,} texts for the {before:,} rows of {opened.name}; pass "
                "one text per row, in the same order"
            )

    return replace(opened, read=read, has_words=True)


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

    `requests` are texts, their numbers from 1 as strings, or indices from 0; a text wins over a
    number. The sample is the rows that draw the smallest random numbers, so no count is needed.
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
