"""Write results and warnings to a terminal, standard output, or a file."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import sys
import textwrap
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import CONTROL, InvalidInputError, hide_password, printable
from conceptor.base.files import check_writable, replace_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.segment import Segment

    from conceptor.report.result import Result
    from conceptor.report.tables import Table

# The narrowest width of tables in a file or a pipe.
_NARROWEST = 20
# The form of a result by the extension of its file.
_FORMS = {".json": "json", ".csv": "csv", ".html": "html", ".md": "markdown", ".tex": "latex"}


def plan_output(
    path: Path | None, inputs: Iterable[str | Path | None] = (), *, as_json: bool = False
) -> tuple[str, Path | None]:
    """Return the form of a result, empty for a plain table, and its file.

    Raise, before any work, if the file cannot be written or is one of the inputs.
    """
    if path is not None:
        check_writable(path, [file for file in inputs if file is not None])
    return "json" if as_json else _FORMS.get(path.suffix.lower(), "") if path else "", path


def plan_figure(path: Path | None, inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise, before any work, if a figure cannot be drawn to this file."""
    if path is not None:
        from conceptor.report.plots import figure_format

        plan_output(path, inputs)
        figure_format(path)


def check_stream(target: str, *, as_json: bool) -> None:
    """Raise if JSON and vectors would be mixed on standard output."""
    if as_json and target == "-":
        raise InvalidInputError(
            "--json and the vectors would both go to standard output; write the vectors to a file"
        )


def show(result: Result, output: tuple[str, Path | None]) -> None:
    """Show a result as planned; if it goes to a file, print the file name and the verdict."""
    form, path = output
    if form == "json":
        write_json(result.data, path)
    elif form:
        write_output(getattr(result, form)(), path)
    else:
        show_tables(result.tables, result.notes, result.closing, path)
    if path is not None:
        note(f"wrote {path}{f': {result.verdict}' if result.verdict else ''}")


def write_json(data: object, path: Path | None = None) -> None:
    """Write standard JSON, with null for NaN and infinity, to a file or to standard output."""
    from conceptor.base.arrays import jsonable  # imports NumPy, which --help does not need

    text = json.dumps(jsonable(data), indent=1, ensure_ascii=False, allow_nan=False)
    write_output(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n", path)


def write_output(text: str, path: Path | None) -> None:
    """Write to a file, or to standard output."""
    if path is None:
        sys.stdout.write(text)
        return
    with replace_atomically(path) as beside:
        beside.write_text(text, encoding="utf-8")


def show_tables(
    tables: Sequence[Table],
    notes: Sequence[str] = (),
    closing: Sequence[str] = (),
    path: Path | None = None,
) -> None:
    """Show tables in the terminal, or write them as plain text."""
    from rich.console import Console
    from rich.segment import Segment

    from conceptor.report.tables import fit_width, rich_table

    class SafeConsole(Console):
        """Prints control characters in texts as plain text."""

        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:  # noqa: ANN401
            for text, style, control in super().render(*arguments, **options):
                yield Segment(text if control else printable(text), style, control)

    stream = None if path is None else io.StringIO()
    # Wrap lines only in a terminal, not in a file or a pipe; tables fit 80 columns there.
    on_screen = path is None and sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    is_number = columns.isascii() and columns.isdigit()
    width = max(_NARROWEST, int(columns)) if is_number else 80
    console = SafeConsole(
        highlight=False, file=stream, soft_wrap=not on_screen, width=None if on_screen else width
    )
    width = console.width
    for position, line in enumerate(notes):
        console.print(line, style="" if position else "bold", markup=False)
    for table in tables:
        for part in fit_width(table, width):
            if part.title:  # by itself, because Rich would wrap it at the table's width
                console.print(part.title, style="bold", markup=False)
            console.print(rich_table(part), width=width)
    for line in closing:
        console.print(line, markup=False)
    if stream is not None:
        write_output(stream.getvalue(), path)


def say(line: str) -> None:
    """Print a line on standard error; a terminal gets it wrapped between words."""
    line = hide_password(printable(line))
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr, flush=True)


def suggest(*command: str) -> None:
    """Print the next command, unless it needs a stream; the user names the files IN and OUT."""
    if "-" not in command:
        say(f"next: conceptor {shlex.join(command)}")


def note(line: str) -> None:
    """Print a remark on standard error."""
    say(f"conceptor: {line}")


def warn(messages: Iterable[object]) -> None:
    """Print warnings on standard error."""
    for message in messages:
        note(f"warning: {message}")


@contextmanager
def print_warnings(category: type[Warning]) -> Iterator[None]:
    """Print warnings of this category, one per line, when the block ends."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", category)
        yield
    warn(each.message for each in raised if issubclass(each.category, category))
