"""Time and memory of the evaluation, in one run.

    python benchmarks/evaluation.py

Needs the demo extra and the benchmark files ($CONCEPTOR_DATA or the cache).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.data import registry as datasets
from conceptor.evaluation import FAMILIES, PAPER_FAMILIES, WordVectors, load_battery
from conceptor.evaluation.categorization import lloyd, means_by_group
from conceptor.evaluation.compare.words import compare
from conceptor.vectors import write_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

MEASURE = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
)


def seconds(what: str, started: float) -> None:
    print(f"{what:<62}{time.perf_counter() - started:8.2f} s", flush=True)


def main() -> None:
    words, matrix = datasets.demo_vectors()
    started = time.perf_counter()
    vectors = WordVectors(words, matrix)
    seconds("index of 400,000 words", started)
    for families in (PAPER_FAMILIES, FAMILIES):
        started = time.perf_counter()
        battery = load_battery(families)
        seconds(
            f"read {'the paper’s three tasks' if families == PAPER_FAMILIES else 'all tasks'}",
            started,
        )
        started = time.perf_counter()
        battery.run(vectors)
        seconds(f"score 400,000 × 50 on {len(battery.tasks)} datasets", started)
    started = time.perf_counter()
    comparison = compare((words, matrix), tasks=load_battery())
    seconds(f"fit and score {len(comparison.methods)} methods", started)
    started = time.perf_counter()
    for family in comparison.families:
        comparison.gains(family)
    seconds(f"paired bootstrap, {comparison.resamples} resamples", started)
    points = np.random.default_rng(0).normal(size=(5231, 300))
    group = np.arange(5231) % 56
    started = time.perf_counter()
    lloyd(points, means_by_group(points, group))
    seconds("k-means of 5,231 × 300 from 56 fixed centroids", started)
    with tempfile.TemporaryDirectory() as directory:
        for count in (100_000, 400_000):
            path = Path(directory, "vectors.bin")
            write_vectors(path, random_chunks(words, count), count=count)
            print(
                f"peak memory of reproduce, {count:,} × 300: {peak_megabytes(path)} MB", flush=True
            )
            path.unlink()


def random_chunks(words: list[str], count: int) -> Iterator[tuple[list[str], np.ndarray]]:
    generator = np.random.default_rng(0)
    for start in range(0, count, 10_000):
        part = words[start : start + 10_000]
        yield part, generator.normal(size=(len(part), 300)).astype(np.float32)


def peak_megabytes(path: Path) -> int:
    command = [sys.executable, "-m", "conceptor", "reproduce", "--glove", str(path)]
    command += ["--output", f"{path}.out"]
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], check=True, capture_output=True, text=True
    )
    return int(measured.stdout)


if __name__ == "__main__":
    main()
