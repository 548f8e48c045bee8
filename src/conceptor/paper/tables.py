"""The paper's tables and its figure: published scores next to measured ones."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.display import format_number, format_signed
from conceptor.report.plots import draw_panels, plot_directions
from conceptor.report.result import Result
from conceptor.report.tables import Cell, Line, Table, csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {
    "word_similarity": "Word similarity (Spearman × 100)",
    "sts_by_year": "STS by year (Pearson × 100)",
    "sts_by_task": "STS by task (Pearson × 100)",
    "categorization": "Concept categorization (purity × 100)",
    "supervised_simlex": "SimLex-999 with and without supervision (Spearman × 100)",
    "dialogue": "Dialogue state tracking (goal accuracy, %)",
}
# With fewer items, or words of sentences, a score is on other data than the paper's.
ENOUGH = 0.9


def paper_tables() -> dict[str, Any]:
    """Return the paper's scores and settings."""
    tables: dict[str, Any] = json.loads(Path(__file__).with_name("tables.json").read_bytes())
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
    remarks: Sequence[str] = ()

    @property
    def notes(self) -> list[str]:
        """The measured vectors, how methods were fitted, and what was left out."""
        lines = ["Conceptor Negation (Liu, Ungar & Sedoc 2019): paper, measured, difference"]
        for name, part in self.parts.items():
            lines += [f"{name}: {part.title}", *part.notes]
        if any(cell.mark for cell in self.cells):
            few = f"less than {ENOUGH:.0%} of the pairs or concepts, or of the sentences' words,"
            lines.append(f"†: {few} have a vector; the score is on other data than the paper's")
        for missing, what in {"lexicon": "counter-fitting", "dialogue": "dialogue"}.items():
            if missing in self.missing:
                lines.append(f"{what} left out: {self.missing[missing]}")
        return lines

    @property
    def summary(self) -> list[str]:
        """A sentence on how close the comparable cells are to the paper's."""
        lines = []
        for name, part in self.parts.items():
            cells = [c for c in self.cells if c.vectors == name and c.comparable]
            close = [cell for cell in cells if abs(cell.difference) <= 1.5]
            if not part.stand_in:
                share = f"{len(close)} of {len(cells)} comparable cells"
                lines.append(f"{name}: {share} are within 1.5 points of the paper's")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with None for undefined scores."""
        parts = self.parts.items()
        cells = [
            asdict(cell) | {"difference": cell.difference, "comparable": cell.comparable}
            for cell in self.cells
        ]
        return {
            "cells": jsonable(cells),
            "vectors": {k: {"title": p.title, "stand_in": p.stand_in} for k, p in parts},
            "gates": {name: dict(part.gates) for name, part in parts},
            "notes": self.notes,
            "summary": self.summary,
            "missing": dict(self.missing),
            "other_files": list(self.remarks),
        }


def reproduction_result(reproduction: Reproduction) -> Result:
    """Return measured scores next to published ones, in every output format."""
    head = [*(each.name for each in fields(PaperCell)), "difference"]
    title, *notes = reproduction.notes
    return Result(
        reproduction.to_dict(),
        reproduction_tables(reproduction),
        [title, *reproduction.remarks, *reproduction.summary],
        notes,
        # A count of close cells means little on vectors of another size.
        next(iter([*reproduction.remarks, *reproduction.summary]), ""),
        csv=lambda: csv_text(
            head, ([*astuple(cell), cell.difference] for cell in reproduction.cells)
        ),
    )


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


def draw_gates(reproduction: Reproduction, path: Path) -> None:
    """Draw the paper's figure with one panel per set of vectors (needs the `plots` extra)."""

    def draw(name: str, ax: Axes) -> None:
        part = reproduction.parts[name]
        gates = {method: np.array(gate) for method, gate in part.gates.items()}
        plot_directions(gates, ax, ylabel="gating coefficient").set_ylim(bottom=-0.03)
        ax.set_title(fill(f"{name}: {part.title}", 80), fontsize=8)

    draw_panels(path, list(reproduction.parts), draw, width=6)
