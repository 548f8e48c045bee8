"""Weighted first and second moments that add: one pass, many chunks or many machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from conceptor.base.arrays import (
    as_matrix,
    block_slices,
    check_square_fits,
    result_dtype,
    row_lengths,
)
from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from conceptor.base.arrays import Array, Float64

# Rows that are multiplied in float32 before float64 takes over: the rounding of one such sum is
# that of a few hundred additions, and adding the products costs a twentieth of making them.
_SINGLE_ROWS = 512
# The sum of the squares of many such weights is still finite.
_LARGEST_WEIGHT = 1e100


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
    A set of k vectors costs k n² multiply-adds in BLAS products (symmetric ones, so half of that),
    and each is read from memory once. Chunks are merged by the update of Chan, Golub & LeVeque
    (1983). Only a cache-sized block is ever held in float64. Lengths and weights are one factor
    per row, so bringing vectors to length 1 costs nothing extra.

    Products are in float64, or on request (`single`) in the float32 of the vectors themselves.
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
        cls,
        X: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        unit: bool = False,
        single: bool = False,
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
        single : bool
            Multiply float32 rows in single precision, in half the time, 512 rows at a time, and
            sum in float64. Products of these rows are off by about 3e-7 of their size, so this is
            for rows that hold a small share of the weight, and for maps that do not divide by
            small eigenvalues, as whitening does. Other types are multiplied in float64 anyway.

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
            found = _single_sums(matrix, each, unit) if single else None
            parts = [found] if found else _sums(matrix, each, unit)
            total = reduce(add, (cls._about(*sums, unit) for sums in parts))
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
        # Of equal vectors it is zero; what is left of rounding may not even be positive.
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


class _Sums(NamedTuple):
    """``Σ w [x 1]ᵀ [x 1]`` of x less the shift, and Σ w, count and Σ w² of those x."""

    shift: Float64
    product: Float64
    weight: float
    number: int
    squared_weight: float


def _sums(matrix: Array, weights: Float64 | None, unit: bool) -> Iterator[_Sums]:
    """Yield sums about a shift; together they are those of all rows.

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
                yield _Sums(shift, total, weight, count, squared)
            shift, weight, count, squared = shift + sums / mass, 0.0, 0, 0.0
            total = _product(block, each, shift, scratch, unit)
        else:
            total += product
        more = _weigh(len(block), each)
        weight, count, squared = weight + more[0], count + more[1], squared + more[2]
    yield _Sums(shift, total, weight, count, squared)


def _single_sums(matrix: Array, weights: Float64 | None, unit: bool) -> _Sums | None:
    """Return sums about the origin from products in float32; None where rows need float64."""
    if result_dtype(matrix.dtype) != np.float32:
        return None
    rows, columns = matrix.shape
    scratch = np.empty((min(_SINGLE_ROWS, rows), columns + 1), dtype=np.float32)
    total = np.zeros((columns + 1, columns + 1))
    for start in range(0, rows, _SINGLE_ROWS):
        part = slice(start, start + _SINGLE_ROWS)
        each = None if weights is None else weights[part]
        total += _product(matrix[part], each, None, scratch, unit)
    if not np.isfinite(total).all():  # perhaps only beyond the range of float32
        return None
    return _Sums(np.zeros(columns), total, *_weigh(rows, weights))


def _weigh(rows: int, weights: Float64 | None) -> tuple[float, int, float]:
    """Return Σ w, how many are above zero, and Σ w²."""
    if weights is None:
        return float(rows), rows, float(rows)
    return float(weights.sum()), int(np.count_nonzero(weights)), float(weights @ weights)


def _product(
    block: Array, weights: Float64 | None, shift: Float64 | None, scratch: Array, unit: bool
) -> Array:
    """Return ``Σ w [x 1]ᵀ [x 1]`` of a block in the precision of `scratch`, x less the shift."""
    values = scratch[: len(block)]
    roots = np.ones(len(block)) if weights is None else np.sqrt(weights)
    lengths = row_lengths(block) if unit else None
    if shift is not None and shift.any():  # first, while the difference is exact
        rows = block if lengths is None else block / lengths[:, np.newaxis]
        np.subtract(rows, shift, out=values[:, :-1], casting="same_kind")
        values[:, :-1] *= roots[:, np.newaxis]
    elif weights is None and lengths is None:
        values[:, :-1] = block  # a third of the time of a multiplication
    else:
        factors = roots if lengths is None else roots / lengths
        by_row = factors.astype(scratch.dtype, copy=False)[:, np.newaxis]
        np.multiply(block, by_row, out=values[:, :-1], casting="same_kind")
    values[:, -1] = roots
    product: Array = values.T @ values
    return product


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
    if (checked > _LARGEST_WEIGHT).any():
        row = int(np.flatnonzero(checked > _LARGEST_WEIGHT)[0])
        raise InvalidInputError(
            f"weight {row} is {checked[row]:.3g}, whose square overflows; only ratios matter, so "
            "divide all weights by the largest"
        )
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
