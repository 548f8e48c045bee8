"""Gates: eigenvalues in, the coefficient of each direction out.

Every post-processor here is ``y = U diag(g(λ)) Uᵀ (x − m)``; this module holds the ``g``.
Eigenvalues come in descending order, none negative, zeros exact (see `Spectrum`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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


def _check_directions(directions: int, most: int, dimension: int) -> None:
    if not 0 <= directions <= most:
        raise InvalidInputError(
            f"directions must be between 0 and {most} for vectors of n_features={dimension}, "
            f"not {directions}"
        )
