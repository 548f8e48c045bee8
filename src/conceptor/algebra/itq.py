"""Iterative quantization: the rotation for which sign bits lose least."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import numpy.typing as npt

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.gates import check_number
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError

MOST_ROWS = 1 << 14


def fit_itq(
    rows: npt.ArrayLike, *, n_bits: int | None = None, n_iterations: int = 50, seed: int = 0
) -> AffineMap:
    """Return ``y = (x − mean) P R``: the principal axes P, rotated by an R learned for sign bits.

    ``minimize ‖sign(V R) − V R‖²`` over orthogonal R, for ``V = (X − mean) P``: from a random
    rotation it alternates between the best signs for a rotation and the best rotation for the signs
    (orthogonal Procrustes), so no step makes the loss worse. A step costs ``O(n · n_bits²)``. More
    than 16,384 rows are sampled; `n_bits` leading principal directions are kept, by default all.

    The map's provenance has the loss of the signs at the best scale, as a share of the variance:
    ``1 − (Σ|y|)² / (n_rows · n_bits · Σ y²)`` over all numbers y.

    References
    ----------
    Gong & Lazebnik (2011), Iterative Quantization: A Procrustean Approach to Learning Binary Codes,
    CVPR.
    """
    vectors = as_matrix(rows)
    count, dimension = vectors.shape
    bits = dimension if n_bits is None else n_bits
    check_number("n_bits", bits, Integral, 1)
    check_number("n_iterations", n_iterations, Integral, 0)
    if bits > dimension:
        raise InvalidInputError(f"n_bits is {bits}, but the rows have {dimension} dimensions")
    if count <= bits:
        raise InvalidInputError(f"{bits} bits need more than {bits} rows; there are {count}")
    rng = np.random.default_rng(seed)
    if count > MOST_ROWS:
        vectors = vectors[rng.permutation(count)[:MOST_ROWS]]
    sample = vectors.astype(np.float64)
    if not np.isfinite(sample).all():
        raise InvalidInputError("the rows must not contain NaN or infinity")
    mean = sample.mean(axis=0)
    sample -= mean
    axes = Spectrum.from_matrix(sample.T @ sample / len(sample)).vectors[:, :bits]
    projected = sample @ axes
    rotation, _ = np.linalg.qr(rng.standard_normal((bits, bits)))
    for _ in range(n_iterations):
        signs = np.where(projected @ rotation > 0, 1.0, -1.0)
        # max tr(Rᵀ Vᵀ B) over rotations: from the singular vectors of Vᵀ B.
        left, _, right = np.linalg.svd(projected.T @ signs)
        rotation = left @ right
    total = float(np.sum(projected**2))
    size = float(np.abs(projected @ rotation).sum())
    provenance = {
        "method": "itq",
        "parameters": {"n_bits": int(bits), "n_iterations": int(n_iterations), "seed": seed},
        "loss": 1 - size**2 / (projected.size * total) if total > 0 else 0.0,
        "count": count,
        "dimension": dimension,
        "library": f"conceptor {__version__}",
    }
    return AffineMap(axes @ rotation, mean, provenance=provenance)
