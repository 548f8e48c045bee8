"""From one file to another as it is read: other formats, and maps."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.notebook import html_table
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
class Written:
    """What was read and written.

    Attributes
    ----------
    words, dimension
        How many vectors were written (or read, where only a map was made), of which length.
    seconds, megabytes_per_second
        Time taken, and the input's bytes on disk over it.
    rows
        What the rows stand for: `words`, `tokens` or `texts`.
    remarks
        What was odd about the input: duplicates, skipped rows, a wrong count in the header.
    """

    words: int = 0
    dimension: int = 0
    seconds: float = 0.0
    megabytes_per_second: float = 0.0
    rows: str = "words"
    remarks: list[str] = field(default_factory=list)

    def _repr_html_(self) -> str:
        """Show what is known in a notebook."""
        known = {name: value for name, value in asdict(self).items() if value not in (None, [])}
        if self.remarks:
            known["remarks"] = "; ".join(self.remarks)
        return html_table("Report", known)


def convert(
    source: VectorSource | str | os.PathLike[str],
    target: str | os.PathLike[str],
    map_: AffineMap | None = None,
    *,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Written:
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
    return sum_up(opened, started, words, goal, None if map_ is None else map_.n_out)


def sum_up(
    source: VectorSource,
    started: float,
    words: int,
    target: Target | None = None,
    dimension: int | None = None,
) -> Written:
    """Sum up what was done; `dimension` is the result's, if not the source's."""
    seconds = time.perf_counter() - started
    remarks = source.findings.lines()
    if target is not None and target.has_unknown_suffix:
        remarks.append(f"{target.path}: unrecognised file extension; written as {target.format}")
    speed = source.size / 1e6 / seconds
    rows = str(source.kind)
    return Written(words, dimension or source.dimension, seconds, speed, rows, remarks)
