"""Scores as functions of item weights, and the paired bootstrap built on them.

A resample of n items is a vector of n counts. Every score takes a matrix of them, one resample per
column, and returns one value per column; the score itself is that of all ones. Resamples are never
sorted: ranks within a resample are running sums of its counts along one fixed order.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.base.display import format_signed
from conceptor.base.threads import one_blas_thread

Vector = NDArray[np.float64]
ItemWeights = NDArray[np.float64]

RESAMPLES = 1000
CONFIDENCE = 0.95
# Items × resamples per block: keeps temporary matrices to a few megabytes each.
_ELEMENTS = 500_000


class Statistic(Protocol):
    """A score over items that can be weighted; its length is the number of items."""

    def __len__(self) -> int: ...

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return the score for each column of `weights` (items × resamples); nan if undefined."""


def value(statistic: Statistic, kept: NDArray[np.bool_] | None = None) -> float:
    """Return the score with every item counted once, or only the `kept` ones."""
    weights = np.ones(len(statistic)) if kept is None else kept.astype(np.float64)
    return float(statistic(weights[:, np.newaxis])[0])


@dataclass(frozen=True, eq=False)
class PearsonCorrelation:
    """Pearson's r of predicted and human scores; nan without any pairs."""

    predicted: Vector
    gold: Vector

    def __len__(self) -> int:
        return len(self.gold)

    def __call__(self, weights: ItemWeights) -> Vector:
        return self._correlate(weights) if len(self) else np.full(weights.shape[1], np.nan)

    def _correlate(self, weights: ItemWeights) -> Vector:
        # Centred and scaled first, so that the moments neither cancel nor overflow.
        x, y = _standardize(self.predicted), _standardize(self.gold)
        moments = np.stack([x, y, x * x, y * y, x * y]) @ weights
        mean_x, mean_y, xx, yy, xy = moments / weights.sum(axis=0)
        return _correlation(xy - mean_x * mean_y, xx - mean_x**2, yy - mean_y**2)


class SpearmanCorrelation(PearsonCorrelation):
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
    """Return the average rank of each item if item i occurs weights[i] times."""
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
    """Share of items that belong to the most common category of their cluster."""

    clusters: NDArray[np.intp]
    categories: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.categories)

    def __call__(self, weights: ItemWeights) -> Vector:
        if not len(self):
            return np.full(weights.shape[1], np.nan)
        shape = (int(self.clusters.max()) + 1, int(self.categories.max()) + 1)
        cell = self.clusters * shape[1] + self.categories
        cells = sparse.csr_array(
            (np.ones(len(self)), (cell, np.arange(len(self)))),
            shape=(shape[0] * shape[1], len(self)),
        )
        tables = np.asarray(cells @ weights).reshape(*shape, -1)
        return np.asarray(tables.max(axis=1).sum(axis=0) / weights.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Mean:
    """Mean of the items' own scores; for right (1) and wrong (0), the accuracy."""

    scores: NDArray[Any]

    def __len__(self) -> int:
        return len(self.scores)

    def __call__(self, weights: ItemWeights) -> Vector:
        if not len(self):
            return np.full(weights.shape[1], np.nan)
        return np.asarray(self.scores.astype(np.float64) @ weights / weights.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Masked:
    """A score over the `kept` items of a dataset; draws do not depend on what vectors cover."""

    statistic: Statistic
    kept: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.kept)

    def __call__(self, weights: ItemWeights) -> Vector:
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

    def __str__(self) -> str:
        """Return `+0.4 [−0.1, +0.9]`."""
        numbers = (self.difference, self.low, self.high)
        difference, low, high = (format_signed(each, 1) for each in numbers)
        return f"{difference} [{low}, {high}]"


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


def paired_differences(
    baseline: Mapping[str, Statistic],
    methods: Sequence[Mapping[str, Statistic]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Differences]:
    """Resample each dataset's items, with the same draws for all methods, and subtract.

    Draws depend only on the seed, the dataset's name and its size, so an interval does not change
    when another dataset or method is added. Two statistics that cover different items, as two files
    may, are compared on the items that both cover. Cost: O(resamples × items) for each method.
    """
    # Many small products: threads would cost more than they gain.
    with one_blas_thread():
        return {
            name: _differences(name, statistic, [each[name] for each in methods], resamples, seed)
            for name, statistic in baseline.items()
        }


def _differences(
    name: str, baseline: Statistic, others: Sequence[Statistic], resamples: int, seed: int
) -> Differences:
    pairs: list[tuple[Statistic, NDArray[np.bool_] | None]] = []
    for other in others:
        both = None  # if both are scored on the same items
        if isinstance(baseline, Masked) and isinstance(other, Masked):
            is_same = np.array_equal(baseline.kept, other.kept)
            both = None if is_same else baseline.kept & other.kept
        pairs.append((other, both))
    measured = np.array([value(other, both) - value(baseline, both) for other, both in pairs])
    blocks = []
    for weights in _draw_resamples(name, len(baseline), resamples, seed):
        scores = baseline(weights)
        block = []
        for other, both in pairs:
            if both is None:
                block.append(other(weights) - scores)
            else:
                kept = weights * both[:, np.newaxis]
                block.append(other(kept) - baseline(kept))
        blocks.append(block)
    shape = (len(others), -1)
    return Differences(100 * measured, 100 * np.concatenate(blocks, axis=1).reshape(shape))


def _draw_resamples(name: str, size: int, resamples: int, seed: int) -> Iterator[ItemWeights]:
    """Yield blocks of resamples, as counts of each item, from the dataset's own generator."""
    generator = np.random.default_rng([seed, zlib.crc32(name.encode()), size])
    block = max(1, min(resamples, _ELEMENTS // max(size, 1)))
    for start in range(0, resamples, block):
        columns = min(block, resamples - start)
        items = generator.integers(0, max(size, 1), size=(size, columns))
        counts = np.bincount((items * columns + np.arange(columns)).ravel(), minlength=items.size)
        yield counts.reshape(size, columns).astype(np.float64)
