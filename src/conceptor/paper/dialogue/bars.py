"""Progress bars for tracker training, on a terminal only."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import TaskID

    from conceptor.paper.dialogue.training import Epoch
    from conceptor.paper.dialogue.trials import Job, Watch


@contextmanager
def training_progress(epochs: int) -> Iterator[Watch | None]:
    """Yield a callback that shows a bar for each tracker, or None if this is not a terminal."""
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
