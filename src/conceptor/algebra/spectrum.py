"""Eigenpairs of a moment, and symmetric matrices made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_table

if TYPE_CHECKING:
    import numpy.typing as npt

    from conceptor.base.arrays import Float64


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum:
    """Eigenvalues, descending, and orthonormal eigenvectors of a positive semidefinite matrix.

    Attributes
    ----------
    values : ndarray of shape (n,)
        ``λ_1 ≥ … ≥ λ_n ≥ 0``. Values that are zero up to rounding *are* zero, so that "in the
        range of the moment" is ``λ > 0``.
    vectors : ndarray of shape (n, n)
        One eigenvector per column, each with its largest component positive.
    """

    values: Float64
    vectors: Float64

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike) -> Self:
        """Decompose a symmetric positive semidefinite matrix; about 9 n³ operations."""
        symmetric = np.asarray(matrix, dtype=np.float64)
        if symmetric.ndim != 2 or symmetric.shape[0] != symmetric.shape[1]:
            raise InvalidInputError(f"a moment must be square; its shape is {symmetric.shape}")
        if not np.isfinite(symmetric).all():
            raise InvalidInputError("a moment must not contain NaN or infinity")
        values, vectors = np.linalg.eigh(symmetric)
        values, vectors = values[::-1], vectors[:, ::-1]
        largest = max(abs(values[0]), abs(values[-1]))
        noise = largest * len(values) * np.finfo(np.float64).eps
        if values[-1] < -1e-6 * largest:
            raise InvalidInputError(
                f"a moment cannot have negative eigenvalues; this matrix has {values[-1]:.3g}"
            )
        return cls(np.where(values > noise, values, 0.0), vectors * _signs(vectors))

    @property
    def rank(self) -> int:
        """Number of directions with any variance."""
        return int(np.count_nonzero(self.values))

    def matrix(self, coefficients: Float64) -> Float64:
        """Return ``U diag(coefficients) Uᵀ``, symmetric to the last bit."""
        return symmetric_matrix(self.vectors, coefficients)

    def __repr__(self) -> str:
        return f"Spectrum({', '.join(f'{k}={v}' for k, v in self._summary().items())})"

    def _repr_html_(self) -> str:
        """Show the leading eigenvalues in a notebook."""
        return html_table("Spectrum", self._summary())

    def _summary(self) -> dict[str, str]:
        shares = self.values[:5] / (self.values.sum() or 1.0)
        leading = " ".join(f"{share:.1%}" for share in shares)
        return {"dimension": f"{len(self.values)}", "rank": f"{self.rank}", "leading": leading}


def symmetric_matrix(vectors: Float64, coefficients: Float64) -> Float64:
    """Return ``U diag(coefficients) Uᵀ``, symmetric to the last bit; the identity for all ones."""
    if (coefficients == 1.0).all():
        return np.eye(len(vectors))
    return symmetric_part((vectors * coefficients) @ vectors.T)


def symmetric_part(matrix: Float64) -> Float64:
    """Return the symmetric part; rounding makes floating-point products asymmetric."""
    return (matrix + matrix.T) / 2


def _signs(vectors: Float64) -> Float64:
    """Signs that make each column's largest component positive, for reproducible output.

    An eigenvector's sign is arbitrary, and LAPACK's choice differs between builds.
    """
    leading = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[leading, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
