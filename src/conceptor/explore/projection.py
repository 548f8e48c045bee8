"""Words on a plane, before and after, so that the two can be told apart and compared."""

from __future__ import annotations

import importlib.util
import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64

__all__ = ["align", "cluster", "explained", "pca", "projections", "umap"]

CLUSTERS = 8


def projections() -> list[str]:
    """Return what is installed."""
    return ["pca", *(["umap"] if importlib.util.find_spec("umap") else [])]


def pca(rows: Float64, fitted_on: int) -> Float64:
    """Project rows on the two leading directions of the first `fitted_on` of them."""
    centred = rows - rows[:fitted_on].mean(axis=0)
    some = centred[:fitted_on]
    _, vectors = np.linalg.eigh(some.T @ some)
    leading = vectors[:, : -min(3, 1 + rows.shape[1]) : -1]
    signs = np.where(leading.sum(axis=0) < 0, -1.0, 1.0)
    plane = centred @ (leading * signs)
    return plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])


def umap(rows: Float64, start: Float64) -> Float64:
    """Lay rows out by UMAP, from where they are on another plane."""
    from umap import UMAP

    neighbours = min(15, len(rows) - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one thread, because of the seed
        layout = UMAP(
            n_neighbors=neighbours, init=10 * _scaled(start), metric="cosine", random_state=0
        )
        return np.asarray(layout.fit_transform(rows), dtype=np.float64)


def align(plane: Float64, reference: Float64) -> Float64:
    """Turn, mirror and scale a plane so that its points lie nearest to those of another.

    (Orthogonal Procrustes.) Both are centred and brought to the same spread, that of the result.
    """
    plane, reference = _scaled(plane), _scaled(reference)
    left, _, right = np.linalg.svd(plane.T @ reference)
    return np.asarray(plane @ (left @ right))


def _scaled(plane: Float64) -> Float64:
    centred = plane - plane.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=1).mean())
    return np.asarray(centred / (spread or 1.0))


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


def cluster(rows: Float64, fitted_on: int) -> NDArray[np.int64]:
    """Return a cluster for each row, by k-means on the directions of the first rows."""
    from sklearn.cluster import KMeans

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(lengths > 0, lengths, 1.0)
    count = min(CLUSTERS, len(np.unique(unit[:fitted_on], axis=0)))
    means = KMeans(count, n_init=2, random_state=0).fit(unit[:fitted_on])
    return np.asarray(means.predict(unit), dtype=np.int64)
