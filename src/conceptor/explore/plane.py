"""Words on a plane before and after a method, and clusters of words with names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import Float64, unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Clusters", "Plane", "explained", "spread"]

_CLUSTERS = 8
# How many rows decide the clusters, how many first words may name one, and words in a name.
_CLUSTERED, _NAMING, _NAMED_BY = 5000, 5000, 3
# Words are taken from this many first ones.
_REACH = 100_000


@dataclass(frozen=True, eq=False)
class Plane:
    """A projection of vectors on a plane: ``(x − mean) directions``."""

    mean: Float64
    directions: Float64

    @classmethod
    def fit(cls, rows: NDArray[Any], reference: Float64 | None = None) -> Plane:
        """Return the plane of the two leading directions, scaled to points of mean square 1.

        With reference points, it is rotated and mirrored to match them (orthogonal Procrustes).
        """
        mean = rows.mean(axis=0, dtype=np.float64)
        centered = rows - mean.astype(rows.dtype)
        centered /= np.abs(centered).max(initial=0.0) or 1.0  # squares may overflow float32
        _, vectors = np.linalg.eigh(np.asarray(centered.T @ centered, dtype=np.float64))
        directions = vectors[:, :-3:-1]
        directions = directions * np.where(directions.sum(axis=0) < 0, -1.0, 1.0)
        if directions.shape[1] < 2:
            directions = np.column_stack([directions, np.zeros(len(directions))])
        points = cls(mean, directions)(rows)
        directions = directions / (np.sqrt((points**2).sum(axis=1).mean()) or 1.0)
        if reference is not None:
            left, _, right = np.linalg.svd(cls(mean, directions)(rows).T @ reference)
            directions = directions @ left @ right
        return cls(mean, directions)

    def __call__(self, rows: NDArray[Any]) -> Float64:
        """Return the points of rows."""
        return np.asarray((rows - self.mean) @ self.directions)


def spread(total: int, count: int) -> NDArray[np.intp]:
    """Return at most `count` rows, evenly over log rank, to show both common and rare words."""
    reach = min(_REACH, total)
    if count >= reach:
        return np.arange(reach)
    rows = np.unique(np.geomspace(1, reach, 3 * count).astype(np.intp)) - 1
    chosen = np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.intp)
    return np.asarray(rows[chosen])


def explained(points: Float64, values: Float64) -> float:
    """Return the share of the variance of some values that lies along the plane (R²)."""
    centered = values - values.mean()
    total = float(centered @ centered)
    if not total > 0:
        return 0.0
    inside = np.column_stack([points, np.ones(len(points))])
    coefficients, *_ = np.linalg.lstsq(inside, centered, rcond=None)
    left = centered - inside @ coefficients
    return float(np.clip(1 - left @ left / total, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of words by k-means on their directions; `centers` are unit vectors."""

    centers: Float64

    @classmethod
    def fit(cls, rows: NDArray[Any]) -> Clusters:
        """Find the clusters of rows; an even sample of them is enough."""
        from sklearn.cluster import KMeans

        sample = unit_rows(rows[:: -(-len(rows) // _CLUSTERED)])
        count = min(_CLUSTERS, len(np.unique(sample.round(6), axis=0)))
        means = KMeans(count, n_init=2, random_state=0).fit(sample)
        return cls(unit_rows(means.cluster_centers_))

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Return the cluster of each row: the nearest center."""
        return np.asarray((rows @ self.centers.T).argmax(axis=1))

    def names(self, words: Sequence[str], rows: NDArray[Any]) -> list[str]:
        """Name each cluster by words that are near its center and far from the other centers.

        Words are sorted by frequency. Common words of letters only are preferred.
        """
        words = words[:_NAMING]
        cosines = unit_rows(rows[:_NAMING]) @ self.centers.T
        own = cosines.argmax(axis=1)
        others = cosines.copy()
        others[np.arange(len(words)), own] = 0.0
        clear = cosines.max(axis=1) - 0.5 * np.maximum(others.max(axis=1), 0.0)
        clear -= 0.05 * np.log1p(np.arange(len(words)) / 200.0)
        clear[[not word.isalpha() or len(word) < 3 for word in words]] -= 1.0
        names = []
        for cluster in range(len(self.centers)):
            members = np.flatnonzero(own == cluster)
            best = members[np.argsort(-clear[members], kind="stable")[:_NAMED_BY]]
            names.append(", ".join(words[i] for i in best.tolist()))
        return names
