"""Scores as functions of item weights, and the paired bootstrap built on that.

A resample of n items is a vector of n counts. Every score here takes a matrix of such vectors,
one resample in each row, and returns one value for each: the score itself is the resample that
takes every item once, so a figure and its interval come from the same code. No resample is ever
sorted again: ranks within a resample are running sums of its counts along one fixed order.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Weights = NDArray[np.float64]

__all__ = [
    "Accuracy",
    "Interval",
    "PearsonCorrelation",
    "Purity",
    "SpearmanCorrelation",
    "Statistic",
    "bootstrap_differences",
]

RESAMPLES = 2000
CONFIDENCE = 0.95
# Bounds the temporary matrices (resamples × items) to a few tens of megabytes.
_ELEMENTS = 2_000_000


class Statistic(Protocol):
    """A score over items that can be weighted."""

    @property
    def size(self) -> int:
        """Number of items."""

    def __call__(self, weights: Weights) -> NDArray[np.float64]:
        """Return the score for each row of `weights` (resamples × items); nan if undefined."""


@dataclass(frozen=True, eq=False)
class PearsonCorrelation:
    """Pearson's r between predicted and human scores."""

    predicted: NDArray[np.float64]
    gold: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Number of pairs."""
        return len(self.gold)

    def __call__(self, weights: Weights) -> NDArray[np.float64]:
        """Return r for each row of weights; one matrix product for all."""
        if self.size == 0:
            return np.full(len(weights), np.nan)
        # Centring first keeps the moments below from cancelling.
        x, y = self.predicted - self.predicted.mean(), self.gold - self.gold.mean()
        moments = weights @ np.stack([x, y, x * x, y * y, x * y], axis=1)
        total = weights.sum(axis=1)
        mean_x, mean_y, xx, yy, xy = moments.T / total
        return _ratio(xy - mean_x * mean_y, xx - mean_x**2, yy - mean_y**2, xx, yy)


@dataclass(frozen=True, eq=False)
class SpearmanCorrelation:
    """Spearman's ρ, average ranks for ties: Pearson's r of the ranks within each resample."""

    predicted: NDArray[np.float64]
    gold: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Number of pairs."""
        return len(self.gold)

    def __call__(self, weights: Weights) -> NDArray[np.float64]:
        """Return ρ for each row of weights, re-ranked exactly within each."""
        if self.size == 0:
            return np.full(len(weights), np.nan)
        total = weights.sum(axis=1, keepdims=True)
        # Mean ranks are (total + 1) / 2 whatever the ties.
        x = weighted_ranks(self.predicted, weights) - (total + 1) / 2
        y = weighted_ranks(self.gold, weights) - (total + 1) / 2
        xx, yy, xy = (
            np.einsum("ij,ij,ij->i", weights, a, b) / total[:, 0]
            for a, b in ((x, x), (y, y), (x, y))
        )
        scale = total[:, 0] ** 2
        return _ratio(xy, xx, yy, scale, scale)


def weighted_ranks(values: NDArray[np.float64], weights: Weights) -> NDArray[np.float64]:
    """Return the average rank of each item where item i occurs weights[·, i] times.

    The rank of a value is the weight below it plus half of (its ties' weight + 1).
    """
    distinct, group = np.unique(values, return_inverse=True)
    members = sparse.csr_array(
        (np.ones(len(values)), (np.arange(len(values)), group)), shape=(len(values), len(distinct))
    )
    in_group = weights @ members
    below = np.cumsum(in_group, axis=1) - in_group
    return np.asarray((below + (in_group + 1) / 2)[:, group])


def _ratio(
    covariance: NDArray[Any],
    variance_x: NDArray[Any],
    variance_y: NDArray[Any],
    scale_x: NDArray[Any],
    scale_y: NDArray[Any],
) -> NDArray[np.float64]:
    """Return the correlation, nan where a variance is nothing but rounding."""
    tiny = 1e-13
    defined = (variance_x > tiny * scale_x) & (variance_y > tiny * scale_y)
    denominator = np.sqrt(np.where(defined, variance_x * variance_y, 1.0))
    return np.where(defined, np.clip(covariance / denominator, -1.0, 1.0), np.nan)


@dataclass(frozen=True, eq=False)
class Purity:
    """Share of items that belong to the commonest category of their cluster.

    A negative cluster means that the item is in none: it counts, and is never right.
    """

    clusters: NDArray[np.intp]
    categories: NDArray[np.intp]

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.categories)

    def __call__(self, weights: Weights) -> NDArray[np.float64]:
        """Return the purity for each row of weights, from its contingency table."""
        placed = np.flatnonzero(self.clusters >= 0)
        if len(placed) == 0:
            return np.full(len(weights), np.nan)
        rows, columns = self.clusters[placed], self.categories[placed]
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
        cells = sparse.csr_array(
            (np.ones(len(placed)), (np.arange(len(placed)), rows * shape[1] + columns)),
            shape=(len(placed), shape[0] * shape[1]),
        )
        tables = np.asarray(weights[:, placed] @ cells).reshape(-1, *shape)
        return np.asarray(tables.max(axis=2).sum(axis=1) / weights.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Share of items that are right."""

    correct: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.correct)

    def __call__(self, weights: Weights) -> NDArray[np.float64]:
        """Return the accuracy for each row of weights."""
        if self.size == 0:
            return np.full(len(weights), np.nan)
        return np.asarray(weights @ self.correct.astype(np.float64) / weights.sum(axis=1))


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference and its percentile bootstrap interval, in points (× 100)."""

    difference: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


def value(statistic: Statistic) -> float:
    """Return the score itself: every item once."""
    return float(statistic(np.ones((1, statistic.size)))[0])


def bootstrap_differences(
    methods: Sequence[Mapping[str, Statistic]],
    baseline: Mapping[str, Statistic],
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> list[Interval]:
    """Return for each method the interval of its mean gain over the baseline.

    `baseline` and each of `methods` map dataset names to statistics over the same items. Items
    are drawn with replacement within each dataset, the same draws for all methods (which is what
    makes the comparison paired), and the datasets' differences are averaged. Draws depend on the
    seed, the dataset's name and its size only, so an interval does not change when another
    dataset or method joins the table. Resamples in which a score is undefined are left out.

    Cost: O(resamples × items) for each method, no sorting within resamples.
    """
    names = [name for name, statistic in baseline.items() if np.isfinite(value(statistic))]
    totals = np.zeros((len(methods), resamples))
    points = np.zeros(len(methods))
    for name in names:
        reference = baseline[name]
        others = [method[name] for method in methods]
        base = value(reference)
        points += [value(other) - base for other in others]
        start = 0
        for weights in _resampled(name, reference.size, resamples, seed):
            stop = start + len(weights)
            baseline_scores = reference(weights)
            for row, other in enumerate(others):
                totals[row, start:stop] += other(weights) - baseline_scores
            start = stop
    tail = 50 * (1 - confidence)
    scale = 100 / max(len(names), 1)
    return [
        _interval(scale * point, scale * total, tail)
        for point, total in zip(points, totals, strict=True)
    ]


def _interval(point: float, samples: NDArray[np.float64], tail: float) -> Interval:
    defined = samples[np.isfinite(samples)]
    if len(defined) == 0:
        return Interval(float(point), float("nan"), float("nan"))
    low, high = np.percentile(defined, [tail, 100 - tail])
    return Interval(float(point), float(low), float(high))


def _resampled(name: str, size: int, resamples: int, seed: int) -> Iterator[Weights]:
    """Yield blocks of resamples, as counts of each item, from a generator of the set's own."""
    generator = np.random.default_rng([seed, zlib.crc32(name.encode()), size])
    block = max(1, min(resamples, _ELEMENTS // max(size, 1)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(0, size, size=(rows, size))
        drawn += (np.arange(rows) * size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * size)
        yield counts.reshape(rows, size).astype(np.float64)
