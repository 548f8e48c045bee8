"""Progress bars on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Called now and then with the name of a pass, the fraction done if known, and the words so far.
Progress = Callable[[str, float | None, int], None]


def silent(label: str, fraction: float | None, words: int) -> None:
    """Show nothing."""


@contextmanager
def on_terminal(unit: str = "words") -> Iterator[Progress]:
    """Show a bar with rate and time left for each pass, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich import progress
    from rich.console import Console

    bars = progress.Progress(
        progress.TextColumn("{task.description:>9}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, progress.TaskID] = {}

    def report(label: str, fraction: float | None, words: int) -> None:
        if label not in tasks:
            tasks[label] = bars.add_task(label, total=1.0, rate="")
        elapsed = bars.tasks[tasks[label]].elapsed
        rate = f"{words / elapsed:>10,.0f} {unit}/s" if elapsed and words else ""
        bars.update(tasks[label], completed=fraction or 0.0, rate=rate)

    with bars:
        yield report
