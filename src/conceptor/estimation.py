"""One pass over vectors: the moments methods are fitted on, and the rows benchmarks ask for.

Memory is set by the benchmarks' vocabulary and the dimension, not by the length of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from conceptor.errors import InvalidInputError
from conceptor.evaluation.rows import RowCollector, chunks_of
from conceptor.usage import LENGTH_SAMPLE, Usage, read_words
from conceptor.vectors.pipeline import ordered_map, processors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.evaluation import WordVectors
    from conceptor.evaluation.rows import Chunks
    from conceptor.moments import Moments

__all__ = [
    "PAPER_VOCABULARY",
    "Gathered",
    "Weighting",
    "first_words",
    "gather",
    "paper_vocabulary",
]

PAPER_VOCABULARY = "vocabulary/enwiki_vocab_min200.txt"


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
    vectors: WordVectors
    count: int


def first_words(vectors: object) -> list[str]:
    """Return the first words: as many as `unsorted` looks at, if there are."""
    found: list[str] = []
    for words, _ in chunks_of(vectors):
        found.extend(words)
        if len(found) >= LENGTH_SAMPLE:
            break
    return found[:LENGTH_SAMPLE]


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
    collector = RowCollector(wanted, first)

    def numbered() -> Iterator[tuple[int, list[str], NDArray[Any]]]:
        before = 0
        for packed, vectors in chunks:
            names = list(packed)
            yield before, names, vectors
            before += len(names)

    def moments_of(
        part: tuple[int, list[str], NDArray[Any]],
    ) -> tuple[list[str], NDArray[Any], list[Moments | None]]:
        before, names, vectors = part
        found = [weighting.usage.moments(names, vectors, before) for weighting in weightings]
        return names, vectors, found

    # Several chunks at a time, one BLAS thread each: such small products do not split well.
    with threadpool_limits(1):
        for names, vectors, found in ordered_map(moments_of, numbered(), processors()):
            collector.add(names, vectors)
            for i, more in enumerate(found):
                known = totals[i]
                totals[i] = known if more is None else more if known is None else known + more
    for weighting, total in zip(weightings, totals, strict=True):
        if total is None:
            raise InvalidInputError(
                f"the vectors hold none of {weighting.description}; choose other words to fit on, "
                "with --vocabulary or --weights"
            )
    moments = [total for total in totals if total is not None]
    return Gathered(moments, collector.vectors(), collector.count)
