"""From one file to another as it is read: other formats, and maps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.files import open_vectors
from conceptor.vectors.source import VectorSource
from conceptor.vectors.target import plan_target, write_chunks

if TYPE_CHECKING:
    import os

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress
    from conceptor.vectors.target import Target


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
    method, fitted_on
        The method's name, and which words it was fitted on, with which weights.
    lengths
        What became of the lengths of rows: `kept`, `unit` or `usage` (`Lengths`).
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
    method: str | None = None
    fitted_on: str | None = None
    lengths: str | None = None
    remarks: list[str] = field(default_factory=list)


def convert(
    source: VectorSource | str | os.PathLike[str],
    target: str | os.PathLike[str],
    map_: AffineMap | None = None,
    *,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Report:
    """Write a file's vectors to another, in another format, through a map, or both."""
    started = time.perf_counter()
    opened = source if isinstance(source, VectorSource) else open_vectors(source, wordless=True)
    if map_ is not None and map_.n_in != opened.dimension:
        raise InvalidInputError(
            f"{opened.path}: vectors of {opened.dimension} numbers; "
            f"the map is for {map_.n_in}-dimensional ones"
        )
    goal = plan_target(target, source=opened, format=format, dtype=dtype, force=force)
    if goal.needs_count_first and opened.count is None:
        for _ in read_chunks(opened, progress, "counting"):
            pass
    if goal.kind.rewrite is not None and goal.path is not None:
        words = goal.kind.rewrite(opened, goal.path, map_, progress)
    else:
        words = write_chunks(
            read_chunks(opened, progress, "writing"),
            goal,
            opened.count,
            None if map_ is None else map_.map_words,
            dimension=None if map_ is None else map_.n_out,
        )
    return finish_report(opened, started, words, goal, None if map_ is None else map_.n_out)


def finish_report(
    source: VectorSource,
    started: float,
    words: int,
    target: Target | None = None,
    dimension: int | None = None,
) -> Report:
    """Sum up what was done; `dimension` is the result's, if not the source's."""
    seconds = time.perf_counter() - started
    report = Report(words=words, dimension=dimension or source.dimension, seconds=seconds)
    report.megabytes_per_second = source.size / 1e6 / seconds
    report.remarks = source.findings.lines()
    if target is not None and target.has_unknown_suffix:
        report.remarks.append(
            f"{target.path}: unrecognised file extension; written as {target.format}"
        )
    return report
