"""Solvers for the truncated SVD of a PPMI matrix, by time and by error.

    python benchmarks/truncated_svd.py corpus.txt

The reference is ARPACK in double precision. "cosine" is the largest difference of the cosine of
5,000 random pairs of words, with p = 0.5: the error that a user of the vectors would notice. All
run with one BLAS thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import svds
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from conceptor.paper.ppmi import cooccurrence, ppmi, truncated_svd

if TYPE_CHECKING:
    from collections.abc import Callable


def cosines(left: np.ndarray, values: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    vectors = left * np.sqrt(values)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.einsum("ij,ij->i", vectors[pairs[0]], vectors[pairs[1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=100)
    options = parser.parse_args()
    k = options.dimension
    matrix = ppmi(cooccurrence(options.corpus, min_count=10, max_words=options.words))
    double = matrix.astype(np.float64)
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    single = start.astype(np.float32)
    solvers: dict[str, Callable[[], tuple[np.ndarray, ...]]] = {
        "ARPACK, float64": lambda: svds(double, k=k, v0=start),
        "ARPACK, float32 (ours)": lambda: truncated_svd(matrix, k),
        "PROPACK, float32": lambda: svds(matrix, k=k, v0=single, solver="propack"),
        "randomized, 5 iterations": lambda: randomized_svd(matrix, k, n_iter=5, random_state=0),
        "randomized, 10 iterations": lambda: randomized_svd(matrix, k, n_iter=10, random_state=0),
    }
    pairs = np.random.default_rng(1).integers(0, matrix.shape[0], (2, 5000))
    print(f"{matrix.shape[0]:,} words, {matrix.nnz:,} entries, {k} dimensions\n")
    print("| solver | seconds | singular values | cosine |")
    print("| --- | ---: | ---: | ---: |")
    exact = None
    for name, solve in solvers.items():
        started = time.perf_counter()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            left, values, *_ = solve()
        seconds = time.perf_counter() - started
        order = np.argsort(-values)
        left, values = left[:, order].astype(np.float64), values[order].astype(np.float64)
        found = cosines(left, values, pairs)
        if exact is None:
            exact = values, found
        missed = np.abs(values / exact[0] - 1).max(), np.abs(found - exact[1]).max()
        print(f"| {name} | {seconds:.1f} | {missed[0]:.0e} | {missed[1]:.0e} |", flush=True)


if __name__ == "__main__":
    main()
