"""From token vectors to the table of a static model, in linear steps that fold into the table.

    vectors ──▶ negation by usage ──▶ SIF weights ──▶ fit to sentences ──▶ their negation
            ──▶ leading directions

Texts become averages of rows, so a matrix applied to every row is applied to every text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra import recipes as methods
from conceptor.algebra.moments import Moments
from conceptor.base.arrays import row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray
    from scipy import sparse

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress

    Table = NDArray[np.float32]

# The strength of the ridge, in units of a sentence of one word; measured
# (docs/studies/static-models.md).
RIDGE = 1.0
# Steps of the conjugate gradient: more steps do not change the scores.
_STEPS = 12
# Columns to solve at a time, so that the data of a step stays in the cache.
_COLUMNS = 16
# A share of the mean eigenvalue: regularises the map from averages to sentences.
_FLOOR = 1e-3


def negate_usage(vectors: NDArray[Any], usage: Float64) -> AffineMap:
    """Return usage-weighted conceptor negation, fitted on the tokens that are used."""
    used = usage > 0
    if not used.any():
        raise InvalidInputError("no token of the vocabulary is ever used; check the frequencies")
    with one_blas_thread():
        moments = Moments.from_vectors(vectors[used], usage[used], unit=True)
        return methods.spectral_recipe("cn").solve(moments).map


def fit_sentences(
    table: Table,
    counts: sparse.csr_array,
    sentences: Table,
    *,
    ridge: float = RIDGE,
    progress: Progress = silent,
) -> Table:
    """Return the table whose averages are closest to a transformer's vectors of sentences.

    F holds the transformer's vectors at length 1, minus their mean. B holds how often each token is
    in each sentence, divided by the square root of the sentence's number of tokens. The result is
    ``argmin_T ‖B T − F‖² + ridge ‖T − T₀‖²``, where T₀ is `table` under the linear map that fits
    best. Rows of tokens that never occur stay as in T₀; rows of frequent tokens are free. The
    square root approximates the length of a sum of unrelated rows, since averages are scaled to
    length 1 at the end.

    Parameters
    ----------
    table : ndarray of shape (tokens, n)
    counts : sparse array of shape (sentences, tokens)
    sentences : ndarray of shape (sentences, m)

    Notes
    -----
    Solved by conjugate gradients (`solve_ridge`): nothing is larger than the table.
    """
    from scipy import sparse

    told = np.asarray(counts.sum(axis=1)).ravel() > 0
    B = counts[told]
    B = sparse.csr_array(sparse.diags_array(np.asarray(B.sum(axis=1)).ravel() ** -0.5) @ B)
    B = B.astype(np.float32)
    averages = (B @ table).astype(np.float64)
    if len(averages) < 2 or not averages.any():
        raise InvalidInputError(
            "there are too few sentences, or they have no word of the vocabulary"
        )
    lengths = row_lengths(sentences[told])
    F = np.divide(sentences[told], lengths[:, np.newaxis], dtype=np.float32)
    F -= F.mean(axis=0)
    start = (table @ best_map(averages.T @ averages, averages.T @ F)).astype(np.float32)

    seen = np.flatnonzero(np.diff(sparse.csc_array(B).indptr))
    B = B[:, seen]
    rest = B.T @ (F - B @ start[seen])
    start[seen] += solve_ridge(B, rest, ridge, progress)
    return start


def best_map(gram: Float64, products: NDArray[Any]) -> Float64:
    """Return the linear map from averages A to targets F, given AᵀA and AᵀF."""
    floor = _FLOOR * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.asarray(np.linalg.solve(gram + floor, products))


def solve_ridge(
    B: sparse.csr_array,
    right: Table,
    ridge: float,
    progress: Progress = silent,
    near: Table | None = None,
    steps: int = _STEPS,
) -> Table:
    """Return X with ``(BᵀB + ridge) X = right``, by conjugate gradients from zero or from `near`.

    Preconditioned by the diagonal. A step is two sparse products; this is cheaper than one with
    BᵀB, which has several times as many entries. Columns are solved in blocks, so that nothing is
    larger than `right`.
    """
    from scipy import sparse

    transposed = sparse.csr_array(B.T)
    diagonal = (np.asarray(B.multiply(B).sum(axis=0)).ravel() + ridge)[:, None].astype(np.float32)
    tiny = np.finfo(np.float32).tiny
    found = np.empty_like(right)
    columns = min(_COLUMNS, right.shape[1])
    for first in range(0, right.shape[1], columns):
        block = np.s_[:, first : first + columns]
        rest = np.ascontiguousarray(right[block])
        change = np.zeros_like(rest)
        if near is not None:
            change = np.ascontiguousarray(near[block])
            rest -= transposed @ (B @ change) + np.float32(ridge) * change
        scaled = rest / diagonal
        direction = scaled.copy()
        strength = np.einsum("ij,ij->j", rest, scaled)
        progress("fitting", first / right.shape[1], 0)
        for _ in range(steps):
            product = transposed @ (B @ direction) + np.float32(ridge) * direction
            size = strength / np.maximum(np.einsum("ij,ij->j", direction, product), tiny)
            change += size * direction
            rest -= size * product
            scaled = rest / diagonal
            renewed = np.einsum("ij,ij->j", rest, scaled)
            direction = scaled + renewed / np.maximum(strength, tiny) * direction
            strength = renewed
        found[block] = change
    return found


def negate_sentences(table: Table, counts: sparse.csr_array) -> AffineMap:
    """Return conceptor negation fitted on the averages of sentences, at length 1."""
    sums = counts @ table
    with one_blas_thread():
        moments = Moments.from_vectors(sums / row_lengths(sums)[:, np.newaxis])
        return methods.spectral_recipe("cn").solve(moments).map


def leading_directions(table: Table, usage: Float64, dimensions: int) -> AffineMap:
    """Return the map to the directions along which texts of independent words vary most."""
    used = usage > 0
    with one_blas_thread():
        moments = Moments.from_vectors(table[used], usage[used])
        return methods.leading_directions(dimensions).solve(moments).map
