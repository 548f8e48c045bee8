"""The paper's tables and its figure, next to the measured scores."""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.numbers import format_number, format_signed
from conceptor.report.charts import gate_chart
from conceptor.report.forms import Cell, Line, Table
from conceptor.report.page import document, glossary, listing, page_table, paragraph, section
from conceptor.report.plots import draw_panels, plot_directions
from conceptor.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from conceptor.paper.tables import PaperCell, Reproduction

TITLES = {
    "word_similarity": "Word similarity (Spearman × 100)",
    "sts_by_year": "STS by year (Pearson × 100)",
    "sts_by_task": "STS by task (Pearson × 100)",
    "categorization": "Concept categorisation (purity × 100)",
    "supervised_simlex": "SimLex-999 with and without supervision (Spearman × 100)",
    "dialogue": "Dialogue state tracking (goal accuracy, %)",
}


def reproduction_tables(found: Reproduction) -> list[Table]:
    """Return the paper's tables for each set of vectors, with one row per cell."""
    return [
        _table(f"{title}, {vectors}{' (stand-in)' if part.stand_in else ''}", chosen)
        for table, title in TITLES.items()
        for vectors, part in found.parts.items()
        if (chosen := [c for c in found.cells if (c.table, c.vectors) == (table, vectors)])
    ]


def layout_tables(found: Reproduction) -> dict[str, list[Table]]:
    """Return the tables in the paper's layout: one row per dataset, methods in columns.

    They are grouped by the paper's table and by set of vectors; each method has its published score
    and ours.
    """
    tables: dict[str, list[Table]] = {}
    for name in TITLES:
        for vectors, part in found.parts.items():
            cells = [c for c in found.cells if (c.table, c.vectors) == (name, vectors)]
            if not cells:
                continue
            methods = list(dict.fromkeys(cell.method for cell in cells))
            by_place = {(cell.dataset, cell.method): cell for cell in cells}
            lines = []
            for dataset in dict.fromkeys(cell.dataset for cell in cells):
                lines.append(_layout_line(dataset, [by_place.get((dataset, m)) for m in methods]))
            columns = [f"{method} {what}" for method in methods for what in ("paper", "here")]
            title = f"{vectors} (stand-in)" if part.stand_in else vectors
            tables.setdefault(name, []).append(Table(title, columns, lines))
    return tables


def _layout_line(dataset: str, row: Sequence[PaperCell | None]) -> Line:
    """Return the published and the measured score of each method; mark the best of each."""
    known = [one for one in row if one is not None]
    figures = ([one.paper for one in known], [one.measured for one in known])
    best = [max((f for f in some if not math.isnan(f)), default=math.nan) for some in figures]
    cells = []
    for one in row:
        if one is None:
            cells += [Cell(""), Cell("")]
            continue
        here = format_number(one.measured)
        cells += [
            Cell(format_number(one.paper), best=one.paper == best[0], faint=True),
            Cell(here + _mark(one), best=here == format_number(best[1]) != "—"),
        ]
    return Line(dataset, cells)


def _mark(cell: PaperCell) -> str:
    """Return a mark for a score on other data than the paper's."""
    return "" if cell.comparable or not cell.total else " †"


def _table(title: str, cells: Sequence[PaperCell]) -> Table:
    lines = []
    previous = None
    for cell in cells:
        figures = format_number(cell.paper), format_number(cell.measured)
        texts = (cell.method, *figures, format_signed(cell.difference))
        entries = [*map(Cell, texts), Cell(f"{cell.used}/{cell.total}{_mark(cell)}", faint=True)]
        lines.append(Line(cell.dataset if cell.dataset != previous else "", entries))
        previous = cell.dataset
    return Table(title, ["method", "paper", "measured", "difference", "used"], lines)


def reproduction_result(found: Reproduction, remarks: Sequence[str] = ()) -> Result:
    """Return measured scores next to published ones, in every output format."""
    return Result(
        found.to_dict() | {"other_files": list(remarks)},
        reproduction_tables(found),
        [*found.notes, *remarks],
        [*found.summary, gates_text(found)],
        next(iter(found.summary), ""),
        own_page=lambda: reproduction_page(found, remarks),
        paper_tables=[
            replace(table, title=f"{TITLES[name]}, {table.title}")
            for name, tables in layout_tables(found).items()
            for table in tables
        ],
    )


def gates_text(found: Reproduction, directions: int = 12) -> str:
    """Draw the first gating coefficients as text."""
    lines = []
    for name, by_method in found.gates().items():
        lines.append(f"Variance gating coefficients of the leading directions, {name}")
        for method, gate in by_method.items():
            shown = gate[:directions]
            bars = " ".join("▁▂▃▄▅▆▇█"[min(7, int(8 * g))] * 4 for g in shown)
            figures = " ".join(f"{g:4.2f}" for g in shown)
            lines += [f"  {method:<5}{bars}", f"       {figures}"]
    return "\n".join(lines)


def draw_gates(found: Reproduction, path: Path) -> None:
    """Draw the paper's figure with one panel per set of vectors (needs the `plots` extra)."""

    def draw(name: str, ax: Axes) -> None:
        gates = {method: np.array(gate) for method, gate in found.parts[name].gates.items()}
        plot_directions(gates, ax, ylabel="gating coefficient").set_ylim(bottom=-0.03)
        ax.set_title(f"{name}: {found.parts[name].title}", fontsize=8)

    draw_panels(path, list(found.parts), draw, width=6)


def reproduction_page(found: Reproduction, remarks: Sequence[str] = ()) -> str:
    """Return the paper's tables in the paper's layout, with the measured scores."""
    parts = [paragraph(line, "verdict") for line in found.summary]
    for title, tables in layout_tables(found).items():
        shown = (f"<h3>{escape(table.title)}</h3>{page_table(table)}" for table in tables)
        parts.append(section(TITLES[title], "\n".join(shown)))
    for name, gates in found.gates().items():
        if gates:
            chart = gate_chart({method: np.array(gate) for method, gate in gates.items()})
            title = f"Variance gating coefficients, {name}"
            parts.append(section(title, f'<div class="pair"><div>{chart}</div></div>'))
    methods = dict.fromkeys(cell.method for cell in found.cells)
    parts.append(glossary(methods))
    parts.append(listing("How it was measured", [*found.notes, *remarks]))
    missing = (f"{name}: {why}" for name, why in found.missing.items())
    parts.append(listing("Not found", missing))
    title = "conceptor reproduce: Conceptor Negation (Liu, Ungar & Sedoc 2019)"
    return document(title, "\n".join(part for part in parts if part))
