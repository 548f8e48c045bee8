"""Hubness: whether a few rows are neighbours of very many others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.evaluation.kept import without_own
from conceptor.vectors.search import Nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray


def hubness(rows: NDArray[Any], k: int = 10) -> float:
    """Return the skewness of k-occurrences: how often each row is among the k nearest of others.

    It is near 0 if all rows are neighbours about equally often, and large if a few hubs are
    neighbours of everything; Radovanović, Nanopoulos & Ivanović (2010), JMLR 11. It is NaN if all
    rows are neighbours exactly equally often.

    For a large file, use a random sample and search the neighbours of all its rows: a few rows
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
