"""From file to file in two streaming passes: gather moments, then apply the map.

Each step is a plain function over chunks, so that other schedulers can call the same ones.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from conceptor.errors import InvalidInputError
from conceptor.moments import Moments
from conceptor.passes import Kept, shown, until, watched
from conceptor.progress import silent
from conceptor.usage import Usage, usage
from conceptor.vectors.files import open_vectors
from conceptor.vectors.pipeline import ordered_map, processors
from conceptor.vectors.source import Chunk, VectorSource
from conceptor.vectors.target import check_new_file, plan_target
from conceptor.vectors.writing import files_of, open_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from conceptor.linear_map import LinearMap
    from conceptor.progress import Progress
    from conceptor.spectral import SpectralMethod
    from conceptor.vectors.target import Target

    Source = VectorSource | str | os.PathLike[str]


# Of the variance: less than this is rounding.
_NOTHING = 1e-12


@dataclass
class Report:
    """What was done.

    Attributes
    ----------
    words, dimension
        How many vectors were written (or looked at, where only a map was made), of which length.
    estimated_on
        How many of them the map was estimated on.
    variance_removed
        ``1 − Σ g² λ / Σ λ`` over the spectrum the map was made from.
    quota
        ``Σ (1 − g) / n``, for a conceptor the share of the space it takes up.
    aperture
        The α that was used, where there is one.
    seconds, megabytes_per_second
        Time taken, and the input's bytes on disk over it.
    remarks
        What was odd about the input: duplicates, skipped rows, a header that lies.
    """

    words: int = 0
    dimension: int = 0
    estimated_on: int | None = None
    variance_removed: float | None = None
    quota: float | None = None
    aperture: float | None = None
    seconds: float = 0.0
    megabytes_per_second: float = 0.0
    remarks: list[str] = field(default_factory=list)


def postprocess(
    source: Source,
    target: str | os.PathLike[str],
    estimator: SpectralMethod,
    *,
    weights: Usage | str | Mapping[str, float] = "uniform",
    vocabulary: object = None,
    memory: int | None = None,
    save_map: str | os.PathLike[str] | None = None,
    format: str | None = None,
    dtype: str = "float32",
    force: bool = False,
    progress: Progress = silent,
) -> Report:
    """Fit `estimator` on the vectors of a file and write them all, mapped, to another.

    Parameters
    ----------
    source
        A file, `-`, or what `open_vectors` returned.
    target
        The file to write, by name in any format; `-` for text on standard output.
    estimator
        Any spectral post-processor, fitted when this returns.
    weights, vocabulary
        What words weigh where the map is estimated, and which take part, as for `usage`; all, and
        the same, by default. `weights` may also be a `Usage`.
    memory
        Bytes within which decoded vectors are kept between the passes, where that saves decoding
        them again; by default a quarter of the machine's memory.
    save_map
        Also save the map there.
    format, dtype, force
        As for `write_vectors`.
    progress
        Called as the passes go on.
    """
    started = time.perf_counter()
    opened = source if isinstance(source, VectorSource) else open_vectors(source)
    goal = plan_target(target, source=opened, format=format, dtype=dtype, force=force)
    if save_map is not None:
        check_new_file(save_map, opened.files(), force=force)
        if goal.path is not None and Path(save_map).resolve() in files_of(goal.path, goal.format):
            raise InvalidInputError(f"{save_map}: cannot hold both the vectors and the map")
    budget = _default_memory() if memory is None else memory
    kept = Kept(budget if opened.worth_keeping else 0)
    chunks = watched(opened, "moments", progress)
    moments = moments_of(kept.keeping(chunks), _usage(weights, vocabulary))
    fitted(estimator, moments)
    held = kept.release()
    chunks = watched(opened, "writing", progress) if held is None else shown(held, progress)
    words = write_mapped(chunks, goal, estimator.map_, opened.count)
    if save_map is not None:
        estimator.map_.save(save_map)
    return finished_report(opened, started, words, estimator, goal)


def fit(
    source: Source,
    estimator: SpectralMethod,
    *,
    weights: Usage | str | Mapping[str, float] = "uniform",
    vocabulary: object = None,
    progress: Progress = silent,
) -> Report:
    """Fit `estimator` on the vectors of a file, in one pass."""
    started = time.perf_counter()
    opened = source if isinstance(source, VectorSource) else open_vectors(source)
    chosen = _usage(weights, vocabulary)
    chunks = watched(opened, "moments", progress)
    moments = moments_of(until(chunks, chosen.top), chosen)
    fitted(estimator, moments)
    return finished_report(opened, started, opened.count or moments.count, estimator)


def _usage(weights: Usage | str | Mapping[str, float], vocabulary: object) -> Usage:
    return weights if isinstance(weights, Usage) else usage(weights, vocabulary)


def fitted(estimator: SpectralMethod, moments: Moments) -> SpectralMethod:
    """Fit on moments."""
    # An eigendecomposition of this size is quicker on one processor: several mostly wait for
    # each other, and on a busy machine for a second.
    with threadpool_limits(1):
        return estimator.fit_moments(moments)


def apply(
    map_: LinearMap | None,
    source: Source,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    dtype: str = "float32",
    force: bool = False,
    progress: Progress = silent,
) -> Report:
    """Write a file's vectors to another, through a map; without one this converts formats."""
    started = time.perf_counter()
    opened = source if isinstance(source, VectorSource) else open_vectors(source)
    if map_ is not None and map_.n_in != opened.dimension:
        raise InvalidInputError(
            f"{opened.path}: vectors of {opened.dimension} numbers; "
            f"the map is for {map_.n_in}-dimensional ones"
        )
    goal = plan_target(target, source=opened, format=format, dtype=dtype, force=force)
    if goal.needs_count_first and opened.count is None:
        for _ in watched(opened, "counting", progress):
            pass
    words = write_mapped(watched(opened, "writing", progress), goal, map_, opened.count)
    return finished_report(opened, started, words, None, goal)


def moments_of(chunks: Iterable[Chunk], usage: Usage, threads: int | None = None) -> Moments:
    """Gather the moments of chunks, several at a time; the sum is in file order."""

    def of_chunk(numbered: tuple[int, Chunk]) -> Moments | None:
        before, chunk = numbered
        return usage.moments(chunk.words, chunk.vectors, before)

    # One BLAS thread in each of ours: small products do not split well, and it keeps the
    # processors for whoever has something to do, be it parsing or multiplying.
    with threadpool_limits(1):
        parts = ordered_map(of_chunk, _numbered(chunks), threads or processors())
        total = sum((part for part in parts if part is not None), start=0)
    if not isinstance(total, Moments):
        raise InvalidInputError(
            "none of the file's words is among those to estimate on: does the vocabulary (with "
            "--paper, Wikipedia's) or the counts file belong to these vectors?"
        )
    return total


def _numbered(chunks: Iterable[Chunk]) -> Iterator[tuple[int, Chunk]]:
    before = 0
    for chunk in chunks:
        yield before, chunk
        before += len(chunk.words)


def write_mapped(
    chunks: Iterable[Chunk],
    target: Target,
    map_: LinearMap | None,
    count: int | None,
    threads: int | None = None,
) -> int:
    """Write mapped chunks in order, several mapped and encoded at a time; return how many rows."""
    chunks = iter(chunks)
    first = next(chunks)
    dimension = first.vectors.shape[1] if map_ is None else map_.n_out
    written = 0
    with (
        threadpool_limits(1),
        open_writer(
            target.path,
            target.format,
            target.compression,
            dimension,
            count=count,
            dtype=np.dtype(target.dtype),
        ) as writer,
    ):

        def encode(chunk: Chunk) -> tuple[int, Any]:
            mapped = chunk if map_ is None else Chunk(chunk.words, map_(chunk.vectors))
            return len(chunk.words), writer.encode(mapped)

        def all_chunks() -> Iterator[Chunk]:
            yield first
            yield from chunks

        for rows, encoded in ordered_map(encode, all_chunks(), threads or processors()):
            writer.write(encoded)
            written += rows
        writer.finish(written)
    return written


def finished_report(
    source: VectorSource,
    started: float,
    words: int,
    estimator: SpectralMethod | None,
    target: Target | None = None,
) -> Report:
    """Sum up what was done."""
    seconds = time.perf_counter() - started
    report = Report(words=words, dimension=source.dimension, seconds=seconds)
    report.megabytes_per_second = source.path.stat().st_size / 1e6 / seconds
    report.remarks = source.findings.lines()
    if target is not None and target.unnamed:
        report.remarks.append(f"{target.path}: no format goes by this name; it is {target.format}")
    return report if estimator is None else describe(report, estimator)


def describe(report: Report, estimator: SpectralMethod) -> Report:
    """Add what a fitted estimator did."""
    report.estimated_on = estimator.moments_.count
    report.aperture = getattr(estimator, "aperture_", None)
    gate, values = estimator.gate_, estimator.spectrum_.values
    if not (gate**2 * values).sum() > _NOTHING * values.sum():
        report.remarks.append("nothing is left of the vectors: all they hold is taken out")
    if (gate <= 1).all() and values.sum() > 0:
        report.variance_removed = float(1 - (gate**2 * values).sum() / values.sum())
        report.quota = float((1 - gate).mean())
    return report


def _default_memory() -> int:
    """Return a quarter of the memory this process may use."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError, ValueError):  # no such limit here
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits) // 4
