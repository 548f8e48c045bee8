"""Measures that need no labels: neighbors kept, and hubness."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.vectors.search import Nearest


def without_own(near: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Remove each query row from its own nearest rows, so that one fewer is left.

    If it is not among them, as with many equal rows, the last is dropped instead.
    """
    is_other = near != own[:, np.newaxis]
    is_other[is_other.all(axis=1), -1] = False
    return np.asarray(near[is_other].reshape(len(near), near.shape[1] - 1))


def share_kept(now: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each row the share of its nearest rows before that are still nearest now."""
    pairs = zip(now.tolist(), before.tolist(), strict=True)
    both = [({*a} - {-1}, {*b} - {-1}) for a, b in pairs]
    return np.array([len(a & b) / len(b) if b else 1.0 for a, b in both])


def hubness(rows: NDArray[Any], k: int = 10) -> float:
    """Return the skewness of k-occurrences: how often each row is among the k nearest of others.

    It is near 0 if all rows are neighbors about equally often, and large if a few hubs are
    neighbors of everything; Radovanović, Nanopoulos & Ivanović (2010), JMLR 11. It is NaN if all
    rows are neighbors exactly equally often.

    For a large file, use a random sample and search the neighbors of all its rows: a few rows
    searched among all would hit most rows never and some once, which does not show hubs.
    """
    count = len(rows)
    if count < 2:
        return float("nan")
    search = Nearest(rows, min(k, count - 1) + 1)
    search.take(search.look(rows, 0))
    near = without_own(search.rows, np.arange(count))
    times = np.bincount(near[near >= 0], minlength=count).astype(np.float64)
    spread = times.std()
    if not spread > 1e-9:
        return float("nan")
    return float(np.mean(((times - times.mean()) / spread) ** 3))
