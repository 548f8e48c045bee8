"""Where figures go: a terminal, standard output or a file that appears whole."""

from __future__ import annotations

import io
import json
import re
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import check_writable, replace_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conceptor.report.tables import Table

# Arguments of the library that are options here.
_ARGUMENT = re.compile(
    r"\b(?P<name>column|data|force|format|on_error|replace_spaces|tasks|vocabulary|weights)"
    r"=(?:True\b|\"(?P<value>[^\"]*)\")"
)

__all__ = [
    "as_json_text",
    "check_outputs",
    "one_format",
    "saying",
    "show",
    "warn",
    "with_flags",
    "write",
]


def check_outputs(
    outputs: Iterable[str | Path | None],
    inputs: Iterable[str | Path | None],
    figure: Path | None = None,
) -> None:
    """Refuse, before any work, what cannot be written or would replace what is read.

    `figure` is one more output, whose name gives the format of a drawing.
    """
    read = [file for file in inputs if file is not None]
    taken: set[Path] = set()
    for output in (*outputs, figure):
        if output is None or str(output) == "-":
            continue
        check_writable(output, read)
        if Path(output).resolve() in taken:
            raise InvalidInputError(f"{output}: would be written twice; name two files")
        taken.add(Path(output).resolve())
    if figure is not None:
        from conceptor.report.plots import figure_format

        figure_format(figure)


def one_format(*chosen: bool) -> None:
    """Refuse two formats at once."""
    if sum(chosen) > 1:
        raise InvalidInputError("choose one output format")


def as_json_text(found: object) -> str:
    """Return JSON that every reader takes: null for numbers that are none, or infinite."""
    from conceptor.base.arrays import jsonable  # and NumPy, which --help can do without

    return json.dumps(jsonable(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write(text: str, output: Path | None) -> None:
    """Write to a file, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    with replace_atomically(output) as beside:
        beside.write_text(text, encoding="utf-8")


def show(
    tables: Sequence[Table],
    notes: Sequence[str],
    as_markdown: bool,
    output: Path | None,
    after: str = "",
) -> None:
    """Show tables in the terminal, or write them as Markdown or as plain text."""
    from conceptor.report.tables import markdown, rich_table

    if as_markdown:
        parts = [f"{note}  " for note in notes] + [markdown(table) for table in tables]
        write("\n".join([*parts, after]).rstrip() + "\n", output)
        return
    from rich.console import Console

    stream = None if output is None else io.StringIO()
    # Only a terminal has an edge; in a file or a pipe nothing is folded.
    on_screen = output is None and sys.stdout.isatty()
    console = Console(
        file=stream, width=None if on_screen else 200, highlight=False, soft_wrap=not on_screen
    )
    for position, note in enumerate(notes):
        console.print(note, style="bold" if position == 0 else "dim", markup=False)
    for table in tables:
        console.print(rich_table(table))
    if after:
        console.print(after, markup=False)
    if stream is not None:
        write(stream.getvalue(), output)


def with_flags(message: str) -> str:
    """Return a message of the library in the words of the command line.

    The library speaks of arguments, as in force=True or on_error="skip"; here these are --force
    and --on-error skip.
    """

    def as_flag(match: re.Match[str]) -> str:
        name, value = match["name"].replace("_", "-"), match["value"]
        return f"--{name}" if value is None else f"--{name} {value}"

    return _ARGUMENT.sub(as_flag, message)


def warn(messages: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for message in messages:
        typer.echo(f"conceptor: warning: {with_flags(message)}", err=True)


@contextmanager
def saying(category: type[Warning]) -> Iterator[None]:
    """Say warnings of a kind in a line each, once the block is done."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", category)
        yield
    warn(str(each.message) for each in raised if issubclass(each.category, category))
