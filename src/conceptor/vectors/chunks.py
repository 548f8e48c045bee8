"""Read vectors in chunks: with progress, with steps applied, cached for later passes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import memory_bytes
from conceptor.vectors.table import WordVectors, as_word_vectors
from conceptor.vectors.vectors import SAMPLE, Vectors, WrappedVectors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress

    Rows = tuple[Sequence[str], NDArray[Any]]
    Chunks = Iterable[Rows]

__all__ = [
    "KeptVectors",
    "MappedVectors",
    "RowCollector",
    "as_vectors",
    "chunk_rows",
    "collect_rows",
    "even_chunks",
    "keep_vectors",
    "read_chunks",
]

# The approximate number of values in a chunk, and the bounds on its rows.
_CHUNK_NUMBERS = 5 << 18
_FEW, _MANY = 1 << 10, 1 << 16
# Chunks are not kept if the first ones suggest that all take this many times the limit.
_CLEARLY = 1.5
Transform = Callable[[Sequence[str], Any], Any]


def as_vectors(vectors: object, *, wordless: bool = False) -> Vectors:
    """Return anything that holds vectors as `Vectors`: a path is opened, a matrix wrapped.

    `wordless` accepts files whose rows have no words.
    """
    if isinstance(vectors, Vectors):
        return vectors
    if isinstance(vectors, (str, os.PathLike)):
        from conceptor.vectors.files import open_vectors

        return open_vectors(vectors, wordless=wordless)
    return as_word_vectors(vectors)


def read_chunks(
    vectors: Vectors, progress: Progress = silent, label: str = "reading"
) -> Iterator[Rows]:
    """Yield labels and rows, reporting progress."""
    seen = 0
    for chunk in vectors.chunks():
        seen += len(chunk[0])
        progress(label, vectors.fraction_read(), seen)
        yield chunk


def chunk_rows(dimension: int) -> int:
    """Return how many rows to process at a time: a power of two, about four megabytes."""
    return int(min(max(1 << (_CHUNK_NUMBERS // dimension).bit_length() - 1, _FEW), _MANY))


def even_chunks(chunks: Chunks, size: int | None = None) -> Iterator[Rows]:
    """Yield the same rows in chunks of one size, by default `chunk_rows`, with fewer at the end.

    Rows are copied only if a chunk ends elsewhere.
    """
    parts: list[Rows] = []
    held, wanted = 0, size or 0
    for words, rows in chunks:
        wanted = wanted or chunk_rows(rows.shape[1])
        start = 0
        while held + len(words) - start >= wanted:
            stop = start + wanted - held
            yield _join([*parts, (words[start:stop], rows[start:stop])])
            parts, held, start = [], 0, stop
        if start < len(words):
            parts.append((words[start:], rows[start:]))
            held += len(words) - start
    if parts:
        yield _join(parts)


def _join(parts: list[Rows]) -> Rows:
    from conceptor.vectors.words import PackedWords

    if len(parts) == 1:
        return parts[0]
    runs = [words for words, _ in parts]
    packed = [words for words in runs if isinstance(words, PackedWords)]
    is_packed = len(packed) == len(runs)
    words = PackedWords.concatenate(packed) if is_packed else list(chain.from_iterable(runs))
    return words, np.concatenate([rows for _, rows in parts])


def number_chunks(chunks: Chunks) -> Iterator[tuple[int, Sequence[str], Any]]:
    """Yield the number of rows before each chunk, and its words and rows."""
    before = 0
    for words, rows in chunks:
        yield before, words, rows
        before += len(words)


class MappedVectors(WrappedVectors):
    """Vectors with some steps applied, in order, to each chunk.

    `dimension` is the dimension of the result, if the steps change it.
    """

    def __init__(
        self, wrapped: Vectors, steps: Iterable[Transform], dimension: int | None = None
    ) -> None:
        super().__init__(wrapped)
        self.steps = tuple(steps)
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """The length of a vector after the steps."""
        return self.wrapped.dimension if self._dimension is None else self._dimension

    def chunks(self) -> Iterator[Rows]:
        """Yield words and transformed rows."""
        for words, rows in self.wrapped.chunks():
            yield words, through(words, rows, self.steps)


def through(words: Sequence[str], rows: Any, steps: Iterable[Transform]) -> Any:  # noqa: ANN401
    """Apply some steps to rows."""
    for step in steps:
        rows = step(words, rows)
    return rows


def keep_vectors(vectors: Vectors, limit: int | None = None) -> KeptVectors:
    """Return the source, wrapped for rereading.

    `limit` is how many bytes may be kept; by default a quarter of the machine's memory.
    """
    if isinstance(vectors, KeptVectors):
        return vectors
    return KeptVectors(vectors, memory_bytes() // 4 if limit is None else limit)


class KeptVectors(WrappedVectors):
    """Vectors whose chunks are kept in memory for later passes, if they fit into `limit` bytes.

    Nothing is kept if reading again is cheap. Reading the first words begins a pass that the next
    `chunks` continues, so it costs no extra pass.
    """

    def __init__(self, wrapped: Vectors, limit: int) -> None:
        super().__init__(wrapped)
        self._limit = limit if wrapped.worth_keeping else 0
        self._kept: list[Any] = []
        self._complete = False
        # The progress of a pass over chunks in memory; None if they come from the file.
        self._done: float | None = None
        self._first_words: list[str] | None = None
        self._begun: list[Any] = []
        self._rest: Iterator[Any] | None = None

    @property
    def worth_keeping(self) -> bool:
        """Never: this class keeps the rows itself."""
        return False

    def first_words(self) -> list[str]:
        """Return the first labels; the source is read for them only once."""
        if self._first_words is None:
            self._first_words = []
            self._rest = self.wrapped.chunks()
            for chunk in self._rest:
                self._begun.append((chunk, self.wrapped.fraction_read()))
                self._first_words.extend(chunk[0][: SAMPLE - len(self._first_words)])
                if len(self._first_words) >= SAMPLE:
                    break
        return self._first_words

    def chunks(self) -> Iterator[Any]:
        """Yield the chunks, from memory if all of them were kept."""
        if self._complete:
            for number, chunk in enumerate(self._kept, start=1):
                self._done = number / len(self._kept)
                yield chunk
            return
        kept: list[Any] = []
        size, keeps = 0, self._limit > 0
        for chunk in self._one_pass():
            size += chunk[1].nbytes + _words_bytes(chunk[0])
            keeps = keeps and size <= self._limit and not self._exceeds_limit(size)
            if keeps:
                kept.append(chunk)
            elif kept:
                kept = []
            yield chunk
        if keeps and size:
            self._kept, self._complete = kept, True

    def _exceeds_limit(self, size: int) -> bool:
        """Return whether all chunks will clearly not fit, given the size of those so far."""
        done = self.fraction_read()
        return done is not None and size > _CLEARLY * self._limit * done > 0

    def _one_pass(self) -> Iterator[Any]:
        """Continue the pass that `first_words` began, or start another."""
        begun, rest = self._begun, self._rest
        self._begun, self._rest = [], None
        if rest is None:
            self._done = None
            yield from self.wrapped.chunks()
            return
        begun.reverse()
        while begun:  # freed one by one
            chunk, self._done = begun.pop()
            yield chunk
        self._done = None
        yield from rest

    def last_chunks(self) -> Iterator[Any]:
        """Yield the chunks for the last time, freeing memory on the way."""
        if not self._complete:
            yield from self.chunks()
            return
        total = len(self._kept)
        self._kept.reverse()
        self._complete = False
        while self._kept:
            chunk = self._kept.pop()
            self._done = 1 - len(self._kept) / total
            yield chunk

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self.wrapped.fraction_read() if self._done is None else self._done


def _words_bytes(words: Sequence[str]) -> int:
    from conceptor.vectors.words import PackedWords

    return words.nbytes if isinstance(words, PackedWords) else 0


def rows_to_keep(words: Sequence[str], wanted: Collection[str], first: int = 0) -> list[int]:
    """Return the rows of wanted words, and the first rows."""
    if not wanted and first <= 0:
        return []
    return [i for i, word in enumerate(words) if i < first or word in wanted]


class RowCollector:
    """Keeps the rows of wanted words, and the first rows, from a stream of chunks.

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
        """Return the kept rows, in the order of the stream."""
        if not self.count:
            raise InvalidInputError("there are no vectors to read")
        rows = np.concatenate(self._parts) if self._parts else np.zeros((0, 1), dtype=np.float32)
        return WordVectors(self._words, rows, np.array(self._places, dtype=np.int64))


def collect_rows(
    vectors: object, wanted: Collection[str], progress: Progress = silent
) -> WordVectors:
    """Return the rows of `wanted` words, in one pass."""
    collector = RowCollector(wanted)
    for words, rows in read_chunks(as_vectors(vectors), progress):
        collector.add(list(words), rows)
    return collector.table()
