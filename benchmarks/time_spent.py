"""Where the processor time of `postprocess` goes.

    python benchmarks/time_spent.py FILE                      # measure this tree
    PYTHONPATH=OLD/src python benchmarks/time_spent.py FILE   # and another one
    python benchmarks/time_spent.py FILE --trees OLD NEW      # whole processes, in turn

Seconds of all threads together, the least of five rounds. Each stage is run by itself; writing is
what is left of the whole. `docs/charts.py` draws the figures in docs/data/speed.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
# Rounds of whole processes.
COMPARED = 9


def least(work: Callable[[], object]) -> float:
    """Return the least processor seconds of some rounds."""
    best = np.inf
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def seconds_to_start(folder: Path) -> float:
    """Return the processor seconds of a postprocess of three vectors."""
    from conceptor.vectors import write_vectors

    write_vectors(folder / "small.bin", [(["a", "b", "c"], np.eye(3, dtype=np.float32))], count=3)
    command = ["-m", "conceptor", "postprocess", folder / "small.bin", folder / "o.bin", "--force"]
    best = np.inf
    for _ in range(ROUNDS + 1):
        process = subprocess.Popen([sys.executable, *map(str, command)], stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(process.pid, 0)
        best = min(best, used.ru_utime + used.ru_stime)
    return best


def measure(source: str) -> dict[str, float]:
    """Return the processor seconds of each stage."""
    from conceptor.base.threads import one_blas_thread
    from conceptor.fitting import fit_methods
    from conceptor.postprocessing import postprocess
    from conceptor.vectors import open_vectors

    opened = open_vectors(source)

    def read() -> None:
        for _ in opened.chunks():
            pass

    def first() -> None:
        for _ in open_vectors(source).chunks():
            pass

    def map_all() -> None:
        with one_blas_thread():
            for _ in range(rounds):
                solution.map(chunk)

    solution = fit_methods(source, ["cn"]).methods["cn"].solution
    assert solution is not None
    chunk = next(opened.chunks()).vectors.copy()
    reading, checking = least(read), least(first)
    rounds = -(-(opened.count or 0) // len(chunk))
    fitting = least(lambda: fit_methods(source, ["cn"]))
    mapping = least(map_all)
    with tempfile.TemporaryDirectory(dir=Path(source).parent) as name:
        target = Path(name, "out" + Path(source).suffix)
        whole = least(lambda: postprocess(source, target, "cn", force=True))
        start = seconds_to_start(Path(name))
    return {
        "start": start,
        "reading, twice": reading + checking,
        "moments and solving": max(0.0, fitting - checking),
        "map": mapping,
        "writing": max(0.0, whole - fitting - reading - mapping),
    }


def compare_trees(source: str, trees: list[str]) -> None:
    """Print the medians and the least of whole processes of several trees, which take turns."""
    found: dict[str, list[tuple[float, float]]] = {tree: [] for tree in trees}
    with tempfile.TemporaryDirectory(dir=Path(source).parent) as name:
        target = Path(name, "out" + Path(source).suffix)
        for number in range(COMPARED + 1):
            for tree, times in found.items():
                target.unlink(missing_ok=True)
                started = time.perf_counter()
                process = subprocess.Popen(
                    [sys.executable, "-m", "conceptor", "postprocess", source, str(target)],
                    env=os.environ | {"PYTHONPATH": str(Path(tree, "src"))},
                    stdout=subprocess.DEVNULL,
                )
                _, status, used = os.wait4(process.pid, 0)
                if status:
                    raise SystemExit(f"failed: {tree}")
                if number:  # the first round compiles, and warms the page cache
                    wall = time.perf_counter() - started
                    times.append((used.ru_utime + used.ru_stime, wall))
    for tree, times in found.items():
        middle, least_of = np.median(times, axis=0), np.min(times, axis=0)
        print(f"{tree}: medians {middle[0]:.2f} processor s, {middle[1]:.2f} s; ", end="")
        print(f"least {least_of[0]:.2f} processor s, {least_of[1]:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="a file of vectors")
    parser.add_argument("--trees", nargs="+", help="checkouts to compare")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation includes its bytecode
    if options.trees:
        compare_trees(options.source, options.trees)
        return
    for name, seconds in measure(options.source).items():
        print(f"{name}: {seconds:.2f}")


if __name__ == "__main__":
    main()
