"""Bars for downloads and for training, on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from conceptor.data.registry import DataFile
    from conceptor.dialogue.training import Epoch
    from conceptor.dialogue.trials import Job, Watch

__all__ = ["download_progress", "training_progress"]


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


@contextmanager
def training_progress(epochs: int) -> Iterator[Watch | None]:
    """Yield what shows a bar with loss and accuracy for each tracker, or None off a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}, accuracy {task.fields[accuracy]:.1%}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[Job, TaskID] = {}

        def watch(job: Job, number: int, epoch: Epoch) -> None:
            if job not in tasks:
                tasks[job] = progress.add_task(str(job), total=epochs, loss=0.0, accuracy=0.0)
            progress.update(tasks[job], completed=number, loss=epoch.loss, accuracy=epoch.accuracy)

        yield watch
