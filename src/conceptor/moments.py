"""Weighted first and second moments that add: one pass, many chunks or many machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from conceptor.arrays import as_matrix, block_slices, result_dtype
from conceptor.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from conceptor.arrays import Array, Float64


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Weight, mean and centred scatter of a set of vectors, in float64.

    `Moments.of(X, weights)` makes one, `a + b` is the moments of both sets together, exactly and
    in any order (to rounding), and `sum(...)` works. Keeping the scatter about the mean instead
    of about the origin is what makes this safe for data far from the origin, where
    ``E[xxᵀ] − mean meanᵀ`` cancels catastrophically.

    Attributes
    ----------
    weight : float
        Sum of the weights, ``Σ w``.
    mean : ndarray of shape (n,)
        ``Σ w x / Σ w``.
    scatter : ndarray of shape (n, n)
        ``Σ w (x − mean)(x − mean)ᵀ``.
    count : int
        Number of vectors seen, whatever their weight.

    Notes
    -----
    A set of k vectors costs k n² multiply-adds in one BLAS product (a symmetric one, so half of
    that), and each is read from memory once. Chunks are merged by the update of Chan, Golub &
    LeVeque (1983). Only a cache-sized block is ever held in float64.
    """

    weight: float
    mean: Float64
    scatter: Float64
    count: int
    # Let NumPy leave the operators to this class instead of going through its elements.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    def of(cls, X: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Self:
        """Return the moments of the rows of `X`, each counting once or by its weight.

        Parameters
        ----------
        X : array-like of shape (k, n)
            Any real type; a memory map is read block by block.
        weights : array-like of shape (k,), optional
            Non-negative; only ratios matter, except for `weight` and `gram`.

        Raises
        ------
        InvalidInputError
            For an empty or non-numeric `X`, NaN or infinity, or a weight that is negative, not
            finite or missing.
        """
        matrix = as_matrix(X)
        rows, columns = matrix.shape
        checked = None if weights is None else _as_weights(weights, rows)
        total = cls(0.0, np.zeros(columns), np.zeros((columns, columns)), 0)
        for part in block_slices(rows, columns):
            total += cls._of_block(matrix[part], None if checked is None else checked[part])
        if not (np.isfinite(total.scatter).all() and np.isfinite(total.mean).all()):
            raise _explain_non_finite(matrix)
        return total

    @classmethod
    def _of_block(cls, block: Array, weights: Float64 | None) -> Self:
        count, columns = block.shape
        dtype = result_dtype(block.dtype)
        each = np.ones(count) if weights is None else weights
        weight = float(each.sum())
        with np.errstate(invalid="ignore", over="ignore"):
            if weight == 0.0:
                # Nothing to count, but a NaN behind a zero weight is still an error.
                mean = 0.0 * block.sum(axis=0, dtype=np.float64)
                return cls(0.0, mean, np.zeros((columns, columns)), count)
            # Centring on a rough mean while converting saves a pass; what the rough mean misses
            # is exact in float64 and taken out afterwards.
            rough = (each / weight).astype(dtype) @ block
            centred = np.subtract(block, rough, dtype=np.float64)
            rest = (each @ centred) / weight
            if weights is not None:
                centred *= np.sqrt(weights)[:, np.newaxis]
            scatter = centred.T @ centred
            scatter -= np.outer(weight * rest, rest)
            return cls(weight, rough + rest, scatter, count)

    @property
    def dimension(self) -> int:
        """Number of components of each vector, n."""
        return len(self.mean)

    @property
    def covariance(self) -> Float64:
        """``Σ w (x − mean)(x − mean)ᵀ / Σ w``: the population covariance (no ``k − 1``)."""
        if not self.weight > 0.0:
            raise InvalidInputError("all weights are zero, so no vector counts; weigh some more")
        return self.scatter / self.weight

    @property
    def second_moment(self) -> Float64:
        """``R = Σ w x xᵀ / Σ w``: about the origin, the R of a conceptor."""
        return self.covariance + np.outer(self.mean, self.mean)

    @property
    def gram(self) -> Float64:
        """``Σ w x xᵀ``: about the origin and not divided by the weight."""
        return self.second_moment * self.weight

    def __add__(self, other: Moments) -> Self:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.dimension != other.dimension:
            raise InvalidInputError(
                f"moments of {self.dimension}- and of {other.dimension}-dimensional vectors "
                "cannot be added; do both come from the same embeddings?"
            )
        weight = self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += np.outer(self.weight * share * step, step)
        return type(self)(weight, self.mean + share * step, scatter, self.count + other.count)

    def __radd__(self, other: object) -> Self:
        # The 0 with which sum() starts.
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        return (
            f"Moments(count={self.count:,}, dimension={self.dimension}, weight={self.weight:.6g})"
        )


def _as_weights(weights: npt.ArrayLike, rows: int) -> Float64:
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (rows,):
        raise InvalidInputError(
            f"weights must be one number for each of the {rows} vectors; their shape is "
            f"{checked.shape}"
        )
    if not np.isfinite(checked).all():
        row = int(np.flatnonzero(~np.isfinite(checked))[0])
        raise InvalidInputError(f"weights must be finite; weight {row} is {checked[row]}")
    if (checked < 0).any():
        row = int(np.flatnonzero(checked < 0)[0])
        raise InvalidInputError(f"weights must not be negative; weight {row} is {checked[row]}")
    return checked


def _explain_non_finite(matrix: Array) -> InvalidInputError:
    for part in block_slices(*matrix.shape):
        bad = ~np.isfinite(matrix[part])
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            return InvalidInputError(
                f"X contains NaN or infinity: row {part.start + row}, column {column} is "
                f"{matrix[part][row, column]}; drop or repair such vectors first"
            )
    return InvalidInputError(
        "X contains values so large that their squares overflow; scale the vectors down first"
    )
