"""Hubness: whether a few rows are among the nearest of very many others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["occurrence_skew"]

_ORDERS = (1, 2, 3)


def occurrence_skew(near: NDArray[np.int64], count: int) -> float:
    """Return the skewness of k-occurrences: how often each row is among the k nearest of others.

    It is near 0 where all rows are about as often a neighbour, and large where a few hubs are
    neighbours of everything; Radovanović, Nanopoulos & Ivanović (2010), JMLR 11.

    Parameters
    ----------
    near : array of int of shape (q, k)
        The rows nearest to each of q distinct random rows, that row itself left out; −1 for none.
    count : int
        How many rows there are.

    Notes
    -----
    With fewer rows asked than there are, the counts themselves would be skewed by chance. If a row
    is a neighbour of N of the `count` rows and n of the q, then ``E[n (n − 1) …] = N (N − 1) … ·
    q (q − 1) … / count (count − 1) …``: each factorial moment over all rows is estimated without
    bias, and the three of them give the skewness. Where all rows are asked it is the plain one. It
    is not a number where no three rows were asked, or all are equally often a neighbour.
    """
    asked = len(near)
    if asked < len(_ORDERS):
        return float("nan")
    times = np.bincount(near[near >= 0])[:, np.newaxis].astype(np.float64)
    below = np.arange(len(_ORDERS))
    factorials = np.cumprod(times - below, axis=1).sum(axis=0) / count
    first, second, third = factorials * np.cumprod((count - below) / (asked - below))
    square, cube = second + first, third + 3 * second + first
    variance = square - first**2
    if not variance > 1e-9 * square:
        return float("nan")
    return float((cube - 3 * first * square + 2 * first**3) / variance**1.5)
