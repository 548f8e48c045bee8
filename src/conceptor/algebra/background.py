"""What a cosine means: how many pairs of unrelated things have a higher one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.lib.stride_tricks import as_strided

from conceptor.algebra.affine_map import MAP_FORMATS
from conceptor.algebra.saved import load_tensors, save_tensors
from conceptor.base.arrays import as_matrix, row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_table

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from conceptor.base.arrays import Array, Float64

_FORMAT = "conceptor.Background/1"
FEWEST_ROWS = 100
_MOST_ROWS = 1 << 16
_BLOCK = 128
# Ranks of the kept cosines: all of the tail, then by steps of this factor.
_TAIL, _STEP = 1000, 1.01


# Rows with a near duplicate, of 1,000: at most 0.12 in broad sets of texts, at least 0.19 in those
# that say many things twice, in seven embeddings (benchmarks/background.py).
_DUPLICATE, _LOOKED_AT, MOST_DUPLICATES = 0.9, 1000, 0.15
_ENOUGH_DIMENSIONS = 16
# Between these the median p of random pairs counts as what a background should give.
TYPICAL = (0.05, 0.95)


class BackgroundWarning(UserWarning):
    """A background does not suit the rows, so that its p means little."""


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """The cosines of pairs of broad, unrelated rows, and what share of them is above another.

    A cosine of 0.6 says "nearly the same" in one embedding and "both are English" in the next. The
    share p of background pairs with a cosine at least as high means the same in all of them.

    Attributes
    ----------
    cosines : ndarray of shape (k,)
        Some of the background's cosines, ascending: the 1,000 highest, then fewer and fewer.
    counts : ndarray of shape (k,)
        How many pairs of the background have at least that cosine.
    pairs, rows : int
        How many pairs there were, of how many rows.
    duplicates : float
        Share of the rows that another row nearly repeats: a cosine of 0.9 or more about the mean,
        among 1,000 of them.

    Notes
    -----
    ``p(c) = (1 + number of pairs ≥ c) / (1 + pairs)``, as in permutation tests: it is never 0,
    because n pairs cannot tell anything below ``floor = 1 / (n + 1)`` from it. Every cosine above
    all of the background has that p, which is then an upper bound. No tail is fitted: how rare the
    highest cosines are depends on how many near duplicates the rows contain, which no curve knows.
    Below the 1,000 highest, only some cosines are kept, and −log₁₀ p is up to 0.005 too high.

    A background must be *broad*, without many near duplicates (`fit` warns), *fixed*, the same for
    all embeddings whose scores are compared, and of the same kind of rows as are compared:
    headlines are no background for sentences (`check` warns). z-scores in its place do not carry
    over, because tails differ in shape. What all this costs is measured in
    docs/guides/thresholds.md.
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
            raise InvalidInputError("a background's cosines must rise and their counts fall")

    @classmethod
    def fit(cls, rows: npt.ArrayLike, *, pairs: int = 1_000_000, seed: int = 0) -> Self:
        """Return the background of some rows: vectors of texts or words, as they are compared.

        Parameters
        ----------
        rows : array-like of shape (n, dimension)
            Broad and unrelated; at least 100, better thousands. Rows of zeros are left out; of
            more than 65,536 rows some are taken.
        pairs : int
            About how many pairs to look at, each row equally often; never one twice.
        seed : int
            The order in which rows are paired.

        Warns
        -----
        BackgroundWarning
            Where the rows are too much alike.
        """
        unit = _shuffled_directions(as_matrix(rows), seed)
        count = len(unit)
        found = _random_pairs(unit, pairs)
        alike = _duplicates(unit[:_LOOKED_AT])
        # With few dimensions even random rows are near each other.
        if alike > MOST_DUPLICATES and unit.shape[1] >= _ENOUGH_DIMENSIONS:
            warnings.warn(
                f"{alike:.0%} of the background's rows nearly repeat another, so that related "
                "pairs count as random ones; use broader rows",
                BackgroundWarning,
                stacklevel=2,
            )
        return cls(*_summarise(np.sort(found.astype(np.float64))), len(found), count, alike)

    @property
    def floor(self) -> float:
        """The smallest p that so many pairs can support."""
        return 1 / (self.pairs + 1)

    def p(self, cosines: npt.ArrayLike) -> Float64:
        """Return the share of background pairs with at least these cosines, of the same shape."""
        return np.asarray(10.0 ** -self.score(cosines))

    def score(self, cosines: npt.ArrayLike) -> Float64:
        """Return −log₁₀ p of cosines: 3 is above 99.9% of random pairs, in any embedding.

        At most ``-log10(floor)``; not a number stays not a number.
        """
        asked = np.asarray(cosines, dtype=np.float64)
        found = self._scores[np.searchsorted(self.cosines, asked)]
        return np.where(np.isnan(asked), np.nan, found)

    def cosine(self, p: npt.ArrayLike) -> Float64:
        """Return the lowest cosine with at most this p, a threshold; raise at `floor` and below."""
        shares = np.asarray(p, dtype=np.float64)
        rarest = 10.0 ** -self._scores[-2]
        if not ((shares >= rarest) & (shares <= 1)).all():
            raise InvalidInputError(
                f"p must be between {rarest:.2g}, the least that a cosine of {self.pairs:,} "
                "background pairs has, and 1"
            )
        return np.asarray(self.cosines[np.searchsorted(self._scores[:-1], -np.log10(shares))])

    @cached_property
    def _scores(self) -> Float64:
        """−log₁₀ p of the kept cosines, and last of what is above them all."""
        return -np.log10((1 + np.append(self.counts, 0)) / (1 + self.pairs))

    def check(self, rows: npt.ArrayLike, *, pairs: int = 100_000, seed: int = 0) -> float:
        """Return the median p of random pairs of the rows that are to be compared.

        It is 0.5 where they are like the background.

        Warns
        -----
        BackgroundWarning
            Below 0.05 or above 0.95, where the background is of another kind, or narrower.
        """
        found = _random_pairs(_shuffled_directions(as_matrix(rows), seed), pairs)
        median = float(np.median(self.p(found)))
        if not TYPICAL[0] <= median <= TYPICAL[1]:
            how = "less" if median < TYPICAL[0] else "more"
            warnings.warn(
                f"random pairs of these rows have p = {median:.2g} in the middle, not 0.5: the "
                f"background's rows are {how} alike; use rows of the same kind and length",
                BackgroundWarning,
                stacklevel=2,
            )
        return median

    def describe(self, cosine: float) -> str:
        """Return a cosine in words: `above 99.9% of random pairs`."""
        if float(self.p(cosine)) <= self.floor:
            return f"above all of {self.pairs:,} random pairs"
        return f"above {percent_below(float(self.p(cosine)))} of random pairs"

    @property
    def tensors(self) -> dict[str, Array]:
        """What is saved, by name; a map's file can hold it too (`AffineMap.save`)."""
        numbers = np.array([self.pairs, self.rows, self.duplicates])
        parts = {"cosines": self.cosines, "counts": self.counts, "numbers": numbers}
        return {f"background.{name}": part for name, part in parts.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as safetensors; the file appears whole or not at all."""
        save_tensors(path, self.tensors, {"format": _FORMAT})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote, or what a map was saved with.

        Raises
        ------
        InvalidInputError
            Where the file has no background, or is cut short.
        """
        return load_tensors(path, "background", (_FORMAT, *MAP_FORMATS), cls._parse)

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

    def _repr_html_(self) -> str:
        """Show in a notebook which cosines are rare."""
        found = {"pairs": self.pairs, "rows": self.rows}
        levels = [10.0**-k for k in range(1, 9) if 10.0**-k >= 2 * self.floor]
        return html_table("Background", found | {f"p = {p:g}": self.cosine(p) for p in levels})


def percent_below(p: float) -> str:
    """Return the share of random pairs with a lower cosine, rounded down: `99.9%` for 0.001."""
    scale = 10.0 ** max(0, int(-np.log10(p)) - 1)
    return f"{np.floor(100 * (1 - p) * scale) / scale:.10g}%"


def _shuffled_directions(rows: Array, seed: int) -> Array:
    """Return rows at length 1 in random order, without those of zeros."""
    order = np.random.default_rng(seed).permutation(len(rows))[:_MOST_ROWS]
    some = rows[order]
    unit = some / row_lengths(some)[:, np.newaxis]
    if not np.isfinite(unit).all():
        raise InvalidInputError("the rows of a background must not contain NaN or infinity")
    return np.asarray(unit[unit.any(axis=1)])


def _random_pairs(unit: Array, pairs: int) -> Array:
    """Return cosines of rows with those that follow at some distances, the ends joined.

    So all rows take part equally often, and no pair twice.
    """
    count = len(unit)
    if count < FEWEST_ROWS:
        raise InvalidInputError(
            f"random pairs need {FEWEST_ROWS} rows or more that are not zero; there are {count}"
        )
    following = max(1, min(-(-pairs // count), (count - 1) // 2))
    ring = np.concatenate([unit, unit[:following]])
    found = np.empty((count, following), dtype=unit.dtype)
    for start in range(0, count, _BLOCK):
        block = unit[start : start + _BLOCK]
        # Of all products with the rows that follow the block, the band of those in reach.
        products = block @ ring[start + 1 : start + len(block) + following].T
        row, column = products.strides
        band = as_strided(products, (len(block), following), (row + column, column))
        found[start : start + len(block)] = band
    return found.ravel()


def _duplicates(unit: Array) -> float:
    """Return the share of rows to which another is nearly parallel, about their mean."""
    about_mean = unit - unit.mean(axis=0)
    about_mean /= row_lengths(about_mean)[:, np.newaxis]
    cosines = about_mean @ about_mean.T
    np.fill_diagonal(cosines, -1.0)
    return float((cosines.max(axis=1) >= _DUPLICATE).mean())


def _summarise(found: Float64) -> tuple[Float64, Float64]:
    """Return some of sorted numbers, and how many are at least as high as each."""
    count = len(found)
    steps = max(0, int(np.log(count / _TAIL) / np.log(_STEP)) + 1)
    ranks = {*range(1, min(_TAIL, count) + 1), count}
    ranks |= {min(count, int(_TAIL * _STEP**k)) for k in range(steps)}
    cosines = np.unique(found[[count - rank for rank in ranks]])
    return cosines, (count - np.searchsorted(found, cosines)).astype(np.float64)
