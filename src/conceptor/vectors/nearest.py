"""The nearest rows among all of a file, for many queries at once, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors.chunks import number_chunks, read_chunks, through

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.vectors.chunks import Transform

__all__ = ["Candidates", "Nearest", "search"]

# Rows of a block: its products with two thousand queries stay in the cache.
_BLOCK_ROWS = 2048
# The rank up to which a prior for frequency makes no difference between words.
_PRIOR_SHIFT = 1000.0


class Candidates(NamedTuple):
    """Rows that may be among the nearest to a query."""

    query: NDArray[np.intp]
    row: NDArray[np.int64]
    score: NDArray[np.float32]


class Nearest:
    """The k nearest rows to each of some queries, by cosine, over a stream of rows.

    Parameters
    ----------
    queries : array of shape (q, n)
    k : int
        How many rows to find for each.
    prior : float
        β: rows are ordered by ``cosine − β log(1 + rank / 1000)``, which prefers common words in a
        file sorted by frequency.
    among : int, optional
        Only the first rows are candidates.

    Notes
    -----
    Costs one product of the queries with all rows, in single precision. Of a block only what beats
    the k-th best so far is looked at. Of equally near rows the first comes first. A row of zeros
    is near nothing.
    """

    def __init__(
        self, queries: NDArray[Any], k: int, *, prior: float = 0.0, among: int | None = None
    ) -> None:
        self._queries = _unit(queries)
        self._k, self._prior, self._among = k, prior, among
        self.scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        self.rows = np.full((len(queries), k), -1, dtype=np.int64)

    def candidates(self, rows: NDArray[Any], before: int) -> Candidates:
        """Return all rows of a chunk that may be among the nearest; safe in threads."""
        if self._among is not None:
            rows = rows[: max(0, self._among - before)]
        found = [Candidates(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(0, np.float32))]
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = _unit(rows[start : start + _BLOCK_ROWS])
            scores = self._queries @ block.T
            places = before + start + np.arange(len(block))
            if self._prior:
                scores -= (self._prior * np.log1p(places / _PRIOR_SHIFT)).astype(np.float32)
            scores[:, ~block.any(axis=1)] = -np.inf
            if np.isneginf(self.scores[:, -1]).any() and len(block) > self._k:
                # Nothing to compare with yet: the best of the block itself.
                best = np.argpartition(-scores, self._k - 1, axis=1)[:, : self._k]
                query = np.repeat(np.arange(len(scores)), best.shape[1])
                column = best.ravel()
            else:
                # Few rows have any: looking for the largest of each query first is quicker.
                some = np.flatnonzero(scores.max(axis=1) >= self.scores[:, -1])
                hit, column = np.nonzero(scores[some] >= self.scores[some, -1:])
                query = some[hit]
            found.append(Candidates(query, places[column], scores[query, column]))
        return Candidates(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def add(self, candidates: Candidates) -> None:
        """Take the next candidates, in any order."""
        q = np.arange(len(self.scores))
        query = np.concatenate([np.repeat(q, self._k), candidates.query])
        row = np.concatenate([self.rows.ravel(), candidates.row])
        score = np.concatenate([self.scores.ravel(), candidates.score])
        order = np.lexsort((row, -score, query))
        starts = np.searchsorted(query[order], q)
        best = order[starts[:, None] + np.arange(self._k)]
        self.rows, self.scores = row[best], score[best]


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    single = np.asarray(rows, dtype=np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", single, single))
    norms[norms == 0] = 1.0
    return np.asarray(single / norms[:, None], dtype=np.float32)


def search(
    vectors: object,
    searches: Mapping[str, Nearest],
    transforms: Mapping[str, Sequence[Transform]],
    progress: Progress = silent,
) -> None:
    """Carry out searches, each in the vectors as some transforms leave them, in one pass."""

    def look(part: tuple[int, Sequence[str], NDArray[Any]]) -> list[Candidates]:
        before, words, rows = part
        return [
            nearest.candidates(through(words, rows, transforms[name]), before)
            for name, nearest in searches.items()
        ]

    chunks = number_chunks(read_chunks(vectors, progress, "searching"))
    with one_blas_thread():
        for found in ordered_map(look, chunks, processors()):
            for nearest, candidates in zip(searches.values(), found, strict=True):
                nearest.add(candidates)
