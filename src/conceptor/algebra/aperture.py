"""Apertures without labels: rules that depend only on a spectrum.

All of them use ``λ / mean(λ)``, so multiplying the vectors by a number changes only the unit of α.
Directions that no vector uses (λ = 0) have no influence.
"""

from __future__ import annotations

import numpy as np

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError


def isotropy(values: Float64) -> float:
    """Return the participation ratio of a spectrum over its length, between 1/n and 1."""
    largest = values.max(initial=0.0)
    if not largest > 0:
        return 0.0
    scaled = values / largest
    return float(scaled.sum() ** 2 / (scaled @ scaled) / len(values))


def leading_aperture(values: Float64, kept: float) -> float:
    """Return the aperture that keeps the share `kept` of the strongest direction."""
    if not 0 < kept < 1:
        raise InvalidInputError(f"the share to keep must be between 0 and 1; it is {kept}")
    largest = values.max(initial=0.0)
    return float(np.sqrt(1 / kept - 1) / np.sqrt(largest)) if largest > 0 else 0.0


def scale_free_aperture(values: Float64, aperture: float = 1.0) -> float:
    """Return α for R divided by its mean eigenvalue, on the scale of the vectors.

    It is 0 if there is no variance at all.
    """
    used = values[values > 0]
    if not len(used):
        return 0.0
    # Multiply step by step, so that no product overflows or underflows.
    largest = used.max()
    return float(aperture / np.sqrt((used / largest).mean()) / np.sqrt(largest))
