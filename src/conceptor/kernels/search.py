"""Compiled loops of searches over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.kernels.jit import jit, jit_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Columns that are looked at for all questions in turn: with a thousand words they fit the cache.
_TILE = 256


@jit_inline
def _is_beaten(
    products: NDArray[np.float32], a: int, b: int, c: int, begin: int, end: int, bar: np.float32
) -> bool:
    """Return whether a column has a sum above the bar; no early exit, so that it vectorises."""
    beaten = False
    for i in range(end - begin):
        j = np.uint64(begin) + np.uint64(i)
        beaten |= products[b, j] - products[a, j] + products[c, j] > bar
    return beaten


@jit
def find_beaten(
    products: NDArray[np.float32],
    terms: NDArray[np.int64],
    bars: NDArray[np.float32],
    excluded: NDArray[np.int64],
    beaten: NDArray[np.bool_],
) -> None:
    """Mark the questions for which another column is nearer than the bar.

    The score of a column is ``products[b] − products[a] + products[c]``.
    `terms` has a, b and c of each question; the columns in `excluded` do not count.
    """
    columns = products.shape[1]
    for tile in range(0, columns, _TILE):
        stop = min(tile + _TILE, columns)
        for question in range(beaten.size):
            begin = tile
            while begin < stop and not beaten[question]:
                end = stop
                for k in range(excluded.shape[1]):
                    if begin <= excluded[question, k] < end:
                        end = excluded[question, k]
                beaten[question] = _is_beaten(
                    products,
                    terms[question, 0],
                    terms[question, 1],
                    terms[question, 2],
                    begin,
                    end,
                    bars[question],
                )
                begin = end + 1
