"""The share of neighbours that rows keep: how much search results change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def without_own(near: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Remove each query row from its own nearest rows, so that one fewer is left.

    If it is not among them, as with many equal rows, the last is dropped instead.
    """
    others = near != own[:, np.newaxis]
    others[others.all(axis=1), -1] = False
    found: NDArray[np.int64] = near[others].reshape(len(near), near.shape[1] - 1)
    return found


def share_kept(now: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each row the share of its nearest rows before that are still nearest now."""
    pairs = zip(now.tolist(), before.tolist(), strict=True)
    both = [({*a} - {-1}, {*b} - {-1}) for a, b in pairs]
    return np.array([len(a & b) / len(b) if b else 1.0 for a, b in both])
