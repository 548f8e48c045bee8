"""Where the processor time of `postprocess` goes, and a picture of it before and after a change.

    python benchmarks/time_spent.py FILE now.json                 # measure this tree
    PYTHONPATH=OLD/src python benchmarks/time_spent.py FILE old.json   # and another one
    python benchmarks/time_spent.py --draw speed.svg before=old.json after=now.json

Seconds of all threads together, the least of three rounds. Each stage is run by itself; writing is
what is left of the whole.
"""

from __future__ import annotations

import argparse
import json
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

ROUNDS = 3
COLOURS = ("#4c78a8", "#72b7b2", "#f2a33a", "#54a24b", "#b279a2")


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

    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
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


def draw(found: dict[str, dict[str, float]]) -> str:
    """Draw one bar for each measurement, as SVG."""
    longest = max(sum(stages.values()) for stages in found.values())
    width, left, height = 720, 90, 46
    scale = (width - left - 70) / longest
    parts, y = [], 34
    for name, stages in found.items():
        x = float(left)
        parts.append(f'<text x="{left - 8}" y="{y + 21}" text-anchor="end">{name}</text>')
        for colour, (stage, seconds) in zip(COLOURS, stages.items(), strict=True):
            size = seconds * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{size:.1f}" height="32" fill="{colour}">'
                f"<title>{stage}: {seconds:.2f} s</title></rect>"
            )
            if size > 30:
                parts.append(
                    f'<text x="{x + size / 2:.1f}" y="{y + 21}" text-anchor="middle" '
                    f'fill="white">{seconds:.2f}</text>'
                )
            x += size
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 21}">{sum(stages.values()):.2f} s</text>')
        y += height
    x = float(left)
    for colour, stage in zip(COLOURS, next(iter(found.values())), strict=True):
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="18">{stage}</text>')
        x += 34 + 7 * len(stage)
    style = "text{font:12px sans-serif;fill:#555}text[fill]{fill:white}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" role="img">'
        f"<title>Processor seconds of postprocess by stage</title><style>{style}</style>"
        f"{''.join(parts)}</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", metavar="SVG")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    if options.draw:
        named = (each.partition("=") for each in options.arguments)
        found = {name: json.loads(Path(file).read_text()) for name, _, file in named}
        Path(options.draw).write_text(draw(found), encoding="utf-8")
        return
    source, target = options.arguments
    stages = measure(source)
    Path(target).write_text(json.dumps(stages, indent=1))
    for name, seconds in stages.items():
        print(f"{name}: {seconds:.2f}")


if __name__ == "__main__":
    main()
