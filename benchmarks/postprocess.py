"""How fast and how large: conceptor postprocess beside gensim, plain NumPy and the floor.

    python benchmarks/postprocess.py                    # 500,000 × 300, binary and text
    python benchmarks/postprocess.py --skip-text-peers  # without the minutes gensim needs
    python benchmarks/postprocess.py --scaling          # time and memory at two sizes

Every figure is of a process of its own, start-up included, measured one after another in one run;
what counts is the ratios. The floor is `cp` of the file plus the two matrix products (second
moment in float64, map in float32) on an array already in memory. Needs gensim.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from conceptor.vectors import write_vectors

GENSIM = """
import sys, numpy as np
from gensim.models import KeyedVectors
source, target, binary = sys.argv[1], sys.argv[2], sys.argv[3] == "binary"
vectors = KeyedVectors.load_word2vec_format(source, binary=binary)
X = vectors.vectors
R = X.T @ X / len(X)
vectors.vectors = X @ np.linalg.inv(np.eye(len(R), dtype=X.dtype) + 4 * R)
vectors.save_word2vec_format(target, binary=binary)
"""

NUMPY = """
import sys, numpy as np
source, target = sys.argv[1:3]
words, rows = [], []
with open(source, encoding="utf-8") as file:
    next(file)
    for line in file:
        word, _, numbers = line.rstrip().partition(" ")
        words.append(word)
        rows.append(np.array(numbers.split(), dtype=np.float32))
X = np.stack(rows)
R = X.T @ X / len(X)
Y = X @ np.linalg.inv(np.eye(len(R), dtype=X.dtype) + 4 * R)
with open(target, "w", encoding="utf-8") as file:
    file.write(f"{len(X)} {X.shape[1]}\\n")
    for word, row in zip(words, Y):
        file.write(word + " " + " ".join(map(str, row.tolist())) + "\\n")
"""

PRODUCTS = """
import sys, time, numpy as np
rows, dimension = int(sys.argv[1]), int(sys.argv[2])
X = np.random.default_rng(0).standard_normal((rows, dimension), dtype=np.float32)
M = np.eye(dimension, dtype=np.float32)
out = np.zeros_like(X)
start = time.perf_counter()
for i in range(0, rows, 4096):
    block = X[i : i + 4096].astype(np.float64)
    block.T @ block
np.matmul(X, M, out=out)
print(time.perf_counter() - start)
"""


class Measured(NamedTuple):
    """What a process took."""

    seconds: float
    cpu: float
    megabytes: float
    output: str = ""


def measure(*command: object) -> Measured:
    """Run a process; return wall-clock and processor seconds and its peak resident memory."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {command}")
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output)


def best(times: int, *command: object, target: Path | None = None) -> Measured:
    """Return the quickest of several runs, each of which makes `target` anew."""

    def run() -> Measured:
        if target is not None:
            target.unlink(missing_ok=True)
        return measure(*command)

    return min((run() for _ in range(times)), key=lambda m: m.seconds)


def make(path: Path, rows: int, dimension: int) -> None:
    """Make a file in another process: a child's peak memory is never less than its parent's."""
    maker = multiprocessing.get_context("spawn").Process(target=_make, args=(path, rows, dimension))
    maker.start()
    maker.join()


def _make(path: Path, rows: int, dimension: int) -> None:
    """Write vectors with a decaying spectrum and a common direction, as embeddings have."""
    rng = np.random.default_rng(1)
    scales = np.linspace(2, 0.1, dimension)[:, None] / dimension**0.5
    mixing = (rng.standard_normal((dimension, dimension)) * scales).astype(np.float32)

    def chunks():  # noqa: ANN202
        for start in range(0, rows, 20_000):
            count = min(20_000, rows - start)
            noise = rng.standard_normal((count, dimension), dtype=np.float32)
            words = [f"word{i}" for i in range(start, start + count)]
            yield words, 0.3 * noise @ mixing + np.float32(0.02)

    write_vectors(path, chunks(), force=True, count=rows)


def conceptor(source: Path, target: Path, *options: str) -> list[object]:
    return [sys.executable, "-m", "conceptor", "postprocess", source, target, *options]


def compare(folder: Path, rows: int, dimension: int, repeat: int, text_peers: bool) -> None:
    binary, text = folder / "v.bin", folder / "v.vec"
    make(binary, rows, dimension)
    make(text, rows, dimension)
    table: list[tuple[str, Measured]] = []
    best(1, *conceptor(binary, folder / "warm.bin"))  # compiles once, warms the page cache
    copy, made, made_text = folder / "copy.bin", folder / "o.bin", folder / "o.vec"
    copied = best(repeat, "cp", binary, copy, target=copy)
    products = best(repeat, sys.executable, "-c", PRODUCTS, rows, dimension)
    floor = copied.seconds + float(products.output)
    ours = best(repeat, *conceptor(binary, made), target=made)
    gensim = best(1, sys.executable, "-c", GENSIM, binary, folder / "g.bin", "binary")
    table += [("binary: conceptor", ours), ("binary: gensim + NumPy", gensim)]
    ours_text = best(repeat, *conceptor(text, made_text), target=made_text)
    table += [("text: conceptor", ours_text)]
    if text_peers:
        table += [
            (
                "text: gensim + NumPy",
                best(1, sys.executable, "-c", GENSIM, text, folder / "g.vec", "text"),
            )
        ]
        table += [
            ("text: plain NumPy", best(1, sys.executable, "-c", NUMPY, text, folder / "n.vec"))
        ]
    print(f"{rows:,} × {dimension}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print("| | seconds | processor s | peak MB | × our seconds | × our processor s |")
    print("|---|---|---|---|---|---|")
    for name, measured in table:
        base = ours if name.startswith("binary") else ours_text
        print(
            f"| {name} | {measured.seconds:.1f} | {measured.cpu:.1f} | {measured.megabytes:,.0f} | "
            f"{measured.seconds / base.seconds:.1f} | {measured.cpu / base.cpu:.1f} |"
        )
    print(
        f"floor (cp {copied.seconds:.2f} s + two products {float(products.output):.2f} s): "
        f"{floor:.2f} s; conceptor takes {ours.seconds / floor:.2f} × the floor"
    )


def scaling(folder: Path, sizes: list[int], dimension: int, suffixes: list[str]) -> None:
    print("| rows | format | seconds | µs a row | peak MB (--memory 100MB) |")
    print("|---|---|---|---|---|")
    for suffix in suffixes:
        for rows in sizes:
            source = folder / f"s.{suffix}"
            make(source, rows, dimension)
            ran = measure(*conceptor(source, folder / f"so.{suffix}", "--memory", "100MB"))
            print(
                f"| {rows:,} | {suffix} | {ran.seconds:.1f} | {ran.seconds / rows * 1e6:.1f} | "
                f"{ran.megabytes:.0f} |",
                flush=True,
            )
            for file in folder.iterdir():
                file.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--skip-text-peers", action="store_true")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500_000, 3_000_000])
    parser.add_argument("--formats", nargs="+", default=["bin", "vec"])
    parser.add_argument("--folder", help="where the files go (a dozen GB)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.scaling:
            scaling(folder, options.sizes, options.dimension, options.formats)
        else:
            compare(
                folder, options.rows, options.dimension, options.repeat, not options.skip_text_peers
            )


if __name__ == "__main__":
    main()
