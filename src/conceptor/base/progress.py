"""Progress bars on a terminal; for long work also log lines, one per minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

# Seconds between two log lines.
_PAUSE = 60.0


class Progress(Protocol):
    """Called now and then to report how far a pass has got."""

    def __call__(self, label: str, fraction: float | None, words: int) -> None:
        """Take the name of the pass, the fraction done if known, and the words so far."""


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


@contextmanager
def on_terminal_or_log() -> Iterator[Progress]:
    """Show bars on a terminal; write a line per minute if standard error goes to a log."""
    with on_terminal() as progress:
        yield log_progress(time.monotonic) if progress is silent else progress


def log_progress(clock: Callable[[], float]) -> Progress:
    """Return a progress that writes a line to standard error each minute."""
    last = clock()

    def report(label: str, fraction: float | None, words: int) -> None:
        nonlocal last
        if clock() - last >= _PAUSE:
            last = clock()
            share = "" if fraction is None else f" {fraction:.0%},"
            print(f"conceptor: {label}:{share} {words:,} so far", file=sys.stderr, flush=True)

    return report
