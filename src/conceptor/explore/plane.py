"""Rows on a plane, before and after a method at any value of its slider; clusters with names."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import Float64, unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_CLUSTERS = 8
# How many rows decide the clusters, how many first words may name one, and words in a name.
_CLUSTERED, _NAMING, _NAMED_BY = 5000, 5000, 3
# Words are taken from this many first ones.
_REACH = 100_000
# The share of the squares of all points that the components may lose.
_LOSS = 1e-6


@dataclass(frozen=True, eq=False)
class Planes:
    """The planes of some rows after each of several linear maps, with few numbers per row.

    The points after map j are ``(x − mean) basis turns[j]``. Maps that differ in a gate only give
    planes that share most of their space, so about ten columns of the basis are enough for all of
    them, and a browser that has ``(x − mean) basis`` can draw every step of a slider.
    """

    mean: Float64
    basis: Float64
    turns: Float64

    @classmethod
    def fit(
        cls,
        rows: NDArray[Any],
        matrices: Sequence[Float64] | None = None,
        reference: Float64 | None = None,
    ) -> Planes:
        """Find the plane of the two leading principal components after each matrix.

        Points have mean square 1. With reference points, each plane is rotated and mirrored to
        match them (orthogonal Procrustes). Costs a partial eigendecomposition per matrix.
        """
        mean = rows.mean(axis=0, dtype=np.float64)
        centered = rows - mean.astype(rows.dtype)
        largest = float(np.abs(centered).max(initial=0.0)) or 1.0
        centered /= largest  # squares may overflow float32
        moment = np.asarray(centered.T @ centered, dtype=np.float64) / max(len(rows), 1)
        target = None if reference is None else centered.T @ reference
        maps = [np.eye(len(mean))] if matrices is None else matrices
        planes = np.array([_leading_plane(moment, matrix, target) for matrix in maps])
        # Components of all planes that matter, measured on the rows.
        values, vectors = np.linalg.eigh(moment)
        is_used = values > values[-1] * 1e-12 if values[-1] > 0 else values > 0
        roots, vectors = np.sqrt(values[is_used]), vectors[:, is_used]
        inside = (roots[:, np.newaxis] * vectors.T) @ np.hstack(list(planes))
        left, scales, right = np.linalg.svd(inside, full_matrices=False)
        rest = 1 - np.cumsum(scales**2) / ((scales**2).sum() or 1.0)
        count = max(2, 1 + int(np.count_nonzero(rest > _LOSS)))
        basis = (vectors / roots) @ left[:, :count] / largest
        turns = (scales[:count, np.newaxis] * right[:count]).reshape(-1, len(planes), 2)
        return cls(mean, basis, turns.swapaxes(0, 1))

    def components(self, rows: NDArray[Any]) -> Float64:
        """Return the coordinates of rows along the basis."""
        return np.asarray((rows - self.mean) @ self.basis)

    def __call__(self, rows: NDArray[Any], number: int = 0) -> Float64:
        """Return the points of rows after one of the maps."""
        return np.asarray(self.components(rows) @ self.turns[number])


def _leading_plane(moment: Float64, matrix: Float64, target: Float64 | None) -> Float64:
    """Return the leading plane of rows with a second moment after a matrix, as columns."""
    from scipy.linalg import eigh

    after = matrix.T @ moment @ matrix
    size = len(after)
    _, vectors = eigh(after, subset_by_index=[max(size - 2, 0), size - 1])
    directions = vectors[:, ::-1]
    directions = matrix @ (directions * np.where(directions.sum(axis=0) < 0, -1.0, 1.0))
    if size < 2:
        directions = np.column_stack([directions, np.zeros(len(directions))])
    directions /= np.sqrt(max(np.trace(directions.T @ moment @ directions), 0.0)) or 1.0
    if target is None:
        return np.asarray(directions)
    left, _, right = np.linalg.svd(directions.T @ target)
    return np.asarray(directions @ left @ right)


def neighborhoods(rows: NDArray[Any], start: Float64) -> Float64:
    """Return UMAP of rows by their cosines (McInnes et al., 2018), as points of mean square 1.

    It moves the points `start` until near rows are near, so two calls with the same start can be
    compared. The seed is fixed.
    """
    import umap

    near = min(15, len(rows) - 1)
    if near < 2:
        return start
    model = umap.UMAP(near, metric="cosine", init=start, n_epochs=200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed seed means one thread
        points = model.fit_transform(rows)
    points = np.asarray(points - points.mean(axis=0), dtype=np.float64)
    return np.asarray(points / (np.sqrt((points**2).sum(axis=1).mean()) or 1.0))


def spread(total: int, count: int) -> NDArray[np.intp]:
    """Return at most `count` rows, evenly over log rank, to show both common and rare words."""
    reach = min(_REACH, total)
    if count >= reach:
        return np.arange(reach)
    rows = np.unique(np.geomspace(1, reach, 3 * count).astype(np.intp)) - 1
    chosen = np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.intp)
    return np.asarray(rows[chosen])


def cluster(rows: NDArray[Any]) -> Float64:
    """Return the cosines of rows and the centers of clusters, by k-means on an even sample."""
    from sklearn.cluster import KMeans

    sample = unit_rows(rows[:: -(-len(rows) // _CLUSTERED)])
    count = min(_CLUSTERS, len(np.unique(sample.round(6), axis=0)))
    means = KMeans(count, n_init=2, random_state=0).fit(sample)
    return np.asarray(unit_rows(rows) @ unit_rows(means.cluster_centers_).T)


def common_words(words: Sequence[str], cosines: Float64) -> list[str]:
    """Name each cluster by three words that are near its center and far from the other centers.

    Words are sorted by frequency. Common words of letters only are preferred.
    """
    words, cosines = words[:_NAMING], cosines[:_NAMING]
    own = cosines.argmax(axis=1)
    others = cosines.copy()
    others[np.arange(len(words)), own] = 0.0
    clear = cosines.max(axis=1) - 0.5 * np.maximum(others.max(axis=1), 0.0)
    clear -= 0.05 * np.log1p(np.arange(len(words)) / 200.0)
    clear[[not word.isalpha() or len(word) < 3 for word in words]] -= 1.0
    names = []
    for each in range(cosines.shape[1]):
        members = np.flatnonzero(own == each)
        best = members[np.argsort(-clear[members], kind="stable")[:_NAMED_BY]]
        names.append(", ".join(words[i] for i in best.tolist()))
    return names


def distinctive_words(texts: Sequence[str], clusters: NDArray[np.intp]) -> list[str] | None:
    """Name each cluster of texts by three words that are frequent in it and rare in the others.

    c-TF-IDF (Grootendorst, 2022): ``√tf · log(1 + A / f)``, with the share tf of a word among the
    words of a cluster, its count f in all of them, and the mean number A of words in a cluster. A
    word can only name the cluster where its share is largest. None if there are no words.
    """
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

    step = -(-len(texts) // _CLUSTERED)
    texts, clusters = texts[::step], clusters[::step]
    vectorizer = CountVectorizer(
        stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{3,24}\b", max_features=20_000
    )
    try:
        counts = csr_array(vectorizer.fit_transform(texts))
    except ValueError:  # no words, or stop words only
        return None
    places = np.arange(len(texts))
    membership = csr_array((np.ones(len(texts)), (clusters, places)))
    totals = (membership @ counts).toarray()
    shares = totals / np.maximum(totals.sum(axis=1, keepdims=True), 1.0)
    scores = np.sqrt(shares) * np.log1p(totals.sum() / len(totals) / totals.sum(axis=0))
    scores[shares < shares.max(axis=0)] = 0.0
    words = vectorizer.get_feature_names_out()
    best = np.argsort(-scores, axis=1, kind="stable")[:, :_NAMED_BY]
    return [", ".join(words[row]) for row in best]
