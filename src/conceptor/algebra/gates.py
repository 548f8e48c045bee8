"""Gates: eigenvalues in, the coefficient of each direction out.

Every post-processor here is ``y = U diag(g(λ)) Uᵀ (x − m)``; this module holds the ``g``: as
functions, and as classes that hold the parameters of a recipe (`conceptor.algebra.recipes`).
Eigenvalues come in descending order, none negative, zeros exact (see `Spectrum`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from conceptor.algebra.aperture import leading_aperture, scale_free_aperture
from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from conceptor.base.arrays import Float64


def conceptor_odds(values: Float64, aperture: float) -> Float64:
    """Return ``α² λ``, the odds ``s / (1 − s)`` of a conceptor's singular values s.

    Zero stays zero at an infinite aperture: no data, no odds.
    """
    if np.isinf(aperture):
        return np.where(values > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        return values * aperture * aperture


def negated_conceptor(values: Float64, aperture: float, power: float = 1.0) -> Float64:
    """Return ``(α⁻² / (λ + α⁻²))^power``: all ones at aperture 0, and at ∞ zero where λ > 0."""
    return np.asarray((1.0 + conceptor_odds(values, aperture)) ** -power)


def drop_leading(values: Float64, directions: int) -> Float64:
    """Return 0 for the first `directions` eigenvalues and 1 for the rest."""
    _check_directions(directions, len(values), len(values))
    return np.where(np.arange(len(values)) < directions, 0.0, 1.0)


def drop_shares(values: Float64, directions: int) -> Float64:
    """Return ``1 − λ_i / Σ λ_j`` over the first `directions` eigenvalues and 1 for the rest."""
    coefficients = np.ones_like(values)
    leading = values[:directions]
    largest = leading.max(initial=0.0)
    if largest > 0:
        shares = leading / largest
        coefficients[:directions] -= shares / shares.sum()
    return coefficients


def level_leading(values: Float64, directions: int) -> Float64:
    """Return ``λ_{d+1} / λ_i`` for the first d = `directions` eigenvalues and 1 for the rest."""
    _check_directions(directions, len(values) - 1, len(values))
    coefficients = np.ones_like(values)
    leading = values[:directions]
    np.divide(values[directions], leading, out=coefficients[:directions], where=leading > 0)
    return coefficients


def power(values: Float64, exponent: float) -> Float64:
    """Return ``λ^exponent``, and 0 where λ = 0: what is not there is not blown up."""
    coefficients = np.zeros_like(values)
    with np.errstate(over="ignore"):
        np.power(values, exponent, out=coefficients, where=values > 0)
    return coefficients


@dataclass(frozen=True)
class Gate(ABC):
    """The parameters of a gate, and the coefficients that follow from a spectrum.

    `Recipe.solve` calls what is below; users see the parameters.
    """

    def _check(self) -> None:  # noqa: B027 - not every gate has parameters
        """Raise `InvalidInputError` for a parameter that makes no sense."""

    def _settle(self, values: Float64) -> Self:
        """Return the gate with parameters that depend on the data made explicit."""
        return self

    @abstractmethod
    def _coefficients(self, values: Float64, size: int) -> Float64:
        """Return how much of each direction is kept, for eigenvalues in descending order.

        `size` is how many dimensions the result has.
        """

    def _components(self, n: int) -> int | None:
        """Return how many directions are kept as coordinates if nobody says; None for no change."""
        return None

    @property
    def _is_gradual(self) -> bool:
        """Whether g is ``(1 + α² λ)^−p`` with p ≤ 1, and an α that follows from the moment.

        A small change of the moment then changes little: such a g is operator monotone, so above
        the least eigenvalue the map changes by no more than its slope there times the change of the
        moment (Bhatia, Matrix Analysis, X.3).
        """
        return False


@dataclass(frozen=True)
class Negation(Gate):
    """``(α⁻² / (λ + α⁻²))^power``: softly out.

    `auto` is the α at which a direction of mean strength λ has odds ``α² λ = 1``. With power 1
    directions far above that end up below the others; with ½ all of them end up level.
    """

    aperture: float | Literal["auto"] = "auto"
    power: float = 0.5

    def _check(self) -> None:
        check_number("power", self.power, Real, 0)
        if not (isinstance(self.aperture, str) and self.aperture == "auto"):
            check_number("aperture", self.aperture, Real, 0)

    def _settle(self, values: Float64) -> Self:
        if isinstance(self.aperture, str):
            return replace(self, aperture=scale_free_aperture(values))
        return replace(self, aperture=float(self.aperture))

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return negated_conceptor(values, float(self.aperture), self.power)

    @property
    def _is_gradual(self) -> bool:
        return self.power <= 1 and isinstance(self.aperture, str)


@dataclass(frozen=True)
class LeadingNegation(Gate):
    """``1 / (1 + α² λ)`` with the α that keeps the share `kept` of the strongest direction."""

    kept: float = 0.5

    def _check(self) -> None:
        check_number("kept", self.kept, Real, 0, above=True)
        if not self.kept < 1:
            raise InvalidInputError(f"kept must be below 1; it is {self.kept!r}")

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return negated_conceptor(values, leading_aperture(values, self.kept))

    @property
    def _is_gradual(self) -> bool:
        return True


@dataclass(frozen=True)
class RidgeNegation(Gate):
    """``ρ / (λ + ρ)``: what a ridge regression leaves."""

    ridge: float = 50.0

    def _check(self) -> None:
        check_number("ridge", self.ridge, Real, 0, above=True)

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return negated_conceptor(values, self.ridge**-0.5)

    @property
    def _is_gradual(self) -> bool:
        return True


@dataclass(frozen=True)
class _Leading(Gate):
    """Gates that do something about the leading directions."""

    n_directions: int | None = None

    def _check(self) -> None:
        if self.n_directions is not None:
            check_number("n_directions", self.n_directions, Integral, 0)

    def _settle(self, values: Float64) -> Self:
        """Count the directions: one for every hundred dimensions, and at least two.

        Mu & Viswanath's rule of thumb, and at least what they drop from GloVe; for 300-dimensional
        word2vec and for GloVe these are the numbers of the conceptor negation paper.
        """
        n = len(values)
        count = min(max(2, n // 100), n - 1) if self.n_directions is None else self.n_directions
        return replace(self, n_directions=int(count))


@dataclass(frozen=True)
class DropLeading(_Leading):
    """0 for the leading directions, 1 for the rest."""

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return drop_leading(values, int(self.n_directions or 0))


@dataclass(frozen=True)
class DropAll(Gate):
    """0 for every direction in which there is anything, 1 for the rest."""

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return np.where(values > 0, 0.0, 1.0)


@dataclass(frozen=True)
class LevelLeading(_Leading):
    """``λ_{d+1} / λ_i`` for the leading directions, 1 for the rest.

    By default eleven, as in the authors' script.
    """

    def _settle(self, values: Float64) -> Self:
        count = min(11, len(values) - 1) if self.n_directions is None else self.n_directions
        return replace(self, n_directions=int(count))

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return level_leading(values, int(self.n_directions or 0))


@dataclass(frozen=True)
class SingularValuePower(Gate):
    """``λ^((p−1)/2)``, which turns singular values d into ``d^p``."""

    power: float = 0.5

    def _check(self) -> None:
        if not (isinstance(self.power, Real) and np.isfinite(self.power)):
            raise InvalidInputError(f"power must be a finite number; it is {self.power!r}")

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return power(values, (self.power - 1) / 2)


@dataclass(frozen=True)
class Whiten(Gate):
    """``λ^(−1/2)``."""

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return power(values, -0.5)


@dataclass(frozen=True)
class HalfSize(_Leading):
    """All-but-the-top, PCA to k of n dimensions, all-but-the-top, which share their eigenvectors.

    Dropped are the leading d directions, d more of those that PCA keeps, and what it does not keep.
    By default d is the authors' 7 for each 300 dimensions, and k is half of n.
    """

    def _components(self, n: int) -> int:
        return max(1, n // 2)

    def _settle(self, values: Float64) -> Self:
        usual = max(1, round(7 * len(values) / 300))
        return replace(self, n_directions=usual if self.n_directions is None else self.n_directions)

    def _coefficients(self, values: Float64, size: int) -> Float64:
        n, dropped = len(values), int(self.n_directions or 0)
        if dropped + size > n:
            raise InvalidInputError(
                f"PPA cannot drop {dropped} and keep {size} of n_features={n} dimensions"
            )
        position = np.arange(n)
        return np.where((position < 2 * dropped) | (position >= dropped + size), 0.0, 1.0)


def check_number(
    name: str, value: object, kind: type, least: float, *, above: bool = False
) -> None:
    """Raise unless a parameter is a number of this kind from `least` on, or beyond it."""
    number: Any = value if isinstance(value, kind) and not isinstance(value, bool) else np.nan
    if not (number > least if above else number >= least):
        what = "an integer" if kind is Integral else "a number"
        bound = f"{'greater than' if above else 'of at least'} {least:g}"
        raise InvalidInputError(f"{name} must be {what} {bound}; it is {value!r}")


def _check_directions(directions: int, most: int, dimension: int) -> None:
    if not 0 <= directions <= most:
        raise InvalidInputError(
            f"directions must be between 0 and {most} for vectors of n_features={dimension}, "
            f"not {directions}"
        )
