"""Conceptors: soft projections with a Boolean algebra (Jaeger 2014)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.gates import conceptor_odds
from conceptor.algebra.moments import Moments
from conceptor.algebra.saved import load_tensors, save_tensors
from conceptor.algebra.spectrum import Spectrum, symmetric_part
from conceptor.base.arrays import Array, Float64, as_matrix, unit_rows
from conceptor.base.errors import InvalidInputError

# AND takes a direction of which both keep less than this share as one that neither keeps: the
# square of 1e-6, the angle to which single-precision data determine a subspace.
NULL_TOLERANCE = 1e-12
# `C <= B` tolerates eigenvalues of B − C this far below zero: far above rounding, and less than
# single-precision data can resolve.
ORDER_TOLERANCE = 1e-8
_FORMAT = "conceptor.Conceptor/1"


@dataclass(frozen=True, eq=False, repr=False)
class Conceptor:
    """A soft projection ``C = R (R + α⁻² I)⁻¹`` onto where data with second moment R lie.

    ========================  ==============================================================
    ``~C``                    NOT: ``I − C``, the rest of the space
    ``C & B``                 AND: ``(C⁻¹ + B⁻¹ − I)⁻¹``, what both describe
    ``C | B``                 OR: ``~(~C & ~B)``; at one aperture the conceptor of R_C + R_B
    ``C.phi(γ)``              aperture adaptation: C(R, α) becomes C(R, γα)
    ``C.power(p)``            the matrix power ``C^p``; ``(~C).power(0.5)`` is what `cn` applies
    ``C(X)``                  ``C x`` for each row of X; ``np.asarray(C)`` is the matrix
    ``C <= B``, ``C == B``    abstraction: B − C is positive semidefinite, or zero
    ``C.quota``               share of the space C claims, ``tr C / n``
    ``C.similarity(B)``       ``tr(CB) / (‖C‖ ‖B‖)``
    ``C.evidence(X)``         ``xᵀCx / xᵀx`` for each row of X
    ========================  ==============================================================

    Commutativity, associativity, De Morgan's laws and double negation hold. Idempotence (``C | C``
    is ``C.phi(√2)``), absorption and distributivity hold for hard projections only.
    ``C.power(p).power(q)`` is ``C.power(p q)``, and powers up to 1 keep the order, but the root of
    a negation is not the negation of a root. ``<=`` is a partial order, up to 1e-8 on eigenvalues.

    Attributes
    ----------
    odds : ndarray of shape (n,)
        ``s / (1 − s)`` of the singular values s, descending, from 0 to ∞. In this form NOT is
        ``1 / odds`` and aperture adaptation ``γ² odds``, both free of cancellation at either end.
    vectors : ndarray of shape (n, n)
        The singular vectors, one per column.
    aperture : float or None
        Its aperture, a label only; None for a conceptor given as a matrix, or combined from
        conceptors of different apertures.

    Notes
    -----
    AND and OR cost two eigendecompositions, everything else less than one. In theory they are
    discontinuous on singular conceptors; here directions within about 1e-6 count as one.
    """

    odds: Float64
    vectors: Float64
    aperture: float | None = None
    # Make NumPy leave the operators to this class, not apply them to each element.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    def from_vectors(
        cls, X: npt.ArrayLike, aperture: float, *, weights: npt.ArrayLike | None = None
    ) -> Self:
        """Return the conceptor of the rows of `X`, uncentered, optionally weighted."""
        return cls.from_second_moment(Moments.from_vectors(X, weights).second_moment, aperture)

    @classmethod
    def from_second_moment(cls, R: npt.ArrayLike, aperture: float) -> Self:
        """Return ``R (R + α⁻² I)⁻¹`` for a symmetric positive semidefinite `R`."""
        return cls.from_spectrum(Spectrum.from_matrix(R), aperture)

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, aperture: float) -> Self:
        """Return the conceptor of data, from the spectrum of its second moment."""
        aperture = _as_factor(aperture, "aperture")
        return cls(conceptor_odds(spectrum.values, aperture), spectrum.vectors, aperture)

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike) -> Self:
        """Read a conceptor from its matrix: symmetric, eigenvalues from 0 to 1.

        Eigenvalues of a float64 matrix that are 0 or 1 up to rounding become exactly that. Those of
        a coarser matrix stay its precision away from 0 and 1: two such matrices share a null space
        only approximately, and AND and OR would go far wrong if it were taken as exact.
        """
        original = as_matrix(matrix, "a conceptor")
        if original.shape[0] != original.shape[1]:
            raise InvalidInputError(f"a conceptor is a square matrix, not one of {original.shape}")
        C = np.asarray(original, dtype=np.float64)
        if not np.isfinite(C).all():
            raise InvalidInputError("a conceptor must not contain NaN or infinity")
        if np.abs(C - C.T).max() > 1e-5:
            raise InvalidInputError("a conceptor must be symmetric; this matrix is not")
        values, vectors = np.linalg.eigh(symmetric_part(C))
        if values[0] < -1e-5 or values[-1] > 1 + 1e-5:
            raise InvalidInputError(
                "a conceptor's eigenvalues must be between 0 and 1; this matrix has "
                f"{values[0]:.6g} to {values[-1]:.6g}"
            )
        if original.dtype.kind == "f" and original.dtype.itemsize < 8:
            precision = float(np.finfo(original.dtype).eps)
            values = np.clip(values, precision, 1 - precision)
        odds = _odds(values, 1 - values)
        return cls(odds[::-1], vectors[:, ::-1])

    @classmethod
    def zero(cls, dimension: int) -> Self:
        """Return the conceptor of nothing: ``zero <= C`` for every C."""
        return cls(np.zeros(dimension), np.eye(dimension))

    @classmethod
    def identity(cls, dimension: int) -> Self:
        """Return the conceptor of everything: ``C <= identity`` for every C."""
        return ~cls.zero(dimension)

    @property
    def dimension(self) -> int:
        """Number of components of the vectors it applies to, n."""
        return len(self.odds)

    @property
    def singular_values(self) -> Float64:
        """``s = odds / (1 + odds)``, descending, from 0 to 1."""
        # Each form is exact where the other divides infinity by infinity or 1 by 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.odds < 1, self.odds / (1 + self.odds), 1 / (1 + 1 / self.odds))

    @property
    def matrix(self) -> Float64:
        """The n × n matrix C, symmetric to the last bit; computed at each call."""
        values = self.singular_values
        return Spectrum(values, self.vectors).matrix(values)

    @property
    def quota(self) -> float:
        """``tr C / n``: the share of the space that C claims."""
        return float(self.singular_values.mean())

    def phi(self, gamma: float) -> Self:
        """Adapt the aperture by a factor from 0 to ∞: ``C (C + γ⁻² (I − C))⁻¹``."""
        gamma = _as_factor(gamma, "gamma")
        settled = (self.odds == 0) | np.isinf(self.odds)
        with np.errstate(over="ignore", invalid="ignore"):
            odds = np.where(settled, self.odds, self.odds * gamma * gamma)
            aperture = None if self.aperture is None else self.aperture * gamma
        if aperture is not None and np.isnan(aperture):
            aperture = None
        return type(self)(odds, self.vectors, aperture)

    def power(self, exponent: float) -> Self:
        """Return the matrix power ``C^p``, p ≥ 0, as a conceptor.

        p < 1 moves the singular values towards 1, p > 1 towards 0; 0 and 1 stay.
        """
        exponent = _as_factor(exponent, "exponent")
        # s^p / (1 − s^p) with log s = −log(1 + 1/odds), free of cancellation at either end.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            odds = 1 / np.expm1(exponent * np.log1p(1 / self.odds))
        settled = (self.odds == 0) | np.isinf(self.odds)
        return type(self)(np.where(settled, self.odds, odds), self.vectors)

    def similarity(self, other: Conceptor) -> float:
        """Return ``tr(CB) / (‖C‖_F ‖B‖_F)``: 1 for multiples of each other, 0 for disjoint."""
        self._check_same_dimension(other)
        s, t = self.singular_values, other.singular_values
        norms = float(np.linalg.norm(s) * np.linalg.norm(t))
        overlap = (self.vectors.T @ other.vectors) ** 2
        return float(s @ overlap @ t) / norms if norms else 0.0

    def evidence(self, X: npt.ArrayLike) -> Float64:
        """Return ``xᵀCx / xᵀx`` of each row of `X`, from 0 (outside C, or zero) to 1 (inside)."""
        # Unit rows, because the squares of very large or small numbers overflow or vanish.
        return np.asarray((unit_rows(X) @ self.vectors) ** 2 @ self.singular_values)

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Return ``C x`` for each row x of `X`, or for a single vector: its part inside C."""
        return AffineMap(self.matrix)(X)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Return the matrix, for `np.asarray`; it is always a new array."""
        return self.matrix.astype(dtype or np.float64, copy=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the conceptor as safetensors, atomically; `load` reads it."""
        metadata = {"format": _FORMAT, "aperture": json.dumps(self.aperture)}
        save_tensors(path, {"odds": self.odds, "vectors": self.vectors}, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a conceptor written by `save`; raise if the file is not one."""
        return load_tensors(path, "conceptor", (_FORMAT,), cls._parse)

    @classmethod
    def _parse(cls, parts: dict[str, Array], metadata: dict[str, str]) -> Self:
        odds, vectors = parts["odds"], parts["vectors"]
        if vectors.shape != (len(odds), len(odds)) or not (odds >= 0).all():
            raise InvalidInputError("its numbers are not those of a conceptor")
        return cls(odds, vectors, json.loads(metadata["aperture"]))

    def __invert__(self) -> Self:
        with np.errstate(divide="ignore"):
            return type(self)(1 / self.odds[::-1], self.vectors[:, ::-1], self.aperture)

    def __and__(self, other: Conceptor) -> Self:
        if not isinstance(other, Conceptor):
            return NotImplemented
        self._check_same_dimension(other)
        # (C⁻¹ + B⁻¹ − I)⁻¹ = P (I − P)⁻¹ with P = (C⁻¹ + B⁻¹)⁻¹ = C (C + B)⁺ B, the parallel sum.
        # P lies between 0 and I/2, so I − P is never near singular, whatever C and B are.
        C, B = self.matrix, other.matrix
        total, basis = np.linalg.eigh(C + B)
        is_used = total > NULL_TOLERANCE * total[-1]
        half = basis[:, is_used] / np.sqrt(total[is_used])
        p, vectors = np.linalg.eigh(symmetric_part((half.T @ C).T @ (half.T @ B)))
        odds = _odds(p, 1 - 2 * p)
        aperture = self.aperture if self.aperture == other.aperture else None
        return type(self)(odds[::-1], vectors[:, ::-1], aperture)

    def __or__(self, other: Conceptor) -> Self:
        if not isinstance(other, Conceptor):
            return NotImplemented
        return ~(~self & ~other)

    def __le__(self, other: Conceptor) -> bool:
        if not isinstance(other, Conceptor):
            return NotImplemented
        self._check_same_dimension(other)
        return bool(np.linalg.eigvalsh(other.matrix - self.matrix)[0] >= -ORDER_TOLERANCE)

    def __eq__(self, other: object) -> bool:
        """Return whether the matrices are equal up to rounding, whatever the apertures are."""
        if not isinstance(other, Conceptor):
            return NotImplemented
        return self.dimension == other.dimension and self <= other <= self

    # Equality is approximate, so equal conceptors cannot have equal hashes.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        aperture = "none" if self.aperture is None else f"{self.aperture:.4g}"
        size = f"dimension={self.dimension}, aperture={aperture}, quota={self.quota:.4f}"
        return f"Conceptor({size})"

    def _check_same_dimension(self, other: Conceptor) -> None:
        if self.dimension != other.dimension:
            raise InvalidInputError(
                f"conceptors of {self.dimension} and of {other.dimension} dimensions do not "
                "combine; do both come from the same embeddings?"
            )


def _odds(part: Float64, rest: Float64) -> Float64:
    """Return ``part / rest`` of ascending eigenvalues; values within rounding of 0 become 0."""
    rounding = len(part) * float(np.finfo(np.float64).eps)
    part = np.where(part > rounding * part[-1], part, 0.0)
    rest = np.where(rest > rounding, rest, 0.0)
    with np.errstate(divide="ignore"):
        return part / rest


def _as_factor(value: float, name: str) -> float:
    factor = float(value)
    if not factor >= 0:
        raise InvalidInputError(f"{name} must be a number from 0 to infinity; it is {value}")
    return factor
