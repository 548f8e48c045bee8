"""The paper's protocol on the paper's vectors: what was printed, what was measured.

Liu, Ungar & Sedoc (2019) quote the original and ABTT columns from another paper's pipeline; here
all three columns come from one vocabulary and one code path.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from statistics import fmean
from typing import TYPE_CHECKING, Any

from conceptor import datasets, estimation
from conceptor.arrays import jsonable
from conceptor.chains import Lexicon
from conceptor.comparison import compare
from conceptor.dialogue_comparison import compare_dialogue, need_torch
from conceptor.errors import MissingExtraError
from conceptor.evaluation.dialogue.woz import SLOTS
from conceptor.evaluation.dialogue.woz import load as load_dialogues
from conceptor.methods import ORIGINAL, Settings
from conceptor.progress import Progress, silent
from conceptor.report import Cell, Line, Table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from conceptor.comparison import Comparison
    from conceptor.evaluation import Battery
    from conceptor.evaluation.dialogue import Options
    from conceptor.evaluation.dialogue.study import Study
    from conceptor.evaluation.dialogue.trials import Watch

__all__ = ["PaperCell", "Reproduction", "paper_tables", "reproduce"]

METHODS = (ORIGINAL, "abtt", "cn")
SUPERVISED = ("counterfit-syn", "counterfit-ant", "counterfit")
TITLES = {
    "word_similarity": "Word similarity (Spearman × 100)",
    "sts_by_year": "STS by year (Pearson × 100)",
    "sts_by_task": "STS by task (Pearson × 100)",
    "categorization": "Concept categorisation (purity × 100)",
    "supervised_simlex": "SimLex-999 with and without supervision (Spearman × 100)",
    "dialogue": "Dialogue state tracking (goal accuracy, %)",
}


@dataclass(frozen=True, slots=True)
class PaperCell:
    """A figure of the paper beside the one just measured (nan where its data is missing)."""

    vectors: str
    table: str
    dataset: str
    method: str
    paper: float
    measured: float = math.nan
    used: int = 0
    total: int = 0

    @property
    def difference(self) -> float:
        """Measured minus printed."""
        return self.measured - self.paper


def paper_tables() -> dict[str, Any]:
    """Return the paper's figures and settings."""
    path = resources.files("conceptor").joinpath("paper_tables.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Every cell of the paper's tables, for the vectors that were given."""

    cells: Sequence[PaperCell]
    comparisons: Mapping[str, Comparison] = field(repr=False)
    missing: Mapping[str, str]
    studies: Mapping[str, Study] = field(default_factory=dict, repr=False)

    @property
    def notes(self) -> list[str]:
        """What was measured on what."""
        lines = ["Conceptor Negation (Liu, Ungar & Sedoc 2019): paper, measured, difference"]
        for name, comparison in self.comparisons.items():
            lines += [f"{name}: {comparison.vectors}", *comparison.notes]
        if "lexicon" in self.missing:
            lines.append(f"counter-fitting left out: {self.missing['lexicon']}")
        if "dialogue" in self.missing:
            lines.append(f"dialogue left out: {self.missing['dialogue']}")
        for name, study in self.studies.items():
            runs = len(next(iter(study.runs.values())))
            lines.append(f"{name}, dialogue: {runs} run(s) of each method; {study.notes[0]}")
        return lines

    def tables(self) -> list[Table]:
        """Return the paper's tables for each set of vectors, one line for each of their cells."""
        return [
            _table(f"{title}, {vectors}", chosen)
            for table, title in TITLES.items()
            for vectors in self.comparisons
            if (chosen := [c for c in self.cells if (c.table, c.vectors) == (table, vectors)])
        ]

    def gates(self) -> dict[str, dict[str, list[float]]]:
        """Return the variance gating coefficients of ABTT and CN (the paper's figure)."""
        return {
            name: {
                method: [float(g) for g in estimator.gate_]
                for method, estimator in comparison.estimators.items()
            }
            for name, comparison in self.comparisons.items()
        }

    def gates_text(self, directions: int = 12) -> str:
        """Draw the first gating coefficients with characters."""
        lines = []
        for name, by_method in self.gates().items():
            lines.append(f"Variance gating coefficients of the leading directions, {name}")
            for method, gate in by_method.items():
                shown = gate[:directions]
                bars = " ".join("▁▂▃▄▅▆▇█"[min(7, int(8 * g))] * 4 for g in shown)
                figures = " ".join(f"{g:4.2f}" for g in shown)
                lines += [f"  {method:<5}{bars}", f"       {figures}"]
        return "\n".join(lines)

    def draw_gates(self, path: Path) -> None:
        """Draw the paper's figure, a panel for each set of vectors (needs the plots extra)."""
        from conceptor.plots import figure_format, plot_gates, save_figure

        figure_format(path)
        from matplotlib.figure import Figure

        count = len(self.comparisons)
        figure = Figure(figsize=(6 * count, 3.5), layout="constrained")
        for i, (name, comparison) in enumerate(self.comparisons.items(), 1):
            ax = plot_gates(comparison.estimators, figure.add_subplot(1, count, i))
            ax.set_title(name)
        save_figure(figure, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; an undefined figure is None."""
        return {
            "cells": [
                jsonable(asdict(cell) | {"difference": cell.difference}) for cell in self.cells
            ],
            "gates": self.gates(),
            "notes": self.notes,
            "missing": dict(self.missing),
        }


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


def reproduce(
    sources: Mapping[str, object],
    battery: Battery,
    *,
    dialogue: int = 1,
    options: Options | None = None,
    data: str | os.PathLike[str] | None = None,
    offline: bool = False,
    progress: Progress = silent,
    watch: Watch | None = None,
) -> Reproduction:
    """Run α = 2, d = 3 (word2vec) or 2 (GloVe), fitted on the 200-count vocabulary.

    Parameters
    ----------
    sources : mapping of `word2vec` and `glove` to vectors
        One of them is enough; each is read once for every part, in bounded memory.
    battery : Battery
        The paper's three tasks.
    dialogue : int
        How often a dialogue state tracker is trained on each method's vectors; 0 for never.
    options : Options, optional
        How it is trained.
    data, offline
        Where the estimation vocabulary is looked for, without which there is no protocol; the
        synonyms and antonyms of the supervised rows and the dialogues, without which those cells
        stay empty.
    progress, watch
        Told how far the reading is, and of every epoch of training.
    """
    paper = paper_tables()
    vocabulary = estimation.paper_vocabulary(
        datasets.fetch(estimation.PAPER_VOCABULARY, data, offline=offline)
    )
    lexicon = Lexicon(data=data, offline=offline)
    missing = dict(battery.missing) | _missing_lexicon(lexicon)
    methods = METHODS if "lexicon" in missing else METHODS + SUPERVISED
    settings = {
        name: Settings(
            aperture=paper["settings"]["aperture"],
            directions=paper["settings"]["abtt_directions"][name],
            vocabulary=vocabulary,
            lexicon=lexicon,
        )
        for name in sources
    }
    comparisons = {
        name: compare(
            source,
            battery,
            methods,
            settings[name],
            name=str(getattr(source, "path", source)),
            resamples=0,
            progress=progress,
        )
        for name, source in sources.items()
    }
    corpus = None
    try:
        need_torch()
        corpus = load_dialogues(data, offline=offline) if dialogue else None
    except (datasets.MissingDataError, MissingExtraError) as error:
        missing["dialogue"] = str(error)
    studies = {
        name: compare_dialogue(
            source,
            corpus,
            METHODS,
            settings[name],
            seeds=dialogue,
            options=options,
            progress=progress,
            watch=watch,
        )
        for name, source in sources.items()
        if corpus is not None
    }
    cells = [
        _measured(PaperCell(name, table, dataset, method, printed), comparison, studies.get(name))
        for name, comparison in comparisons.items()
        for table in TITLES
        for dataset, figures in paper[table]["rows"].items()
        for (vectors, method), printed in ((key.split("/"), cell) for key, cell in figures.items())
        if vectors == name
    ]
    return Reproduction(cells, comparisons, missing, studies)


def _missing_lexicon(lexicon: Lexicon) -> dict[str, str]:
    try:
        lexicon.synonym_files()
        lexicon.antonym_files()
    except datasets.MissingDataError as error:
        return {"lexicon": str(error)}
    return {}


def _measured(cell: PaperCell, comparison: Comparison, study: Study | None) -> PaperCell:
    if cell.table == "dialogue":
        return cell if study is None else _goals_reached(cell, study)
    try:
        row = comparison.evaluations[cell.method][cell.dataset]
    except KeyError:
        return cell
    return replace(cell, measured=row.score, used=row.used, total=row.total)


def _goals_reached(cell: PaperCell, study: Study) -> PaperCell:
    """Fill in the mean over runs, of one slot or of all."""
    slots = [slot for slot in SLOTS if cell.dataset.lower() in (slot, "average")]
    turns = sum(study.string_match[slot].total for slot in slots)
    measured = fmean(study.mean(cell.method, slot) for slot in slots)
    return replace(cell, measured=measured, used=turns, total=turns)
