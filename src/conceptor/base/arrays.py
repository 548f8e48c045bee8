"""Check matrices of vectors, and split them into blocks that fit in the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.threads import memory_bytes

Array = np.ndarray[Any, np.dtype[Any]]
Float64 = np.ndarray[Any, np.dtype[np.float64]]

_BLOCK_BYTES = 8 << 20  # of a block that stays in the cache
_SQUARES = 4  # moments, eigenvectors, the map and an addend are in memory at the same time
_BLOCK_ROWS = 1024  # fewer would cost less than the n x n work after each block
# By the size of a number in bytes: squares of lengths between this and its inverse are exact.
_SMALL_SQUARES = {4: 1e-25, 8: 1e-280}
# A generous bound for a sum of up to 2²⁰ products; float32 resolves directions 1e-8 apart.
_ROUNDING = 1e-12


def as_matrix(X: npt.ArrayLike, name: str = "X", *, empty: bool = False) -> Array:
    """Return `X` as a 2-D array of real numbers; `empty` allows zero rows."""
    if hasattr(X, "index_to_key"):
        raise InvalidInputError(f"{name} is gensim KeyedVectors; use kv.vectors")
    try:
        matrix = np.asarray(X)
    except ValueError:
        raise InvalidInputError(f"{name} must have rows of the same length") from None
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"{name} must be a matrix with one vector per row; it has {matrix.ndim} dimension(s), "
            f"shape {matrix.shape}"
        )
    if matrix.dtype.kind not in "fiub":
        raise InvalidInputError(f"{name} must hold real numbers, not {matrix.dtype}")
    if 0 in (matrix.shape[1:] if empty else matrix.shape):
        raise InvalidInputError(f"{name} is empty: {matrix.shape[0]} rows x {matrix.shape[1]}")
    return matrix


def check_square_fits(n: int) -> None:
    """Raise if the n × n matrices of moments and maps would not fit into memory."""
    need = 8 * n**2 * _SQUARES
    if need > memory_bytes():
        raise ConceptorError(
            f"vectors of {n} numbers need {need / 1e9:,.0f} GB for matrices of {n} × {n}, but this "
            f"machine has {memory_bytes() / 1e9:,.0f} GB; reduce their dimension first"
        )


def result_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of results: float32 for float32 and float16, else float64."""
    return np.dtype(np.float32 if dtype in (np.float32, np.float16) else np.float64)


def row_lengths(X: Array) -> Array:
    """Return the length of each row, or 1 for a row of zeros, so that rows can be divided by it.

    Rows whose squares overflow or underflow are scaled first.
    """
    rows = X.astype(result_dtype(X.dtype), copy=False)
    small = _SMALL_SQUARES[rows.dtype.itemsize]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
        lengths: Array = np.sqrt(squares)
        extreme = ~((squares > small) & (squares < 1 / small))
        if extreme.any():
            scaled = rows[extreme].astype(np.float64)
            largest = np.abs(scaled).max(axis=1)
            scale = np.where(largest > 0, largest, 1.0)
            scaled /= scale[:, np.newaxis]
            lengths = lengths.astype(np.float64)  # a length may overflow single precision
            lengths[extreme] = scale * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
            lengths[lengths == 0] = 1.0
    return lengths


def unit_rows(X: npt.ArrayLike) -> Float64:
    """Return the unit rows of `X`, in float64; a row of zeros stays."""
    rows = as_matrix(X, empty=True)
    return np.asarray(rows / row_lengths(rows)[:, np.newaxis], dtype=np.float64)


def unit_rows32(X: npt.ArrayLike) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the unit rows of `X`, in float32, for searches; a row of zeros stays."""
    rows = as_matrix(X, empty=True)
    return np.asarray(rows / row_lengths(rows)[:, np.newaxis], dtype=np.float32)


def cosines(left: Array, right: Array) -> Float64:
    """Return the cosine of each row of `left` with the same row of `right`, 0 for a zero row.

    It is exactly 1 or -1 for parallel rows, so that rounding does not rank them.
    """
    units = [unit_rows(np.asarray(each, dtype=np.float64)) for each in (left, right)]
    products = np.asarray(np.einsum("ij,ij->i", *units), dtype=np.float64)
    return np.where(np.abs(products) > 1 - _ROUNDING, np.sign(products), products)


def block_slices(rows: int, columns: int) -> Iterator[slice]:
    """Split `rows` into consecutive slices of about `_BLOCK_BYTES` in float64."""
    step = max(_BLOCK_ROWS, _BLOCK_BYTES // (8 * columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def jsonable(value: object) -> Any:  # noqa: ANN401
    """Return plain data for JSON: lists for arrays, None for non-finite numbers."""
    match value:
        case dict():
            return {key: jsonable(inner) for key, inner in value.items()}
        case list() | tuple() | np.ndarray():
            return [jsonable(inner) for inner in value]
        case float():
            return float(value) if math.isfinite(value) else None
    return value
