"""Hubness: whether a few rows are among the nearest of very many others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.evaluation.kept import without_own
from conceptor.vectors.search import Nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hubness"]


def hubness(rows: NDArray[Any], k: int = 10) -> float:
    """Return the skewness of k-occurrences: how often each row is among the k nearest of others.

    It is near 0 where all rows are about as often a neighbour, and large where a few hubs are
    neighbours of everything; Radovanović, Nanopoulos & Ivanović (2010), JMLR 11. It is not a number
    where all rows are equally often a neighbour.

    Of a large file a random sample is taken, all of whose rows are asked: the neighbours of a few
    rows among all would hit most rows never and some once, which says nothing about hubs.
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
