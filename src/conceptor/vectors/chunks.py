"""The one way to read vectors, wherever they are: words and rows in chunks, in order.

`read_chunks` reads a file, an open source, a table in memory or vectors with a map applied.
`collect_rows` keeps some rows of a stream; `KeptChunks` keeps chunks for a second pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.vectors.table import WordVectors, as_word_vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.vectors.source import Chunk, VectorSource

    Chunks = Iterable[tuple[Sequence[str], NDArray[Any]]]

__all__ = [
    "KeptChunks",
    "MappedVectors",
    "RowCollector",
    "Vectors",
    "as_vectors",
    "collect_rows",
    "read_chunks",
    "vectors_name",
]

Transform = Callable[[Sequence[str], Any], Any]


class Vectors(Protocol):
    """Words and rows that can be read any number of times."""

    def chunks(self) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield words and rows in order."""


def as_vectors(vectors: object) -> Vectors:
    """Return something with `chunks()`: a path is opened, a matrix with words is wrapped."""
    if isinstance(vectors, (str, os.PathLike)):
        from conceptor.vectors.files import open_vectors

        return open_vectors(vectors)
    if hasattr(vectors, "chunks"):
        chunked: Vectors = vectors
        return chunked
    return as_word_vectors(vectors)


def vectors_name(vectors: object) -> str:
    """Return the name of some vectors in results: their path, if they have one."""
    vectors = getattr(vectors, "path", vectors)
    return str(vectors) if isinstance(vectors, str | os.PathLike) else "vectors"


def read_chunks(
    vectors: object, progress: Progress = silent, label: str = "reading"
) -> Iterator[tuple[Sequence[str], Any]]:
    """Yield words and rows of a path, an open source or vectors in memory, reporting progress."""
    opened = as_vectors(vectors)
    fraction_read = getattr(opened, "fraction_read", lambda: None)
    seen = 0
    for chunk in opened.chunks():
        seen += len(chunk[0])
        progress(label, fraction_read(), seen)
        yield chunk


def number_chunks(chunks: Chunks) -> Iterator[tuple[int, Sequence[str], Any]]:
    """Yield how many rows came before, words and rows of each chunk."""
    before = 0
    for words, rows in chunks:
        yield before, words, rows
        before += len(words)


@dataclass(frozen=True, eq=False)
class MappedVectors:
    """Vectors with some steps applied.

    Attributes
    ----------
    vectors : path, open source, (words, array), ...
    steps : functions of words and rows
        Applied in order to each chunk.
    """

    vectors: object
    steps: tuple[Transform, ...]

    def chunks(self) -> Iterator[tuple[Sequence[str], Any]]:
        """Yield words and transformed rows."""
        for words, rows in read_chunks(self.vectors):
            yield words, through(words, rows, self.steps)


def through(words: Sequence[str], rows: Any, steps: Iterable[Transform]) -> Any:  # noqa: ANN401
    """Take rows through some steps."""
    for step in steps:
        rows = step(words, rows)
    return rows


class KeptChunks:
    """A file's chunks, kept in memory for later passes if they fit into `limit` bytes.

    They are kept only where decoding costs more than reading the bytes again.
    """

    def __init__(self, source: VectorSource, limit: int) -> None:
        self.source = source
        self._limit = limit if source.worth_keeping else 0
        self._kept: list[Chunk] = []
        self._complete = False
        self._done = 0.0

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @property
    def counts(self) -> Mapping[str, float] | None:
        """How often words occur in text, if the file tells."""
        return self.source.counts

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks: from memory if all of them were kept, else from the file."""
        if self._complete:
            for number, chunk in enumerate(self._kept, start=1):
                self._done = number / len(self._kept)
                yield chunk
            return
        self._kept, size = [], 0
        for chunk in self.source.chunks():
            size += chunk.vectors.nbytes + chunk.words.nbytes
            if size <= self._limit:
                self._kept.append(chunk)
            elif self._kept:
                self._kept = []
            yield chunk
        self._complete = 0 < size <= self._limit

    def last_chunks(self) -> Iterator[Chunk]:
        """Yield the chunks for the last time, freeing memory on the way."""
        if not self._complete:
            yield from self.chunks()
            return
        total = len(self._kept)
        self._kept.reverse()
        while self._kept:
            chunk = self._kept.pop()
            self._done = 1 - len(self._kept) / total
            yield chunk

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._done if self._complete else self.source.fraction_read()


def rows_to_keep(words: Sequence[str], wanted: Collection[str], first: int = 0) -> list[int]:
    """Return the rows of wanted words, and the first ones."""
    if not wanted and first <= 0:
        return []
    return [i for i, word in enumerate(words) if i < first or word in wanted]


class RowCollector:
    """Keeps the rows of wanted words, and the first ones, from a stream of chunks.

    A benchmark needs about ten thousand rows; a file may have millions.
    """

    def __init__(self, wanted: Collection[str], first: int = 0) -> None:
        self.count = 0
        self._wanted = wanted
        self._first = first
        self._words: list[str] = []
        self._places: list[int] = []
        self._parts: list[NDArray[Any]] = []

    def add(self, words: Sequence[str], vectors: NDArray[Any]) -> None:
        """Take the next chunk."""
        keep = rows_to_keep(words, self._wanted, self._first - self.count)
        if keep:
            self._words.extend(words[i] for i in keep)
            self._places.extend(self.count + i for i in keep)
            self._parts.append(vectors[keep])
        self.count += len(words)

    def table(self) -> WordVectors:
        """Return what was kept, in the order of the stream."""
        if not self.count:
            raise InvalidInputError("there are no vectors to read")
        rows = np.concatenate(self._parts) if self._parts else np.zeros((0, 1), dtype=np.float32)
        return WordVectors(self._words, rows, np.array(self._places, dtype=np.int64))


def collect_rows(
    vectors: object, wanted: Collection[str], progress: Progress = silent
) -> WordVectors:
    """Return the rows of `wanted` words, in one pass."""
    collector = RowCollector(wanted)
    for words, rows in read_chunks(vectors, progress):
        collector.add(list(words), rows)
    return collector.table()
