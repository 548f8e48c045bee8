"""Tables of scores: built once, shown in a terminal, as Markdown, CSV or HTML."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from conceptor.base.numbers import format_number, format_signed
from conceptor.evaluation.statistics import CONFIDENCE
from conceptor.evaluation.task import FEWEST_ITEMS, LEAST_COVERAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table as RichTable

    from conceptor.evaluation import Evaluation, Row
    from conceptor.evaluation.compare.words import Comparison

TITLES = {
    "similarity": "Word similarity (Spearman × 100)",
    "sts": "Semantic textual similarity (Pearson × 100)",
    "categorization": "Concept categorisation (purity × 100)",
    "neighbours": "Neighbours (synonyms among the ten nearest, %)",
    "analogy": "Analogies (accuracy %)",
    "retrieval": "Retrieval (nDCG@10 × 100)",
    "classification": "Text classification (accuracy %)",
    "sts-b": "STS benchmark (Pearson × 100)",
    "similarity-de": "Word similarity in German (Spearman × 100)",
    "similarity-it": "Word similarity in Italian (Spearman × 100)",
    "similarity-ru": "Word similarity in Russian (Spearman × 100)",
    "pairs": "Your word pairs (Spearman × 100)",
    "sentence-pairs": "Your sentence pairs (Pearson × 100)",
    "text-pairs": "Your scored pairs (Spearman × 100)",
    "text-retrieval": "Your queries (nDCG@10 × 100)",
    "text-neighbours": "Neighbours kept (%)",
    "text-related": "Related rows told apart (AUC × 100)",
}
MEANS = {"sts": "mean 2012–2015"}


_USED = "used"
# Of a table on a terminal: letters of a heading before it is folded, blanks between columns and
# around them.
_HEADING, _GAP, _EDGES = 16, 2, 2
# The rows of gains, and the part of an interval that each shows.
_GAINS = {"gain": "difference", f"{CONFIDENCE:.0%} from": "low", f"{CONFIDENCE:.0%} to": "high"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table."""

    text: str
    best: bool = False
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table; `summary` rows are set apart at the bottom."""

    label: str
    cells: Sequence[Cell]
    summary: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column names and rows."""

    title: str
    columns: Sequence[str]
    lines: Sequence[Line]
    prose: bool = False  # cells of words rather than figures


def comparison_tables(
    comparison: Comparison, *, by_task: bool = False, one_file: bool = True
) -> list[Table]:
    """Return a table for each task, with means and intervals of the gains at the bottom.

    Columns are methods on one file, or else several files.
    """
    tables = []
    for family in comparison.families:
        table = _family_table(family, comparison.evaluations, by_task=by_task, one_file=one_file)
        gains = comparison.gains(family)
        foot = []
        for label, part in _GAINS.items() if gains else ():
            shown = {method: format_signed(getattr(gains[method], part)) for method in gains}
            cells = [Cell(shown.get(method, ""), faint=True) for method in comparison.methods]
            rest = [Cell("")] * (len(table.columns) - len(cells))
            foot.append(Line(label, [*cells, *rest], summary=True))
        tables.append(replace(table, lines=[*table.lines, *foot]))
    return tables


def sentence_tables(comparison: Comparison, *, by_task: bool = False) -> list[Table]:
    """Return the table of sentence encoders; column names say what each was fitted on."""
    return [
        replace(each, title=f"Sentence encoders: {each.title}")
        for each in comparison_tables(comparison, by_task=by_task)
    ]


def example_table(comparison: Comparison) -> Table:
    """Return the neighbours of example words, before and after."""
    methods = list(comparison.examples)
    words = comparison.examples[methods[0]]
    lines = [
        Line(
            word,
            [
                Cell(", ".join(near.word for near in comparison.examples[method][word]))
                for method in methods
            ],
        )
        for word in words
    ]
    return Table("Nearest words, before and after", methods, lines, prose=True)


def coverage_note(evaluations: Iterable[Evaluation]) -> list[str]:
    """Say which results are in brackets, and why; nothing if none is."""
    thin = {
        f"{dataset} {covered}": None
        for evaluation in evaluations
        for dataset, covered in evaluation.left_out.items()
    }
    if not thin:
        return []
    named = ", ".join(list(thin)[:5]) + (f" and {len(thin) - 5} more" if len(thin) > 5 else "")
    return [
        f"(in brackets: left out of means, since fewer than {FEWEST_ITEMS} items or "
        f"{LEAST_COVERAGE:.0%} are covered: {named})"
    ]


def _family_table(
    family: str, evaluations: Mapping[str, Evaluation], *, by_task: bool, one_file: bool = False
) -> Table:
    """Return scores by column, with the number of items used in a column of its own if possible.

    For columns from one file, this number differs only if unknown words get vectors from their
    spelling, and a range is enough. For several files, it may have to go into each cell.
    """
    columns = [
        _rows_to_show(evaluation, family, by_task=by_task) for evaluation in evaluations.values()
    ]
    apart = one_file or all(
        len({(row.used, row.total) for row in across}) == 1 for across in zip(*columns, strict=True)
    )
    lines = []
    for across in zip(*columns, strict=True):
        cells = _score_cells([row.score for row in across], [row.thin for row in across])
        if apart:
            counts = sorted({row.used for row in across})
            used = f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
            cells = [*cells, Cell(f"{used}/{across[0].total}", faint=True)]
        else:
            cells = [
                replace(cell, text=f"{cell.text} ({row.used}/{row.total})")
                for cell, row in zip(cells, across, strict=True)
            ]
        lines.append(Line(across[0].dataset, cells))
    if len(lines) > 1:
        means = [evaluation.means().get(family, math.nan) for evaluation in evaluations.values()]
        cells, label = _score_cells(means), MEANS.get(family, "mean")
        # If undefined scores leave a mean over fewer sets than there are, say over how many.
        sets = len(next(iter(evaluations.values())).of_family(family))
        defined = [len(evaluation.mean_outcomes(family)) for evaluation in evaluations.values()]
        if len(set(defined)) > 1:
            cells = [
                cell if number in (0, sets) else replace(cell, text=f"{cell.text} of {number}")
                for cell, number in zip(cells, defined, strict=True)
            ]
        elif defined[0] != sets:
            label += f" of {defined[0]}"
        lines.append(Line(label, [*cells, Cell("")] if apart else cells, summary=True))
    names = [*evaluations, _USED] if apart else list(evaluations)
    return Table(TITLES.get(family, family), names, lines)


def _rows_to_show(evaluation: Evaluation, family: str, *, by_task: bool) -> list[Row]:
    rows = [row for row in evaluation.rows(years=False) if row.task == family]
    if family != "sts" or by_task:
        return rows
    return evaluation.years() + [row for row in rows if "/" not in row.dataset]


def _score_cells(scores: Sequence[float], thin: Sequence[bool] = ()) -> list[Cell]:
    """Format scores; mark the ones that print as the best, unless all are equal.

    Thin ones, which rest on few items, are faint, in brackets and never the best.
    """
    thin = thin or [False] * len(scores)
    counted = [
        round(score, 2)
        for score, few in zip(scores, thin, strict=True)
        if not (few or math.isnan(score))
    ]
    best = format_number(max(counted)) if len(set(counted)) > 1 else None
    cells = []
    for score, few in zip(scores, thin, strict=True):
        text = format_number(score)
        cells.append(Cell(f"({text})", faint=True) if few else Cell(text, best=text == best))
    return cells


def fit_width(table: Table, width: int) -> list[Table]:
    """Split a table that is too wide into several, each with some of its columns.

    Every part has the labels; a heading may be folded, a figure never.
    """
    if table.prose:
        return [table]
    label = max((len(line.label) for line in table.lines), default=0)
    sizes = [
        max(min(len(name), _HEADING), *(len(line.cells[place].text) for line in table.lines))
        for place, name in enumerate(table.columns)
    ]
    parts: list[list[int]] = [[]]
    for place, size in enumerate(sizes):
        taken = label + sum(sizes[i] + _GAP for i in parts[-1])
        if parts[-1] and taken + size + _GAP + _EDGES > width:
            parts.append([])
        parts[-1].append(place)
    # A last part of nothing but the numbers of items would say little.
    if len(parts) > 1 and [table.columns[i] for i in parts[-1]] == [_USED] and len(parts[-2]) > 1:
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
    """Return the table for a terminal."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        title=table.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    shown.add_column("", no_wrap=not table.prose)
    for column in table.columns:
        justify: Literal["left", "right"] = "left" if table.prose else "right"
        size = (
            None
            if table.prose
            else max(len(line.cells[len(shown.columns) - 1].text) for line in table.lines)
        )
        shown.add_column(column, justify=justify, overflow="fold", min_width=size)
    for position, line in enumerate(table.lines):
        if line.summary and position and not table.lines[position - 1].summary:
            shown.add_section()
        cells = [
            Text(cell.text, style="bold green" if cell.best else "dim" if cell.faint else "")
            for cell in line.cells
        ]
        shown.add_row(Text(line.label, style="dim" if line.summary else ""), *cells)
    return shown


def markdown(table: Table, level: int = 3) -> str:
    """Return the table as Markdown, the best in bold."""
    rows = [["", *table.columns], ["---"] + ["---:"] * len(table.columns)]
    for line in table.lines:
        rows.append([line.label, *(f"**{c.text}**" if c.best else c.text for c in line.cells)])
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    body = "\n".join(f"| {' | '.join(row)} |" for row in escaped)
    return f"{'#' * level} {table.title}\n\n{body}\n"


def csv_text(evaluations: Mapping[str, Evaluation]) -> str:
    """Return CSV with one line per method and dataset, at full precision."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["method", "task", "dataset", "metric", "score", "used", "total"])
    for name, evaluation in evaluations.items():
        for row in evaluation.rows():
            score = "" if math.isnan(row.score) else repr(row.score)
            writer.writerow([name, row.task, row.dataset, row.metric, score, row.used, row.total])
    return stream.getvalue()
