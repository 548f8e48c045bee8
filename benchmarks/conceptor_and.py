"""How exact AND is: forms of C ∧ B against 80-digit arithmetic.

    python benchmarks/conceptor_and.py

Each row is the largest error of any entry over thirty random pairs of conceptors. "threshold" cuts
the rank of either conceptor at 1e-14, as published implementations do; "product" is
B (C + B − C B)⁺ C; "library" is `Conceptor.__and__`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mpmath
import numpy as np

from conceptor import Conceptor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Matrix = np.ndarray
N, RANK, PAIRS = 12, 8, 30


def rotation(rng: np.random.Generator, n: int) -> Matrix:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def exact(C: Matrix, B: Matrix) -> Matrix:
    with mpmath.workdps(80):
        c, b = mpmath.matrix(C.tolist()), mpmath.matrix(B.tolist())
        return np.array((b * mpmath.inverse(c + b - c * b) * c).tolist(), dtype=float)


def threshold(C: Matrix, B: Matrix) -> Matrix:
    """Jaeger's definition: invert on the intersection of the ranges."""

    def null_projector(A: Matrix) -> Matrix:
        values, U = np.linalg.eigh(A.astype(float))
        null = U[:, values < 1e-14]
        return null @ null.T

    values, U = np.linalg.eigh(null_projector(C) + null_projector(B))
    W = U[:, values < 1e-14]
    C, B = C.astype(float), B.astype(float)
    inverses = np.linalg.pinv(C, rcond=1e-14) + np.linalg.pinv(B, rcond=1e-14)
    return W @ np.linalg.inv(W.T @ (inverses - np.eye(N)) @ W) @ W.T


def product(C: Matrix, B: Matrix) -> Matrix:
    C, B = C.astype(float), B.astype(float)
    result = B @ np.linalg.pinv(C + B - C @ B) @ C
    return (result + result.T) / 2


def library(C: Matrix, B: Matrix) -> Matrix:
    return (Conceptor.from_matrix(C) & Conceptor.from_matrix(B)).matrix


def pairs(orders: float, rank: int, dtype: type) -> Iterator[tuple[Matrix, Matrix, Matrix]]:
    """Yield two conceptors in a common subspace of `rank` dimensions, and their AND."""
    for seed in range(PAIRS):
        rng = np.random.default_rng(seed)
        basis = rotation(rng, N)[:, :rank]
        inner = []
        for _ in range(2):
            Q = rotation(rng, rank)
            c = (Q * 10 ** -rng.uniform(0, orders, rank)) @ Q.T
            inner.append((c + c.T) / 2)
        C, B = ((basis @ c @ basis.T).astype(dtype) for c in inner)
        yield C, B, basis @ exact(*inner) @ basis.T


def worst(form: Callable[[Matrix, Matrix], Matrix], cases: list[tuple[Matrix, ...]]) -> str:
    try:
        return f"{max(np.abs(form(*given) - truth).max() for *given, truth in cases):.0e}"
    except np.linalg.LinAlgError:
        return "fails"


def main() -> None:
    forms = (threshold, product, library)
    print(f"{'':44}" + "".join(f"{form.__name__:>11}" for form in forms))
    for name, orders, rank, dtype in (
        ("regular", 2, N, np.float64),
        ("regular, twelve orders of magnitude", 12, N, np.float64),
        ("singular, common null space", 3, RANK, np.float64),
        ("singular, common null space, float32", 3, RANK, np.float32),
    ):
        cases = list(pairs(orders, rank, dtype))
        print(f"{name:44}" + "".join(f"{worst(form, cases):>11}" for form in forms))


if __name__ == "__main__":
    main()
