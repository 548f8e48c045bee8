"""Weighted first and second moments that add: one pass, many chunks or many machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, ClassVar, Self

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

# Rows in one float32 product, before the result is added in float64: fewer rows cost more
# additions, more rows lose digits.
SINGLE_ROWS = 1024
# The relative rounding of one such product, in the spectral norm: twice the measured value.
SINGLE_ROUNDING = 7e-7
# Rows that are checked together for whether float32 is safe.
_SINGLE_BLOCK = 4 * SINGLE_ROWS
# The first rows of a stream are always multiplied in float64: with few rows it costs little, and
# with many it leaves each product in float32 a small share of the sum.
EXACT_ROWS = 1 << 15
# If fewer than this share of the rows make up most of a product, float64 is used.
_EVEN = 0.5
# How far the trace of float32 products may be from the one that the lengths of the rows give: far
# more than random rounding, which cancels, and far less than rounding in one direction.
_TRACE_ERROR = 5e-8
# The squares of many such weights still have a finite sum.
_LARGEST_WEIGHT = 1e100


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Weight, mean and centred scatter of a set of vectors, in float64.

    `Moments.from_vectors(X, weights)` computes them. `a + b` is the moments of both sets together,
    exactly and in any order (up to rounding), and `sum(...)` works. The scatter is kept about the
    mean, not about the origin. That is safe for data far from the origin, where
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
        Number of vectors with a weight above zero.
    squared_weight : float
        Sum of the squared weights, ``Σ w²``; see `effective_count`.
    unit : bool
        Whether the vectors were brought to length 1 first.
    squared_rounding : float
        A bound on the error of float32 products; see `rounding`.

    Notes
    -----
    A set of k vectors costs k n² multiply-adds in BLAS products (symmetric ones, so half of that),
    and each is read from memory once. Chunks are merged by the update of Chan, Golub & LeVeque
    (1983). Only a cache-sized block is ever held in float64. Lengths and weights are one factor
    per row, so bringing vectors to length 1 costs nothing extra.

    Products are in float64. On request (`single`) float32 vectors are multiplied in float32, in
    40% of the time, 1,024 rows at a time, and these products are added in float64. The error of a
    product is random and below 7e-7 of it, so half a million rows have an error of 3e-8 if all
    count the same, and of 1e-8 by usage. `rounding` tracks it. These stay in float64:

    - the first 32,768 rows (of the stream, see `before`);
    - blocks in which a few rows dominate, by their weights and lengths;
    - rows that are far from the origin, compared with their distance from their mean;
    - rows whose squares overflow or underflow float32, or are rounded in one direction;
    - vectors that are not float32.
    """

    weight: float
    mean: Float64
    scatter: Float64
    count: int
    squared_weight: float
    unit: bool = False
    squared_rounding: float = 0.0
    # Make NumPy leave the operators to this class, not apply them to each element.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    def from_vectors(
        cls,
        X: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        unit: bool = False,
        single: bool = False,
        before: int = 0,
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
            Multiply float32 rows in float32 where that is safe for maps that do not divide by
            small eigenvalues, as whitening does (see the notes above, and `rounding`).
        before : int
            How many rows of the same stream came before these.

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
            may = single and result_dtype(matrix.dtype) == np.float32
            exact = min(max(0, EXACT_ROWS - before) if may else len(matrix), len(matrix))
            parts = _all_sums(matrix, each, unit, exact)
            total = reduce(add, (cls._about(sums, unit) for sums in parts))
        if not (np.isfinite(total.scatter).all() and np.isfinite(total.mean).all()):
            raise _explain_non_finite(matrix)
        return total

    @classmethod
    def _about(cls, found: _Sums, unit: bool) -> Self:
        """Return the moments that follow from sums about a shift."""
        sums, weight = found.sums, found.weight
        root = sums / np.sqrt(weight) if weight else sums  # zero, or NaN where there is one
        scatter = found.product  # nobody else needs it
        scatter -= np.outer(root, root)
        mean = found.shift + sums / (weight or 1.0)
        counts = found.number, found.squared_weight
        return cls(weight, mean, scatter, *counts, unit, found.squared_rounding)

    @property
    def dimension(self) -> int:
        """Number of components of each vector, n."""
        return len(self.mean)

    @property
    def effective_count(self) -> float:
        """``(Σ w)² / Σ w²``: the equivalent number of equally weighted vectors (Kish 1965)."""
        return self.weight**2 / self.squared_weight if self.squared_weight else 0.0

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

    @property
    def rounding(self) -> float:
        """How far float32 products may have changed `second_moment`, relative to its norm."""
        trace = float(np.trace(self.scatter)) + self.weight * float(self.mean @ self.mean)
        return self.squared_rounding**0.5 / trace if trace > 0 else 0.0

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
            self.squared_rounding + other.squared_rounding,
        )

    def __radd__(self, other: object) -> Self:
        # The 0 that sum() starts with.
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        return (
            f"Moments(count={self.count:,}, dimension={self.dimension}, weight={self.weight:.6g})"
        )

    def _repr_html_(self) -> str:
        """Show a summary in a notebook."""
        names = ("count", "dimension", "weight", "effective_count")
        return html_table("Moments", {name: getattr(self, name) for name in names})


@dataclass
class _Sums:
    """``Σ w x xᵀ``, ``Σ w x``, Σ w, count and Σ w² of some x less the shift, and the rounding."""

    shift: Float64
    product: Float64
    sums: Float64
    weight: float = 0.0
    number: int = 0
    squared_weight: float = 0.0
    squared_rounding: float = 0.0

    @classmethod
    def about(cls, shift: Float64) -> _Sums:
        """Return the sums of nothing."""
        columns = len(shift)
        return cls(shift, np.zeros((columns, columns)), np.zeros(columns))

    def __iadd__(self, other: _Sums) -> Self:
        """Add other sums about the same shift."""
        self.product += other.product
        self.sums += other.sums
        self.weight += other.weight
        self.number += other.number
        self.squared_weight += other.squared_weight
        self.squared_rounding += other.squared_rounding
        return self

    def count(self, rows: int, weights: Float64 | None) -> None:
        """Count some rows, and their weights."""
        self.number += rows if weights is None else int(np.count_nonzero(weights))
        self.weight += float(rows if weights is None else weights.sum())
        self.squared_weight += float(rows if weights is None else weights @ weights)


def _all_sums(matrix: Array, weights: Float64 | None, unit: bool, exact: int) -> Iterator[_Sums]:
    """Yield sums that together cover all rows, in float32 from the row `exact` on.

    Rows for which float32 is not safe are multiplied in float64.
    """
    starts = range(exact, len(matrix), _SINGLE_BLOCK)
    if exact or not starts:
        yield from _sums(matrix[:exact], None if weights is None else weights[:exact], unit)
    total: _Sums | None = None
    for start in starts:
        part = slice(start, start + _SINGLE_BLOCK)
        block, each = matrix[part], None if weights is None else weights[part]
        if (found := _single_sums(block, each, unit)) is None:
            yield from _sums(block, each, unit)
        elif total is None:
            total = found
        else:
            total += found
    if total is not None:
        yield total


def _sums(matrix: Array, weights: Float64 | None, unit: bool) -> Iterator[_Sums]:
    """Yield sums about a shift that together cover all rows.

    Usually there is one yield: blocks are added up while they lie around the shift, which starts
    at the origin. A block that is farther from the shift than its vectors are from their mean would
    lose digits to cancellation. It moves the shift to its own mean and starts a new sum.
    """
    rows, columns = matrix.shape
    parts = list(block_slices(rows, columns))
    scratch = np.empty((parts[0].stop, columns + 1))
    total = _Sums.about(np.zeros(columns))
    for part in parts:
        block, each = matrix[part], None if weights is None else weights[part]
        product = _product(block, each, total.shift, scratch, unit)
        sums, mass = product[-1, :-1], product[-1, -1]
        if 2 * (sums @ sums) > mass * np.trace(product[:-1, :-1]):
            if total.number:
                yield total
            total = _Sums.about(total.shift + sums / mass)
            product = _product(block, each, total.shift, scratch, unit)
        total.product += product[:-1, :-1]
        total.sums += product[-1, :-1]
        total.count(len(block), each)
    yield total


def _product(
    block: Array, weights: Float64 | None, shift: Float64, scratch: Float64, unit: bool
) -> Float64:
    """Return ``Σ w [x 1]ᵀ [x 1]`` of a block, x less the shift.

    With the column of ones, a single BLAS product gives the sums too.
    """
    values = scratch[: len(block)]
    roots = np.ones(len(block)) if weights is None else np.sqrt(weights)
    lengths = row_lengths(block) if unit else None
    if shift.any():  # first, while the difference is exact
        rows = block if lengths is None else block / lengths[:, np.newaxis]
        np.subtract(rows, shift, out=values[:, :-1])
        values[:, :-1] *= roots[:, np.newaxis]
    elif weights is None and lengths is None:
        values[:, :-1] = block  # a third of the time of a multiplication
    else:
        factors = roots if lengths is None else roots / lengths
        np.multiply(block, factors[:, np.newaxis], out=values[:, :-1])
    values[:, -1] = roots
    return np.asarray(values.T @ values)


def _single_sums(matrix: Array, weights: Float64 | None, unit: bool) -> _Sums | None:
    """Return sums about the origin from float32 products; None if rows need float64."""
    rows, columns = matrix.shape
    lengths = row_lengths(matrix).astype(np.float64)
    roots = np.ones(rows) if weights is None else np.sqrt(weights)
    shares = np.square(roots if unit else roots * lengths)  # of the trace
    if not shares.sum() ** 2 > _EVEN * rows * (shares @ shares):
        return None
    factors = (roots / lengths if unit else roots).astype(np.float32)[:, np.newaxis]
    small = roots.astype(np.float32)
    total = _Sums.about(np.zeros(columns))
    scratch = np.empty((min(SINGLE_ROWS, rows), columns), dtype=np.float32)
    product = np.empty((columns, columns), dtype=np.float32)
    for start in range(0, rows, SINGLE_ROWS):
        part = slice(start, min(start + SINGLE_ROWS, rows))
        values = scratch[: part.stop - start]
        np.multiply(matrix[part], factors[part], out=values)
        np.matmul(values.T, values, out=product)
        total.product += product
        total.sums += small[part] @ values
        total.squared_rounding += (SINGLE_ROUNDING * float(shares[part].sum())) ** 2
    total.count(rows, weights)
    trace, expected = np.trace(total.product), shares.sum()
    is_far = 2 * (total.sums @ total.sums) > total.weight * trace
    # Values that overflow or underflow float32 are missing from the trace. So is rounding in one
    # direction, as with many equal numbers; it would accumulate from product to product.
    return total if abs(trace - expected) <= _TRACE_ERROR * expected and not is_far else None


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
                f"{matrix[part][row, column]}; remove or repair such vectors first"
            )
    return InvalidInputError(
        "X contains values so large that their squares overflow; scale the vectors down first"
    )
