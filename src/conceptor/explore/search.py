"""The nearest rows of a table; concurrent searches share one pass over the rows.

A pass multiplies each block of original rows with the queries of all searches: one matrix product.
`conceptor.vectors.search` keeps the rows that may be among the best in single precision; these
are then scored exactly.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import unit_rows
from conceptor.base.threads import one_blas_thread, processors
from conceptor.explore.views import row_blocks
from conceptor.vectors.search import Best

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64
    from conceptor.concepts.query import Criterion, Region
    from conceptor.explore.table import PageTable
    from conceptor.explore.views import View

__all__ = ["Found", "RowSearch", "Searcher"]

# Rows whose quick score is this close to the best are scored again, exactly.
_MARGIN = 2e-3
_MOST_SEARCHES = 128
# Scores per block: with many searches a block has fewer rows. Four megabytes exceed the cache,
# but each block takes Python's lock a dozen times, and all searches compete for it.
_BLOCK_SCORES = 1 << 20
_LEAST_ROWS, _MOST_ROWS = 4096, 16384


@dataclass(frozen=True, eq=False)
class RowSearch:
    """The best k rows of a view by a criterion in its space, except excluded rows."""

    view: View
    criterion: Criterion
    k: int
    left_out: Sequence[int] = ()

    def best_of(self, places: NDArray[np.intp]) -> Found:
        """Return the best of these rows by their exact scores."""
        places = places[~np.isin(places, self.left_out)]
        rows = unit_rows(self.view.rows(places))
        cosines = rows @ self.criterion.direction
        lost = self.view.table.penalties[places] + self.criterion.penalty(rows)
        order = np.lexsort((places, lost - cosines))[: self.k]
        return Found(places[order], (cosines - lost)[order], cosines[order])


@dataclass(frozen=True, eq=False)
class Found:
    """The best rows, best first, with their scores and their cosines."""

    rows: NDArray[np.intp]
    scores: Float64
    cosines: Float64


class Searcher:
    """Runs searches in one table; searches that wait together share one pass over it."""

    def __init__(self, table: PageTable) -> None:
        self._table = table
        self._waiting: SimpleQueue[tuple[RowSearch, Future[Found]]] = SimpleQueue()
        self._pool = ThreadPoolExecutor(processors())
        Thread(target=self._serve, daemon=True).start()

    def ask(self, search: RowSearch) -> Future[Found]:
        """Return a future with the result."""
        future: Future[Found] = Future()
        # Several callers may share it, so a caller that stops waiting must not cancel it.
        future.set_running_or_notify_cancel()
        self._waiting.put((search, future))
        return future

    def _serve(self) -> None:
        with one_blas_thread():  # blocks already use all processors
            while True:
                batch = [self._waiting.get()]
                while len(batch) < _MOST_SEARCHES:
                    try:
                        batch.append(self._waiting.get_nowait())
                    except Empty:
                        break
                self._answer(batch)

    def _answer(self, batch: list[tuple[RowSearch, Future[Found]]]) -> None:
        batch.sort(key=lambda each: id(each[0].view))  # group searches by view
        try:
            run = _Pass(self._table, [search for search, _ in batch])
            size = min(max(_BLOCK_SCORES // len(batch), _LEAST_ROWS), _MOST_ROWS)
            # The first rows set the threshold for the others.
            first = min(_LEAST_ROWS, len(self._table))
            run.look_at(slice(0, first))
            for _ in self._pool.map(run.look_at, row_blocks(len(self._table), size, first)):
                pass
            for search, _ in batch:
                search.view.measure = None
            for number, (search, future) in enumerate(batch):
                future.set_result(search.best_of(run.best.candidates(number)))
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)


class _Pass:
    """Some searches in one pass over a table; blocks may come from several threads."""

    def __init__(self, table: PageTable, searches: Sequence[RowSearch]) -> None:
        self._table = table
        pulled = [each.view.pull_back(each.criterion.direction[:, np.newaxis]) for each in searches]
        self._columns = np.stack([column[:, 0] for column, _ in pulled])
        shifts = np.stack([shift for _, shift in pulled])
        self._views = []
        start = 0
        for view, those in groupby(searches, key=lambda each: each.view):
            stop = start + len(list(those))
            part = slice(start, stop)
            self._views.append((view, part, shifts[part] if shifts[part].any() else None))
            start = stop
        self._selective = {
            number: _Penalty(each.view, each.criterion)
            for number, each in enumerate(searches)
            if each.criterion.selective
        }
        # Otherwise excluded rows would take the places of others.
        self.best = Best(
            len(searches), max(each.k + len(each.left_out) for each in searches), _MARGIN
        )
        self._lock = Lock()

    def look_at(self, part: slice) -> None:
        """Keep the rows of a block that may be among the best."""
        losses = {number: partial(each, part) for number, each in self._selective.items()}
        found = self.best.pick(self._score(part), part.start, losses)
        if len(found.row):
            with self._lock:
                self.best.take(found)

    def _score(self, part: slice) -> NDArray[np.float32]:
        """Return the scores of a block of rows, by search, before a criterion's penalty."""
        # With few searches, BLAS is almost twice as fast in this order as in the other.
        products = self._table.rows[part] @ self._columns.T
        scores: NDArray[np.float32] = np.ascontiguousarray(products.T)
        for view, its, shifts in self._views:
            if (measure := view.measure) is not None:
                measure(part)
            scores[its] *= view.scale[part]
            if shifts is not None:
                scores[its] -= shifts * view.inverse[part]
        scores -= self._table.penalties[part]
        return scores


class _Penalty:
    """A criterion's penalty on cosines, in single precision, computed from the original rows.

    Nearness to a few examples is the length of a product with a few columns, and these can be
    pulled back through the view's map: no row is mapped.
    """

    def __init__(self, view: View, criterion: Criterion) -> None:
        self._view, self._criterion = view, criterion
        regions = (criterion.wanted, criterion.unwanted, criterion.field)
        self._pulled = {id(each): view.pull_back(each.factor) for each in regions if each}

    def __call__(self, part: slice, which: NDArray[np.intp] | slice) -> NDArray[np.float32]:
        """Return the penalty of some rows of a block; never less than 0."""
        view = self._view
        rows = view.table.rows[part][which]
        scale, inverse = (each[part][which, np.newaxis] for each in (view.scale, view.inverse))

        def nearness(region: Region) -> NDArray[np.float32]:
            columns, shift = self._pulled[id(region)]
            kept = (rows @ columns) * scale
            if shift.any():
                kept -= shift * inverse
            return np.asarray(np.sqrt(np.einsum("ij,ij->i", kept, kept)))

        return self._criterion.penalty_by(nearness)
