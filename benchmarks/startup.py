"""How long a small command takes, start-up included, beside importing NumPy alone.

    python benchmarks/startup.py

Each is run in turn, many times, and the least time counts: what a quiet moment gives.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from conceptor.vectors import write_vectors

ROUNDS = 15


def seconds(*arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.txt"), Path(folder, "out.txt")
        rows = np.random.default_rng(0).standard_normal((3000, 50), dtype=np.float32)
        write_vectors(source, [([f"w{i}" for i in range(3000)], rows)])
        files = (str(source), str(target), "--force")
        commands = {
            "import numpy": ("-c", "import numpy"),
            "conceptor convert": ("-m", "conceptor", "convert", *files),
            "conceptor postprocess": ("-m", "conceptor", "postprocess", *files),
            "conceptor --help": ("-m", "conceptor", "--help"),
        }
        best = dict.fromkeys(commands, np.inf)
        for _ in range(ROUNDS):
            for name, arguments in commands.items():
                best[name] = min(best[name], seconds(*arguments))
    base = best["import numpy"]
    for name, least in best.items():
        print(f"{name:<24}{least:6.3f} s  {least - base:+.3f} s")


if __name__ == "__main__":
    main()
