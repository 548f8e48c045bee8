"""Progress bars for downloads and for training trackers, on a terminal only."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn, TaskID

    from conceptor.data.registry import DataFile
    from conceptor.paper.dialogue.training import Epoch
    from conceptor.paper.dialogue.trials import Job, Watch


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
    from rich.progress import DownloadColumn

    with _bars("{task.description}", DownloadColumn()) as bars:
        yield lambda file: _DownloadBar(bars, file)


@contextmanager
def training_progress(epochs: int) -> Iterator[Watch | None]:
    """Yield a callback that shows a bar for each tracker, or None if this is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn

    reached = TextColumn("loss {task.fields[loss]:.3f}, accuracy {task.fields[accuracy]:.1%}")
    columns = MofNCompleteColumn(), reached, TimeElapsedColumn()
    with _bars("{task.description:<28}", *columns) as bars:
        tasks: dict[Job, TaskID] = {}

        def watch(job: Job, number: int, epoch: Epoch) -> None:
            if job not in tasks:
                tasks[job] = bars.add_task(str(job), total=epochs, loss=0.0, accuracy=0.0)
            bars.update(tasks[job], completed=number, loss=epoch.loss, accuracy=epoch.accuracy)

        yield watch


def _bars(description: str, *columns: ProgressColumn) -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    shown = (TextColumn(description), BarColumn(), *columns)
    return Progress(*shown, console=Console(stderr=True), transient=True)
