"""Rows of texts: an array or a file, with the texts that its rows were made of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.vectors.chunks import as_vectors, number_chunks, read_chunks
from conceptor.vectors.files import open_vectors
from conceptor.vectors.formats.words_file import normal_lines, split_lines
from conceptor.vectors.source import number_rows
from conceptor.vectors.table import MISSING, WordVectors
from conceptor.vectors.vectors import RowKind, WrappedVectors
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.vectors.vectors import Vectors

__all__ = [
    "BACKGROUND_ROWS",
    "SomeRows",
    "TextVectors",
    "as_texts",
    "plain_text",
    "read_some",
]


# Random rows whose pairs say what a cosine means.
BACKGROUND_ROWS = 4000


def plain_text(text: str) -> str:
    """Return a text as it is looked up: blanks and line ends count as one blank."""
    return " ".join(text.split())


class TextVectors(WrappedVectors):
    """Vectors whose rows are texts, which need not differ.

    Parameters
    ----------
    wrapped : Vectors
    texts : PackedWords, optional
        One for each row; by default rows keep the labels they have.
    where : str
        What messages call the texts.
    """

    def __init__(
        self, wrapped: Vectors, texts: PackedWords | None = None, where: str = "texts"
    ) -> None:
        super().__init__(wrapped)
        self._texts, self._where = texts, where

    @property
    def has_words(self) -> bool:
        """Whether the texts are known."""
        return self._texts is not None or self.wrapped.has_words

    @property
    def kind(self) -> RowKind:
        """Texts."""
        return RowKind.TEXTS

    @property
    def kind_evidence(self) -> str:
        """None is needed."""
        return ""

    @property
    def ranked(self) -> bool:
        """Texts have no order of frequency."""
        return False

    def first_words(self) -> list[str]:
        """Return the first texts."""
        return super(WrappedVectors, self).first_words()

    def chunks(self) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield texts and rows; raise if there is not one text for each row."""
        if self._texts is None:
            for before, labels, rows in number_chunks(self.wrapped.chunks()):
                known = self.wrapped.has_words
                yield labels if known else number_rows(before, before + len(labels)), rows
            return
        texts, before = self._texts, 0
        for labels, rows in self.wrapped.chunks():
            end = before + len(labels)
            if end <= len(texts):
                yield texts[before:end], rows
            before = end
        if before != len(texts):
            raise InvalidInputError(
                f"{self._where}: {len(texts):,} texts for the {before:,} rows of {self.name}; "
                "give one text for each row, in their order"
            )


def as_texts(vectors: object, texts: object = None) -> Vectors:
    """Return vectors whose rows are texts.

    Parameters
    ----------
    vectors : path, array, Vectors, (texts, array), ...
    texts : path or iterable of str, optional
        The text of each row; a file has one per line. By default the labels that rows have, which
        are their numbers, from 1, where there are no others.
    """
    if isinstance(vectors, np.ndarray):
        opened: Vectors = WordVectors([""] * len(vectors), vectors, has_words=False)
    elif isinstance(vectors, (str, os.PathLike)):
        opened = open_vectors(vectors, wordless=True, rows=str(RowKind.TEXTS))
    else:
        opened = as_vectors(vectors, wordless=True)
    if texts is None:
        known = opened.kind is RowKind.TEXTS and opened.has_words
        return opened if known or isinstance(opened, TextVectors) else TextVectors(opened)
    if isinstance(texts, (str, os.PathLike)):
        return TextVectors(opened, _read_texts(Path(texts)), os.fspath(texts))
    return TextVectors(opened, PackedWords.from_words(map(plain_text, _strings(texts))))


def _strings(texts: Any) -> Iterable[str]:  # noqa: ANN401
    for text in texts:
        if not isinstance(text, str):
            raise InvalidInputError(f"texts must be strings; one is a {type(text).__name__}")
        yield text


def _read_texts(path: Path) -> PackedWords:
    """Read one text per line, also empty ones."""
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a directory, not a file of texts")
    try:
        found = split_lines(normal_lines(path.read_bytes()))
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file of texts") from None
    if (row := found.first_not_utf8()) >= 0:
        raise InvalidInputError(f"{path}, line {row + 1}: not UTF-8")
    return found


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some rows of vectors, in the order of the file.

    Attributes
    ----------
    count : int
        How many rows there are in all.
    places : array of int
        Where each of them stands among all, from 0.
    texts : list of str
    vectors : array
    sample : array of int
        Which of them are a random sample of all rows, in random order.
    named : dict of str to int
        Which of them is the first with a text that was asked for.
    """

    count: int
    places: NDArray[np.int64]
    texts: list[str]
    vectors: NDArray[Any]
    sample: NDArray[np.intp]
    named: dict[str, int]

    def find(self, asked: str | int) -> int:
        """Return which of them was asked for, by text, number or index; `MISSING` if none was."""
        named = self.named.get(plain_text(asked)) if isinstance(asked, str) else None
        if named is not None:
            return named
        place = _place(asked)
        if place is None or not 0 <= place < self.count:
            return MISSING
        return int(np.searchsorted(self.places, place))


def _place(asked: str | int) -> int | None:
    """Return a row's place from 0: an index in Python, or a number from 1 in writing."""
    if isinstance(asked, str):
        text = asked.strip()
        return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 16 else None
    return int(asked)


def read_some(
    vectors: Vectors,
    size: int = 0,
    asked: Collection[str | int] = (),
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> SomeRows:
    """Return a random sample of rows, and those that are asked for, in one pass.

    `asked` are texts, their numbers from 1 as strings, or indices from 0. A row whose text is asked
    for comes before one with that number. Every row draws a random number, and the rows with the
    smallest are the sample: so neither a count is needed nor memory for more than its rows.
    """
    texts = {plain_text(each) for each in asked if isinstance(each, str)}
    wanted = {place for each in asked if (place := _place(each)) is not None}
    named: dict[str, int] = {}
    rng = np.random.default_rng(seed)
    keys, drawn = np.zeros(0), np.zeros(0, dtype=np.int64)
    kept: dict[int, tuple[str, NDArray[Any]]] = {}
    count = 0
    for before, labels, rows in number_chunks(read_chunks(vectors, progress)):
        count = before + len(labels)
        if texts:
            for place, label in enumerate(map(plain_text, labels), start=before):
                if label in texts and named.setdefault(label, place) == place:
                    wanted.add(place)
        keys = np.concatenate([keys, rng.random(len(labels))])
        drawn = np.concatenate([drawn, np.arange(before, count)])
        best = np.argsort(keys, kind="stable")[:size]
        keys, drawn = keys[best], drawn[best]
        new = {*drawn[drawn >= before].tolist(), *(each for each in wanted if each >= before)}
        kept = {place: kept[place] for place in kept.keys() & {*drawn.tolist(), *wanted}}
        for place in (each for each in new if each < count):
            kept[place] = labels[place - before], rows[place - before].copy()
    if not count:
        raise InvalidInputError(f"{vectors.name}: contains no vectors")
    order = sorted(kept)
    places = np.array(order, dtype=np.int64)
    matrix = np.stack([kept[each][1] for each in order]) if kept else rows[:0]
    numbers = {text: int(np.searchsorted(places, place)) for text, place in named.items()}
    sample = np.searchsorted(places, drawn)
    return SomeRows(count, places, [kept[each][0] for each in order], matrix, sample, numbers)
