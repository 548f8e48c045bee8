"""The time of a small command including start-up, compared with importing NumPy alone.

    python benchmarks/startup.py

Each command runs in turn, many times, and the minimum counts, as on an idle machine. Modules are
compiled to bytecode first, as in an installation. The first run has no bytecode at all.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from conceptor.vectors import write_vectors

ROUNDS = 15
FIRST = "conceptor postprocess, no bytecode"


def run(environment: dict[str, str], *arguments: str) -> tuple[float, float]:
    """Return the wall-clock and CPU seconds of a process."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {arguments}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


def main() -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.txt"), Path(folder, "out.txt")
        rows = np.random.default_rng(0).standard_normal((3000, 50), dtype=np.float32)
        write_vectors(source, [([f"w{i}" for i in range(3000)], rows)])
        files = (str(source), str(target), "--force")
        commands = {
            "import numpy": ("-c", "import numpy"),
            "import numpy, typer, polars": ("-c", "import numpy, typer, polars"),
            "conceptor convert": ("-m", "conceptor", "convert", *files),
            "conceptor postprocess": ("-m", "conceptor", "postprocess", *files),
            "conceptor --help": ("-m", "conceptor", "--help"),
            FIRST: ("-m", "conceptor", "postprocess", *files),
        }
        environment = os.environ | {"PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        best = dict.fromkeys(commands, (np.inf, np.inf))
        for number in range(ROUNDS + 1):
            for name, arguments in commands.items():
                if name == FIRST and number > 3:
                    continue
                empty = {"PYTHONPYCACHEPREFIX": str(Path(folder, f"empty-{number}"))}
                new = run(environment | (empty if name == FIRST else {}), *arguments)
                if number:  # the round before made the bytecode
                    best[name] = min(best[name][0], new[0]), min(best[name][1], new[1])
    base = best["import numpy"]
    print("| | seconds | CPU s | above NumPy | CPU s above NumPy |")
    print("|---|---|---|---|---|")
    for name, (seconds, cpu) in best.items():
        above = f"{seconds - base[0]:+.3f} | {cpu - base[1]:+.3f}"
        print(f"| {name} | {seconds:.3f} | {cpu:.3f} | {above} |")


if __name__ == "__main__":
    main()
