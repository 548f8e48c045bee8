"""Searches among all rows of a file, for many queries at once, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from conceptor.base.arrays import unit_rows32
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors.chunks import number_chunks, read_chunks, through

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.vectors.chunks import Transform
    from conceptor.vectors.vectors import Vectors

    Penalty = Callable[[NDArray[np.float32]], NDArray[np.float32]]

__all__ = ["Candidates", "Contest", "Nearest", "Search", "search"]

# Rows, and queries, of a block: their products stay in the cache.
_BLOCK_ROWS = 2048
# The rank up to which a prior for frequency makes no difference between words.
_PRIOR_SHIFT = 1000.0


class Search(Protocol):
    """What goes through rows chunk by chunk."""

    def look(self, rows: NDArray[Any], before: int) -> Any:  # noqa: ANN401
        """Return what a chunk has to say, given how many rows came before; safe in threads."""

    def take(self, found: Any) -> None:  # noqa: ANN401
        """Take what `look` found, in any order."""


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
    penalty : function of rows of length 1, optional
        What is taken off the scores: a number for each of the rows.

    Notes
    -----
    Costs one product of the queries with all rows, in single precision. Of a block only what beats
    the k-th best so far is looked at. Of equally near rows the first comes first. A row of zeros
    is near nothing.
    """

    def __init__(
        self,
        queries: NDArray[Any],
        k: int,
        *,
        prior: float = 0.0,
        among: int | None = None,
        penalty: Penalty | None = None,
    ) -> None:
        self._queries = unit_rows32(queries)
        self._k, self._prior, self._among, self._penalty = k, prior, among, penalty
        self.scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        self.rows = np.full((len(queries), k), -1, dtype=np.int64)

    def look(self, rows: NDArray[Any], before: int) -> Candidates:
        """Return all rows of a chunk that may be among the nearest."""
        found = [Candidates(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(0, np.float32))]
        for start, block in _blocks(rows, before, self._among):
            scores = self._queries @ block.T
            places = start + np.arange(len(block))
            if self._penalty is not None:
                scores -= self._penalty(block)
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

    def take(self, found: Candidates) -> None:
        """Keep the best of what is there and what was found."""
        some = np.unique(found.query)  # soon few queries find anything better
        query = np.concatenate([np.repeat(some, self._k), found.query])
        row = np.concatenate([self.rows[some].ravel(), found.row])
        score = np.concatenate([self.scores[some].ravel(), found.score])
        order = np.lexsort((row, -score, query))
        starts = np.searchsorted(query[order], some)
        best = order[starts[:, None] + np.arange(self._k)]
        self.rows[some], self.scores[some] = row[best], score[best]


class Contest:
    """Whether some row is the nearest of all to its query, by cosine.

    Quicker than `Nearest`: a query is asked only as long as no other row has come nearer.

    Parameters
    ----------
    queries : array of shape (q, n)
    expected : array of shape (q, n)
        The row that should be the nearest.
    excluded : array of shape (q, e)
        Places of rows that do not compete, the expected one among them.
    among : int, optional
        Only the first rows compete.
    """

    def __init__(
        self,
        queries: NDArray[Any],
        expected: NDArray[Any],
        excluded: NDArray[np.integer],
        *,
        among: int | None = None,
    ) -> None:
        self._queries = unit_rows32(queries)
        self._bar = np.einsum("ij,ij->i", self._queries, unit_rows32(expected))
        self._excluded, self._among = excluded, among
        self.won = np.ones(len(queries), dtype=np.bool_)

    def look(self, rows: NDArray[Any], before: int) -> NDArray[np.intp]:
        """Return the queries for which a row of this chunk is nearer."""
        # A copy: while `flatnonzero` counts and then collects, `take` may change what it counted.
        asked = np.flatnonzero(self.won.copy())
        beaten = [asked[:0]]
        for start, block in _blocks(rows, before, self._among):
            left = [asked[:0]]
            for first in range(0, len(asked), _BLOCK_ROWS):
                some = asked[first : first + _BLOCK_ROWS]
                scores = self._queries[some] @ block.T
                column = self._excluded[some] - start
                query, which = np.nonzero((column >= 0) & (column < len(block)))
                scores[query, column[query, which]] = -np.inf
                lost = scores.max(axis=1) > self._bar[some]
                beaten.append(some[lost])
                left.append(some[~lost])
            asked = np.concatenate(left)
        return np.concatenate(beaten)

    def take(self, found: NDArray[np.intp]) -> None:
        """Ask these queries no more."""
        self.won[found] = False


def _blocks(
    rows: NDArray[Any], before: int, among: int | None
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the place of the first row, and rows of length one, of each block that takes part."""
    if among is not None:
        rows = rows[: max(0, among - before)]
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield before + start, unit_rows32(rows[start : start + _BLOCK_ROWS])


def search(
    vectors: Vectors,
    searches: Mapping[str, Sequence[Search]],
    transforms: Mapping[str, Sequence[Transform]],
    progress: Progress = silent,
) -> dict[int, str]:
    """Carry out searches in one pass, each in the vectors as its name's transforms leave them.

    Returns the words of all rows that were among the nearest at some time.
    """

    def look(part: tuple[int, Sequence[str], NDArray[Any]]) -> _Looked:
        before, words, rows = part
        found: list[tuple[Search, Any]] = []
        for name, some in searches.items():
            changed = through(words, rows, transforms[name])
            found += [(one, one.look(changed, before)) for one in some]
        near = {row for _, what in found if isinstance(what, Candidates) for row in what.row}
        return _Looked(found, {int(row): words[row - before] for row in near})

    names: dict[int, str] = {}
    chunks = number_chunks(read_chunks(vectors, progress, "searching"))
    with one_blas_thread():
        for looked in ordered_map(look, chunks, processors()):
            names |= looked.names
            for one, what in looked.found:
                one.take(what)
    return names


class _Looked(NamedTuple):
    found: list[tuple[Search, Any]]
    names: dict[int, str]
