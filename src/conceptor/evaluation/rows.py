"""Vectors from wherever they are, and of those the rows that benchmarks ask for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.errors import InvalidInputError
from conceptor.evaluation.lookup import WordVectors, as_word_vectors
from conceptor.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Chunks = Iterable[tuple[Sequence[str], NDArray[Any]]]

__all__ = ["RowCollector", "chunks_of", "collect"]

_CHUNK_ROWS = 8192


def chunks_of(vectors: object, progress: Progress = silent) -> Iterator[tuple[Sequence[str], Any]]:
    """Yield words and rows of whatever was given: a path, an open source, or vectors in memory."""
    from conceptor.vectors import VectorSource, open_vectors

    if isinstance(vectors, str | os.PathLike):
        vectors = open_vectors(vectors)
    if isinstance(vectors, VectorSource):
        seen = 0
        for chunk in vectors.chunks():
            seen += len(chunk.words)
            progress("reading", vectors.fraction_read(), seen)
            yield chunk
        return
    whole = as_word_vectors(vectors)
    for start in range(0, len(whole), _CHUNK_ROWS):
        part = slice(start, start + _CHUNK_ROWS)
        yield whole.words[part], whole.vectors[part]


class RowCollector:
    """Keeps the rows of wanted words, and the first ones, from a stream of chunks.

    A benchmark needs some ten thousand rows; a file may have millions.
    """

    def __init__(self, wanted: Collection[str], first: int = 0) -> None:
        self.count = 0
        self._wanted = wanted
        self._first = first
        self._words: list[str] = []
        self._parts: list[NDArray[Any]] = []

    def add(self, words: Sequence[str], vectors: NDArray[Any]) -> None:
        """Take the next chunk."""
        more = self._first - self.count
        keep = [i for i, word in enumerate(words) if i < more or word in self._wanted]
        self._words.extend(words[i] for i in keep)
        self._parts.append(vectors[keep])
        self.count += len(words)

    def vectors(self) -> WordVectors:
        """Return what was kept, in the order of the stream."""
        if not self._parts:
            raise InvalidInputError("there are no vectors to evaluate")
        return WordVectors(self._words, np.concatenate(self._parts))


def collect(chunks: Chunks, wanted: Collection[str], first: int = 0) -> WordVectors:
    """Return the rows of `wanted` words and the `first` ones of a stream."""
    collector = RowCollector(wanted, first)
    for words, vectors in chunks:
        collector.add(list(words), vectors)
    return collector.vectors()
