"""Where figures go: a terminal, standard output or a file that appears whole."""

from __future__ import annotations

import io
import json
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conceptor.atomic import check_place, replacing
from conceptor.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conceptor.report import Table

__all__ = ["as_json_text", "check_outputs", "one_format", "saying", "show", "write"]


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
        check_place(output, read)
        if Path(output).resolve() in taken:
            raise InvalidInputError(f"{output}: would be written twice; name two files")
        taken.add(Path(output).resolve())
    if figure is not None:
        from conceptor.plots import figure_format

        figure_format(figure)


def one_format(*chosen: bool) -> None:
    """Refuse two formats at once."""
    if sum(chosen) > 1:
        raise InvalidInputError("choose one output format")


def as_json_text(found: object) -> str:
    """Return JSON that every reader takes: null for numbers that are none, or infinite."""
    from conceptor.arrays import jsonable  # and NumPy, which --help can do without

    return json.dumps(jsonable(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write(text: str, output: Path | None) -> None:
    """Write to a file, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as beside:
        beside.write_text(text, encoding="utf-8")


def show(
    tables: Sequence[Table],
    notes: Sequence[str],
    as_markdown: bool,
    output: Path | None,
    after: str = "",
) -> None:
    """Show tables in the terminal, or write them as Markdown or as plain text."""
    from conceptor.report import markdown, rich_table

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


@contextmanager
def saying(category: type[Warning]) -> Iterator[None]:
    """Say warnings of a kind in a line each, once the block is done."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", category)
        yield
    for warning in raised:
        if issubclass(warning.category, category):
            typer.echo(f"conceptor: warning: {warning.message}", err=True)
