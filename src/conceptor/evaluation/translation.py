"""Translation by nearest vectors: how often the right word is first, or among the first ten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import unit_rows32
from conceptor.base.progress import Progress, silent
from conceptor.evaluation.statistics import Mean, value
from conceptor.vectors.chunks import RowCollector, read_chunks
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors

# CSLS uses this many neighbours, as in its paper.
NEIGHBOURS = 10
# Vectors per block; the cosines of a block with all others are in memory at once.
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Translation:
    """The rank of each word's best translation, from 1.

    Attributes
    ----------
    ranks : array of int
        One for each word that has a vector, and a translation that has one.
    total : int
        The number of words in the dictionary.
    """

    ranks: NDArray[np.int64]
    total: int

    @property
    def statistics(self) -> dict[str, Mean]:
        """P@1, P@10 and the mean reciprocal rank."""
        return {
            "P@1": Mean(self.ranks <= 1),
            "P@10": Mean(self.ranks <= 10),
            "MRR": Mean(1 / self.ranks),
        }


def translate(
    source: WordVectors,
    target: WordVectors,
    dictionary: Sequence[tuple[str, str]],
    *,
    csls: bool = False,
    groups: NDArray[np.intp] | None = None,
) -> Translation:
    """Search the translations of words among all target vectors, by cosine.

    Parameters
    ----------
    source, target : WordVectors
        In one space.
    dictionary : pairs of words
        A word may have several translations; the one with the best rank counts.
    csls : bool
        Subtract how close either vector is to its ten nearest on the other side, so that vectors
        that are close to everything are not the answer to everything (Conneau et al. 2018).
    groups : array of int, optional
        Target words that count as one candidate: by default those with the same vector. If the
        vectors were mapped, pass the `distinct` groups from before, because products differ in
        their last digits.
    """
    gold: dict[str, list[str]] = {}
    for word, translation in dictionary:
        gold.setdefault(word, []).append(translation)
    same = distinct(target.vectors) if groups is None else groups
    first = np.full(int(same.max()) + 1, len(target), dtype=np.intp)
    np.minimum.at(first, same, np.arange(len(target)))
    words, answers = [], []
    for word, translations in gold.items():
        row = source.rows([word])[0]
        rows = target.rows(translations)
        if row != MISSING and (rows != MISSING).any():
            words.append(row)
            answers.append(same[rows[rows != MISSING]])
    pool, queries = unit_rows32(target.vectors[first]), unit_rows32(source.vectors[words])
    penalty = np.zeros(len(pool), dtype=np.float32)
    if csls:
        # Half of it, since the cosine is not doubled; the queries' own term does not change ranks.
        everything = unit_rows32(source.vectors)
        penalty = np.concatenate([_nearness(block, everything) / 2 for block in _blocks(pool)])
    ranks = []
    for start, block in zip(range(0, len(queries), _BLOCK), _blocks(queries), strict=True):
        scores = block @ pool.T - penalty
        for row, right in zip(scores, answers[start : start + _BLOCK], strict=True):
            ranks.append(1 + int(np.count_nonzero(row > row[right].max())))
    return Translation(np.array(ranks, dtype=np.int64), len(gold))


def distinct(vectors: NDArray[Any]) -> NDArray[np.intp]:
    """Return a number for each row; equal rows get the same number.

    Pruned tables give many words the same vector.
    """
    solid = np.ascontiguousarray(vectors)
    as_bytes = solid.view(np.dtype((np.void, solid.dtype.itemsize * solid.shape[1]))).ravel()
    return np.asarray(np.unique(as_bytes, return_inverse=True)[1], dtype=np.intp)


def _nearness(block: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean cosine of each vector with its nearest vectors on the other side."""
    scores = block @ others.T
    k = min(NEIGHBOURS, scores.shape[1])
    return np.asarray(np.partition(scores, -k, axis=1)[:, -k:].mean(axis=1))


def _blocks(rows: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(rows), _BLOCK):
        yield rows[start : start + _BLOCK]


def measure_alignment(
    sides: Sequence[tuple[Vectors, Callable[[NDArray[Any]], NDArray[Any]]]],
    dictionary: Sequence[tuple[str, str]],
    among: int,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Return precision at 1 and 10 and the mean reciprocal rank, × 100, by cosine and by CSLS.

    `sides` are the vectors of both languages, each with its map into the common space. Only the
    first `among` words of either side take part.
    """
    tables = [_read_first(vectors, among, progress) for vectors, _ in sides]
    groups = distinct(tables[1].vectors)
    left, right = (
        table.with_vectors(map_(table.vectors))
        for table, (_, map_) in zip(tables, sides, strict=True)
    )
    found: dict[str, Any] = {}
    for name in ("cosine", "csls"):
        result = translate(left, right, dictionary, csls=name == "csls", groups=groups)
        found[name] = {metric: 100 * value(each) for metric, each in result.statistics.items()}
        found |= {"used": len(result.ranks), "total": result.total}
    return found


def _read_first(vectors: Vectors, count: int, progress: Progress) -> WordVectors:
    collector = RowCollector((), count)
    for words, rows in read_chunks(vectors, progress):
        collector.add(words, np.asarray(rows))
        if collector.count >= count:
            break
    return collector.table()
