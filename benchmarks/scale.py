"""Moments and maps on a Dask cluster of this machine, beside one process with as many threads.

    python benchmarks/scale.py lazy --rows 40000000          # 48 GB that exist nowhere at once
    python benchmarks/scale.py shards --folder DIR           # 3.6 GB of Parquet: dask against one
    python benchmarks/scale.py estimate                      # what a billion × 768 would take

`lazy` has workers generate vectors and gather their moments under a memory limit; it prints the
rate, and the largest resident memory any worker had. `shards` writes Parquet tables with words,
vectors and another column, then gathers moments and applies a map, alternately by the one-process
pipeline (`conceptor.postprocess`, two threads) and on two single-threaded workers; the median of
the ratios is the overhead. `estimate` measures the flops and bytes of one processor on 768
dimensions and prints the costs on paper beside them. Clusters and processes are started before
the clock.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from conceptor import ConceptorNegation, LinearMap, Moments
from conceptor.distributed import connected, moments, transform
from conceptor.postprocess import apply, moments_of
from conceptor.usage import Usage
from conceptor.vectors import open_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSION = 300
SHARD_ROWS = 100_000


def random_block(block_info: dict, rows: int, dimension: int) -> np.ndarray:
    """Return vectors of a block: noise about a common mean, reproducible by its position."""
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    values = rng.random((rows, dimension), dtype=np.float32)
    values -= np.float32(0.3)
    return values


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def lazy(rows: int, workers: int, memory: int) -> None:
    step = 1 << 16
    array = da.map_blocks(
        partial(random_block, rows=step, dimension=DIMENSION),
        chunks=((step,) * (rows // step), (DIMENSION,)),
        dtype=np.float32,
        meta=np.empty((0, 0), np.float32),
    )
    with connected(workers=workers, memory=memory) as client:
        client.run(peak_memory)
        start = time.perf_counter()
        found = moments(array)
        seconds = time.perf_counter() - start
        peaks = client.run(peak_memory)
        restarted = len(peaks) != workers or found.count != len(array)
    one = random_block({None: {"chunk-location": (0,)}}, step, DIMENSION)
    start = time.perf_counter()
    for _ in range(3):
        random_block({None: {"chunk-location": (0,)}}, step, DIMENSION)
    making = (time.perf_counter() - start) / 3
    start = time.perf_counter()
    for _ in range(3):
        Moments.of(one)
    summing = (time.perf_counter() - start) / 3
    print(
        f"{found.count:,} × {DIMENSION} float32, {array.nbytes / 1e9:.1f} GB, {workers} workers "
        f"with a limit of {memory / 2**30:.1f} GiB each, load {os.getloadavg()[0]:.1f}\n"
        f"{seconds:.1f} s, {found.count / seconds:,.0f} vectors/s, "
        f"{array.nbytes / 1e9 / seconds:.2f} GB/s; peak memory of a worker "
        f"{max(peaks.values()):,.0f} MB; mean off by "
        f"{np.abs(found.mean - 0.2).max():.1e}{', WORKERS RESTARTED' if restarted else ''}\n"
        f"of a block's time on one processor, making it is {making / (making + summing):.0%}"
    )


def write_shards(folder: Path, rows: int) -> list[Path]:
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


def one_process_moments(paths: list[Path], threads: int) -> Moments:
    chunks = (chunk for path in paths for chunk in open_vectors(path).chunks())
    return moments_of(chunks, Usage(), threads)


def one_process_transform(map_: LinearMap, paths: list[Path], target: Path) -> None:
    target.mkdir()
    for path in paths:
        apply(map_, path, target / path.name)


def timed(function: Callable[[], object]) -> float:
    os.sync()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def shards(folder: Path, rows: int, workers: int, memory: int, repeat: int) -> None:
    source, target = folder / "shards", folder / "better"
    source.mkdir()
    paths = write_shards(source, rows)
    size = sum(path.stat().st_size for path in paths)
    map_ = ConceptorNegation(aperture=2.0).fit_moments(one_process_moments(paths, workers)).map_
    print(f"{rows:,} × {DIMENSION} in {len(paths)} Parquet shards, {size / 1e9:.2f} GB")

    def fresh(function: Callable[[], object]) -> float:
        shutil.rmtree(target, ignore_errors=True)
        return timed(function)

    with connected(workers=workers, memory=memory) as client:
        pattern = str(source / "*.parquet")
        works = {
            "moments": (
                lambda: one_process_moments(paths, workers),
                lambda: moments(pattern, column="embedding"),
            ),
            "transform": (
                lambda: one_process_transform(map_, paths, target),
                lambda: transform(map_, pattern, target, column="embedding"),
            ),
        }
        print("| | one process, vectors/s | Dask, vectors/s | overhead | rounds |")
        print("|---|---|---|---|---|")
        for name, (alone, together) in works.items():
            times = [(fresh(alone), fresh(together)) for _ in range(repeat)]
            overhead = statistics.median(theirs / ours - 1 for ours, theirs in times)
            rates = [rows / min(each) for each in zip(*times, strict=True)]
            listed = ", ".join(f"{ours:.1f}/{theirs:.1f} s" for ours, theirs in times)
            print(f"| {name} | {rates[0]:,.0f} | {rates[1]:,.0f} | {overhead:+.0%} | {listed} |")
        peak = max(client.run(peak_memory).values())
    print(f"peak memory of a worker {peak:,.0f} MB, load {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["lazy", "shards", "estimate"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=float, default=2.0, help="GiB a worker may use")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", help="where the shards go (twice their size)")
    options = parser.parse_args()
    memory = int(options.memory * 2**30)
    if options.what == "lazy":
        lazy(options.rows or 40_000_000, options.workers, memory)
    elif options.what == "shards":
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            shards(Path(name), options.rows or 3_000_000, options.workers, memory, options.repeat)


if __name__ == "__main__":
    main()
