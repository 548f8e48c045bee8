"""Time and memory of conceptor postprocess, compared with gensim, plain NumPy and the limit.

    python benchmarks/postprocess.py                    # 500,000 × 300, binary and text
    python benchmarks/postprocess.py --skip-text-peers  # without the minutes gensim needs
    python benchmarks/postprocess.py --google-news      # 3,000,000 × 300 binary: 11 GB of files

Every figure is for a separate process, including start-up. Candidates take turns, round by round,
and the best of five rounds counts (one round for those that take minutes). Compare the ratios; on a
busy machine, those of CPU time. The limit is `cp` and `sync` of the file plus the two products in
float32 (second moment and map) on an array already in memory. Needs gensim.

With `--folder`, files and finished measurements stay there, and the same call goes on where it was
interrupted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.vectors import write_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

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
cpu = time.process_time()
X.T @ X
np.matmul(X, M, out=out)
print(time.perf_counter() - start, time.process_time() - cpu)
"""

COPY, PRODUCT = "binary: cp and sync", "binary: two products in float32"
SOURCE, DIMENSION = "v", 300


class Measured(NamedTuple):
    """The time and memory of a process."""

    seconds: float
    cpu: float
    megabytes: float
    output: str = ""


def measure(*command: object) -> Measured:
    """Run a process; return wall-clock and CPU seconds and its peak resident memory."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {command}")
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output)


def measure_in_turn(
    folder: Path, commands: dict[str, list[object]], rounds: int
) -> dict[str, Measured]:
    """Return the minimum seconds and CPU seconds of each, and its peak memory."""
    record = folder / "rounds.json"
    measured: dict[str, list[Measured]] = {name: [] for name in commands}
    if record.exists():
        for name, earlier in json.loads(record.read_text()).items():
            measured[name] = [Measured(*each) for each in earlier]
    for number in range(rounds):
        for name, command in commands.items():
            each = measured[name]
            if len(each) > number or (each and each[0].seconds > 60):
                continue
            for output in (*folder.glob("ours.*"), *folder.glob("peer.*")):
                output.unlink()
            each.append(measure(*command))
            record.write_text(json.dumps(measured))
    best = {}
    for name, each in measured.items():
        seconds, cpu, megabytes, outputs = zip(*each, strict=True)
        output = min(outputs, key=lambda text: [*map(float, text.split())])
        best[name] = Measured(min(seconds), min(cpu), max(megabytes), output)
    return best


def make(path: Path, rows: int) -> None:
    """Make a file in another process, because a child's peak is at least its parent's."""
    if path.exists():
        return
    maker = multiprocessing.get_context("spawn").Process(target=_make, args=(path, rows))
    maker.start()
    maker.join()


def _make(path: Path, rows: int) -> None:
    """Write vectors with a decaying spectrum and a common direction, like embeddings."""
    rng = np.random.default_rng(1)
    scales = np.linspace(2, 0.1, DIMENSION)[:, None] / DIMENSION**0.5
    mixing = (rng.standard_normal((DIMENSION, DIMENSION)) * scales).astype(np.float32)

    def chunks() -> Iterator[tuple[list[str], np.ndarray]]:
        for start in range(0, rows, 20_000):
            count = min(20_000, rows - start)
            noise = rng.standard_normal((count, DIMENSION), dtype=np.float32)
            words = [f"word{i}" for i in range(start, start + count)]
            yield words, 0.3 * noise @ mixing + np.float32(0.02)

    write_vectors(path, chunks(), force=True, count=rows)


def conceptor(source: Path, *options: str) -> list[object]:
    target = source.with_stem("ours")
    return [sys.executable, "-m", "conceptor", "postprocess", source, target, "--force", *options]


def compare(folder: Path, rows: int, rounds: int, text: bool, text_peers: bool) -> None:
    binary, lines = folder / f"{SOURCE}.bin", folder / f"{SOURCE}.vec"
    for source in (binary, lines) if text else (binary,):
        make(source, rows)
        measure(*conceptor(source))  # writes bytecode, warms the page cache
    python = [sys.executable, "-c"]
    copying = ["sh", "-c", 'cp "$1" "$2" && sync "$2"', "sh", binary, folder / "peer.bin"]
    commands = {
        "binary: conceptor": conceptor(binary),
        "binary: conceptor, --memory 100MB": conceptor(binary, "--memory", "100MB"),
        "binary: conceptor, cn-paper": conceptor(binary, "--method", "cn-paper"),
        "binary: gensim + NumPy": [*python, GENSIM, binary, folder / "peer.bin", "binary"],
        COPY: copying,
        PRODUCT: [*python, PRODUCTS, rows, DIMENSION],
    }
    if text:
        commands["text: conceptor"] = conceptor(lines)
        commands["text: conceptor, --memory 100MB"] = conceptor(lines, "--memory", "100MB")
    if text_peers:
        commands["text: gensim + NumPy"] = [*python, GENSIM, lines, folder / "peer.vec", "text"]
        commands["text: plain NumPy"] = [*python, NUMPY, lines, folder / "peer.vec"]
    results = measure_in_turn(folder, commands, rounds)
    seconds, cpu = map(float, results[PRODUCT].output.split())
    results[PRODUCT] = results[PRODUCT]._replace(seconds=seconds, cpu=cpu)
    print(f"{rows:,} × {DIMENSION}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print("| | seconds | CPU s | peak MB | × our seconds | × our CPU s |")
    print("|---|---|---|---|---|---|")
    for name, each in results.items():
        base = results[f"{name.partition(':')[0]}: conceptor"]
        print(
            f"| {name} | {each.seconds:.2f} | {each.cpu:.2f} | {each.megabytes:,.0f} | "
            f"{each.seconds / base.seconds:.2f} | {each.cpu / base.cpu:.2f} |"
        )
    ours, copied = results["binary: conceptor"], results[COPY]
    limit, work = copied.seconds + seconds, copied.cpu + cpu
    print(
        f"limit: {limit:.2f} s, {work:.2f} CPU s; conceptor takes {ours.seconds / limit:.2f} "
        f"times the seconds and {ours.cpu / work:.2f} times the CPU seconds"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--skip-text-peers", action="store_true")
    parser.add_argument("--google-news", action="store_true", help="3,000,000 rows, binary only")
    parser.add_argument("--folder", type=Path, help="keep files and finished measurements here")
    options = parser.parse_args()
    if options.google_news:
        options.rows, options.repeat = 3_000_000, 3
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation includes its bytecode
    text = not options.google_news
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.folder is not None:
            folder = options.folder / f"{options.rows}x{DIMENSION}"
            folder.mkdir(parents=True, exist_ok=True)
        text_peers = text and not options.skip_text_peers
        compare(folder, options.rows, options.repeat, text, text_peers)


if __name__ == "__main__":
    main()
