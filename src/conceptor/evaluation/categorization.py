"""Concept categorisation: how well clusters of vectors match human categories."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.evaluation.statistics import Purity
from conceptor.evaluation.task import Missing, Outcome, with_lower

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.table import WordVectors

FILES = {
    "ESSLLI": "categorization/essli-2008.csv",
    "AP": "categorization/ap.csv",
    "BM": "categorization/battig.csv",
}


class KMeansStart(StrEnum):
    """Initial centroids of k-means.

    CATEGORIES uses the mean vector of each category: it is deterministic, but it uses the labels
    that the score is measured against, so scores are higher than with blind clustering.
    PLUSPLUS is the usual choice: k-means++ with many starts, keeping the tightest clustering.
    """

    CATEGORIES = "categories"
    PLUSPLUS = "plusplus"


@dataclass(frozen=True, eq=False)
class Categorization:
    """Purity of k-means clusters; k is the number of categories."""

    dataset: str
    concepts: Sequence[str]
    labels: Sequence[str]
    start: KMeansStart = KMeansStart.CATEGORIES
    task = "categorization"
    metric = "purity"

    @classmethod
    def read(
        cls, dataset: str, path: str | os.PathLike[str], start: KMeansStart = KMeansStart.CATEGORIES
    ) -> Categorization:
        """Read rows "number,category,concept" below a header; skip rows without a concept."""
        concepts: list[str] = []
        labels: list[str] = []
        with Path(path).open(encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), 1):
                if len(row) != 3:
                    raise InvalidInputError(
                        f"{os.fspath(path)}, line {number}: expected number, category, concept"
                    )
                if number > 1 and row[2]:
                    labels.append(row[1])
                    concepts.append(row[2])
        return cls(dataset, concepts, labels, start)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every concept, and its lower-cased form."""
        return with_lower(self.concepts)

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Cluster the vectors of the known concepts and compare with the categories."""
        rows = vectors.rows(self.concepts, lowercase=missing is Missing.LOWERCASE)
        known = rows >= 0
        categories = np.unique(np.asarray(self.labels), return_inverse=True)[1]
        clusters = np.full(len(rows), -1, dtype=np.intp)
        if known.any():
            points = vectors.vectors[rows[known]].astype(np.float64)
            clusters[known] = self._cluster(points, categories[known])
        return Outcome.from_items(
            self, known, missing, lambda kept: Purity(clusters[kept], categories[kept])
        )

    def _cluster(
        self, points: NDArray[np.float64], categories: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        if self.start is KMeansStart.CATEGORIES:
            return lloyd(points, means_by_group(points, categories))
        from sklearn.cluster import KMeans

        k = len(np.unique(categories))
        model = KMeans(k, init="k-means++", n_init=50, random_state=0)
        labels: NDArray[Any] = model.fit(points).labels_
        return labels.astype(np.intp)


def means_by_group(points: NDArray[np.float64], group: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of each group's points, in sorted order of the groups."""
    _, member, sizes = np.unique(group, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), points.shape[1]))
    np.add.at(sums, member, points)
    return np.asarray(sums / sizes[:, None])


def lloyd(
    points: NDArray[np.float64], centroids: NDArray[np.float64], *, iterations: int = 300
) -> NDArray[np.intp]:
    """Return each point's cluster after Lloyd's algorithm from the given centroids.

    Runs until no point changes its cluster. Deterministic: ties go to the first centroid, and a
    cluster that loses all its points keeps its centroid. Each iteration costs one matrix product
    of points and centroids.
    """
    centroids = centroids.copy()
    labels = np.full(len(points), -1, dtype=np.intp)
    for _ in range(iterations):
        # |x - c|² without |x|², which is the same for all centroids.
        distances = np.einsum("ij,ij->i", centroids, centroids) - 2 * (points @ centroids.T)
        nearest = distances.argmin(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        occupied = np.unique(labels)
        centroids[occupied] = means_by_group(points, labels)
    return labels
