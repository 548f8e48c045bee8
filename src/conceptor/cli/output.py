"""Write results and warnings to a terminal, standard output, or a file."""

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
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.segment import Segment

    from conceptor.report.forms import Table
    from conceptor.vectors.vectors import Vectors

# Settings whose flag has a different name, and those that are part of a method's name.
_FLAGS = {
    "n_components": "--dimensions",
    "n_directions": "--directions",
    "text_file": "--texts",
}
_IN_NAMES = ("unit", "lengths", "kept", "power", "ridge")


_NARROWEST = 20


def _columns() -> int:
    """Return the width of tables in a file or a pipe."""
    asked = os.environ.get("COLUMNS", "")
    return max(_NARROWEST, int(asked)) if asked.isascii() and asked.isdigit() else 80


def check_outputs(
    outputs: Iterable[str | Path | None],
    inputs: Iterable[str | Path | None],
    figure: Path | None = None,
) -> None:
    """Raise, before any work, for outputs that cannot be written or would replace an input.

    `figure` is another output; its extension must be that of a figure.
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


def file_target(target: str) -> str | None:
    """Return a target unless it is a folder; the source decides whether a folder is allowed."""
    return None if os.path.isdir(target) else target


def write_json(found: object, output: Path | None = None) -> None:
    """Write standard JSON, with null for NaN and infinity, to a file or to standard output."""
    from conceptor.base.arrays import jsonable  # imports NumPy, which --help does not need

    text = json.dumps(jsonable(found), indent=1, ensure_ascii=False, allow_nan=False)
    write_output(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n", output)


def print_summary(found: object, line: str, *, as_json: bool) -> None:
    """Print the summary of a command: JSON, or a line on standard error."""
    if as_json:
        write_json(found)
    else:
        typer.echo(printable(line), err=True)


def write_output(text: str, output: Path | None) -> None:
    """Write to a file, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    with replace_atomically(output) as beside:
        beside.write_text(text, encoding="utf-8")


def show_tables(
    tables: Sequence[Table],
    notes: Sequence[str] = (),
    closing: Sequence[str] = (),
    output: Path | None = None,
) -> None:
    """Show tables in the terminal, or write them as plain text."""
    from conceptor.report.forms import fit_width, rich_table

    stream = None if output is None else io.StringIO()
    # Wrap lines only in a terminal, not in a file or a pipe; tables fit 80 columns there.
    on_screen = output is None and sys.stdout.isatty()
    console = _safe_console(
        file=stream, soft_wrap=not on_screen, width=None if on_screen else _columns()
    )
    width = console.width
    for position, note in enumerate(notes):
        console.print(note, style="bold" if position == 0 else "dim", markup=False)
    for table in tables:
        for part in fit_width(table, width):
            console.print(rich_table(part), width=width)
    for line in closing:
        console.print(line, markup=False)
    if stream is not None:
        write_output(stream.getvalue(), output)


def with_flags(message: str) -> str:
    """Return a message of the library with its settings written as command-line flags."""
    return message.spelled(_as_flag) if isinstance(message, Message) else message


def _as_flag(setting: Setting) -> str:
    name, value = setting
    if name in _IN_NAMES and value is not None:
        return f"{name}={str(value).lower()} in the method's name, as in cn:{name}={value}".lower()
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    return flag if value is None or value is True else f"{flag} {value}"


def _safe_console(**options: Any) -> Console:  # noqa: ANN401
    """Return a console that prints control characters in texts as plain text."""
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


def say_rows(vectors: Vectors) -> None:
    """Print on standard error whether rows are words or texts, where both are possible."""
    from conceptor.vectors.rows import describe_rows

    line = describe_rows(vectors)
    if line is not None:
        typer.echo(f"conceptor: {printable(with_flags(line))}", err=True)


@contextmanager
def print_warnings(category: type[Warning]) -> Iterator[None]:
    """Print warnings of this category, one per line, when the block ends."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", category)
        yield
    warn(str(each.message) for each in raised if issubclass(each.category, category))
