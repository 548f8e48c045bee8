"""Scores as functions of item weights, and the paired bootstrap built on them.

A resample of n items is a vector of n counts. Every score here takes a matrix of such vectors,
one resample per column, and returns one value per column. The score itself is the resample that
takes every item once, so a score and its interval come from the same code. Resamples are never
sorted: ranks within a resample are running sums of its counts along one fixed order.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread

Vector = NDArray[np.float64]
ItemWeights = NDArray[np.float64]

RESAMPLES = 1000
CONFIDENCE = 0.95
# Items × resamples per block: keeps temporary matrices to a few megabytes each.
_ELEMENTS = 500_000


class Statistic(Protocol):
    """A score over items that can be weighted."""

    @property
    def size(self) -> int:
        """Number of items."""

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return the score for each column of `weights` (items × resamples); nan if undefined."""


def value(statistic: Statistic, kept: NDArray[np.bool_] | None = None) -> float:
    """Return the score with every item counted once, or only the `kept` ones."""
    weights = np.ones(statistic.size) if kept is None else kept.astype(np.float64)
    return float(statistic(weights[:, np.newaxis])[0])


@dataclass(frozen=True, eq=False)
class _Correlation(ABC):
    """A correlation between predicted and human scores."""

    predicted: Vector
    gold: Vector

    @property
    def size(self) -> int:
        """Number of pairs."""
        return len(self.gold)

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return the correlation for each column of weights; nan without any pairs."""
        return self._correlate(weights) if self.size else np.full(weights.shape[1], np.nan)

    @abstractmethod
    def _correlate(self, weights: ItemWeights) -> Vector: ...


class PearsonCorrelation(_Correlation):
    """Pearson's r, from one matrix product for all columns."""

    def _correlate(self, weights: ItemWeights) -> Vector:
        # Centred and scaled first, so that the moments neither cancel nor overflow.
        x, y = _standardize(self.predicted), _standardize(self.gold)
        moments = np.stack([x, y, x * x, y * y, x * y]) @ weights
        mean_x, mean_y, xx, yy, xy = moments / weights.sum(axis=0)
        return _correlation(xy - mean_x * mean_y, xx - mean_x**2, yy - mean_y**2)


class SpearmanCorrelation(_Correlation):
    """Spearman's ρ with average ranks for ties: Pearson's r of the ranks within each resample."""

    def _correlate(self, weights: ItemWeights) -> Vector:
        total = weights.sum(axis=0)
        # The mean rank is (total + 1) / 2 for any ties; divided by the total, ranks are of
        # order one.
        x, y = (
            (weighted_ranks(values, weights) - (total + 1) / 2) / total
            for values in (self.predicted, self.gold)
        )
        weighted = weights * x
        xy = np.einsum("ij,ij->j", weighted, y)
        xx = np.einsum("ij,ij->j", weighted, x)
        yy = np.einsum("ij,ij->j", np.multiply(weights, y, out=weighted), y)
        return _correlation(xy / total, xx / total, yy / total)


def weighted_ranks(values: Vector, weights: ItemWeights) -> ItemWeights:
    """Return the average rank of each item if item i occurs weights[i] times.

    The rank of a value is the weight below it plus half of (the weight of its ties + 1).
    """
    distinct, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(distinct)))
    ties = np.add.reduceat(weights[order], starts, axis=0)
    ranks: ItemWeights = np.cumsum(ties, axis=0)
    ranks -= (ties - 1) / 2
    return np.asarray(np.take(ranks, group, axis=0), dtype=np.float64)


def _standardize(values: Vector) -> Vector:
    centred: Vector = values - values.mean()
    size = float(np.abs(centred).max())
    return centred / size if size > 0 else centred


def _correlation(covariance: Vector, variance_x: Vector, variance_y: Vector) -> Vector:
    """Return the correlation of values of order 1; nan if a variance is only rounding."""
    defined = (variance_x > 1e-13) & (variance_y > 1e-13)
    scale = np.sqrt(np.where(defined, variance_x * variance_y, 1.0))
    return np.where(defined, np.clip(covariance / scale, -1.0, 1.0), np.nan)


@dataclass(frozen=True, eq=False)
class Purity:
    """Share of items that belong to the most common category of their cluster.

    An item with a negative cluster is in no cluster: it counts, but is never right.
    """

    clusters: NDArray[np.intp]
    categories: NDArray[np.intp]

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.categories)

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return the purity for each column of weights, from its contingency table."""
        placed = np.flatnonzero(self.clusters >= 0)
        if len(placed) == 0:
            return np.full(weights.shape[1], np.nan)
        rows, columns = self.clusters[placed], self.categories[placed]
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
        cells = sparse.csr_array(
            (np.ones(len(placed)), (rows * shape[1] + columns, np.arange(len(placed)))),
            shape=(shape[0] * shape[1], len(placed)),
        )
        tables = np.asarray(cells @ weights[placed]).reshape(*shape, -1)
        return np.asarray(tables.max(axis=1).sum(axis=0) / weights.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Mean:
    """Mean of the items' own scores; for right (1) and wrong (0), the accuracy."""

    scores: NDArray[Any]

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.scores)

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return the mean for each column of weights."""
        if self.size == 0:
            return np.full(weights.shape[1], np.nan)
        return np.asarray(self.scores.astype(np.float64) @ weights / weights.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Masked:
    """A score over the `kept` items of a dataset, given weights for all of its items.

    Resamples draw from all items and then drop the others. So the draws do not depend on the items
    that the vectors cover, and differences on several sets of vectors can be averaged.
    """

    statistic: Statistic
    kept: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of items, kept or not."""
        return len(self.kept)

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return the score for each column of weights; nan if no kept item was drawn."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.statistic(weights[self.kept])


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference and its percentile bootstrap interval, in points (× 100)."""

    difference: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 for a gain and −1 for a loss beyond chance; 0 if the interval contains zero."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True, eq=False)
class Differences:
    """Gains of methods over the baseline, × 100: as measured, and in each resample."""

    measured: Vector  # methods
    resampled: NDArray[np.float64]  # methods × resamples

    @classmethod
    def mean(cls, parts: Sequence[Differences]) -> Differences:
        """Average over datasets (independent draws) or over vectors (the same draws)."""
        return cls(
            np.mean([part.measured for part in parts], axis=0),
            np.mean([part.resampled for part in parts], axis=0),
        )

    def interval(self, method: int, confidence: float = CONFIDENCE) -> Interval:
        """Return the percentile interval, ignoring resamples with an undefined score."""
        samples = self.resampled[method]
        samples = samples[np.isfinite(samples)]
        tail = 50 * (1 - confidence)
        low, high = np.percentile(samples, [tail, 100 - tail]) if len(samples) else (np.nan, np.nan)
        return Interval(float(self.measured[method]), float(low), float(high))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number: at a threshold x, any error has probability < x.

    Holm (1979): the smallest is multiplied by n, the next by n − 1, ..., and none may be smaller
    than the one before.
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return adjusted.tolist()


def paired_differences(
    baseline: Mapping[str, Statistic],
    methods: Sequence[Mapping[str, Statistic]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, Differences]:
    """Resample each dataset's items, with the same draws for all methods, and subtract.

    `baseline` and each of `methods` map dataset names to statistics over the same items; sharing
    the draws is what makes the comparison paired. Draws depend only on the seed, the dataset's
    name and its size, so an interval does not change when another dataset or method is added.

    If two cover different items of a dataset, as two files may, they are compared on the items
    that both cover, so that vectors do not gain by leaving out hard items.

    Cost: O(resamples × items) for each method; nothing is sorted within a resample.
    """
    found = {}
    # Many small products: threads would cost more than they gain.
    with one_blas_thread():
        for done, (name, statistic) in enumerate(baseline.items()):
            progress("intervals", done / len(baseline), 0)
            others = [each[name] for each in methods]
            found[name] = _differences(name, statistic, others, resamples, seed)
    return found


def _differences(
    name: str, baseline: Statistic, others: Sequence[Statistic], resamples: int, seed: int
) -> Differences:
    shared = [_shared_items(baseline, other) for other in others]
    measured = np.array(
        [
            value(other, both) - value(baseline, both)
            for other, both in zip(others, shared, strict=True)
        ]
    )
    blocks = []
    for weights in _draw_resamples(name, baseline.size, resamples, seed):
        scores = baseline(weights)
        block = []
        for other, both in zip(others, shared, strict=True):
            if both is None:
                block.append(other(weights) - scores)
            else:
                kept = weights * both[:, np.newaxis]
                block.append(other(kept) - baseline(kept))
        blocks.append(block)
    shape = (len(others), -1)
    return Differences(100 * measured, 100 * np.concatenate(blocks, axis=1).reshape(shape))


def _shared_items(one: Statistic, other: Statistic) -> NDArray[np.bool_] | None:
    """Return the items that both are scored on; None if they are scored on the same ones."""
    if not (isinstance(one, Masked) and isinstance(other, Masked)):
        return None
    return None if np.array_equal(one.kept, other.kept) else one.kept & other.kept


def _draw_resamples(name: str, size: int, resamples: int, seed: int) -> Iterator[ItemWeights]:
    """Yield blocks of resamples, as counts of each item, from the dataset's own generator."""
    generator = np.random.default_rng([seed, zlib.crc32(name.encode()), size])
    block = max(1, min(resamples, _ELEMENTS // max(size, 1)))
    for start in range(0, resamples, block):
        columns = min(block, resamples - start)
        if size == 0:
            yield np.zeros((0, columns))
            continue
        drawn = generator.integers(0, size, size=(size, columns)) * columns + np.arange(columns)
        counts = np.bincount(drawn.ravel(), minlength=size * columns)
        yield counts.reshape(size, columns).astype(np.float64)
