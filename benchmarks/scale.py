"""Shards on a local Dask cluster, compared with one process with as many threads.

    python benchmarks/scale.py [--rows 3000000] [--folder DIR]

It writes Parquet shards with words, vectors and another column, then gathers moments and applies a
map, alternately in one process and on single-threaded workers under a memory limit. The median of
the ratios is the overhead, in seconds and in CPU seconds. The time to start the cluster is not
counted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from conceptor.base.progress import silent
from conceptor.distributed import connect
from conceptor.distributed.processing import gather_shards, map_shard, run_tasks
from conceptor.distributed.shards import find_shards, open_shards
from conceptor.fit import gather
from conceptor.methods import Method
from conceptor.postprocessing import convert
from conceptor.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Client

DIMENSION = 300
SHARD_ROWS = 100_000
WORKERS, MEMORY, ROUNDS = 2, 2 * 2**30, 3


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def write_shards(folder: Path, rows: int) -> list[Path]:
    folder.mkdir()
    rng = np.random.default_rng(0)
    paths = []
    for start in range(0, rows, SHARD_ROWS):
        values = rng.standard_normal((SHARD_ROWS, DIMENSION), dtype=np.float32)
        values += np.float32(0.2)
        table = pa.table(
            {
                "word": [f"word{i}" for i in range(start, start + SHARD_ROWS)],
                "embedding": pa.FixedSizeListArray.from_arrays(values.reshape(-1), DIMENSION),
                "seen": rng.integers(0, 1 << 40, SHARD_ROWS),
            }
        )
        paths.append(folder / f"part-{start // SHARD_ROWS:05d}.parquet")
        pq.write_table(table, paths[-1], use_dictionary=["word"])
    return paths


def timed(function: Callable[[], object], client: Client) -> tuple[float, float]:
    """Return the seconds of some work, and the CPU seconds here and in the workers."""

    def used() -> float:
        return time.process_time() + sum(client.run(time.process_time).values())

    os.sync()
    start, before = time.perf_counter(), used()
    function()
    return time.perf_counter() - start, used() - before


def compare(folder: Path, rows: int) -> None:
    target = folder / "better"
    paths = write_shards(folder / "shards", rows)
    every = Weights()

    def moments_alone() -> object:
        return gather(open_shards(find_shards(paths)), [every]).of(every)

    def moments_together() -> object:
        shards = find_shards(paths)
        return gather_shards(shards, {}, open_shards(shards), [every]).of(every)

    def transform_alone() -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for path in paths:
            convert(path, target / path.name, map_)

    def transform_together() -> None:
        shutil.rmtree(target, ignore_errors=True)
        write = partial(map_shard, fs=LocalFileSystem(), folder=str(target), map_=map_)
        list(run_tasks(write, find_shards(paths), "writing", silent))

    map_ = Method.parse("cn:aperture=2").solve(moments_alone()).map
    size = sum(path.stat().st_size for path in paths)
    print(f"{rows:,} × {DIMENSION} in {len(paths)} Parquet shards, {size / 1e9:.2f} GB")
    print("| | one process, vectors/s | Dask, vectors/s | overhead, s | overhead, CPU s |")
    print("|---|---|---|---|---|")
    works = {
        "moments": (moments_alone, moments_together),
        "transform": (transform_alone, transform_together),
    }
    with connect(workers=WORKERS, memory=MEMORY) as client:
        client.run(import_module, "conceptor.distributed")  # as in a longer run
        for name, (alone, together) in works.items():
            rounds = [(timed(alone, client), timed(together, client)) for _ in range(ROUNDS)]
            rates = [rows / min(each[0] for each in side) for side in zip(*rounds, strict=True)]
            over = [statistics.median(d[i] / one[i] - 1 for one, d in rounds) for i in range(2)]
            cells = f"{rates[0]:,.0f} | {rates[1]:,.0f} | {over[0]:+.0%} | {over[1]:+.0%}"
            print(f"| {name} | {cells} |", flush=True)
        peak = max(client.run(peak_memory).values())
    print(f"peak memory of a worker {peak:,.0f} MB, load {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--folder", help="folder for the shards (twice their size)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        compare(Path(name), options.rows)


if __name__ == "__main__":
    main()
