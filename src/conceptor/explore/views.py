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
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import unit_rows
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.methods import Solution
    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.concepts.query import Criterion
    from conceptor.explore.table import Table

__all__ = ["Found", "Reach", "Search", "Searcher", "View"]

# Rows of a block: with a few dozen queries, the products stay in the cache.
_BLOCK_ROWS = 8192
# Squared gates are kept to this precision, in units of the largest.
_PRECISION = 1e-7
# Rows whose quick score is this near to the best are scored again, exactly.
_MARGIN = 2e-3
_LEAST = np.float32(1e-30)
_MOST_SEARCHES = 32
_KEPT_VIEWS = 6


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
        """Return ``1 / |y|`` of every row; some large number where y is 0."""
        squares: NDArray[np.float32] = self._energies @ (self._basis.T @ gate**2).astype("f4")
        np.maximum(squares, _LEAST, out=squares)
        np.sqrt(squares, out=squares)
        return np.divide(1, squares, out=squares)


@dataclass(frozen=True, eq=False)
class View:
    """A table as a map leaves it; as it is without one.

    Attributes
    ----------
    table : Table
    map : AffineMap, optional
    inverse : array of float32
        ``1 / |y|`` of every row.
    scale : array of float32
        What makes a cosine of a product with a row as it is: `inverse`, and over the row's length
        where rows are brought to length 1 first.
    """

    table: Table
    map: AffineMap | None
    inverse: NDArray[np.float32]
    scale: NDArray[np.float32]

    @classmethod
    def plain(cls, table: Table) -> View:
        """Return the table as it is."""
        return cls(table, None, table.inverse, table.inverse)

    def rows(self, places: NDArray[np.intp] | slice) -> Float64:
        """Return some rows as the map leaves them, in double precision."""
        rows = np.asarray(self.table.rows[places], dtype=np.float64)
        return rows if self.map is None else np.asarray(self.map(rows))

    def back(self, vector: Float64) -> tuple[Float64, float]:
        """Return v and c with ``x·v − c = y·vector``, x at length 1 if the map brings it there."""
        if self.map is None:
            return vector, 0.0
        v = self.map.matrix @ vector
        return v, float(self.map.offset @ v - self.map.bias @ vector)


@dataclass(frozen=True, eq=False)
class Search:
    """The best k rows of a view by a criterion of its space, but for some that are left out."""

    view: View
    criterion: Criterion
    k: int
    left_out: Sequence[int] = ()

    def lost(self, places: NDArray[np.intp]) -> Float64:
        """Return what the criterion takes off the cosines of some rows; never less than 0."""
        if not self.criterion.selective:
            return np.zeros(len(places))
        return np.asarray(self.criterion.penalty(unit_rows(self.view.rows(places))))

    def cosines(self, places: NDArray[np.intp]) -> Float64:
        """Return the exact cosines of some rows with what is looked for."""
        return np.asarray(unit_rows(self.view.rows(places)) @ self.criterion.direction)


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest rows, nearest first, with their cosines."""

    rows: NDArray[np.intp]
    cosines: Float64


class Searcher:
    """Carries out searches in one table; those that wait together share one pass over it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._waiting: SimpleQueue[tuple[Search, Future[Found]]] = SimpleQueue()
        self._pool = ThreadPoolExecutor(processors())
        Thread(target=self._serve, daemon=True).start()

    def ask(self, search: Search) -> Future[Found]:
        """Return what will be found."""
        future: Future[Found] = Future()
        self._waiting.put((search, future))
        return future

    def _serve(self) -> None:
        with one_blas_thread():  # blocks already go to all processors
            while True:
                batch = [self._waiting.get()]
                while len(batch) < _MOST_SEARCHES:
                    try:
                        batch.append(self._waiting.get_nowait())
                    except Empty:
                        break
                self._answer(batch)

    def _answer(self, batch: list[tuple[Search, Future[Found]]]) -> None:
        try:
            for (_, future), found in zip(batch, self._search(batch), strict=True):
                future.set_result(found)
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)

    def _search(self, batch: list[tuple[Search, Future[Found]]]) -> list[Found]:
        hunts = [_Hunt(search) for search, _ in batch]
        columns = np.stack([hunt.column for hunt in hunts])

        def look(part: slice) -> None:
            for hunt, products in zip(hunts, columns @ self._table.rows[part].T, strict=True):
                hunt.look(products, part)

        for _ in self._pool.map(look, _blocks(len(self._table))):
            pass
        return [hunt.best() for hunt in hunts]


class _Hunt:
    """What one search has found so far; blocks may come from several threads."""

    def __init__(self, search: Search) -> None:
        self._search = search
        v, c = search.view.back(search.criterion.direction)
        self.column = v.astype(np.float32)
        self._shift = np.float32(c)
        # The rows that are left out would else take the places of others.
        self._k = search.k + len(search.left_out)
        self._best = np.full(self._k, -np.inf, dtype=np.float32)
        self._found: list[tuple[NDArray[np.intp], NDArray[np.float32]]] = []
        self._lock = Lock()

    def look(self, products: NDArray[np.float32], part: slice) -> None:
        """Keep the rows of a block that may be among the best."""
        view = self._search.view
        scores = products * view.scale[part]
        if self._shift:
            scores -= self._shift * view.inverse[part]
        scores -= view.table.penalties[part]
        # What a criterion takes off is worked out for rows that come near enough without it.
        near = np.flatnonzero(scores >= self._bar(scores))
        if not len(near):
            return
        found = scores[near]
        if self._search.criterion.selective:
            found -= self._search.lost(near + part.start).astype(np.float32)
            taken = found >= self._bar(found)
            near, found = near[taken], found[taken]
        with self._lock:
            self._found.append((near + part.start, found))
            best = np.concatenate([self._best, found])
            self._best = -np.sort(-best)[: self._k]

    def _bar(self, scores: NDArray[np.float32]) -> float:
        """Return what a row must reach: the k-th best so far, or of these scores at first."""
        bar = self._best[-1]
        if np.isneginf(bar) and len(scores) > self._k and not self._search.criterion.selective:
            bar = np.partition(scores, -self._k)[-self._k]
        return float(bar) - _MARGIN

    def best(self) -> Found:
        """Return the best rows by exact scores."""
        search = self._search
        rows = np.concatenate([np.zeros(0, np.intp), *(rows for rows, _ in self._found)])
        scores = np.concatenate([np.zeros(0, "f4"), *(scores for _, scores in self._found)])
        taken = (scores >= self._best[-1] - _MARGIN) & ~np.isin(rows, list(search.left_out))
        rows = rows[taken & np.isfinite(scores)]
        cosines = search.cosines(rows)
        lost = search.view.table.penalties[rows] + search.lost(rows)
        order = np.lexsort((rows, lost - cosines))[: search.k]
        return Found(rows[order], cosines[order])


class ViewCache:
    """The views of the last few settings; most questions are about these."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, bytes], View] = OrderedDict()
        self._lock = Lock()

    def view(self, reach: Reach, solution: Solution) -> View:
        """Return the view of a solution whose gate is within reach."""
        key = (id(reach), solution.gate.tobytes())
        with self._lock:
            view = self._kept.get(key)
        if view is None:
            inverse = reach.inverse_lengths(solution.gate)
            scale = inverse * reach.table.inverse if solution.map.unit else inverse
            view = View(reach.table, solution.map, inverse, scale)
            with self._lock:
                self._kept[key] = view
                while len(self._kept) > _KEPT_VIEWS:
                    self._kept.popitem(last=False)
        return view


def _blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, _BLOCK_ROWS):
        yield slice(start, min(start + _BLOCK_ROWS, count))
