"""Products with a large sparse matrix on several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator

from conceptor.vectors.pipeline import processors

if TYPE_CHECKING:
    from conceptor.arrays import Array


class ThreadedProducts(LinearOperator):
    """A sparse matrix whose products are taken by bands of rows, one thread each.

    SciPy's own run on one. The transpose is kept as well, so that both products go along rows.
    The result does not depend on the number of threads.
    """

    def __init__(self, matrix: Any) -> None:  # noqa: ANN401 - a sparse matrix has no types
        super().__init__(matrix.dtype, matrix.shape)
        self._rows = _bands(matrix.tocsr(), processors())
        self._columns = _bands(matrix.T.tocsr(), processors())
        self._pool = ThreadPoolExecutor(processors())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def _matmat(self, X: Array) -> Array:
        return np.concatenate(list(self._pool.map(lambda band: band @ X, self._rows)))

    def _rmatmat(self, X: Array) -> Array:
        return np.concatenate(list(self._pool.map(lambda band: band @ X, self._columns)))

    _matvec = _matmat
    _rmatvec = _rmatmat


def _bands(matrix: Any, count: int) -> list[Any]:  # noqa: ANN401
    """Cut into bands of rows with about as many entries each."""
    goals = np.linspace(0, matrix.nnz, count + 1)[1:-1]
    cuts = [0, *np.searchsorted(matrix.indptr, goals).tolist(), matrix.shape[0]]
    return [matrix[a:b] for a, b in pairwise(cuts)]
