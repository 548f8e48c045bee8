"""Words on a plane, before and after, aligned so that the two can be compared."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from conceptor.base.arrays import Float64, unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Rows: TypeAlias = "NDArray[np.float32] | Float64"

_CLUSTERS = 8
# Rows that determine the clusters, and words in a cluster's name.
_CLUSTERED_BY, _NAMED_BY = 5000, 3
# UMAP needs a few neighbours for each word.
_LEAST_FOR_UMAP = 16
# Numba may abort the process when two threads are in its parallel loops at once.
_umap_lock = Lock()


def projections(words: int) -> list[str]:
    """Return the installed projections that suit this many words."""
    by_umap = words >= _LEAST_FOR_UMAP and importlib.util.find_spec("umap")
    return ["pca", "umap"] if by_umap else ["pca"]


@dataclass(frozen=True, eq=False)
class Plane:
    """Rows laid out on a plane, and a function that adds more rows to it."""

    points: Float64
    place: Callable[[Rows], Float64]


def pca(rows: Rows) -> Plane:
    """Project rows on their two leading directions."""
    mean = rows.mean(axis=0, dtype=np.float64)
    centred = rows - mean.astype(rows.dtype)
    centred /= np.abs(centred).max(initial=0.0) or 1.0  # squares may be beyond float32
    _, vectors = np.linalg.eigh(np.asarray(centred.T @ centred, dtype=np.float64))
    leading = vectors[:, :-3:-1]
    leading = leading * np.where(leading.sum(axis=0) < 0, -1.0, 1.0)
    if leading.shape[1] < 2:
        leading = np.column_stack([leading, np.zeros(len(leading))])

    def place(more: Rows) -> Float64:
        return np.asarray(more @ leading - mean @ leading, dtype=np.float64)

    return Plane(place(rows), place)


def umap(rows: Rows, start: Float64) -> Plane:
    """Lay rows out by UMAP, starting from their positions on another plane."""
    from umap import UMAP

    def place(more: Rows) -> Float64:
        if not len(more):
            return np.zeros((0, 2))
        with _umap_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(layout.transform(more), dtype=np.float64)

    with _umap_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one thread, because of the seed
        neighbours = min(15, len(rows) - 1)
        layout = UMAP(
            n_neighbors=neighbours, init=10 * _Frame(start)(start), metric="cosine", random_state=0
        ).fit(rows)
    return Plane(np.asarray(layout.embedding_, dtype=np.float64), place)


def align(plane: Plane, reference: Float64) -> Plane:
    """Rotate, mirror and scale a plane to match the points of another.

    (Orthogonal Procrustes.) Both are centred and scaled to the same spread, that of the result.
    """
    own = _Frame(plane.points)
    left, _, right = np.linalg.svd(own(plane.points).T @ _Frame(reference)(reference))
    turn = left @ right
    return Plane(own(plane.points) @ turn, lambda more: own(plane.place(more)) @ turn)


class _Frame:
    """Centres and scales points; the points it was made from get a spread of 1."""

    def __init__(self, points: Float64) -> None:
        self._mean = points.mean(axis=0)
        self._spread = np.sqrt(((points - self._mean) ** 2).sum(axis=1).mean()) or 1.0

    def __call__(self, points: Float64) -> Float64:
        return np.asarray((points - self._mean) / self._spread)


def explained(plane: Float64, values: Float64) -> float:
    """Return the share of the variance of some values that lies along the plane (R²)."""
    centred = values - values.mean()
    total = float(centred @ centred)
    if not total > 0:
        return 0.0
    inside = np.column_stack([plane, np.ones(len(plane))])
    coefficients, *_ = np.linalg.lstsq(inside, centred, rcond=None)
    left = centred - inside @ coefficients
    return float(np.clip(1 - left @ left / total, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Clusters:
    """Words in groups, by k-means on their directions.

    Attributes
    ----------
    centres : array of shape (clusters, n)
        At length 1.
    labels : array of int
        The cluster of each row that was given.
    """

    centres: Float64
    labels: NDArray[np.int64]

    def predict(self, rows: Rows) -> NDArray[np.int64]:
        """Return the cluster of rows: the nearest centre."""
        return _nearest(rows, self.centres)

    def names(self, words: Sequence[str], rows: Float64) -> list[str]:
        """Name each cluster by words that are near its centre and far from the other centres.

        `rows` are the words' vectors at length 1, most common first.
        """
        cosines = rows @ self.centres.T
        own = cosines.argmax(axis=1)
        others = cosines.copy()
        others[np.arange(len(rows)), own] = -1.0
        clear = cosines.max(axis=1) - 0.5 * np.maximum(others.max(axis=1), 0.0)
        clear -= 0.05 * np.log1p(np.arange(len(rows)) / 200.0)  # of common words
        plain = np.array([word.isalpha() and len(word) > 2 for word in words], dtype=np.bool_)
        clear[~plain] -= 1.0
        found = []
        for cluster in range(len(self.centres)):
            members = np.flatnonzero(own == cluster)
            best = members[np.argsort(-clear[members], kind="stable")[:_NAMED_BY]]
            found.append(", ".join(words[i] for i in best.tolist()))
        return found


def fit_clusters(rows: NDArray[np.float32]) -> Clusters:
    """Put rows into clusters; an evenly chosen sample of them determines the clusters."""
    from sklearn.cluster import KMeans

    directions = unit_rows(rows)
    some = directions[:: -(-len(rows) // _CLUSTERED_BY)]
    count = min(_CLUSTERS, len(np.unique(some.round(6), axis=0)))
    means = KMeans(count, n_init=2, random_state=0).fit(some)
    centres = unit_rows(np.asarray(means.cluster_centers_, dtype=np.float64))
    return Clusters(centres, _nearest(directions, centres))


def _nearest(rows: Rows, centres: Float64) -> NDArray[np.int64]:
    return np.asarray((rows @ centres.T).argmax(axis=1), dtype=np.int64)
