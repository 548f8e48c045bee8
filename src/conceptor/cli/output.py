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

from conceptor.base.errors import CONTROL, InvalidInputError, printable
from conceptor.base.files import check_writable, replace_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.segment import Segment

    from conceptor.report.result import Result
    from conceptor.report.tables import Table

# The narrowest width of tables in a file or a pipe.
_NARROWEST = 20


def check_outputs(
    outputs: Iterable[str | Path | None],
    inputs: Iterable[str | Path | None],
    figure: Path | None = None,
) -> None:
    """Raise, before any work, for outputs that cannot be written or would replace an input.

    `figure` is another output; its extension must be that of a figure.
    """
    read = [file for file in inputs if file is not None]
    targets: set[Path] = set()
    for output in (*outputs, figure):
        if output is None or str(output) == "-":
            continue
        check_writable(output, read)
        if Path(output).resolve() in targets:
            raise InvalidInputError(f"{output}: would be written twice; name two different files")
        targets.add(Path(output).resolve())
    if figure is not None:
        from conceptor.report.plots import figure_format

        figure_format(figure)


def file_target(target: str) -> str | None:
    """Return a target unless it is a folder; the source decides whether a folder is allowed."""
    return None if os.path.isdir(target) else target


def write_json(data: object, output: Path | None = None) -> None:
    """Write standard JSON, with null for NaN and infinity, to a file or to standard output."""
    from conceptor.base.arrays import jsonable  # imports NumPy, which --help does not need

    text = json.dumps(jsonable(data), indent=1, ensure_ascii=False, allow_nan=False)
    write_output(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n", output)


def print_summary(data: object, line: str, *, as_json: bool) -> None:
    """Print the summary of a command: JSON, or a line on standard error."""
    if as_json:
        write_json(data)
    else:
        typer.echo(printable(line), err=True)


def write_output(text: str, output: Path | None) -> None:
    """Write to a file, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    with replace_atomically(output) as beside:
        beside.write_text(text, encoding="utf-8")


def choose_form(**forms: bool) -> str:
    """Return the requested form of a result: `json`, `csv`, `html`, `markdown`, `latex` or none.

    Raise, before any work, if there is more than one.
    """
    chosen = [name for name, is_chosen in forms.items() if is_chosen]
    if len(chosen) > 1:
        raise InvalidInputError("more than one output format was requested; choose one")
    return chosen[0] if chosen else ""


def show(result: Result, form: str = "", output: Path | None = None) -> None:
    """Show a result; if it goes to a file, print the file name and the verdict."""
    if form == "json":
        write_json(result.data, output)
    elif form:
        write_output(getattr(result, form)(), output)
    else:
        show_tables(result.tables, result.notes, result.closing, output)
    if output is not None:
        note(f"wrote {output}{f': {result.verdict}' if result.verdict else ''}")


def show_tables(
    tables: Sequence[Table],
    notes: Sequence[str] = (),
    closing: Sequence[str] = (),
    output: Path | None = None,
) -> None:
    """Show tables in the terminal, or write them as plain text."""
    from conceptor.report.tables import fit_width, rich_table

    stream = None if output is None else io.StringIO()
    # Wrap lines only in a terminal, not in a file or a pipe; tables fit 80 columns there.
    on_screen = output is None and sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    is_number = columns.isascii() and columns.isdigit()
    width = max(_NARROWEST, int(columns)) if is_number else 80
    console = _safe_console(
        file=stream, soft_wrap=not on_screen, width=None if on_screen else width
    )
    width = console.width
    for position, line in enumerate(notes):
        console.print(line, style="bold" if position == 0 else "dim", markup=False)
    for table in tables:
        for part in fit_width(table, width):
            console.print(rich_table(part), width=width)
    for line in closing:
        console.print(line, markup=False)
    if stream is not None:
        write_output(stream.getvalue(), output)


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
        typer.echo(f"conceptor: warning: {printable(message)}", err=True)


def note(line: str) -> None:
    """Print a line on standard error."""
    typer.echo(f"conceptor: {printable(line)}", err=True)


@contextmanager
def print_warnings(category: type[Warning]) -> Iterator[None]:
    """Print warnings of this category, one per line, when the block ends."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", category)
        yield
    warn(str(each.message) for each in raised if issubclass(each.category, category))
