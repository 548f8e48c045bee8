"""Speed of moments and maps as ratios to the bare matrix products, in one run on one machine.

    python benchmarks/foundations.py            # 500,000 x 300 float32, about 4 GB of memory

Each figure is the median over rounds of a ratio of neighbouring timings, so it does not change if
the machine slows down or speeds up during the run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from conceptor import AffineMap, AllButTheTop, ConceptorNegation, Moments

if TYPE_CHECKING:
    from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(work: Callable[[], object], floor: Callable[[], object], rounds: int) -> str:
    work(), floor()  # warm up: pages, threads
    pairs = [(seconds(work), seconds(floor)) for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    middle = statistics.median(a / b for a, b in pairs)
    return f"{middle:5.2f}x   {ours:6.3f} s  against {theirs:6.3f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    shape = (options.rows, options.dimension)
    X = rng.standard_normal(shape, dtype=np.float32)
    weights = rng.random(options.rows)
    W = rng.standard_normal((options.dimension,) * 2, dtype=np.float32)
    print(f"{options.rows:,} x {options.dimension} float32; median of {options.rounds} rounds")

    doubled = X.astype(np.float64)

    def read_and_multiply() -> None:
        X.sum()
        doubled.T @ doubled

    for name, work in (
        ("moments", lambda: Moments.from_vectors(X)),
        ("weighted moments", lambda: Moments.from_vectors(X, weights)),
        ("ConceptorNegation.fit", lambda: ConceptorNegation().fit(X)),
    ):
        print(f"{name:32}{ratio(work, read_and_multiply, options.rounds)}  read + X.T @ X, float64")
    plain = AffineMap(W.astype(np.float64))
    centring = AffineMap(W.astype(np.float64), np.ones(options.dimension))
    cn, abtt = ConceptorNegation().fit(X), AllButTheTop().fit(X)
    out = np.empty_like(X)
    for name, work in (
        ("map", lambda: plain(X, out=out)),
        ("map with an offset", lambda: centring(X, out=out)),
        ("ConceptorNegation.transform", lambda: cn.transform(X)),
        ("AllButTheTop.transform", lambda: abtt.transform(X)),
    ):
        floor = (lambda: np.matmul(X, W, out=out)) if "map" in name else (lambda: X @ W)
        print(f"{name:32}{ratio(work, floor, options.rounds)}  X @ W, float32")


if __name__ == "__main__":
    main()
