"""Weighted first and second moments that add: one pass, many chunks or many machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from conceptor.base.arrays import as_matrix, block_slices, check_square_fits, row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from conceptor.base.arrays import Array, Float64


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Weight, mean and centred scatter of a set of vectors, in float64.

    `Moments.from_vectors(X, weights)` makes one, `a + b` is the moments of both sets together,
    exactly and in any order (to rounding), and `sum(...)` works. Keeping the scatter about the
    mean instead of about the origin is what makes this safe for data far from the origin, where
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
        Number of vectors that count, with a weight above zero.
    squared_weight : float
        Sum of the squared weights, ``Σ w²``; see `effective_count`.
    unit : bool
        Whether the vectors were brought to length 1 first.

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
    squared_weight: float
    unit: bool = False
    # Let NumPy leave the operators to this class instead of going through its elements.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    def from_vectors(
        cls, X: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, unit: bool = False
    ) -> Self:
        """Return the moments of the rows of `X`, each counting once or by its weight.

        Parameters
        ----------
        X : array-like of shape (k, n)
            Any real type; a memory map is read block by block.
        weights : array-like of shape (k,), optional
            Non-negative; only ratios matter, except for `weight` and `gram`.
        unit : bool
            Bring every row to length 1 first, so that long vectors do not count more.

        Raises
        ------
        InvalidInputError
            For an empty or non-numeric `X`, NaN or infinity, or a weight that is negative, not
            finite or missing.
        """
        matrix = as_matrix(X)
        check_square_fits(matrix.shape[1])
        each = None if weights is None else _as_weights(weights, len(matrix))
        with np.errstate(invalid="ignore", over="ignore"):
            total = reduce(add, (cls._about(*sums, unit) for sums in _sums(matrix, each, unit)))
        if not (np.isfinite(total.scatter).all() and np.isfinite(total.mean).all()):
            raise _explain_non_finite(matrix)
        return total

    @classmethod
    def _about(
        cls,
        shift: Float64,
        product: Float64,
        weight: float,
        count: int,
        squared_weight: float,
        unit: bool,
    ) -> Self:
        """Return the moments whose sums about `shift` are ``product = Σ w [x 1]ᵀ [x 1]``."""
        sums = product[-1, :-1]
        root = sums / np.sqrt(weight) if weight else sums  # zero, or NaN where there is one
        scatter = product[:-1, :-1] - np.outer(root, root)
        return cls(weight, shift + sums / (weight or 1.0), scatter, count, squared_weight, unit)

    @property
    def dimension(self) -> int:
        """Number of components of each vector, n."""
        return len(self.mean)

    @property
    def effective_count(self) -> float:
        """``(Σ w)² / Σ w²``: how many equally weighted vectors would tell as much (Kish 1965)."""
        return self.weight**2 / self.squared_weight if self.squared_weight else 0.0

    @property
    def covariance(self) -> Float64:
        """``Σ w (x − mean)(x − mean)ᵀ / Σ w``: the population covariance (no ``k − 1``)."""
        self._check_weight()
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
        return type(self)(
            weight,
            self.mean + share * step,
            scatter,
            self.count + other.count,
            self.squared_weight + other.squared_weight,
            self.unit,
        )

    def __radd__(self, other: object) -> Self:
        # The 0 with which sum() starts.
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        return (
            f"Moments(count={self.count:,}, dimension={self.dimension}, weight={self.weight:.6g})"
        )

    def _repr_html_(self) -> str:
        """Show what was summed up in a notebook."""
        names = ("count", "dimension", "weight", "effective_count")
        return html_table("Moments", {name: getattr(self, name) for name in names})


def _sums(
    matrix: Array, weights: Float64 | None, unit: bool
) -> Iterator[tuple[Float64, Float64, float, int, float]]:
    """Yield shifts, ``Σ w [x 1]ᵀ [x 1]`` of x less the shift, and Σ w, count and Σ w² of those x.

    The column of ones has the one BLAS product yield the sums too. As a rule there is one yield:
    blocks are added up while they lie around the shift, which starts at the origin. A block that
    is farther from it than its vectors are from their mean would lose digits to cancellation; it
    moves the shift to its own mean, and a new sum begins.
    """
    rows, columns = matrix.shape
    parts = list(block_slices(rows, columns))
    scratch = np.empty((parts[0].stop, columns + 1))
    shift = np.zeros(columns)
    total, weight, count, squared = np.zeros((columns + 1, columns + 1)), 0.0, 0, 0.0
    for part in parts:
        block, each = matrix[part], None if weights is None else weights[part]
        product = _product(block, each, shift, scratch, unit)
        sums, mass = product[-1, :-1], product[-1, -1]
        if 2 * (sums @ sums) > mass * np.trace(product[:-1, :-1]):
            if count:
                yield shift, total, weight, count, squared
            shift, weight, count, squared = shift + sums / mass, 0.0, 0, 0.0
            total = _product(block, each, shift, scratch, unit)
        else:
            total += product
        weight += len(block) if each is None else float(each.sum())
        squared += len(block) if each is None else float(each @ each)
        count += len(block) if each is None else int(np.count_nonzero(each))
    yield shift, total, weight, count, squared


def _product(
    block: Array, weights: Float64 | None, shift: Float64, scratch: Float64, unit: bool
) -> Float64:
    values = scratch[: len(block)]
    if unit:
        np.divide(block, row_lengths(block)[:, np.newaxis], out=values[:, :-1])
        values[:, :-1] -= shift
    elif shift.any():
        np.subtract(block, shift, out=values[:, :-1], casting="same_kind")
    else:
        values[:, :-1] = block  # a third of the time of a subtraction
    values[:, -1] = 1.0
    if weights is not None:
        values *= np.sqrt(weights)[:, np.newaxis]
    return values.T @ values


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
