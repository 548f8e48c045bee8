"""Rules for the aperture that the study tried and did not choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from conceptor.algebra.aperture import (
    HIGHEST,
    LARGEST_QUOTA,
    LOWEST,
    isotropy,
    quota_aperture,
    scale_free,
    singular_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from conceptor.base.arrays import Float64

# Relative difference of heights that may be rounding.
_SAME = 1e-7


def bulk_aperture(values: Float64) -> float:
    """Return the aperture whose quota is the participation ratio of all λ but the first.

    At most 0.7. The first direction is left out because in word vectors it is their common mean.
    """
    bulk = np.sort(values[values > 0])[::-1][1:]
    return quota_aperture(values, min(isotropy(bulk), LARGEST_QUOTA) if len(bulk) else 0.5)


def nabla_aperture(values: Float64) -> float:
    """Return Jaeger's choice, the maximiser of ``∇(α) = d‖C‖_F² / d log α = 4 Σ s_i² (1 − s_i)``.

    References
    ----------
    Jaeger (2014), Controlling Recurrent Neural Networks by Conceptors, section 3.8.
    """

    def nabla(scaled: Float64, log: float) -> float:
        s = singular_values(scaled, log)
        return float(4 * np.sum(s**2 * (1 - s)))

    return scale_free(values, lambda scaled: _maximiser(lambda log: nabla(scaled, log)))


def isotropy_aperture(values: Float64) -> float:
    """Return the aperture after which the spectrum ``g² λ`` is as flat as it gets."""

    def after(scaled: Float64, log: float) -> float:
        gate = 1 - singular_values(scaled, log)
        return isotropy(gate**2 * scaled)

    return scale_free(values, lambda scaled: _maximiser(lambda log: after(scaled, log)))


def _maximiser(function: Callable[[float], float]) -> float:
    """Return where the highest of several local maxima is: every peak of a grid is refined.

    Where all heights are the same up to rounding (a flat spectrum is isotropic after any gate),
    nothing is to be chosen, and log α is 0.
    """
    grid = np.linspace(LOWEST, HIGHEST, 481)
    found = [function(log) for log in grid]
    if max(found) - min(found) <= _SAME * max(found):
        return 0.0
    heights = np.array([-np.inf, *found, -np.inf])
    peaks = np.flatnonzero((heights[1:-1] >= heights[:-2]) & (heights[1:-1] >= heights[2:]))
    refined = [
        minimize_scalar(
            lambda log: -function(log),
            bounds=(grid[max(0, peak - 1)], grid[min(len(grid) - 1, peak + 1)]),
            method="bounded",
        )
        for peak in peaks.tolist()
    ]
    return float(min(refined, key=lambda found: found.fun).x)
