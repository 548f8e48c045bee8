"""The paper's tables and its figure: published scores next to measured ones.

Liu, Ungar & Sedoc (2019) quote the original and ABTT columns from another paper's pipeline; here
all three columns come from one vocabulary and one code path (`reproduction`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.numbers import format_number, format_signed
from conceptor.report.plots import draw_panels, plot_directions
from conceptor.report.result import Result
from conceptor.report.tables import Cell, Line, Table, csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from conceptor.paper.dialogue import Study

TITLES = {
    "word_similarity": "Word similarity (Spearman × 100)",
    "sts_by_year": "STS by year (Pearson × 100)",
    "sts_by_task": "STS by task (Pearson × 100)",
    "categorization": "Concept categorization (purity × 100)",
    "supervised_simlex": "SimLex-999 with and without supervision (Spearman × 100)",
    "dialogue": "Dialogue state tracking (goal accuracy, %)",
}
# If vectors cover fewer items, or fewer words of sentences, a score is on other data than the
# paper's.
ENOUGH = 0.9


def paper_tables() -> dict[str, Any]:
    """Return the paper's scores and settings."""
    path = resources.files("conceptor.paper").joinpath("tables.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


@dataclass(frozen=True, slots=True)
class PaperCell:
    """A score from the paper and the measured one (nan if its data is missing).

    `coverage` is the share of the items with vectors; for sentences, the share of their tokens.
    """

    vectors: str
    table: str
    dataset: str
    method: str
    paper: float
    measured: float = math.nan
    used: int = 0
    total: int = 0
    coverage: float = math.nan

    @property
    def difference(self) -> float:
        """Measured minus published."""
        return self.measured - self.paper

    @property
    def comparable(self) -> bool:
        """Whether enough of the data has vectors for the difference to mean something."""
        return self.coverage >= ENOUGH

    @property
    def mark(self) -> str:
        """A mark for a score on other data than the paper's."""
        return "" if self.comparable or not self.total else " †"


@dataclass(frozen=True, eq=False)
class Part:
    """One set of vectors: what it is, the gates of the methods, and how they were fitted."""

    title: str
    stand_in: bool
    gates: Mapping[str, Sequence[float]]
    notes: Sequence[str]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Every cell of the paper's tables for some vectors.

    `missing` is why some data was not found; `remarks` are differences from the paper's files.
    """

    cells: Sequence[PaperCell]
    parts: Mapping[str, Part] = field(repr=False)
    missing: Mapping[str, str]
    studies: Mapping[str, Study] = field(default_factory=dict, repr=False)
    notebook: bool = False
    remarks: Sequence[str] = ()

    @property
    def notes(self) -> list[str]:
        """The measured vectors, how methods were fitted, and what was left out."""
        lines = ["Conceptor Negation (Liu, Ungar & Sedoc 2019): paper, measured, difference"]
        for name, part in self.parts.items():
            lines += [f"{name}: {part.title}", *part.notes]
        if self.notebook:
            lines.append("ties in ranks and tokens as in the authors' notebook")
        if any(cell.mark for cell in self.cells):
            lines.append(
                f"†: less than {ENOUGH:.0%} of the pairs or concepts, or of the sentences' words, "
                "have a vector; the score is on other data than the paper's"
            )
        for missing, what in {"lexicon": "counter-fitting", "dialogue": "dialogue"}.items():
            if missing in self.missing:
                lines.append(f"{what} left out: {self.missing[missing]}")
        for name, study in self.studies.items():
            runs = len(next(iter(study.runs.values())))
            lines.append(f"{name}, dialogue: {runs} run(s) of each method; {study.notes[0]}")
        return lines

    @property
    def summary(self) -> list[str]:
        """A sentence on how close the comparable cells are to the paper's."""
        lines = []
        for name, part in self.parts.items():
            cells = [c for c in self.cells if c.vectors == name and c.comparable]
            close = [cell for cell in cells if abs(cell.difference) <= 1.5]
            if not part.stand_in:
                lines.append(
                    f"{name}: {len(close)} of {len(cells)} comparable cells are within 1.5 points "
                    "of the paper's"
                )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with None for undefined scores."""
        cells = [
            asdict(cell) | {"difference": cell.difference, "comparable": cell.comparable}
            for cell in self.cells
        ]
        return {
            "cells": jsonable(cells),
            "vectors": {
                name: {"title": part.title, "stand_in": part.stand_in}
                for name, part in self.parts.items()
            },
            "notebook": self.notebook,
            "gates": {name: dict(part.gates) for name, part in self.parts.items()},
            "notes": self.notes,
            "summary": self.summary,
            "missing": dict(self.missing),
            "other_files": list(self.remarks),
        }


def reproduction_result(reproduction: Reproduction) -> Result:
    """Return measured scores next to published ones, in every output format."""
    return Result(
        reproduction.to_dict(),
        reproduction_tables(reproduction),
        [*reproduction.notes, *reproduction.remarks],
        [*reproduction.summary, gates_text(reproduction)],
        next(iter(reproduction.summary), ""),
        own_csv=lambda: reproduction_csv(reproduction),
    )


def reproduction_csv(reproduction: Reproduction) -> str:
    """Return CSV at full precision, with one line per cell and empty fields for missing scores."""
    head = [*(each.name for each in fields(PaperCell)), "difference"]
    return csv_text(head, ([*astuple(cell), cell.difference] for cell in reproduction.cells))


def reproduction_tables(reproduction: Reproduction) -> list[Table]:
    """Return the paper's tables for each set of vectors, with one row per cell."""
    columns = ["method", "paper", "measured", "difference", "used"]
    tables = []
    for table, title in TITLES.items():
        for vectors, part in reproduction.parts.items():
            lines, previous = [], None
            for cell in reproduction.cells:
                if (cell.table, cell.vectors) != (table, vectors):
                    continue
                figures = format_number(cell.paper), format_number(cell.measured)
                texts = (cell.method, *figures, format_signed(cell.difference))
                used = Cell(f"{cell.used}/{cell.total}{cell.mark}", faint=True)
                label = cell.dataset if cell.dataset != previous else ""
                lines.append(Line(label, [*map(Cell, texts), used]))
                previous = cell.dataset
            if lines:
                stand_in = " (stand-in)" if part.stand_in else ""
                tables.append(Table(f"{title}, {vectors}{stand_in}", columns, lines))
    return tables


def gates_text(reproduction: Reproduction) -> str:
    """Draw the first gating coefficients as text."""
    lines = []
    for name, part in reproduction.parts.items():
        lines.append(f"Variance gating coefficients of the leading directions, {name}")
        for method, gate in part.gates.items():
            bars = " ".join("▁▂▃▄▅▆▇█"[min(7, int(8 * g))] * 4 for g in gate[:12])
            figures = " ".join(f"{g:4.2f}" for g in gate[:12])
            lines += [f"  {method:<5}{bars}", f"       {figures}"]
    return "\n".join(lines)


def draw_gates(reproduction: Reproduction, path: Path) -> None:
    """Draw the paper's figure with one panel per set of vectors (needs the `plots` extra)."""

    def draw(name: str, ax: Axes) -> None:
        part = reproduction.parts[name]
        gates = {method: np.array(gate) for method, gate in part.gates.items()}
        plot_directions(gates, ax, ylabel="gating coefficient").set_ylim(bottom=-0.03)
        ax.set_title(f"{name}: {part.title}", fontsize=8)

    draw_panels(path, list(reproduction.parts), draw, width=6)
