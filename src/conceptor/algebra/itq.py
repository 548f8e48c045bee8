"""Iterative quantization: the rotation for which sign bits lose least."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Self

import numpy as np

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.gates import check_number
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from conceptor.base.arrays import Array, Float64

MOST_ROWS = 1 << 14
_ITERATIONS = 50


@dataclass(frozen=True, eq=False, repr=False)
class ITQ:
    """A rotation learned for sign bits.

    ``minimise ‖sign(V R) − V R‖²`` over orthogonal R, for rows V about their mean. It alternates
    between the best signs for a rotation and the best rotation for the signs (orthogonal
    Procrustes), so no step makes the loss worse. It starts from randomly rotated principal axes.

    Attributes
    ----------
    map : AffineMap
        ``y = (x − mean) P R``. It composes with another map (``gentle @ itq.map``), and is saved,
        applied and exported like any map.
    losses : ndarray
        The loss of the signs as a share of the variance, before the first step and after each: at
        the best scale, ``1 − (Σ|y|)² / (n_rows · n_bits · Σ y²)`` over all numbers y.

    References
    ----------
    Gong & Lazebnik (2011), Iterative Quantization: A Procrustean Approach to Learning Binary Codes,
    CVPR.
    """

    map: AffineMap
    losses: Float64

    @classmethod
    def fit(
        cls,
        rows: npt.ArrayLike,
        *,
        n_bits: int | None = None,
        n_iterations: int = _ITERATIONS,
        seed: int = 0,
    ) -> Self:
        """Learn the rotation from rows, before their signs are taken.

        Parameters
        ----------
        rows : array-like of shape (n, dimension)
            More rows than bits; more than 16,384 rows are sampled.
        n_bits : int, optional
            How many leading principal directions to keep; by default all.
        n_iterations : int
            How many steps; each costs ``O(n · n_bits²)``.
        seed : int
            Seed for the sample of rows and the initial rotation.
        """
        vectors = as_matrix(rows)
        count, dimension = vectors.shape
        bits = dimension if n_bits is None else n_bits
        check_number("n_bits", bits, Integral, 1)
        check_number("n_iterations", n_iterations, Integral, 0)
        if bits > dimension:
            raise InvalidInputError(f"n_bits is {bits}, but the rows have {dimension} dimensions")
        if count <= bits:
            raise InvalidInputError(
                f"{bits} bits need more than {bits} rows to learn from, but there are {count}"
            )
        rng = np.random.default_rng(seed)
        if count > MOST_ROWS:
            vectors = vectors[rng.permutation(count)[:MOST_ROWS]]
        some = vectors.astype(np.float64)
        if not np.isfinite(some).all():
            raise InvalidInputError("the rows must not contain NaN or infinity")
        mean = some.mean(axis=0)
        some -= mean
        axes = Spectrum.from_matrix(some.T @ some / len(some)).vectors[:, :bits]
        rotation, losses = _alternate(some @ axes, n_iterations, rng)
        provenance = {
            "method": "itq",
            "parameters": {"n_bits": int(bits), "n_iterations": int(n_iterations), "seed": seed},
            "count": count,
            "dimension": dimension,
            "library": f"conceptor {__version__}",
        }
        return cls(AffineMap(axes @ rotation, mean, provenance=provenance), losses)

    def __repr__(self) -> str:
        return f"ITQ({self.map.n_in} -> {self.map.n_out} bits, loss {self.losses[-1]:.3f})"


def _alternate(
    vectors: Float64, iterations: int, rng: np.random.Generator
) -> tuple[Float64, Float64]:
    """Return the rotation after some steps, and the loss before and after each."""
    bits = vectors.shape[1]
    rotation, _ = np.linalg.qr(rng.standard_normal((bits, bits)))
    total = float(np.sum(vectors**2))
    losses = []
    for _ in range(iterations):
        rotated = vectors @ rotation
        losses.append(_loss(rotated, total))
        # max tr(Rᵀ Vᵀ B) over rotations: from the singular vectors of Vᵀ B.
        left, _, right = np.linalg.svd(vectors.T @ np.where(rotated > 0, 1.0, -1.0))
        rotation = left @ right
    losses.append(_loss(vectors @ rotation, total))
    return rotation, np.array(losses)


def _loss(rotated: Array, total: float) -> float:
    """Return ``min over s of ‖y − s sign(y)‖² / ‖y‖²``."""
    return 1 - float(np.abs(rotated).sum()) ** 2 / (rotated.size * total) if total > 0 else 0.0
