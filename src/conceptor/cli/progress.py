"""A bar for downloads, on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as RichProgress

    from conceptor.datasets import DataFile

__all__ = ["download_progress"]


class Bar:
    """One file's bar, as pooch wants it."""

    def __init__(self, progress: RichProgress, file: DataFile) -> None:
        self._progress = progress
        self._task = progress.add_task(file.name, total=file.bytes)
        self.total = file.bytes

    def update(self, amount: int) -> None:
        """Add this many bytes."""
        self._progress.update(self._task, advance=amount)

    def reset(self) -> None:
        """Start again from nothing: pooch does so before it sets the bar to the total."""
        self._progress.reset(self._task, total=self.total)

    def close(self) -> None:
        """Take the bar away."""
        self._progress.remove_task(self._task)


@contextmanager
def download_progress() -> Iterator[Callable[[DataFile], Bar] | None]:
    """Yield a maker of bars that live until the block ends, or None off a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield lambda file: Bar(progress, file)
