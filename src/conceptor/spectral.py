"""The post-processors as mathematics: from the moments of vectors to the map that improves them.

Each is three decisions: which moment of the vectors, what is taken off first, and which gate.
Everything happens on an n × n matrix. `conceptor.estimators` makes scikit-learn transformers of
them; without those there is no need to wait for scikit-learn to be imported.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from conceptor import __version__, gates
from conceptor.aperture import suggested_aperture
from conceptor.conceptors import Conceptor
from conceptor.errors import InvalidInputError
from conceptor.linear_map import LinearMap
from conceptor.spectrum import Spectrum

if TYPE_CHECKING:
    from conceptor.arrays import Float64
    from conceptor.moments import Moments


class SpectralMethod(ABC):
    """What all post-processors share: ``y = U diag(g(λ)) Uᵀ (x − m)``.

    A subclass names the moment whose eigenpairs are ``λ, U`` (`_moment`), the offset m
    (`_offset`) and the gate g (`_gate`), and keeps its parameters under the names of the
    arguments of its ``__init__``.

    Attributes
    ----------
    moments_ : Moments
        All vectors seen so far, weighted.
    spectrum_ : Spectrum
        ``λ`` (descending) and ``U``.
    gate_ : ndarray of shape (n,)
        ``g(λ)``: how much of each direction is kept, the paper's variance gating coefficients.
    map_ : LinearMap
        What improves vectors; can be saved and applied without this class.
    """

    moments_: Moments

    def fit_moments(self, moments: Moments) -> Self:
        """Learn the map from moments gathered elsewhere, forgetting what was learnt before."""
        self.check_parameters()
        self._forget()
        return self._add(moments)._solved()

    def check_parameters(self) -> None:  # noqa: B027 - not every method has parameters
        """Raise `InvalidInputError` for a parameter that makes no sense."""

    @cached_property
    def spectrum_(self) -> Spectrum:
        """Eigenpairs of the moment this method looks at."""
        return Spectrum.of(self._moment(self.moments_))

    @cached_property
    def gate_(self) -> Float64:
        """How much of each direction is kept."""
        gate = self._gate(self.spectrum_.values)
        if not np.isfinite(gate).all():
            raise InvalidInputError(
                f"{type(self).__name__}: on these vectors a direction would be multiplied by more "
                "than numbers can hold; scale them, or choose other parameters"
            )
        return gate

    @cached_property
    def map_(self) -> LinearMap:
        """The map that improves vectors."""
        return LinearMap(self._matrix(), self._offset(self.moments_), provenance=self._provenance())

    @abstractmethod
    def _moment(self, moments: Moments) -> Float64:
        """Return the matrix whose eigenpairs matter."""

    @abstractmethod
    def _gate(self, values: Float64) -> Float64:
        """Return the coefficient of each direction."""

    def _offset(self, moments: Moments) -> Float64 | None:
        """Return what is taken off each vector first."""
        return None

    def _matrix(self) -> Float64:
        return self.spectrum_.matrix(self.gate_)

    def _add(self, moments: Moments) -> Self:
        known = getattr(self, "moments_", None)
        self._forget()
        self.moments_ = moments if known is None else known + moments
        return self

    def _solved(self) -> Self:
        # Read the parameters now: changing them after a fit has no effect until the next.
        _ = self.map_
        return self

    def _forget(self) -> None:
        for name in ("moments_", "spectrum_", "aperture_", "gate_", "map_"):
            self.__dict__.pop(name, None)

    def _provenance(self) -> dict[str, Any]:
        named = inspect.signature(type(self)).parameters
        parameters = {name: getattr(self, name) for name in named}
        return {
            "method": type(self).__name__,
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in parameters.items()
            },
            "count": self.moments_.count,
            "weight": self.moments_.weight,
            "effective_count": self.moments_.effective_count,
            "dimension": self.moments_.dimension,
            "library": f"conceptor {__version__}",
        }

    def _check_number(self, name: str, kind: type, least: float, *, above: bool = False) -> None:
        """Raise unless a parameter is a number of this kind from `least` on, or beyond it."""
        value = getattr(self, name)
        fits = isinstance(value, kind) and not isinstance(value, bool)
        if not fits or not (value > least if above else value >= least):
            number = "an integer" if kind is Integral else "a number"
            bound = f"{'greater than' if above else 'of at least'} {least:g}"
            raise InvalidInputError(
                f"{type(self).__name__}: {name} must be {number} {bound}; it is {value!r}"
            )


class Centred(SpectralMethod):
    """Methods that look at the covariance and take the mean off first."""

    def _moment(self, moments: Moments) -> Float64:
        return moments.covariance

    def _offset(self, moments: Moments) -> Float64:
        return moments.mean


class ConceptorNegation(SpectralMethod):
    """``α⁻² / (λ + α⁻²)`` on the uncentred second moment; α given, or chosen from the spectrum."""

    def __init__(self, aperture: float | Literal["auto"] = 2.0) -> None:
        self.aperture = aperture

    def check_parameters(self) -> None:
        """Raise `InvalidInputError` for a parameter that makes no sense."""
        if not (isinstance(self.aperture, str) and self.aperture == "auto"):
            self._check_number("aperture", Real, 0)

    @cached_property
    def aperture_(self) -> float:
        """The aperture that was used."""
        moments, values = self.moments_, self.spectrum_.values
        if not isinstance(self.aperture, str):
            return float(self.aperture)
        return suggested_aperture(values, moments.count, moments.effective_count)

    def _moment(self, moments: Moments) -> Float64:
        return moments.second_moment

    def _gate(self, values: Float64) -> Float64:
        return gates.negated_conceptor(values, self.aperture_)

    def _provenance(self) -> dict[str, Any]:
        return super()._provenance() | {"aperture": self.aperture_}

    @property
    def conceptor_(self) -> Conceptor:
        """The conceptor C that is negated, for its algebra."""
        return Conceptor.of_spectrum(self.spectrum_, self.map_.provenance["aperture"])


class HalfSiblingRegression(SpectralMethod):
    """``ρ / (λ + ρ)`` on the Gram matrix of the function words."""

    def __init__(self, ridge: float = 50.0) -> None:
        self.ridge = ridge

    def check_parameters(self) -> None:
        """Raise `InvalidInputError` for a parameter that makes no sense."""
        self._check_number("ridge", Real, 0, above=True)

    def _moment(self, moments: Moments) -> Float64:
        return moments.gram

    def _gate(self, values: Float64) -> Float64:
        return gates.negated_conceptor(values, self.ridge**-0.5)


class _Leading(Centred):
    """Methods that do something about the d leading directions of the covariance."""

    def __init__(self, directions: int | None = None) -> None:
        self.directions = directions

    def check_parameters(self) -> None:
        """Raise `InvalidInputError` for a parameter that makes no sense."""
        if self.directions is not None:
            self._check_number("directions", Integral, 0)

    def _leading(self, n: int) -> int:
        """Return how many: as told, or one for every hundred dimensions and at least one."""
        return max(1, n // 100) if self.directions is None else int(self.directions)


class AllButTheTop(_Leading):
    """0 for the leading directions, 1 for the rest."""

    def _gate(self, values: Float64) -> Float64:
        return gates.drop_leading(values, self._leading(len(values)))


class PrincipalVarianceNormalization(_Leading):
    """``λ_{d+1} / λ_i`` for the leading directions, 1 for the rest."""

    def _gate(self, values: Float64) -> Float64:
        return gates.level_leading(values, self._leading(len(values)))


class EigenvalueWeighting(SpectralMethod):
    """``λ^((p−1)/2)`` on the Gram matrix."""

    def __init__(self, power: float = 0.5) -> None:
        self.power = power

    def check_parameters(self) -> None:
        """Raise `InvalidInputError` for a parameter that makes no sense."""
        if not (isinstance(self.power, Real) and np.isfinite(self.power)):
            raise InvalidInputError(
                f"{type(self).__name__}: power must be a finite number; it is {self.power!r}"
            )

    def _moment(self, moments: Moments) -> Float64:
        return moments.gram

    def _gate(self, values: Float64) -> Float64:
        return gates.power(values, (self.power - 1) / 2)


class Whitening(Centred):
    """``λ^(−1/2)`` on the covariance."""

    def _gate(self, values: Float64) -> Float64:
        return gates.power(values, -0.5)


class PPA(Centred):
    """1 for the coordinates that are kept, in a smaller space."""

    def __init__(self, directions: int | None = None, components: int | None = None) -> None:
        self.directions = directions
        self.components = components

    def check_parameters(self) -> None:
        """Raise `InvalidInputError` for a parameter that makes no sense."""
        if self.directions is not None:
            self._check_number("directions", Integral, 0)
        if self.components is not None:
            self._check_number("components", Integral, 1)

    def _gate(self, values: Float64) -> Float64:
        dropped, kept = self._shape(len(values))
        position = np.arange(len(values))
        gated = (position < 2 * dropped) | (position >= dropped + kept)
        # Coordinates in directions without variance would depend on an arbitrary basis.
        return np.where(gated | (values == 0), 0.0, 1.0)

    def _matrix(self) -> Float64:
        dropped, kept = self._shape(len(self.gate_))
        coordinates = slice(dropped, dropped + kept)
        return self.spectrum_.vectors[:, coordinates] * self.gate_[coordinates]

    def _shape(self, n: int) -> tuple[int, int]:
        dropped = max(1, round(7 * n / 300)) if self.directions is None else self.directions
        kept = max(1, n // 2) if self.components is None else self.components
        if dropped + kept > n:
            raise InvalidInputError(
                f"PPA cannot drop {dropped} and keep {kept} of n_features={n} dimensions"
            )
        return dropped, kept
