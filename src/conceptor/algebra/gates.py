"""Gates: the ``g`` of ``y = U diag(g(λ)) Uᵀ (x − m)``, with its parameters.

Eigenvalues come in descending order, none negative, zeros exact (see `Spectrum`).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError


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


def leading_aperture(values: Float64, kept: float) -> float:
    """Return the aperture that keeps the share `kept` of the strongest direction."""
    if not 0 < kept < 1:
        raise InvalidInputError(f"the share to keep must be between 0 and 1; it is {kept}")
    largest = values.max(initial=0.0)
    return float(np.sqrt(1 / kept - 1) / np.sqrt(largest)) if largest > 0 else 0.0


def scale_free_aperture(values: Float64) -> float:
    """Return the α at which a direction of mean strength λ has odds ``α² λ = 1``.

    Only directions in use count; without any variance it is 0.
    """
    used = values[values > 0]
    if not len(used):
        return 0.0
    # Step by step, so that nothing overflows or underflows.
    largest = used.max()
    return float(1 / np.sqrt((used / largest).mean()) / np.sqrt(largest))


def drop_leading(values: Float64, directions: int) -> Float64:
    """Return 0 for the first `directions` eigenvalues and 1 for the rest."""
    _check_directions(directions, len(values), len(values))
    return np.where(np.arange(len(values)) < directions, 0.0, 1.0)


@dataclass(frozen=True)
class Gate:
    """1 for every direction; the base of the other gates."""

    def coefficients(self, values: Float64, size: int) -> Float64:
        """Return how much of each direction is kept; `size` is the dimension of the result."""
        return np.ones_like(values)

    def components(self, n: int) -> int | None:
        """Return the default number of directions kept as coordinates; None keeps all."""
        return None

    def find_aperture(self, values: Float64) -> float | None:
        """Return the aperture α; None for gates without this parameter."""
        return None


@dataclass(frozen=True)
class Negation(Gate):
    """``(α⁻² / (λ + α⁻²))^power``; `auto` is `scale_free_aperture`.

    With power 1 the strongest directions end up below the others; with ½ they end up level.
    """

    aperture: float | Literal["auto"] = "auto"
    power: float = 0.5

    def __post_init__(self) -> None:
        check_number("power", self.power, Real, 0)
        if not (isinstance(self.aperture, str) and self.aperture == "auto"):
            check_number("aperture", self.aperture, Real, 0)

    def find_aperture(self, values: Float64) -> float:
        is_auto = isinstance(self.aperture, str)
        return scale_free_aperture(values) if is_auto else float(self.aperture)

    def coefficients(self, values: Float64, size: int) -> Float64:
        return negated_conceptor(values, self.find_aperture(values), self.power)


@dataclass(frozen=True)
class LeadingNegation(Gate):
    """``1 / (1 + α² λ)`` with the α that keeps the share `kept` of the strongest direction."""

    kept: float = 0.5

    def __post_init__(self) -> None:
        check_number("kept", self.kept, Real, 0, above=True)
        if not self.kept < 1:
            raise InvalidInputError(f"kept must be below 1; it is {self.kept!r}")

    def coefficients(self, values: Float64, size: int) -> Float64:
        return negated_conceptor(values, leading_aperture(values, self.kept))


@dataclass(frozen=True)
class RidgeNegation(Gate):
    """``ρ / (λ + ρ)``: the residual of a ridge regression."""

    ridge: float = 50.0

    def __post_init__(self) -> None:
        check_number("ridge", self.ridge, Real, 0, above=True)

    def coefficients(self, values: Float64, size: int) -> Float64:
        return negated_conceptor(values, self.ridge**-0.5)


@dataclass(frozen=True)
class DropAll(Gate):
    """0 for every direction with any variance, 1 for the rest."""

    def coefficients(self, values: Float64, size: int) -> Float64:
        return np.where(values > 0, 0.0, 1.0)


@dataclass(frozen=True)
class DropLeading(Gate):
    """0 for the leading directions, 1 for the rest.

    By default one for every hundred dimensions, and at least two: Mu & Viswanath's rule of thumb,
    and the numbers of the conceptor negation paper.
    """

    n_directions: int | None = None

    def __post_init__(self) -> None:
        if self.n_directions is not None:
            check_number("n_directions", self.n_directions, Integral, 0)

    def coefficients(self, values: Float64, size: int) -> Float64:
        n = len(values)
        usual = min(max(2, n // 100), n - 1)
        return drop_leading(values, usual if self.n_directions is None else self.n_directions)


@dataclass(frozen=True)
class LevelLeading(DropLeading):
    """``λ_{d+1} / λ_i`` for the d leading directions, by default the authors' 11; else 1."""

    def coefficients(self, values: Float64, size: int) -> Float64:
        most = len(values) - 1
        directions = min(11, most) if self.n_directions is None else self.n_directions
        _check_directions(directions, most, len(values))
        coefficients = np.ones_like(values)
        leading = values[:directions]
        np.divide(values[directions], leading, out=coefficients[:directions], where=leading > 0)
        return coefficients


@dataclass(frozen=True)
class HalfSize(DropLeading):
    """All-but-the-top, PCA to k of n dimensions, all-but-the-top, which share their eigenvectors.

    By default it drops the authors' 7 directions per 300 dimensions each time; k is half of n.
    """

    def components(self, n: int) -> int:
        return max(1, n // 2)

    def coefficients(self, values: Float64, size: int) -> Float64:
        n = len(values)
        usual = max(1, round(7 * n / 300))
        dropped = usual if self.n_directions is None else self.n_directions
        if dropped + size > n:
            raise InvalidInputError(
                f"PPA cannot drop {dropped} and keep {size} of n_features={n} dimensions"
            )
        position = np.arange(n)
        return np.where((position < 2 * dropped) | (position >= dropped + size), 0.0, 1.0)


@dataclass(frozen=True)
class SingularValuePower(Gate):
    """``λ^((p−1)/2)``, which turns singular values d into ``d^p``; 0 where λ = 0."""

    power: float = 0.5

    def __post_init__(self) -> None:
        if not (isinstance(self.power, Real) and np.isfinite(self.power)):
            raise InvalidInputError(f"power must be a finite number; it is {self.power!r}")

    def coefficients(self, values: Float64, size: int) -> Float64:
        coefficients = np.zeros_like(values)  # empty directions are not amplified
        with np.errstate(over="ignore"):
            np.power(values, (self.power - 1) / 2, out=coefficients, where=values > 0)
        return coefficients


@dataclass(frozen=True)
class Whiten(Gate):
    """``λ^(−1/2)``: all singular values become equal."""

    def coefficients(self, values: Float64, size: int) -> Float64:
        return SingularValuePower(0.0).coefficients(values, size)


def check_number(
    name: str, value: object, kind: type, least: float, *, above: bool = False
) -> None:
    """Raise unless a parameter is a number of this kind, at least `least` (or greater: `above`)."""
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
