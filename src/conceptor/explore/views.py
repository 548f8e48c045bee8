"""A table after a method at any setting, without recomputing its vectors.

A method's setting (its aperture) changes only the gate g in ``y = U diag(g) Uᵀ (x − m)``. The
cosine of y with a query q is ``y·q / |y|``. The first factor is one product of the original rows
with ``A q``. The lengths are ``|y|² = Σ c_k² g_k²`` with the coordinates ``c = Uᵀ (x − m)``, which
do not depend on the setting. All gates within a slider's range differ smoothly, so their squares
lie in a space of a dozen dimensions. So a dozen numbers per row are computed once and kept, and
dragging a slider recomputes neither vectors nor lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.recipes import Solution
    from conceptor.base.arrays import Float64
    from conceptor.explore.table import PageTable

_BLOCK_ROWS = 8192
# Squared gates are kept to this precision, in units of the largest.
_PRECISION = 1e-7
_LEAST = np.float32(1e-30)


class Reach:
    """The common part of a method's settings: directions, and the gates within reach.

    Parameters
    ----------
    table : PageTable
    solution : Solution
        At any setting; its spectrum and map define the directions, the offset and `unit`.
    gates : array of shape (settings, n)
        The gates that views may have; gates outside their range give wrong lengths.
    """

    def __init__(
        self, table: PageTable, solution: Solution, gates: Float64, progress: Progress = silent
    ) -> None:
        self._table = table
        squares = np.atleast_2d(gates) ** 2
        squares = squares / squares.max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
        _, strengths, basis = np.linalg.svd(squares, full_matrices=False)
        self._basis = basis[strengths > _PRECISION * strengths[0]].T
        # One row per dimension: weighting rows is twice as fast as weighting columns.
        self._energies = np.empty((self._basis.shape[1], len(table)), dtype=np.float32)
        rotation = solution.spectrum.vectors.astype(np.float32)
        offset, basis32 = solution.map.offset.astype(np.float32), self._basis.astype(np.float32)

        def fill(part: slice) -> int:
            rows = table.rows[part]
            if solution.map.unit:
                rows = rows / table.lengths[part, np.newaxis]
            coordinates = (rows - offset if offset.any() else rows) @ rotation
            np.square(coordinates, out=coordinates)
            self._energies[:, part] = (coordinates @ basis32).T
            return int(part.stop)

        with one_blas_thread():
            for done in ordered_map(fill, row_blocks(len(table)), processors()):
                progress("preparing", done / len(table), done)

    def view(self, solution: Solution) -> View:
        """Return the table after a solution whose gate is within reach."""
        table = self._table
        inverse = np.empty(len(table), dtype=np.float32)
        scale = np.empty_like(inverse) if solution.map.unit else inverse
        largest = float(solution.gate.max(initial=0.0)) or 1.0  # its square may be beyond float32
        weights = (self._basis.T @ (solution.gate / largest) ** 2).astype(np.float32)

        def measure(part: slice) -> None:
            lengths = np.matmul(weights, self._energies[:, part], out=inverse[part])
            np.maximum(lengths, _LEAST, out=lengths)
            np.sqrt(lengths, out=lengths)
            np.divide(1 / largest, lengths, out=lengths)
            if solution.map.unit:
                np.multiply(lengths, table.inverse[part], out=scale[part])

        return View(table, solution.map, inverse, scale, measure)


@dataclass(eq=False)
class View:
    """A table after a map; without a map, the original table.

    Attributes
    ----------
    table : PageTable
    map : AffineMap, optional
    inverse : array of float32
        ``1 / |y|`` of every row; a large number where y is 0.
    scale : array of float32
        Turns a product with an original row into a cosine: `inverse`, divided by the row's length
        if rows are scaled to length 1 first.
    measure : callable, optional
        Sets `inverse` and `scale` of a block of rows. The first pass over the table calls it, block
        by block on all processors, and sets it to None at the end.
    """

    table: PageTable
    map: AffineMap | None
    inverse: NDArray[np.float32]
    scale: NDArray[np.float32]
    measure: Callable[[slice], None] | None = None

    @classmethod
    def plain(cls, table: PageTable) -> View:
        """Return the original table."""
        return cls(table, None, table.inverse, table.inverse)

    @property
    def n_out(self) -> int:
        """The number of dimensions."""
        return self.table.dimension if self.map is None else self.map.n_out

    def rows(self, places: NDArray[np.intp] | slice) -> Float64:
        """Return some rows after the map, in double precision."""
        rows = np.asarray(self.table.rows[places], dtype=np.float64)
        return rows if self.map is None else np.asarray(self.map(rows))

    def pull_back(self, columns: Float64) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return V and c: ``(x·V) scale − c inverse`` are the products of y, at length 1."""
        if self.map is None:
            return columns.astype(np.float32), np.zeros(columns.shape[1], dtype=np.float32)
        pulled = self.map.matrix @ columns
        shift = self.map.offset @ pulled - self.map.bias @ columns
        return pulled.astype(np.float32), shift.astype(np.float32)


def row_blocks(count: int, size: int = _BLOCK_ROWS, first: int = 0) -> Iterator[slice]:
    """Split a table's rows into blocks, starting at `first`."""
    for start in range(first, count, size):
        yield slice(start, min(start + size, count))
