"""The paper's tables and its figure, next to the measured scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from conceptor.report.plots import figure_format, plot_gates, save_figure
from conceptor.report.tables import Cell, Line, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conceptor.comparing.paper import PaperCell, Reproduction

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
        _table(f"{title}, {vectors}", chosen)
        for table, title in TITLES.items()
        for vectors in found.comparisons
        if (chosen := [c for c in found.cells if (c.table, c.vectors) == (table, vectors)])
    ]


def _table(title: str, cells: Sequence[PaperCell]) -> Table:
    lines = []
    previous = None
    for cell in cells:
        measured = not math.isnan(cell.measured)
        entries = [
            Cell(cell.method),
            Cell(f"{cell.paper:.2f}"),
            Cell(f"{cell.measured:.2f}" if measured else "—"),
            Cell(f"{cell.difference:+.2f}".replace("-", "−") if measured else "—"),
            Cell(f"{cell.used}/{cell.total}", faint=True),
        ]
        lines.append(Line(cell.dataset if cell.dataset != previous else "", entries))
        previous = cell.dataset
    return Table(title, ["method", "paper", "measured", "difference", "used"], lines)


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
    figure_format(path)
    from matplotlib.figure import Figure

    count = len(found.comparisons)
    figure = Figure(figsize=(6 * count, 3.5), layout="constrained")
    for i, (name, comparison) in enumerate(found.comparisons.items(), 1):
        ax = plot_gates(comparison.solutions, figure.add_subplot(1, count, i))
        ax.set_title(name)
    save_figure(figure, path)
