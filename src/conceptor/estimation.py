"""One pass over vectors: the moments methods are fitted on, and the rows benchmarks ask for.

Memory is set by the benchmarks' vocabulary and the dimension, not by the length of the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.errors import InvalidInputError
from conceptor.evaluation import WordVectors
from conceptor.evaluation.lookup import as_word_vectors
from conceptor.moments import Moments
from conceptor.progress import Progress, silent
from conceptor.usage import Tally, Usage, read_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Chunks = Iterable[tuple[Sequence[str], NDArray[Any]]]

__all__ = ["PAPER_VOCABULARY", "Gathered", "Weighting", "chunks_of", "gather", "paper_vocabulary"]

PAPER_VOCABULARY = "vocabulary/enwiki_vocab_min200.txt"
_CHUNK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class Weighting:
    """Which words a moment is taken over and how much each counts, also in words."""

    usage: Usage
    description: str


def paper_vocabulary(path: Path) -> Weighting:
    """Return the paper's estimation vocabulary, from its file."""
    return Weighting(
        Usage(vocabulary=frozenset(read_words(path))),
        "the words with 200 or more occurrences in Wikipedia (2015)",
    )


@dataclass(frozen=True, eq=False)
class Gathered:
    """What one pass found: moments under each weighting, rows to evaluate, how many vectors."""

    moments: list[Moments]
    squared_weights: list[float]
    vectors: WordVectors
    count: int


def gather(
    chunks: Chunks,
    weightings: Sequence[Weighting],
    wanted: Collection[str],
    *,
    first: int = 0,
) -> Gathered:
    """Read a stream once: moments under each weighting, and the rows of `wanted` words.

    The first `first` rows are kept as well, as candidates for analogies.
    """
    totals: list[Moments | None] = [None] * len(weightings)
    tallies = [Tally(weighting.usage) for weighting in weightings]
    words: list[str] = []
    parts: list[NDArray[Any]] = []
    start = 0
    for packed, vectors in chunks:
        names = list(packed)
        for i, tally in enumerate(tallies):
            rows, weights = tally.of(names, start)
            if rows is None or len(rows):
                more = Moments.of(vectors if rows is None else vectors[rows], weights)
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
    squared = [tally.squared_weight for tally in tallies]
    return Gathered(moments, squared, WordVectors(words, np.concatenate(parts)), start)


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
