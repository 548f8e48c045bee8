"""Weighted first and second moments that add: one pass, many chunks or many machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from conceptor.base.arrays import (
    Array,
    Float64,
    as_matrix,
    block_slices,
    check_square_fits,
    row_lengths,
)
from conceptor.base.errors import InvalidInputError

# The squares of many such weights still have a finite sum; if all are smaller than the inverse,
# their squares may be zero.
_LARGEST_WEIGHT = 1e100
# Smaller sums of squares have lost digits, or are zero though the vectors are not.
_SMALLEST_SQUARES = 1e-290


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Weight, mean and centered scatter of a set of vectors, in float64.

    `a + b` is the moments of both sets together, exactly and in any order (up to rounding), and
    `sum(...)` works. The scatter is kept about the mean, not about the origin. That is safe for
    data far from the origin, where ``E[xxᵀ] − mean meanᵀ`` cancels catastrophically.

    k vectors cost k n² multiply-adds in BLAS products (symmetric ones, so half of that), and each
    is read from memory once. Only a cache-sized block is ever held in float64, and blocks are
    merged by the update of Chan, Golub & LeVeque (1983). Lengths and weights are one factor per
    row, so bringing vectors to length 1 costs nothing extra.
    """

    weight: float  # ``Σ w``
    mean: Float64  # ``Σ w x / Σ w``
    scatter: Float64  # ``Σ w (x − mean)(x − mean)ᵀ``
    count: int  # of vectors with a weight above zero
    unit: bool = False  # whether the vectors were brought to length 1 first
    # Make NumPy leave the operators to this class, not apply them to each element.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    def from_vectors(
        cls,
        X: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        unit: bool = False,
    ) -> Self:
        """Return the moments of the rows of `X`, each counting once or by its weight.

        `X` may be a memory map, which is read block by block. Weights are non-negative; only their
        ratios matter, except for `weight` and `gram`. `unit` brings every row to length 1 first, so
        that long vectors do not count more.
        """
        matrix = as_matrix(X)
        check_square_fits(matrix.shape[1])
        each = None if weights is None else np.asarray(weights, dtype=np.float64)
        if each is not None and each.shape != (len(matrix),):
            raise InvalidInputError(
                f"weights must be one number for each of the {len(matrix)} vectors; their shape is "
                f"{each.shape}"
            )
        is_good = True if each is None else (each >= 0) & (each <= _LARGEST_WEIGHT)
        if each is not None and not np.all(is_good):
            bad = int(np.argmin(is_good))
            raise InvalidInputError(
                f"weights must be between 0 and {_LARGEST_WEIGHT:g} (only ratios matter); weight "
                f"{bad} is {each[bad]}"
            )
        if each is not None and 0 < each.max() < 1 / _LARGEST_WEIGHT:
            raise InvalidInputError(
                f"all weights are below {1 / _LARGEST_WEIGHT:g}; scale them up (only ratios matter)"
            )
        total: Self | None = None
        with np.errstate(invalid="ignore", over="ignore"):
            for part in block_slices(*matrix.shape):
                more = cls._of_block(matrix[part], None if each is None else each[part], unit)
                total = more if total is None else total + more
        assert total is not None  # `as_matrix` refuses a matrix without rows
        if not (np.isfinite(total.scatter).all() and np.isfinite(total.mean).all()):
            for row, column in np.argwhere(~np.isfinite(matrix))[:1].tolist():
                raise InvalidInputError(
                    f"X contains NaN or infinity: row {row}, column {column} is "
                    f"{matrix[row, column]}; remove or repair such vectors first"
                )
            raise InvalidInputError(
                "X contains values so large that their squares overflow, or so small that their "
                "lengths are 0; scale the vectors first"
            )
        squares = np.trace(total.scatter) + total.weight * (total.mean @ total.mean)
        if squares < _SMALLEST_SQUARES and (matrix if each is None else matrix[each > 0]).any():
            raise InvalidInputError(
                "X contains only values so small that their squares vanish; scale the vectors first"
            )
        return total

    @classmethod
    def _of_block(cls, block: Array, weights: Float64 | None, unit: bool) -> Self:
        """Return the moments of a block that fits in the cache."""
        rows, columns = block.shape
        values = np.empty((rows, columns + 1))
        roots = np.ones(rows) if weights is None else np.sqrt(weights)
        lengths = row_lengths(block) if unit else None
        if weights is None and lengths is None:
            values[:, :-1] = block  # a third of the time of a multiplication
        else:
            factors = roots if lengths is None else roots / lengths
            np.multiply(block, factors[:, np.newaxis], out=values[:, :-1])
        values[:, -1] = roots
        # With the column of ones, a single product gives the sums too.
        product = values.T @ values
        sums, weight = product[-1, :-1], float(product[-1, -1])
        mean = sums / (weight or 1.0)
        scatter = product[:-1, :-1]
        if 2 * (sums @ sums) > weight * np.trace(scatter):
            # Far from the origin the difference below would cancel: subtract the mean first.
            exact = block if lengths is None else block / lengths[:, np.newaxis]
            np.subtract(exact, mean, out=values[:, :-1])
            values[:, :-1] *= roots[:, np.newaxis]
            product = values.T @ values
            scatter, sums = product[:-1, :-1], product[-1, :-1]
            mean = mean + sums / (weight or 1.0)
        root = sums / np.sqrt(weight) if weight else sums  # zero, or NaN where there is one
        count = rows if weights is None else int(np.count_nonzero(weights))
        return cls(weight, mean, scatter - np.outer(root, root), count, unit)

    @property
    def dimension(self) -> int:
        """Number of components of each vector, n."""
        return len(self.mean)

    @property
    def covariance(self) -> Float64:
        """``Σ w (x − mean)(x − mean)ᵀ / Σ w``: the population covariance (no ``k − 1``)."""
        self._check_weight()
        # For equal vectors it is zero; the rounding that remains may even be negative.
        least = self.weight * float(self.mean @ self.mean) * (8 * np.finfo(np.float64).eps) ** 2
        if np.abs(self.scatter).max(initial=0.0) <= least:
            return np.zeros_like(self.scatter)
        return self.scatter / self.weight

    @property
    def second_moment(self) -> Float64:
        """``R = Σ w x xᵀ / Σ w``: about the origin, the R of a conceptor."""
        return self.covariance + self.mean_square

    @property
    def mean_square(self) -> Float64:
        """``m mᵀ`` with the mean m: its one direction is the mean's."""
        self._check_weight()
        return np.outer(self.mean, self.mean)

    @property
    def gram(self) -> Float64:
        """``Σ w x xᵀ``: about the origin and not divided by the weight."""
        return self.second_moment * self.weight

    def _check_weight(self) -> None:
        if not self.weight > 0.0:
            raise InvalidInputError("all weights are zero; at least one must be positive")

    def __add__(self, other: Moments) -> Self:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.dimension != other.dimension:
            raise InvalidInputError(
                f"moments of {self.dimension}- and of {other.dimension}-dimensional vectors "
                "cannot be added; do both come from the same embeddings?"
            )
        if self.unit != other.unit:
            raise InvalidInputError("moments of vectors of length 1 and of others cannot be added")
        weight = self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter
        root = np.sqrt(self.weight * share) * step
        scatter += np.outer(root, root)
        count = self.count + other.count
        return type(self)(weight, self.mean + share * step, scatter, count, self.unit)

    def __radd__(self, other: object) -> Self:
        # The 0 that sum() starts with.
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        size = f"count={self.count:,}, dimension={self.dimension}"
        return f"Moments({size}, weight={self.weight:.6g})"
