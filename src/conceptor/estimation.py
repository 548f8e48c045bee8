"""One pass over vectors: the moments methods are fitted on, and the rows benchmarks ask for.

Memory is set by the benchmarks' vocabulary and the dimension, not by the length of the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from conceptor.errors import InvalidInputError
from conceptor.evaluation import WordVectors
from conceptor.evaluation.lookup import as_word_vectors
from conceptor.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Selection = tuple[NDArray[np.intp], NDArray[np.float64] | None]

__all__ = [
    "Counts",
    "FirstWords",
    "Weighting",
    "WordList",
    "ZipfRanks",
    "chunks_of",
    "gather",
    "paper_vocabulary",
    "read_counts",
]

PAPER_VOCABULARY = "vocabulary/enwiki_vocab_min200.txt"
_CHUNK_ROWS = 8192


class Weighting(Protocol):
    """Which words a moment is taken over, and how much each counts."""

    @property
    def description(self) -> str:
        """The choice in words."""

    def __call__(self, words: Sequence[str], start: int) -> Selection:
        """Return the rows that count and their weights (None: equal), row 0 having rank `start`."""


@dataclass(frozen=True)
class WordList:
    """Every word of a list, equally."""

    words: Collection[str] = field(repr=False)
    description: str

    def __call__(self, words: Sequence[str], start: int) -> Selection:
        """Pick the listed words."""
        known = self.words
        return np.flatnonzero([word in known for word in words]), None


@dataclass(frozen=True)
class FirstWords:
    """The first words of the file, equally."""

    count: int

    @property
    def description(self) -> str:
        """The choice in words."""
        return f"the first {self.count:,} words"

    def __call__(self, words: Sequence[str], start: int) -> Selection:
        """Pick rows by their rank."""
        return np.arange(max(0, min(len(words), self.count - start))), None


@dataclass(frozen=True)
class ZipfRanks:
    """Every word, by its rank r = 0, 1, … in a file sorted by frequency: 1 / (r + 2.7)."""

    description: str = "ranks in the file, 1/(rank + 2.7)"

    def __call__(self, words: Sequence[str], start: int) -> Selection:
        """Weigh all rows."""
        rows = np.arange(len(words))
        return rows, np.reciprocal(start + rows + 2.7)


@dataclass(frozen=True)
class Counts:
    """Every word that was counted, by its count."""

    counts: Mapping[str, float] = field(repr=False, hash=False)
    description: str

    def __call__(self, words: Sequence[str], start: int) -> Selection:
        """Weigh the rows whose words were counted."""
        found = np.array([self.counts.get(word, 0.0) for word in words])
        rows = np.flatnonzero(found > 0)
        return rows, found[rows]


def read_counts(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read "word count" lines (a word without a count counts 1); the first line of a word stays."""
    counts: dict[str, float] = {}
    with Path(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            parts = line.split()
            if not parts:
                continue
            try:
                count = float(parts[1]) if len(parts) > 1 else 1.0
            except ValueError:
                count = -1.0
            if len(parts) > 2 or not 0 <= count < float("inf"):
                raise InvalidInputError(
                    f"{os.fspath(path)}, line {number}: expected a word and its count"
                )
            counts.setdefault(parts[0], count)
    if not counts:
        raise InvalidInputError(f"{os.fspath(path)} holds no words")
    return counts


def paper_vocabulary(path: str | os.PathLike[str]) -> WordList:
    """Return the paper's estimation vocabulary, from its file."""
    return WordList(
        frozenset(read_counts(path)), "the words with 200 or more occurrences in Wikipedia (2015)"
    )


@dataclass(frozen=True, eq=False)
class Gathered:
    """What one pass found: moments under each weighting, rows to evaluate, how many vectors."""

    moments: list[Moments]
    vectors: WordVectors
    count: int


def gather(
    chunks: Iterable[tuple[Sequence[str], NDArray[Any]]],
    weightings: Sequence[Weighting],
    wanted: Collection[str],
    *,
    first: int = 0,
) -> Gathered:
    """Read a stream once: moments under each weighting, and the rows of `wanted` words.

    The first `first` rows are kept as well, as candidates for analogies.
    """
    totals: list[Moments | None] = [None] * len(weightings)
    words: list[str] = []
    parts: list[NDArray[Any]] = []
    start = 0
    for chunk_words, vectors in chunks:
        names = list(chunk_words)
        for i, weighting in enumerate(weightings):
            rows, weights = weighting(names, start)
            if len(rows):
                chosen = vectors if len(rows) == len(names) else vectors[rows]
                more = Moments.of(chosen, weights)
                known = totals[i]
                totals[i] = more if known is None else known + more
        keep = [i for i, word in enumerate(names) if start + i < first or word in wanted]
        words.extend(names[i] for i in keep)
        parts.append(vectors[keep])
        start += len(names)
    for weighting, total in zip(weightings, totals, strict=True):
        if total is None:
            raise InvalidInputError(f"the vectors hold none of {weighting.description}")
    moments = [total for total in totals if total is not None]
    return Gathered(moments, WordVectors(words, np.concatenate(parts)), start)


def chunks_of(vectors: object) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
    """Yield words and rows of whatever was given: a path, an open source, or vectors in memory."""
    if isinstance(vectors, str | os.PathLike):
        from conceptor.vectors import open_vectors

        yield from open_vectors(vectors).chunks()
    elif hasattr(vectors, "chunks"):
        yield from vectors.chunks()
    else:
        whole = as_word_vectors(vectors)
        for start in range(0, len(whole), _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            yield whole.words[part], whole.vectors[part]
