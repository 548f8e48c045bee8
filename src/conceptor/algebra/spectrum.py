"""Eigenpairs of a moment, and symmetric matrices made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import interruptible


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
        values, vectors = interruptible(np.linalg.eigh, symmetric)
        values, vectors = values[::-1], vectors[:, ::-1]
        largest = max(abs(values[0]), abs(values[-1]))
        noise = largest * len(values) * np.finfo(np.float64).eps
        if values[-1] < -1e-6 * largest:
            raise InvalidInputError(
                f"a moment cannot have negative eigenvalues; this matrix has {values[-1]:.3g}"
            )
        # An eigenvector's sign is arbitrary, and LAPACK's choice differs between builds.
        largest_components = np.abs(vectors).argmax(axis=0)
        signs = np.where(vectors[largest_components, np.arange(len(values))] < 0, -1.0, 1.0)
        return cls(np.where(values > noise, values, 0.0), vectors * signs)

    @property
    def rank(self) -> int:
        """Number of directions with any variance."""
        return int(np.count_nonzero(self.values))

    def matrix(self, coefficients: Float64) -> Float64:
        """Return ``U diag(coefficients) Uᵀ``, symmetric to the last bit."""
        if (coefficients == 1.0).all():
            return np.eye(len(self.vectors))
        return symmetric_part((self.vectors * coefficients) @ self.vectors.T)

    def __repr__(self) -> str:
        return f"Spectrum(dimension={len(self.values)}, rank={self.rank})"


def symmetric_part(matrix: Float64) -> Float64:
    """Return the symmetric part; rounding makes floating-point products asymmetric."""
    return (matrix + matrix.T) / 2


def isotropy(moment: Float64) -> float:
    """Return the participation ratio ``(Σ λ)² / (n Σ λ²)``, between 1/n and 1; 0 without variance.

    Takes eigenvalues λ or a symmetric matrix, which is not decomposed.
    """
    scaled = moment / (np.abs(moment).max(initial=0.0) or 1.0)
    total = np.trace(scaled) if scaled.ndim == 2 else scaled.sum()
    return float(total**2 / (np.vdot(scaled, scaled) or 1.0) / len(scaled))
