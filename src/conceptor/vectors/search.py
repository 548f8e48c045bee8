"""Search over all rows: many queries in one pass, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import unit_rows32
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map
from conceptor.vectors.vectors import Transform, Vectors, even_chunks

_BLOCK_ROWS = 2048  # their products with the queries stay in the cache
_PRIOR_SHIFT = 1000.0  # a prior for frequency treats words up to this rank about equally


class Search(Protocol):
    """A search that goes through rows block by block."""

    def look(self, rows: NDArray[Any], before: int) -> Any:  # noqa: ANN401
        """Return the results of a block, after `before` rows; called in any thread."""

    def take(self, result: Any) -> None:  # noqa: ANN401
        """Collect the results of `look`, in the order of the rows; called in one thread."""


class Candidates(NamedTuple):
    """Rows that may be among the nearest to a query."""

    query: NDArray[np.intp]
    row: NDArray[np.int64]
    score: NDArray[np.float32]


def rank_penalties(places: NDArray[np.integer], prior: float) -> NDArray[np.float32]:
    """Return the penalty that prefers common words: ``β log(1 + rank / 1000)``."""
    return (prior * np.log1p(places / _PRIOR_SHIFT)).astype(np.float32)


class Nearest:
    """The k nearest rows to each of several queries, by cosine, over a stream of rows.

    `rows` has the places of the nearest rows, nearest first, and `scores` their scores; −1 and −∞
    if there are fewer. Rows are ordered by ``cosine − prior · log(1 + rank / 1000)``, which prefers
    common words. Only the first `among` rows are candidates. `penalty` is a function of unit rows,
    never negative, that is subtracted from the scores; only rows that are near without it need it.

    Costs one product of the queries with all rows, in single precision. Equally near rows stay in
    their order. A row of zeros is near nothing.
    """

    def __init__(
        self,
        queries: NDArray[Any],
        k: int,
        *,
        prior: float = 0.0,
        among: int | None = None,
        penalty: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None,
    ) -> None:
        self._queries = unit_rows32(queries)
        self._prior, self._among, self._penalty = prior, among, penalty
        self.rows = np.full((len(queries), k), -1, dtype=np.int64)
        self.scores = np.full((len(queries), k), -np.inf, dtype=np.float32)

    def look(self, rows: NDArray[Any], before: int) -> Candidates:
        """Return all rows of a chunk that may be among the nearest."""
        k, penalty = self.scores.shape[1], self._penalty
        parts = [(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(0, np.float32))]
        for start, block in _blocks(rows, before, self._among):
            scores = self._queries @ block.T
            if self._prior:
                scores -= rank_penalties(start + np.arange(len(block)), self._prior)
            scores[:, ~block.any(axis=1)] = -np.inf
            bars = self.scores[:, -1:]
            # Before there is anything to compare with, take the best rows of the block itself.
            is_first = len(block) > k and bool(np.isneginf(bars).any())
            if penalty and is_first:
                scores -= penalty(block)
            is_near = scores > bars
            if is_first:
                is_near &= scores >= np.partition(scores, -k, axis=1)[:, -k, np.newaxis]
            query, column = np.nonzero(is_near)
            score = scores[query, column]
            if penalty and not is_first and len(column):
                columns, places = np.unique(column, return_inverse=True)
                score -= penalty(block[columns])[places]
            parts.append((query, start + column, score))
        return Candidates(*map(np.concatenate, zip(*parts, strict=True)))

    def take(self, near: Candidates) -> None:
        """Keep the best of the old and the new rows."""
        if not len(near.query):
            return
        query, rank = np.nonzero(self.rows >= 0)
        row = np.concatenate([self.rows[query, rank], near.row])
        score = np.concatenate([self.scores[query, rank], near.score])
        query = np.concatenate([query, near.query])
        order = np.lexsort((row, -score, query))
        query, row, score = query[order], row[order], score[order]
        rank = np.arange(len(query)) - np.searchsorted(query, query)
        best = rank < self.rows.shape[1]
        # New arrays, because other threads look at the old ones.
        rows, scores = np.full_like(self.rows, -1), np.full_like(self.scores, -np.inf)
        rows[query[best], rank[best]] = row[best]
        scores[query[best], rank[best]] = score[best]
        self.rows, self.scores = rows, scores


class Contest:
    """Whether ``d`` is the nearest row to ``b − a + c``, for many questions about few words.

    A question is dropped once another row is nearer. `words` are the vectors of the words of all
    questions, `questions` the indices of a, b, c and d among them, and `excluded` the places of
    rows that do not compete, including that of d. Only the first `among` rows compete.
    """

    def __init__(
        self,
        words: NDArray[Any],
        questions: NDArray[np.integer],
        excluded: NDArray[np.integer],
        *,
        among: int | None = None,
    ) -> None:
        a, b, c, d = (unit_rows32(words)[column] for column in questions.T)
        self._queries = b - a + c
        self._bar = np.einsum("ij,ij->i", self._queries, d)
        self._excluded, self._among = excluded.astype(np.int64), among
        self.won = np.ones(len(questions), dtype=np.bool_)

    def look(self, rows: NDArray[Any], before: int) -> NDArray[np.intp]:
        """Return the questions for which a row of this chunk is nearer."""
        # A copy, because `take` may change the array between the two passes of `flatnonzero`.
        open_ = np.flatnonzero(self.won.copy())
        lost = [open_[:0]]
        for start, block in _blocks(rows, before, self._among):
            scores = self._queries[open_] @ block.T
            columns = self._excluded[open_] - start
            question, which = np.nonzero((columns >= 0) & (columns < len(block)))
            scores[question, columns[question, which]] = -np.inf
            is_lost = scores.max(axis=1) > self._bar[open_]
            lost.append(open_[is_lost])
            open_ = open_[~is_lost]
        return np.concatenate(lost)

    def take(self, lost: NDArray[np.intp]) -> None:
        """Drop these questions."""
        self.won[lost] = False


def _blocks(
    rows: NDArray[Any], before: int, among: int | None
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield, for each block that takes part, the place of its first row and its unit rows."""
    if among is not None:
        rows = rows[: max(0, among - before)]
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield before + start, unit_rows32(rows[start : start + _BLOCK_ROWS])


def search(
    vectors: Vectors,
    searches: Mapping[str, Sequence[Search]],
    transforms: Mapping[str, Transform],
    progress: Progress = silent,
) -> dict[int, str]:
    """Run searches in one pass, each over the vectors after the transform of its name.

    Returns the words of all rows that were among the nearest at some point.
    """

    def look(
        chunk: tuple[int, Sequence[str], NDArray[Any]],
    ) -> tuple[list[tuple[Search, Any]], dict[int, str]]:
        before, words, rows = chunk
        results: list[tuple[Search, Any]] = []
        names: dict[int, str] = {}
        for name, of_name in searches.items():
            changed = transforms[name](words, rows)
            results += [(each, each.look(changed, before)) for each in of_name]
        for _, result in results:
            if isinstance(result, Candidates):
                names |= {row: words[row - before] for row in result.row.tolist()}
        return results, names

    all_names: dict[int, str] = {}
    with one_blas_thread():
        chunks = even_chunks(vectors.chunks(progress, "searching"))
        for results, names in ordered_map(look, chunks):
            all_names |= names
            for each, result in results:
                each.take(result)
    return all_names
