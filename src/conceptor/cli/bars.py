"""Progress bars for downloads, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from conceptor.data.registry import DataFile


class _DownloadBar:
    """The bar of one file, with the methods that pooch calls."""

    def __init__(self, progress: RichProgress, file: DataFile) -> None:
        self._progress, self.total = progress, file.bytes
        self._task = progress.add_task(file.name, total=file.bytes)

    def update(self, amount: int) -> None:
        """Add this many bytes."""
        self._progress.update(self._task, advance=amount)

    def reset(self) -> None:
        """Go back to zero: pooch does this before it sets the bar to the total."""
        self._progress.reset(self._task, total=self.total)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.remove_task(self._task)


@contextmanager
def download_progress() -> Iterator[Callable[[DataFile], _DownloadBar] | None]:
    """Yield a function that creates a bar for a file, or None if this is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield lambda file: _DownloadBar(bars, file)
