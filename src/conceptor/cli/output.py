"""Where results, warnings and progress go: a terminal, standard output, a whole file."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conceptor.base.errors import CONTROL, InvalidInputError, Message, Setting, printable
from conceptor.base.files import check_writable, replace_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID
    from rich.segment import Segment

    from conceptor.data.registry import DataFile
    from conceptor.paper.dialogue.training import Epoch
    from conceptor.paper.dialogue.trials import Job, Watch
    from conceptor.report.tables import Table

# Settings whose flag has another name, and those that are part of a method's name.
_FLAGS = {"n_components": "--dimensions", "n_directions": "--directions"}
_IN_NAMES = ("unit", "lengths", "kept", "power", "ridge")


_NARROWEST = 20


def _columns() -> int:
    """Return how wide tables are in a file or a pipe."""
    asked = os.environ.get("COLUMNS", "")
    return max(_NARROWEST, int(asked)) if asked.isascii() and asked.isdigit() else 80


def check_outputs(
    outputs: Iterable[str | Path | None],
    inputs: Iterable[str | Path | None],
    figure: Path | None = None,
) -> None:
    """Raise, before any work, for outputs that cannot be written or would replace an input.

    `figure` is one more output, whose extension must be that of a figure.
    """
    read = [file for file in inputs if file is not None]
    taken: set[Path] = set()
    for output in (*outputs, figure):
        if output is None or str(output) == "-":
            continue
        check_writable(output, read)
        if Path(output).resolve() in taken:
            raise InvalidInputError(f"{output}: would be written twice; name two different files")
        taken.add(Path(output).resolve())
    if figure is not None:
        from conceptor.report.plots import figure_format

        figure_format(figure)


def check_json_output(target: str, *, as_json: bool) -> None:
    """Raise if JSON and vectors would be mixed on standard output."""
    if as_json and target == "-":
        raise InvalidInputError(
            "--json and the vectors would both go to standard output; write the vectors to a file"
        )


def check_one_format(*chosen: bool) -> None:
    """Raise if several output formats were requested."""
    if sum(chosen) > 1:
        raise InvalidInputError("more than one output format was requested; choose one")


def write_json(found: object, output: Path | None = None) -> None:
    """Write standard JSON, with null for NaN and infinity, to a file or to standard output."""
    from conceptor.base.arrays import jsonable  # imports NumPy, which --help does not need

    text = json.dumps(jsonable(found), indent=1, ensure_ascii=False, allow_nan=False)
    write_output(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n", output)


def write_output(text: str, output: Path | None) -> None:
    """Write to a file, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    with replace_atomically(output) as beside:
        beside.write_text(text, encoding="utf-8")


def show_tables(
    tables: Sequence[Table],
    notes: Sequence[str],
    as_markdown: bool,
    output: Path | None,
    after: str = "",
) -> None:
    """Show tables in the terminal, or write them as Markdown or as plain text."""
    from conceptor.report.tables import fit_width, markdown, rich_table

    if as_markdown:
        parts = [f"{note}  " for note in notes] + [markdown(table) for table in tables]
        write_output("\n".join([*parts, after]).rstrip() + "\n", output)
        return
    stream = None if output is None else io.StringIO()
    # Wrap lines only in a terminal, not in a file or a pipe; tables fit 80 columns there.
    on_screen = output is None and sys.stdout.isatty()
    console = safe_console(
        file=stream, soft_wrap=not on_screen, width=None if on_screen else _columns()
    )
    width = console.width
    for position, note in enumerate(notes):
        console.print(note, style="bold" if position == 0 else "dim", markup=False)
    for table in tables:
        for part in fit_width(table, width):
            console.print(rich_table(part), width=width)
    if after:
        console.print(after, markup=False)
    if stream is not None:
        write_output(stream.getvalue(), output)


def with_flags(message: str) -> str:
    """Return a message of the library with its settings as flags of the command line."""
    return message.spelled(_as_flag) if isinstance(message, Message) else message


def _as_flag(setting: Setting) -> str:
    name, value = setting
    if name in _IN_NAMES and value is not None:
        return f"{name}={str(value).lower()} in the method's name, as in cn:{name}={value}".lower()
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    return flag if value is None or value is True else f"{flag} {value}"


def safe_console(**options: Any) -> Console:  # noqa: ANN401
    """Return a console on which text, unlike its style, cannot command the terminal."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:  # noqa: ANN401
            for text, style, control in super().render(*arguments, **options):
                yield Segment(text if control else printable(text), style, control)

    return SafeConsole(highlight=False, **options)


def warn(messages: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for message in messages:
        typer.echo(f"conceptor: warning: {printable(with_flags(message))}", err=True)


@contextmanager
def print_warnings(category: type[Warning]) -> Iterator[None]:
    """Print warnings of this category, one per line, once the block is done."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", category)
        yield
    warn(str(each.message) for each in raised if issubclass(each.category, category))


class _DownloadBar:
    """The bar of one file, with the methods that pooch calls."""

    def __init__(self, progress: RichProgress, file: DataFile) -> None:
        self._progress, self.total = progress, file.bytes
        self._task = progress.add_task(file.name, total=file.bytes)

    def update(self, amount: int) -> None:
        """Add this many bytes."""
        self._progress.update(self._task, advance=amount)

    def reset(self) -> None:
        """Start again at zero: pooch does this before it sets the bar to the total."""
        self._progress.reset(self._task, total=self.total)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.remove_task(self._task)


@contextmanager
def download_progress() -> Iterator[Callable[[DataFile], _DownloadBar] | None]:
    """Yield a function that makes a bar for a file, or None if this is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.DownloadColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield lambda file: _DownloadBar(progress, file)


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
