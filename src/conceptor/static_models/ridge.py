"""Fit a table of token vectors to vectors F of texts: ``argmin_T ‖B T − F‖² + ridge ‖T − T₀‖²``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.base.arrays import row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent

Table = NDArray[np.float32]

# The strength of the ridge for sentences, in units of a sentence of one word; measured
# (docs/studies/static-models.md).
RIDGE = 1.0
# Steps of the conjugate gradient: more steps do not change the scores.
_STEPS = 12
# Columns to solve at a time, so that memory stays near the size of the table.
_COLUMNS = 16
# A share of the mean eigenvalue: regularizes the map from averages to sentences.
_FLOOR = 1e-3


def fit_sentences(
    table: Table,
    counts: sparse.csr_array,
    sentences: Table,
    *,
    ridge: float = RIDGE,
    progress: Progress = silent,
) -> Table:
    """Return the table whose averages are closest to a transformer's vectors of sentences.

    `counts` (sentences × tokens) has how often each token is in each sentence. B is `counts`,
    divided by the square root of each sentence's number of tokens; F is `sentences` as unit
    vectors, minus their mean. T₀ is `table` under the linear map that fits best. Rows of tokens
    that never occur stay as in T₀; rows of frequent tokens are free. The square root approximates
    the length of a sum of unrelated rows, since averages are normalized at the end.
    """
    has_tokens = np.asarray(counts.sum(axis=1)).ravel() > 0
    B = counts[has_tokens]
    B = sparse.csr_array(sparse.diags_array(np.asarray(B.sum(axis=1)).ravel() ** -0.5) @ B)
    B = B.astype(np.float32)
    averages = (B @ table).astype(np.float64)
    if len(averages) < 2 or not averages.any():
        raise InvalidInputError(
            "there are too few sentences, or they have no word of the vocabulary"
        )
    lengths = row_lengths(sentences[has_tokens])
    F = np.divide(sentences[has_tokens], lengths[:, np.newaxis], dtype=np.float32)
    F -= F.mean(axis=0)
    gram = averages.T @ averages
    floor = _FLOOR * np.trace(gram) / len(gram) * np.eye(len(gram))
    start = (table @ np.linalg.solve(gram + floor, averages.T @ F)).astype(np.float32)

    used = np.flatnonzero(np.diff(sparse.csc_array(B).indptr))
    B = B[:, used]
    right = B.T @ (F - B @ start[used])
    start[used] += solve_ridge(B, right, ridge, progress)
    return start


def solve_ridge(
    B: sparse.csr_array,
    right: Table,
    ridge: float,
    progress: Progress = silent,
    near: Table | None = None,
    steps: int = _STEPS,
) -> Table:
    """Return X with ``(BᵀB + ridge) X = right``, by preconditioned conjugate gradients.

    From zero or from `near`. A step is two sparse products; this is cheaper than one with BᵀB,
    which has several times as many entries. Nothing is larger than `right`.
    """
    transposed = sparse.csr_array(B.T)
    diagonal = (np.asarray(B.multiply(B).sum(axis=0)).ravel() + ridge)[:, None].astype(np.float32)
    tiny = np.finfo(np.float32).tiny
    solution = np.empty_like(right)
    for first in range(0, right.shape[1], _COLUMNS):
        progress("fitting", first / right.shape[1], 0)
        block = np.s_[:, first : first + _COLUMNS]
        rest = np.ascontiguousarray(right[block])
        change = np.zeros_like(rest)
        if near is not None:
            change = np.ascontiguousarray(near[block])
            rest -= transposed @ (B @ change) + np.float32(ridge) * change
        scaled = rest / diagonal
        direction = scaled
        strength = np.einsum("ij,ij->j", rest, scaled)
        for _ in range(steps):
            product = transposed @ (B @ direction) + np.float32(ridge) * direction
            size = strength / np.maximum(np.einsum("ij,ij->j", direction, product), tiny)
            change += size * direction
            rest -= size * product
            scaled = rest / diagonal
            renewed = np.einsum("ij,ij->j", rest, scaled)
            direction = scaled + renewed / np.maximum(strength, tiny) * direction
            strength = renewed
        solution[block] = change
    return solution
