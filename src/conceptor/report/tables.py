"""A table, and its output formats: terminal, Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# The column with the number of items behind each score.
USED = "used"
# On a terminal: the width at which a heading wraps, and the spaces between and around columns.
_HEADING, _GAP, _EDGES = 16, 2, 2
# Characters that are special in TeX, and those that its text fonts lack.
_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "α": r"$\alpha$",
    "†": r"\dag{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_NEEDS_TEX = re.compile("[" + re.escape("".join(_TEX)) + "]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table."""

    text: str
    best: bool = False
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table; `summary` rows form a separate block at the bottom."""

    label: str
    cells: Sequence[Cell]
    summary: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column names and rows."""

    title: str
    columns: Sequence[str]
    lines: Sequence[Line]
    prose: bool = False  # cells hold words instead of numbers
    span: int = 1  # columns that belong together, of which the first holds words

    def is_text(self, place: int) -> bool:
        """Return whether the cells of a column hold words."""
        return self.prose or (self.span > 1 and place % self.span == 0)

    def begins_summary(self, place: int) -> bool:
        """Return whether a line is the first of the block at the bottom."""
        is_summary = self.lines[place].summary
        return place > 0 and is_summary and not self.lines[place - 1].summary


def fit_width(table: Table, width: int) -> list[Table]:
    """Split a table that is too wide into several; headings may wrap, numbers never do."""
    if table.prose:
        return [table]
    label = max((len(line.label) for line in table.lines), default=0)
    sizes = [
        max(min(len(name), _HEADING), *(len(line.cells[place].text) for line in table.lines))
        for place, name in enumerate(table.columns)
    ]
    parts: list[list[int]] = [[]]
    for place in range(0, len(sizes), table.span):
        together = range(place, min(place + table.span, len(sizes)))
        needed = label + sum(sizes[i] + _GAP for i in (*parts[-1], *together))
        if parts[-1] and needed + _EDGES > width:
            parts.append([])
        parts[-1] += together
    # Avoid a last part that holds only the numbers of items.
    if len(parts) > 1 and [table.columns[i] for i in parts[-1]] == [USED] and len(parts[-2]) > 1:
        parts[-1].insert(0, parts[-2].pop())
    return [
        replace(
            table,
            title=table.title if not number else f"{table.title}, continued",
            columns=[table.columns[i] for i in places],
            lines=[replace(line, cells=[line.cells[i] for i in places]) for line in table.lines],
        )
        for number, places in enumerate(parts)
    ]


def rich_table(table: Table) -> RichTable:
    """Return the table for a terminal, without its title."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        box=box.SIMPLE,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    shown.add_column("", no_wrap=not table.prose)
    for place, column in enumerate(table.columns):
        justify: Literal["left", "right"] = "left" if table.is_text(place) else "right"
        size = max((len(line.cells[place].text) for line in table.lines), default=0)
        shown.add_column(
            column, justify=justify, overflow="fold", min_width=None if table.prose else size
        )
    for place, line in enumerate(table.lines):
        if table.begins_summary(place):
            shown.add_section()
        cells = [
            Text(cell.text, style="bold green" if cell.best else "dim" if cell.faint else "")
            for cell in line.cells
        ]
        shown.add_row(Text(line.label, style="dim" if line.summary else ""), *cells)
    return shown


def markdown(table: Table) -> str:
    """Return the table as Markdown, with the best scores in bold."""
    rules = ("---" if table.is_text(i) else "---:" for i in range(len(table.columns)))
    rows = [["", *table.columns], ["---", *rules]]
    for line in table.lines:
        rows.append([line.label, *(f"**{c.text}**" if c.best else c.text for c in line.cells)])
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    body = "\n".join(f"| {' | '.join(row)} |" for row in escaped)
    return f"### {table.title}\n\n{body}\n"


def latex(table: Table) -> str:
    """Return the table as LaTeX (booktabs), with the best scores in bold."""
    kinds = "l" + "".join("l" if table.is_text(i) else "r" for i in range(len(table.columns)))
    lines = [
        r"\begin{table}",
        rf"\caption{{{_tex(table.title)}}}",
        r"\centering",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        " & ".join(["", *map(_tex, table.columns)]) + r" \\",
        r"\midrule",
    ]
    for place, line in enumerate(table.lines):
        if table.begins_summary(place):
            lines.append(r"\midrule")
        cells = (rf"\textbf{{{_tex(c.text)}}}" if c.best else _tex(c.text) for c in line.cells)
        lines.append(" & ".join([_tex(line.label), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _tex(text: str) -> str:
    return _NEEDS_TEX.sub(lambda sign: _TEX[sign[0]], text)


def page_table(table: Table) -> str:
    """Return the table as HTML; it scrolls by itself if it is wide."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = []
    for line in table.lines:
        kinds = (
            "best" if cell.best else "faint" if cell.faint else "word" if table.prose else ""
            for cell in line.cells
        )
        pairs = zip(kinds, line.cells, strict=True)
        cells = "".join(f'<td class="{kind}">{escape(cell.text)}</td>' for kind, cell in pairs)
        kind = ' class="summary"' if line.summary else ""
        rows.append(f'<tr{kind}><th scope="row">{escape(line.label)}</th>{cells}</tr>')
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"<table><thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV, with empty fields for undefined numbers."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow(["" if isinstance(x, float) and math.isnan(x) else x for x in row])
    return stream.getvalue()
