"""Moments and maps on a local Dask cluster, compared with one process with as many threads.

    python benchmarks/scale.py lazy --rows 40000000          # 48 GB, generated block by block
    python benchmarks/scale.py shards --folder DIR           # 3.6 GB of Parquet: dask against one
    python benchmarks/scale.py estimate                      # the cost of a billion × 768

In `lazy`, workers generate vectors and gather their moments under a memory limit; it prints the
rate, and the largest resident memory of any worker. `shards` writes Parquet tables with words,
vectors and another column, then gathers moments and applies a map, alternately by the one-process
pipeline (`conceptor.postprocessing`, two threads) and on two single-threaded workers; the median of
the ratios is the overhead, in seconds and in processor seconds, which do not depend on other work
on the machine. `estimate` measures the flops and bytes of one processor on 768 dimensions and
prints the theoretical costs beside them. The time to start clusters is not counted.
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
from typing import TYPE_CHECKING, NamedTuple

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from conceptor import AffineMap, ConceptorNegation, Moments
from conceptor.distributed import connect, moments, transform
from conceptor.distributed.survey import TASK_BYTES
from conceptor.fitting import Request, gather
from conceptor.vectors import open_vectors
from conceptor.vectors.conversion import convert
from conceptor.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Client

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


def lazy_array(rows: int) -> da.Array:
    """Return at least this many vectors, to be generated on the workers."""
    step = 1 << 16
    return da.map_blocks(
        partial(random_block, rows=step, dimension=DIMENSION),
        chunks=((step,) * -(-rows // step), (DIMENSION,)),
        dtype=np.float32,
        meta=np.empty((0, 0), np.float32),
    )


def lazy(rows: int, workers: int, memory: int) -> None:
    array = lazy_array(rows)
    with connect(workers=workers, memory=memory) as client:
        ready(client)
        start = time.perf_counter()
        found = moments(array)
        seconds = time.perf_counter() - start
        peaks = client.run(peak_memory)
        restarted = len(peaks) != workers or found.count != len(array)
    print(
        f"{found.count:,} × {DIMENSION} float32, {array.nbytes / 1e9:.1f} GB, {workers} workers "
        f"with a limit of {memory / 2**30:.1f} GiB each, load {os.getloadavg()[0]:.1f}\n"
        f"{seconds:.1f} s, {found.count / seconds:,.0f} vectors/s, "
        f"{array.nbytes / 1e9 / seconds:.2f} GB/s; peak memory of a worker "
        f"{max(peaks.values()):,.0f} MB; mean off by "
        f"{np.abs(found.mean - 0.2).max():.1e}{', WORKERS RESTARTED' if restarted else ''}"
    )
    some = lazy_array(rows // 10)
    with dask.config.set(scheduler="threads", num_workers=workers):
        start = time.perf_counter()
        moments(some)
        seconds = time.perf_counter() - start
    print(f"one process, {workers} threads, a tenth of it: {len(some) / seconds:,.0f} vectors/s")


def write_shards(folder: Path, rows: int, dimension: int = DIMENSION) -> list[Path]:
    rng = np.random.default_rng(0)
    paths = []
    for start in range(0, rows, SHARD_ROWS):
        values = rng.standard_normal((SHARD_ROWS, dimension), dtype=np.float32)
        values += np.float32(0.2)
        table = pa.table(
            {
                "word": [f"word{i}" for i in range(start, start + SHARD_ROWS)],
                "embedding": pa.FixedSizeListArray.from_arrays(values.reshape(-1), dimension),
                "seen": rng.integers(0, 1 << 40, SHARD_ROWS),
            }
        )
        paths.append(folder / f"part-{start // SHARD_ROWS:05d}.parquet")
        pq.write_table(table, paths[-1], use_dictionary=["word"])
    return paths


def one_process_moments(paths: list[Path], threads: int) -> Moments:
    chunks = (chunk for path in paths for chunk in open_vectors(path).chunks())
    every = Weights()
    return gather(chunks, Request([every]), threads=threads).moments[every]


def one_process_transform(map_: AffineMap, paths: list[Path], target: Path) -> None:
    target.mkdir()
    for path in paths:
        convert(path, target / path.name, map_)


class Taken(NamedTuple):
    """The cost of some work: seconds, and processor seconds here and in workers."""

    seconds: float
    processor: float


def timed(function: Callable[[], object], client: Client) -> Taken:
    def used() -> float:
        return time.process_time() + sum(client.run(time.process_time).values())

    start, before = time.perf_counter(), used()
    function()
    return Taken(time.perf_counter() - start, used() - before)


def ready(client: Client) -> None:
    """Let the workers import their modules first, as in a longer run."""
    client.run(import_module, "conceptor.distributed")


def shards(folder: Path, rows: int, workers: int, memory: int, repeat: int) -> None:
    source, target = folder / "shards", folder / "better"
    source.mkdir()
    paths = write_shards(source, rows)
    size = sum(path.stat().st_size for path in paths)
    map_ = ConceptorNegation(aperture=2.0).fit_moments(one_process_moments(paths, workers)).map_
    print(f"{rows:,} × {DIMENSION} in {len(paths)} Parquet shards, {size / 1e9:.2f} GB")
    with connect(workers=workers, memory=memory) as client:
        ready(client)

        def fresh(function: Callable[[], object]) -> Taken:
            shutil.rmtree(target, ignore_errors=True)
            os.sync()
            return timed(function, client)

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
        print(
            "| | one process, vectors/s | Dask, vectors/s | overhead, s | overhead, processor s | "
            "rounds: s (processor s) |"
        )
        print("|---|---|---|---|---|---|")
        for name, (alone, together) in works.items():
            rounds = [(fresh(alone), fresh(together)) for _ in range(repeat)]
            rates = [
                rows / min(each.seconds for each in side) for side in zip(*rounds, strict=True)
            ]
            over = [
                statistics.median(dask[i] / one[i] - 1 for one, dask in rounds) for i in range(2)
            ]
            listed = ", ".join(
                " / ".join(f"{each.seconds:.1f} ({each.processor:.1f})" for each in both)
                for both in rounds
            )
            print(
                f"| {name} | {rates[0]:,.0f} | {rates[1]:,.0f} | {over[0]:+.0%} | {over[1]:+.0%} | "
                f"{listed} |",
                flush=True,
            )
        peak = max(client.run(peak_memory).values())
    print(f"peak memory of a worker {peak:,.0f} MB, load {os.getloadavg()[0]:.1f}")


def estimate(folder: Path, rows: int, workers: int, memory: int) -> None:
    """Print the theoretical costs of a billion vectors, and the costs at measured rates."""
    billion, n = 10**9, 768
    size = 4 * billion * n
    tasks = size // TASK_BYTES
    sums = tasks * 8 * n * n * 8 / 7
    print(
        f"{billion:,} × {n} float32: {size / 1e12:.2f} TB read for the moments, read and written "
        f"again for the map; {billion * n * n:.1e} flops in float64 for the moments (a symmetric "
        f"product), {2 * billion * n * n:.1e} in float32 for the map; {tasks:,} tasks, whose sums "
        f"are {sums / 1e9:.0f} GB if every one crosses the network, {sums / size:.1%} of the input"
    )
    (folder / "in").mkdir()
    paths = write_shards(folder / "in", rows, n)
    with connect(workers=workers, memory=memory) as client:
        ready(client)
        # On all workers at once: processors share caches, memory and, as threads, arithmetic.
        each = client.run(primitive_rates, paths[0], folder, n).values()
        rates = {name: statistics.mean(one[name] for one in each) for name in next(iter(each))}
        pattern = str(folder / "in/*.parquet")
        found: list[Moments] = []
        measured = {"moments": timed(lambda: found.append(moments(pattern)), client)}
        map_ = ConceptorNegation(aperture=2.0).fit_moments(found[0]).map_
        measured["transform"] = timed(lambda: transform(map_, pattern, folder / "out"), client)
    print(
        "one processor of {processors}, all busy: {product:.1f} GFlop/s symmetric float64, "
        "{matmul:.1f} GFlop/s float32, Parquet read at {read:.2f} GB/s and written at "
        "{write:.2f} GB/s".format(processors=workers, **rates)
    )
    width, square = 4e-9 * n, 1e-9 * n * n
    reading, writing = width / rates["read"], width / rates["write"]
    paper = {
        "moments": reading + square / rates["product"],
        "transform": reading + 2 * square / rates["matmul"] + writing,
    }
    print(
        "| | processor µs a vector on paper | measured | vectors/s here | "
        "processor hours for a billion |"
    )
    print("|---|---|---|---|---|")
    for name, taken in measured.items():
        each = taken.processor / rows
        print(
            f"| {name} | {1e6 * paper[name]:.1f} | {1e6 * each:.1f} | "
            f"{rows / taken.seconds:,.0f} | {billion * each / 3600:,.1f} |"
        )


def primitive_rates(path: Path, folder: Path, n: int) -> dict[str, float]:
    """Return the rate of one processor for each step alone, in 10⁹ flops or bytes per second."""
    copy = folder / f"copy-{os.getpid()}.parquet"
    with threadpool_limits(1):
        X = np.random.default_rng(0).standard_normal((4096, n), dtype=np.float32)
        wide, W = X.astype(np.float64), np.eye(n, dtype=np.float32)
        batch = next(pq.ParquetFile(path).iter_batches(20_000, columns=["embedding"]))
        table = pa.Table.from_batches([batch])
        size = table.num_rows * 4e-9 * n
        works: dict[str, tuple[float, Callable[[], object]]] = {
            "product": (1e-9 * len(X) * n * n, lambda: wide.T @ wide),
            "matmul": (2e-9 * len(X) * n * n, lambda: X @ W),
            "write": (
                size,
                lambda: pq.write_table(table, copy, use_dictionary=False, write_statistics=False),
            ),
            "read": (size, lambda: pq.ParquetFile(copy).read(use_threads=False)),
        }
        return {name: amount / quickest(work) for name, (amount, work) in works.items()}


def quickest(function: Callable[[], object]) -> float:
    """Return the minimum processor seconds of five rounds."""
    return min(map(processor_seconds, [function] * 5))


def processor_seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["lazy", "shards", "estimate"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=float, default=2.0, help="memory limit of a worker in GiB")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", help="folder for the shards (twice their size)")
    options = parser.parse_args()
    memory = int(options.memory * 2**30)
    if options.what == "lazy":
        lazy(options.rows or 40_000_000, options.workers, memory)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        if options.what == "shards":
            shards(Path(name), options.rows or 3_000_000, options.workers, memory, options.repeat)
        else:
            estimate(Path(name), options.rows or 800_000, options.workers, memory)


if __name__ == "__main__":
    main()
