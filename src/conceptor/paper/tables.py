"""The paper's tables: published scores next to measured ones.

Liu, Ungar & Sedoc (2019) quote the original and ABTT columns from another paper's pipeline; here
all three columns come from one vocabulary and one code path (`reproduction`).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

from conceptor.base.arrays import jsonable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.paper.dialogue.study import Study

# If vectors cover fewer items, or fewer words of sentences, a score is on other data than the
# paper's.
ENOUGH = 0.9
# Words and dimension of GoogleNews-vectors-negative300.bin and of glove.840B.300d.txt.
_FILES = {"word2vec": (3_000_000, 300), "glove": (2_196_017, 300)}
# A few words more or less, as after removing duplicates, still count as the same file.
_TOLERANCE = 0.001


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


@dataclass(frozen=True, eq=False)
class Part:
    """The measurements on one set of vectors: all tables except dialogue, and the gates."""

    title: str
    stand_in: bool
    cells: Sequence[PaperCell]
    gates: Mapping[str, Sequence[float]]
    notes: Sequence[str]

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Part:
        """Return the part from its JSON form."""
        fields: list[dict[str, Any]] = [
            {name: math.nan if value is None else value for name, value in cell.items()}
            for cell in found["cells"]
        ]
        return cls(**{**found, "cells": [PaperCell(**cell) for cell in fields]})


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Every cell of the paper's tables for the given vectors."""

    cells: Sequence[PaperCell]
    parts: Mapping[str, Part] = field(repr=False)
    missing: Mapping[str, str]
    studies: Mapping[str, Study] = field(default_factory=dict, repr=False)
    notebook: bool = False

    @property
    def notes(self) -> list[str]:
        """The measured vectors, how methods were fitted, and what was left out."""
        lines = ["Conceptor Negation (Liu, Ungar & Sedoc 2019): paper, measured, difference"]
        for name, part in self.parts.items():
            lines += [f"{name}: {part.title}", *part.notes]
        if self.notebook:
            lines.append("ties in ranks and tokens as in the authors' notebook")
        if any(not cell.comparable for cell in self.cells if cell.total):
            lines.append(
                f"†: less than {ENOUGH:.0%} of the pairs or concepts, or of the sentences' words, "
                "have a vector; the score is on other data than the paper's"
            )
        for left_out, what in {"lexicon": "counter-fitting", "dialogue": "dialogue"}.items():
            if left_out in self.missing:
                lines.append(f"{what} left out: {self.missing[left_out]}")
        for name, study in self.studies.items():
            runs = len(next(iter(study.runs.values())))
            lines.append(f"{name}, dialogue: {runs} run(s) of each method; {study.notes[0]}")
        return lines

    @property
    def summary(self) -> list[str]:
        """A sentence on how close the comparable cells are to the paper's."""
        lines = []
        for name, part in self.parts.items():
            if part.stand_in:
                continue
            cells = [
                cell
                for cell in self.cells
                if cell.vectors == name and cell.comparable and not math.isnan(cell.measured)
            ]
            close = [cell for cell in cells if abs(cell.difference) <= 1.5]
            lines.append(
                f"{name}: {len(close)} of {len(cells)} comparable cells are within 1.5 points of "
                "the paper's"
            )
        return lines

    def gates(self) -> dict[str, dict[str, list[float]]]:
        """Return the variance gating coefficients of ABTT and CN (the paper's figure)."""
        return {
            name: {method: list(gate) for method, gate in part.gates.items()}
            for name, part in self.parts.items()
        }

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
            "gates": self.gates(),
            "notes": self.notes,
            "summary": self.summary,
            "missing": dict(self.missing),
        }


def file_note(name: str, words: int, dimension: int, cells: Iterable[PaperCell]) -> str | None:
    """Describe how the vectors differ from the paper's, and their coverage; None if equal."""
    their_words, their_dimension = _FILES[name]
    parts = []
    if abs(words - their_words) > _TOLERANCE * their_words:
        parts.append(f"{words:,} words instead of {their_words:,}")
    if dimension != their_dimension:
        parts.append(f"{dimension} dimensions instead of {their_dimension}")
    if not parts:
        return None
    pairs = {
        cell.dataset: (cell.used, cell.total)
        for cell in cells
        if cell.vectors == name and cell.table == "word_similarity"
    }
    used, total = (sum(each) for each in zip(*pairs.values(), strict=True)) if pairs else (0, 0)
    covered = f"; they cover {used / total:.0%} of the word pairs" if total else ""
    return (
        f"{name}: not the paper's file ({', '.join(parts)}){covered}. So differences from the "
        "paper come from the vectors too"
    )
