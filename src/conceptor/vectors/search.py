"""The one search over all rows: many queries in one pass, in bounded memory.

A `Search` looks at blocks of rows in any thread, and takes what it found in one. `Best` keeps the k
best rows of each query, whatever scores them: `Nearest` scores rows of a stream of vectors, and the
page's searches (`conceptor.explore.search`) score a table under many maps at once.
"""

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
    # The scores that some columns of a block lose.
    Loss = Callable[[NDArray[np.intp] | slice], NDArray[np.float32]]

__all__ = ["Best", "Candidates", "Contest", "Nearest", "Search", "rank_penalties", "search"]

# Rows, and queries, of a block: their products stay in the cache.
_BLOCK_ROWS = 2048
# The rank up to which a prior for frequency makes no difference between words.
_PRIOR_SHIFT = 1000.0
# Below every score but that of a row of zeros, which is −∞.
_NO_BAR = np.finfo(np.float32).min
# With more queries, those that no row reaches are left out first.
_MANY_QUERIES = 256
# With more candidates than this many times k for each query, rows are equal.
_MANY_EQUAL = 32


class Search(Protocol):
    """A search that goes through rows block by block."""

    def look(self, rows: NDArray[Any], before: int) -> Any:  # noqa: ANN401
        """Return what a block of rows contributes; `before` rows came earlier. Safe in threads."""

    def take(self, found: Any) -> None:  # noqa: ANN401
        """Take what `look` found, in any order."""


class Candidates(NamedTuple):
    """Rows that may be among the nearest to a query."""

    query: NDArray[np.intp]
    row: NDArray[np.int64]
    score: NDArray[np.float32]

    @classmethod
    def join(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return several as one."""
        none = cls(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(0, np.float32))
        return cls(*map(np.concatenate, zip(*parts, strict=True))) if parts else none

    def some(self, which: NDArray[Any]) -> Candidates:
        """Return those at some places, or where a mask is true."""
        return Candidates(self.query[which], self.row[which], self.score[which])


class Best:
    """The k best rows of each query; of equally good rows the first comes first.

    Rows whose score is within `margin` of the k-th best are kept too, to be scored exactly later.
    """

    def __init__(self, queries: int, k: int, margin: float = 0.0) -> None:
        self._shape, self._k, self._margin = (queries, k), k, np.float32(margin)
        # The score that a row must reach, for each query.
        self._bars = np.full((queries, 1), _NO_BAR, dtype=np.float32)
        self._found = Candidates.join([])

    def pick(
        self, scores: NDArray[np.float32], start: int, losses: Mapping[int, Loss] | None = None
    ) -> Candidates:
        """Return the rows of a block that may be among the best; safe in threads.

        `scores`, by query and row, is changed in place; `start` is the place of the first row.
        `losses` says what rows lose for a query, never less than 0: so it is worked out only for
        rows that are good enough without it.
        """
        bars, losses = self._bars, losses or {}
        if scores.shape[1] > self._k and (bars == _NO_BAR).any():
            # Nothing to compare with yet: the best of the block itself.
            for number, lose in losses.items():
                scores[number] -= lose(slice(None))
            best = np.partition(scores, -self._k, axis=1)[:, -self._k, np.newaxis]
            bars, losses = np.maximum(bars, best - self._margin), {}
        query, column = _where_reached(scores, bars)
        if not (self._margin or losses) and len(query) > _MANY_EQUAL * self._k * len(scores):
            # A file of equal rows would be kept whole.
            column = np.argsort(-scores, axis=1, kind="stable")[:, : self._k].ravel()
            query = np.repeat(np.arange(len(scores)), len(column) // len(scores))
        found = scores[query, column]
        for number in losses.keys() & set(query.tolist() if losses else ()):
            its = slice(*np.searchsorted(query, [number, number + 1]))
            found[its] -= losses[number](column[its])
        return Candidates(query, start + column, found)

    def take(self, found: Candidates) -> None:
        """Keep the best of what is there and what was found."""
        if not len(found.query):
            return
        both = Candidates.join([self._found, found])
        both = both.some(np.lexsort((both.row, -both.score, both.query)))
        rank = _rank_within(both.query)
        last = np.flatnonzero(rank == self._k - 1)
        bars, which = self._bars[:, 0], both.query[last]
        bars[which] = np.maximum(bars[which], both.score[last] - self._margin)
        self._found = both.some((rank < self._k) | (both.score > bars[both.query]))

    def candidates(self, query: int) -> NDArray[np.int64]:
        """Return the rows that may be among the best of a query, those within the margin too."""
        found: NDArray[np.int64] = self._found.row[self._found.query == query]
        return found

    def table(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the k best rows of each query and their scores; −1 and −∞ where there are less."""
        rank = _rank_within(self._found.query)
        found, rank = self._found.some(rank < self._k), rank[rank < self._k]
        rows = np.full(self._shape, -1, dtype=np.int64)
        scores = np.full(self._shape, -np.inf, dtype=np.float32)
        rows[found.query, rank], scores[found.query, rank] = found.row, found.score
        return rows, scores


def _where_reached(
    scores: NDArray[np.float32], bars: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the queries and columns whose scores reach the bars."""
    if len(scores) > _MANY_QUERIES:  # few of them reach any
        some = np.flatnonzero(scores.max(axis=1) >= bars[:, 0])
        if len(some) < len(scores) // 2:
            hit, column = np.nonzero(scores[some] >= bars[some])
            return some[hit], column
    return np.divmod(np.flatnonzero(scores >= bars), scores.shape[1])


def _rank_within(query: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return each entry's place among those of its query; queries are sorted."""
    return np.asarray(np.arange(len(query)) - np.searchsorted(query, query))


def rank_penalties(places: NDArray[np.integer], prior: float) -> NDArray[np.float32]:
    """Return what rows lose so that common words are preferred: ``β log(1 + rank / 1000)``."""
    return (prior * np.log1p(places / _PRIOR_SHIFT)).astype(np.float32)


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
        What is taken off the scores: a number for each of the rows, never less than 0.

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
        self._prior, self._among, self._penalty = prior, among, penalty
        self._best = Best(len(queries), k)
        self.take = self._best.take

    def look(self, rows: NDArray[Any], before: int) -> Candidates:
        """Return all rows of a chunk that may be among the nearest."""
        found = []
        for start, block in _blocks(rows, before, self._among):
            scores = self._queries @ block.T
            if self._prior:
                scores -= rank_penalties(start + np.arange(len(block)), self._prior)
            scores[:, ~block.any(axis=1)] = -np.inf
            found.append(self._best.pick(scores, start, self._losses(block)))
        return Candidates.join(found)

    def _losses(self, block: NDArray[np.float32]) -> Mapping[int, Loss]:
        penalty = self._penalty
        if penalty is None:
            return {}
        return dict.fromkeys(range(len(self._queries)), lambda columns: penalty(block[columns]))

    @property
    def rows(self) -> NDArray[np.int64]:
        """The places of the nearest rows, of shape (q, k), nearest first; −1 for none."""
        return self._best.table()[0]

    @property
    def scores(self) -> NDArray[np.float32]:
        """Their scores; −∞ for none."""
        return self._best.table()[1]


class Contest:
    """Whether ``d`` is the nearest row to ``b − a + c``, for many questions about few words.

    Quicker than `Nearest`: rows are multiplied with the words, not with the questions, whose scores
    are sums of three products. A question is asked only until another row has come nearer.

    Parameters
    ----------
    words : array of shape (w, n)
        The vectors of the words of all questions.
    questions : array of shape (q, 4)
        Which words a, b, c and d are.
    excluded : array of shape (q, e)
        Places of rows that do not compete, that of d among them.
    among : int, optional
        Only the first rows compete.
    """

    def __init__(
        self,
        words: NDArray[Any],
        questions: NDArray[np.integer],
        excluded: NDArray[np.integer],
        *,
        among: int | None = None,
    ) -> None:
        self._words, self._terms = unit_rows32(words), questions[:, :3].astype(np.int64)
        a, b, c, d = (self._words[column] for column in questions.T)
        self._bar = np.einsum("ij,ij->i", b, d) - np.einsum("ij,ij->i", a, d)
        self._bar += np.einsum("ij,ij->i", c, d)
        self._excluded, self._among = excluded.astype(np.int64), among
        self.won = np.ones(len(questions), dtype=np.bool_)

    def look(self, rows: NDArray[Any], before: int) -> NDArray[np.intp]:
        """Return the questions for which a row of this chunk is nearer."""
        from conceptor.kernels import find_beaten

        # A copy: while `flatnonzero` counts and then collects, `take` may change what it counted.
        asked = np.flatnonzero(self.won.copy())
        beaten = [asked[:0]]
        for start, block in _blocks(rows, before, self._among):
            columns = self._excluded[asked] - start
            lost = np.zeros(len(asked), dtype=np.bool_)
            products = self._words @ block.T
            find_beaten(products, self._terms[asked], self._bar[asked], columns, lost)
            beaten.append(asked[lost])
            asked = asked[~lost]
        return np.concatenate(beaten)

    def take(self, found: NDArray[np.intp]) -> None:
        """Ask these questions no more."""
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
