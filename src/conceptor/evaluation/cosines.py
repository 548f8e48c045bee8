"""Cosines of pairs of vectors, safe for very small and very large numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cosines"]

# Of a sum of products of up to 2²⁰ numbers, generously; float32 tells directions 1e-8 apart.
_ROUNDING = 1e-12


def cosines(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cosine of each row of `left` with the same row of `right`, 0 for a zero row.

    Rows are scaled by their largest component first, because the squares of very small or very
    large components would underflow or overflow. Parallel rows give exactly the same value
    whatever their length, so ties stay ties, and 1 or -1 exactly.
    """
    left, right = _unit_rows(left), _unit_rows(right)
    found = np.asarray(np.einsum("ij,ij->i", left, right), dtype=np.float64)
    # Ranks would tell apart the rounding of words that have one direction.
    return np.where(np.abs(found) > 1 - _ROUNDING, np.sign(found), found)


def _unit_rows(rows: NDArray[Any]) -> NDArray[np.float64]:
    scaled = np.array(rows, dtype=np.float64)
    for size in (np.abs(scaled).max(axis=1, initial=0.0), None):
        norm = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) if size is None else size
        scaled /= np.where(norm > 0, norm, 1.0)[:, None]
    return scaled
