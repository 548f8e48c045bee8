"""The meaning of a cosine: the share of unrelated pairs that have a higher one."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from conceptor.algebra.saved import MAP_FORMAT, load_tensors, save_tensors
from conceptor.base.arrays import Array, Float64, as_matrix, row_lengths
from conceptor.base.errors import InvalidInputError

_FORMAT = "conceptor.Background/1"
FEWEST_ROWS = 100
_MOST_ROWS = 1 << 16
_BLOCK = 128
# How many of the highest cosines are kept, and the factor from one rank to the next below them.
_TAIL, _STEP = 1000, 1.01
# The share of 1,000 rows with a near duplicate: at most 0.12 in broad sets of texts, at least 0.19
# in repetitive ones, in seven embeddings (benchmarks/background.py).
_DUPLICATE, _SAMPLE, _MOST_DUPLICATES = 0.9, 1000, 0.15
_ENOUGH_DIMENSIONS = 16
# A median p of random pairs between these is normal for a background that fits.
_TYPICAL = (0.05, 0.95)


class BackgroundWarning(UserWarning):
    """A background does not fit the rows, so its p means little."""


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """The cosines of broad, unrelated pairs of rows, and the share of them above a given cosine.

    A cosine of 0.6 is high in one embedding and common in another; the share p of background pairs
    with a cosine at least as high means the same in all of them.

    Attributes
    ----------
    cosines : ndarray of shape (k,)
        Some of the background's cosines, ascending: the 1,000 highest, then fewer and fewer.
    counts : ndarray of shape (k,)
        How many pairs of the background have at least that cosine.
    pairs : int
        The number of pairs.
    rows : int
        The number of rows that they come from.
    duplicates : float
        Share of 1,000 sampled rows with a near duplicate: a cosine of 0.9 or more about the mean.

    Notes
    -----
    ``p(c) = (1 + number of pairs ≥ c) / (1 + pairs)``, as in permutation tests: every cosine above
    the whole background has the p of ``floor``, an upper bound. No tail is fitted: near duplicates
    in the rows shape it. Below the 1,000 highest, only some cosines are kept, and −log₁₀ p is up to
    0.005 too high.

    A background must be *broad*, without many near duplicates (`fit` warns); *fixed*, the same for
    all embeddings whose scores are compared; and of the same kind as the rows that are compared
    (`check` warns). docs/studies/texts.md has measurements.
    """

    cosines: Float64
    counts: Float64
    pairs: int
    rows: int
    duplicates: float

    def __post_init__(self) -> None:
        rising, falling = np.diff(self.cosines), np.diff(self.counts)
        if not (
            self.cosines.shape == self.counts.shape == (len(self.cosines),)
            and len(self.cosines)
            and np.isfinite(self.cosines).all()
            and (rising > 0).all()
            and (falling < 0).all()
            and 1 <= self.counts[-1] <= self.counts[0] == self.pairs
        ):
            raise InvalidInputError("a background's cosines must rise and its counts must fall")

    @classmethod
    def fit(cls, rows: npt.ArrayLike, *, pairs: int = 1_000_000, seed: int = 0) -> Self:
        """Return the background of some rows: vectors of texts or words, in the form you compare.

        At least 100 rows, better thousands; rows of zeros are left out, more than 65,536 are
        sampled. About so many `pairs` are used: each row appears equally often, no pair twice.
        `BackgroundWarning` if the rows are too similar.
        """
        unit = _shuffled_directions(as_matrix(rows), seed)
        cosines = np.sort(_random_pairs(unit, pairs).astype(np.float64))
        # The share of rows that are nearly parallel to another row, about their mean.
        sample = unit[:_SAMPLE] - unit[:_SAMPLE].mean(axis=0)
        sample /= row_lengths(sample)[:, np.newaxis]
        between = sample @ sample.T
        np.fill_diagonal(between, -1.0)
        duplicates = float((between.max(axis=1) >= _DUPLICATE).mean())
        # With few dimensions even random rows are close to each other.
        if duplicates > _MOST_DUPLICATES and unit.shape[1] >= _ENOUGH_DIMENSIONS:
            warnings.warn(
                f"{duplicates:.0%} of the background's rows nearly repeat another row, so related "
                "pairs count as random ones; use broader rows",
                BackgroundWarning,
                stacklevel=2,
            )
        # The ranks of the kept cosines: the whole tail, then ever larger steps.
        count = len(cosines)
        steps = max(0, int(np.log(count / _TAIL) / np.log(_STEP)) + 1)
        ranks = {*range(1, min(_TAIL, count) + 1), count}
        ranks |= {min(count, int(_TAIL * _STEP**k)) for k in range(steps)}
        selected = np.unique(cosines[[count - rank for rank in ranks]])
        counts = (count - np.searchsorted(cosines, selected)).astype(np.float64)
        return cls(selected, counts, count, len(unit), duplicates)

    @property
    def floor(self) -> float:
        """The smallest p that this many pairs can support."""
        return 1 / (self.pairs + 1)

    def p(self, cosines: npt.ArrayLike) -> Float64:
        """Return the share of background pairs with at least these cosines, of the same shape."""
        return np.asarray(10.0 ** -self.score(cosines))

    def score(self, cosines: npt.ArrayLike) -> Float64:
        """Return −log₁₀ p of cosines, at most ``-log10(floor)``; NaN stays NaN."""
        values = np.asarray(cosines, dtype=np.float64)
        scores = self._scores[np.searchsorted(self.cosines, values)]
        return np.where(np.isnan(values), np.nan, scores)

    def cosine(self, p: npt.ArrayLike) -> Float64:
        """Return the lowest cosine with at most this p, a threshold; raise at `floor` and below."""
        shares = np.asarray(p, dtype=np.float64)
        rarest = 10.0 ** -self._scores[-2]
        if not ((shares >= rarest) & (shares <= 1)).all():
            raise InvalidInputError(
                f"p must be between {rarest:.2g}, the smallest p of {self.pairs:,} background "
                "pairs, and 1"
            )
        return np.asarray(self.cosines[np.searchsorted(self._scores[:-1], -np.log10(shares))])

    @cached_property
    def _scores(self) -> Float64:
        """−log₁₀ p of the kept cosines, and last of any higher cosine."""
        return -np.log10((1 + np.append(self.counts, 0)) / (1 + self.pairs))

    def check(self, rows: npt.ArrayLike, *, pairs: int = 100_000, seed: int = 0) -> float:
        """Return the median p of random pairs of other rows: 0.5 if they are like the background.

        `BackgroundWarning` below 0.05 or above 0.95.
        """
        cosines = _random_pairs(_shuffled_directions(as_matrix(rows), seed), pairs)
        median = float(np.median(self.p(cosines)))
        if not _TYPICAL[0] <= median <= _TYPICAL[1]:
            how = "less" if median < _TYPICAL[0] else "more"
            warnings.warn(
                f"random pairs of these rows have a median p of {median:.2g}, not 0.5: the "
                f"background's rows are {how} alike; use rows of the same kind and length",
                BackgroundWarning,
                stacklevel=2,
            )
        return median

    @property
    def tensors(self) -> dict[str, Array]:
        """The arrays to save, by name; a map's file can hold them too (`AffineMap.save`)."""
        numbers = np.array([self.pairs, self.rows, self.duplicates])
        parts = {"cosines": self.cosines, "counts": self.counts, "numbers": numbers}
        return {f"background.{name}": part for name, part in parts.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as safetensors, atomically."""
        save_tensors(path, self.tensors, {"format": _FORMAT})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a background written by `save`, or saved with a map; raise if there is none."""
        return load_tensors(path, "background", (_FORMAT, MAP_FORMAT), cls._parse)

    @classmethod
    def _parse(cls, parts: dict[str, Array], _: dict[str, str]) -> Self:
        if "background.cosines" not in parts:
            raise InvalidInputError("this map was saved without a background")
        cosines, counts, numbers = (
            parts[f"background.{name}"].astype(np.float64)
            for name in ("cosines", "counts", "numbers")
        )
        pairs, rows, duplicates = numbers.tolist()
        return cls(cosines, counts, int(pairs), int(rows), duplicates)

    def __repr__(self) -> str:
        return f"Background({self.pairs:,} pairs of {self.rows:,} rows)"


def percent_below(p: float) -> str:
    """Return the share of random pairs with a lower cosine, rounded down: `99.9%` for 0.001."""
    scale = 10.0 ** max(0, int(-np.log10(p)) - 1)
    return f"{np.floor(100 * (1 - p) * scale) / scale:.10g}%"


def _shuffled_directions(rows: Array, seed: int) -> Array:
    """Return unit rows in random order, without rows of zeros."""
    sample = rows[np.random.default_rng(seed).permutation(len(rows))[:_MOST_ROWS]]
    unit = sample / row_lengths(sample)[:, np.newaxis]
    if not np.isfinite(unit).all():
        raise InvalidInputError("the rows of a background must not contain NaN or infinity")
    return np.asarray(unit[unit.any(axis=1)])


def _random_pairs(unit: Array, pairs: int) -> Array:
    """Return cosines of each row with rows at some distances after it, wrapping at the end."""
    count = len(unit)
    if count < FEWEST_ROWS:
        raise InvalidInputError(
            f"random pairs need at least {FEWEST_ROWS} rows that are not zero; there are {count}"
        )
    following = max(1, min(-(-pairs // count), (count - 1) // 2))
    ring = np.concatenate([unit, unit[:following]])
    cosines = np.empty((count, following), dtype=unit.dtype)
    for start in range(0, count, _BLOCK):
        block = unit[start : start + _BLOCK]
        # From all products with the rows after the block, take the band within the distances.
        products = block @ ring[start + 1 : start + len(block) + following].T
        row, column = products.strides
        band = as_strided(products, (len(block), following), (row + column, column))
        cosines[start : start + len(block)] = band
    return cosines.ravel()
