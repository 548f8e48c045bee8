"""Word vectors as sentence averages want them: unit length, and strong directions levelled.

A direction that running text uses with strength λ has strength ``λ / (1 + α² λ)`` afterwards: the
strong ones become equally strong, none becomes weaker than one that was weaker before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.aperture import scale_free_aperture
from conceptor.algebra.gates import negated_conceptor
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import result_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conceptor.algebra.moments import Moments

__all__ = ["level_words", "unit_rows"]


def unit_rows(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the rows at length 1; a row of zeros stays as it is."""
    rows = vectors.astype(result_dtype(vectors.dtype), copy=False)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[Any] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def level_words(moments: Moments) -> AffineMap:
    """Return ``(I − C)^(1/2)`` from usage-weighted moments of unit rows.

    The aperture of the conceptor C is 1 at mean eigenvalue 1.
    """
    spectrum = Spectrum.from_matrix(moments.second_moment)
    aperture = scale_free_aperture(spectrum.values, 1.0)
    gate = np.sqrt(negated_conceptor(spectrum.values, aperture))
    return AffineMap(spectrum.matrix(gate))
