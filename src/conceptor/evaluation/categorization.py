"""Concept categorization: how well clusters of vectors match human categories."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import one_blas_thread
from conceptor.evaluation.statistics import Purity
from conceptor.evaluation.task import Missing, Outcome, Task, with_lower
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
class Categorization(Task):
    """Purity of k-means clusters; k is the number of categories."""

    dataset: str
    concepts: Sequence[str]
    labels: Sequence[str]
    start: KMeansStart = KMeansStart.CATEGORIES
    task = "categorization"
    metric = "purity"

    @classmethod
    def read(cls, dataset: str, path: str | os.PathLike[str]) -> Categorization:
        """Read rows "number,category,concept" below a header; skip rows without a concept."""
        rows: list[list[str]] = []
        with Path(path).open(encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), 1):
                if len(row) != 3:
                    where = f"{os.fspath(path)}, line {number}"
                    raise InvalidInputError(f"{where}: expected number, category, concept")
                if number > 1 and row[2]:
                    rows.append(row)
        return cls(dataset, [row[2] for row in rows], [row[1] for row in rows])

    @cached_property
    def words(self) -> frozenset[str]:
        """Every concept, and its lower-cased form."""
        return with_lower(self.concepts)

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Cluster the vectors of the known concepts and compare with the categories."""
        from sklearn.cluster import KMeans

        rows = vectors.rows(self.concepts, lowercase=missing is Missing.LOWERCASE)
        covered = rows >= 0
        categories = np.unique(np.asarray(self.labels), return_inverse=True)[1]
        clusters = np.full(len(rows), -1, dtype=np.intp)
        if covered.any():
            points = vectors.vectors[rows[covered]].astype(np.float64)
            kinds = np.unique(categories[covered])
            if self.start is KMeansStart.CATEGORIES:
                of_kinds = (points[categories[covered] == kind] for kind in kinds)
                means = np.array([each.mean(axis=0) for each in of_kinds])
                model = KMeans(len(kinds), init=means, n_init=1, tol=0)
            else:
                model = KMeans(len(kinds), n_init=50, random_state=0)
            with one_blas_thread():  # the same sums for any number of processors
                clusters[covered] = model.fit(points).labels_
        return self.outcome_of_items(
            covered, missing, lambda scored: Purity(clusters[scored], categories[scored])
        )
