"""Cosines of a query with all rows of a table, as any setting of a method leaves them, quickly.

A method's setting (its aperture) changes only the gate g in ``y = U diag(g) Uᵀ (x − m)``. The
cosine of y with a query q is ``y·q / |y|``. The first factor is one product of the rows as they
are with ``A q``. The lengths are ``|y|² = Σ c_k² g_k²`` with the coordinates ``c = Uᵀ (x − m)``,
which do not depend on the setting; and since all gates that a slider can reach differ smoothly,
their squares lie in a space of a dozen dimensions. So a dozen numbers are kept for each row, made
once, and neither vectors nor lengths are computed anew while a slider is dragged.
"""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.conceptors import Conceptor
    from conceptor.algebra.methods import Solution
    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.explore.table import Table

__all__ = ["Found", "Query", "Reach", "Searcher", "View"]

# Rows of a block: with a few dozen queries, the products stay in the cache.
_BLOCK_ROWS = 8192
# Squared gates are kept to this precision, in units of the largest.
_PRECISION = 1e-7
# Rows whose quick score is this near to the best are scored again, exactly.
_MARGIN = 2e-3
_MOST_QUERIES = 32
_KEPT_LENGTHS = 8


class Reach:
    """What the settings of a method have in common: directions, and the gates within reach.

    Parameters
    ----------
    table : Table
    solution : Solution
        Of any setting; its spectrum and map tell the directions, the offset and `unit`.
    gates : array of shape (settings, n)
        The gates that views may have; others come out wrong where they are not between these.
    """

    def __init__(
        self, table: Table, solution: Solution, gates: Float64, progress: Progress = silent
    ) -> None:
        self.table = table
        self._vectors, self._offset = solution.spectrum.vectors, solution.map.offset
        self._unit = solution.map.unit
        squares = np.atleast_2d(gates) ** 2
        squares = squares / squares.max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
        _, strengths, basis = np.linalg.svd(squares, full_matrices=False)
        self._basis = basis[strengths > _PRECISION * strengths[0]].T
        self._energies = np.empty((len(table), self._basis.shape[1]), dtype=np.float32)
        rotation = self._vectors.astype(np.float32)
        offset, basis32 = self._offset.astype(np.float32), self._basis.astype(np.float32)

        def fill(part: slice) -> int:
            rows = table.rows[part]
            if self._unit:
                rows = rows / table.lengths[part, np.newaxis]
            coordinates = (rows - offset if offset.any() else rows) @ rotation
            np.square(coordinates, out=coordinates)
            np.matmul(coordinates, basis32, out=self._energies[part])
            return int(part.stop)

        with one_blas_thread():
            for done in ordered_map(fill, _blocks(len(table)), processors()):
                progress("preparing", done / len(table), done)

    def inverse_lengths(self, gate: Float64) -> NDArray[np.float32]:
        """Return ``1 / |y|`` of every row; 0 where y is 0."""
        squares: NDArray[np.float32] = self._energies @ (self._basis.T @ gate**2).astype("f4")
        found = np.zeros_like(squares)
        np.divide(1.0, np.sqrt(np.maximum(squares, 0)), out=found, where=squares > 0)
        return found


@dataclass(frozen=True, eq=False)
class View:
    """A table as a map leaves it; as it is without one.

    Attributes
    ----------
    table : Table
    map : AffineMap, optional
    inverse : array of float32
        ``1 / |y|`` of every row.
    """

    table: Table
    map: AffineMap | None = None
    inverse: NDArray[np.float32] = field(repr=False, default_factory=lambda: np.zeros(0, "f4"))

    @classmethod
    def plain(cls, table: Table) -> View:
        """Return the table as it is."""
        return cls(table, None, np.float32(1) / table.lengths)

    @property
    def unit(self) -> bool:
        """Whether rows are brought to length 1 first."""
        return self.map is not None and self.map.unit

    def rows(self, places: NDArray[np.intp] | slice) -> Float64:
        """Return some rows as the map leaves them, in double precision."""
        rows = np.asarray(self.table.rows[places], dtype=np.float64)
        return rows if self.map is None else np.asarray(self.map(rows))

    def back(self, columns: Float64) -> tuple[Float64, Float64]:
        """Return v and c with ``x·v − c = y·column`` for each column, x at length 1 if `unit`."""
        if self.map is None:
            return columns, np.zeros(columns.shape[1])
        v = self.map.matrix @ columns
        return v, self.map.offset @ v - self.map.bias @ columns


@dataclass(frozen=True, eq=False)
class Query:
    """The rows nearest to a vector, both seen behind a negated conceptor if one is given.

    Attributes
    ----------
    view : View
    vector : array of shape (n,)
        In the space of the view.
    k : int
        How many rows to find.
    exclude : Conceptor, optional
        What must not matter: rows and vector go through its negation first.
    without_rows : rows that are no candidates
    """

    view: View
    vector: Float64
    k: int
    exclude: Conceptor | None = None
    without_rows: Sequence[int] = ()

    @property
    def columns(self) -> Float64:
        """The vectors of the space that all rows are multiplied with, the query's own first.

        Behind ``I − C = I − V diag(s) Vᵀ`` lengths are ``|y|² − Σ (2s − s²) (y·V)²``: a column for
        each direction that is excluded.
        """
        if self.exclude is None:
            return self.vector[:, np.newaxis]
        _, V = self._excluded
        return np.column_stack([self.negate(self.negate(self.vector)), V])

    @property
    def _excluded(self) -> tuple[Float64, Float64]:
        assert self.exclude is not None
        s = self.exclude.singular_values
        return s[s > _PRECISION], self.exclude.vectors[:, s > _PRECISION]

    def negate(self, rows: Float64) -> Float64:
        """Take rows through the negation of what is excluded."""
        if self.exclude is None:
            return rows
        s, V = self._excluded
        return np.asarray(rows - ((rows @ V) * s) @ V.T)

    @property
    def strengths(self) -> Float64:
        """``2s − s²`` of each direction that is excluded."""
        if self.exclude is None:
            return np.zeros(0)
        s, _ = self._excluded
        return 2 * s - s**2

    def cosines(self, places: NDArray[np.intp]) -> Float64:
        """Return the exact cosines of some rows with the query."""
        rows, vector = self.negate(self.view.rows(places)), self.negate(self.vector)
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
        found = np.zeros(len(rows))
        np.divide(rows @ vector, lengths, out=found, where=lengths > 0)
        return found


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest rows, nearest first, with their cosines."""

    rows: NDArray[np.intp]
    cosines: Float64


class Searcher:
    """Answers queries on one table; those that wait at the same time share one pass over it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._waiting: SimpleQueue[tuple[Query, Future[Found]]] = SimpleQueue()
        self._pool = ThreadPoolExecutor(processors())
        Thread(target=self._serve, daemon=True).start()

    def ask(self, query: Query) -> Future[Found]:
        """Return what will be found."""
        future: Future[Found] = Future()
        self._waiting.put((query, future))
        return future

    def _serve(self) -> None:
        with one_blas_thread():  # blocks already go to all processors
            while True:
                batch = [self._waiting.get()]
                while len(batch) < _MOST_QUERIES:
                    try:
                        batch.append(self._waiting.get_nowait())
                    except Empty:
                        break
                self._answer(batch)

    def _answer(self, batch: list[tuple[Query, Future[Found]]]) -> None:
        try:
            for (_, future), found in zip(batch, self._search(batch), strict=True):
                future.set_result(found)
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)

    def _search(self, batch: list[tuple[Query, Future[Found]]]) -> list[Found]:
        hunts = [_Hunt(query) for query, _ in batch]
        columns = np.concatenate([hunt.columns for hunt in hunts], axis=1)
        places = np.cumsum([0, *(hunt.columns.shape[1] for hunt in hunts)])

        def look(part: slice) -> None:
            products = columns.T @ self._table.rows[part].T
            for hunt, first, last in zip(hunts, places, places[1:], strict=False):
                hunt.look(products[first:last], part)

        for _ in self._pool.map(look, _blocks(len(self._table))):
            pass
        return [hunt.best() for hunt in hunts]


class _Hunt:
    """What one query has found so far; blocks may come from several threads."""

    def __init__(self, query: Query) -> None:
        self._query = query
        v, c = query.view.back(query.columns)
        self.columns = v.astype(np.float32)
        self._shift = c.astype(np.float32)
        length = float(np.linalg.norm(query.negate(query.vector)))
        self._scale = np.float32(1 / length if length > 0 else 0.0)
        self._strengths = query.strengths.astype(np.float32)
        # The rows that are left out would else take the places of others.
        self._k = query.k + len(query.without_rows)
        self._best = np.full(self._k, -np.inf, dtype=np.float32)
        self._found: list[tuple[NDArray[np.intp], NDArray[np.float32]]] = []
        self._lock = Lock()

    def look(self, products: NDArray[np.float32], part: slice) -> None:
        """Keep the rows of a block that may be among the nearest."""
        view = self._query.view
        if view.unit:
            products = products / view.table.lengths[part]
        if self._shift.any():
            products = products - self._shift[:, np.newaxis]
        scores = products[0] * self._scale
        inverse = view.inverse[part]
        if len(self._strengths):
            # |y behind the negation|² = |y|² (1 − Σ (2s − s²) (y·V)² / |y|²)
            shares = self._strengths @ (products[1:] * inverse) ** 2
            inverse = inverse / np.sqrt(np.maximum(1 - shares, 1e-6))
        scores *= inverse
        scores -= view.table.penalties[part]
        bar = self._best[-1]
        if np.isneginf(bar) and len(scores) > self._k:
            bar = np.partition(scores, -self._k)[-self._k]
        near = np.flatnonzero(scores >= bar - _MARGIN)
        if not len(near):
            return
        found = scores[near]
        with self._lock:
            self._found.append((near + part.start, found))
            best = np.concatenate([self._best, found])
            self._best = -np.sort(-best)[: self._k]

    def best(self) -> Found:
        """Return the nearest rows by exact cosines."""
        query = self._query
        rows = np.concatenate([np.zeros(0, np.intp), *(rows for rows, _ in self._found)])
        scores = np.concatenate([np.zeros(0, "f4"), *(scores for _, scores in self._found)])
        taken = (scores >= self._best[-1] - _MARGIN) & ~np.isin(rows, list(query.without_rows))
        rows = rows[taken & np.isfinite(scores)]
        cosines = query.cosines(rows)
        order = np.lexsort((rows, query.view.table.penalties[rows] - cosines))[: query.k]
        return Found(rows[order], cosines[order])


class LengthCache:
    """The lengths under the last few settings; most questions are about these."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, bytes], NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def view(self, reach: Reach, solution: Solution) -> View:
        """Return the view of a solution whose gate is within reach."""
        key = (id(reach), solution.gate.tobytes())
        with self._lock:
            inverse = self._kept.get(key)
        if inverse is None:
            inverse = reach.inverse_lengths(solution.gate)
            with self._lock:
                self._kept[key] = inverse
                while len(self._kept) > _KEPT_LENGTHS:
                    self._kept.popitem(last=False)
        return View(reach.table, solution.map, inverse)


def _blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, _BLOCK_ROWS):
        yield slice(start, min(start + _BLOCK_ROWS, count))
