"""The paper's protocol on the paper's vectors: published and measured scores.

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

from conceptor.algebra.methods import ORIGINAL
from conceptor.base.arrays import jsonable
from conceptor.base.errors import MissingExtraError
from conceptor.base.progress import Progress, silent
from conceptor.comparing.dialogue import compare_dialogue, require_torch
from conceptor.comparing.words import compare
from conceptor.data import registry as datasets
from conceptor.dialogue.woz import SLOTS, load_corpus
from conceptor.fitting import FitOptions
from conceptor.lexicon.files import Lexicon
from conceptor.weights import PAPER_VOCABULARY

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.comparing.words import Comparison
    from conceptor.dialogue import TrackerOptions
    from conceptor.dialogue.study import Study
    from conceptor.dialogue.trials import Watch
    from conceptor.evaluation import Battery

# The paper calls its method cn; here cn is a later refinement, and cn-paper the paper's.
METHODS = (ORIGINAL, "abtt", "cn-paper")
SUPERVISED = ("counterfit-syn", "counterfit-ant", "counterfit")


@dataclass(frozen=True, slots=True)
class PaperCell:
    """A score from the paper and the one just measured (nan if its data is missing)."""

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
        """Measured minus published."""
        return self.measured - self.paper


def paper_tables() -> dict[str, Any]:
    """Return the paper's scores and settings."""
    path = resources.files("conceptor.comparing").joinpath("paper_tables.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Every cell of the paper's tables for the given vectors."""

    cells: Sequence[PaperCell]
    comparisons: Mapping[str, Comparison] = field(repr=False)
    missing: Mapping[str, str]
    studies: Mapping[str, Study] = field(default_factory=dict, repr=False)

    @property
    def notes(self) -> list[str]:
        """Which vectors were measured, how they were fitted, and what was left out."""
        lines = ["Conceptor Negation (Liu, Ungar & Sedoc 2019): paper, measured, difference"]
        for name, comparison in self.comparisons.items():
            lines += [f"{name}: {comparison.vectors}", *comparison.notes]
        for part, what in {"lexicon": "counter-fitting", "dialogue": "dialogue"}.items():
            if part in self.missing:
                lines.append(f"{what} left out: {self.missing[part]}")
        for name, study in self.studies.items():
            runs = len(next(iter(study.runs.values())))
            lines.append(f"{name}, dialogue: {runs} run(s) of each method; {study.notes[0]}")
        return lines

    def gates(self) -> dict[str, dict[str, list[float]]]:
        """Return the variance gating coefficients of ABTT and CN (the paper's figure)."""
        return {
            name: {method: found.gate.tolist() for method, found in comparison.solutions.items()}
            for name, comparison in self.comparisons.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with None for undefined scores."""
        cells = [asdict(cell) | {"difference": cell.difference} for cell in self.cells]
        return {
            "cells": jsonable(cells),
            "gates": self.gates(),
            "notes": self.notes,
            "missing": dict(self.missing),
        }


def reproduce(
    sources: Mapping[str, object],
    battery: Battery,
    *,
    dialogue: int = 1,
    options: TrackerOptions | None = None,
    data: str | os.PathLike[str] | None = None,
    offline: bool = False,
    progress: Progress = silent,
    watch: Watch | None = None,
) -> Reproduction:
    """Run the paper's protocol: α = 2, d = 3 (word2vec) or 2 (GloVe), the 200-count vocabulary.

    Parameters
    ----------
    sources : mapping of `word2vec` and `glove` to vectors
        One of the two is enough; each is read once per part, in bounded memory.
    battery : Battery
        The paper's three tasks.
    dialogue, options : int, and TrackerOptions, optional
        How many trackers to train for each method and slot (0 for none), and how.
    data, offline
        Where to look for the estimation vocabulary, which is required, and for the lexicon and
        the dialogues, without which their cells stay empty.
    progress, watch
        Called while reading the vectors, and after every training epoch.
    """
    paper = paper_tables()
    vocabulary = datasets.fetch(PAPER_VOCABULARY, data, offline=offline)
    lexicon = Lexicon(data=data, offline=offline)
    missing = dict(battery.missing)
    try:
        lexicon.synonym_files()
        lexicon.antonym_files()
    except datasets.MissingDataError as error:
        missing["lexicon"] = str(error)
    fitting = FitOptions(vocabulary=vocabulary, lexicon=lexicon, data=data)
    directions = paper["settings"]["abtt_directions"]
    specs = {
        name: {m: f"abtt:n_directions={directions[name]}" if m == "abtt" else m for m in METHODS}
        for name in sources
    }
    comparisons = {
        name: compare(
            source,
            [*specs[name].values(), *(() if "lexicon" in missing else SUPERVISED)],
            battery,
            fitting,
            resamples=0,
            progress=progress,
        )
        for name, source in sources.items()
    }
    corpus = None
    try:
        require_torch()
        corpus = load_corpus(data, offline=offline) if dialogue else None
    except (datasets.MissingDataError, MissingExtraError) as error:
        missing["dialogue"] = str(error)
    studies = {
        name: compare_dialogue(
            source,
            corpus,
            list(specs[name].values()),
            fitting,
            seeds=dialogue,
            options=options,
            progress=progress,
            watch=watch,
        )
        for name, source in sources.items()
        if corpus is not None
    }
    cells = [
        _fill_in(
            PaperCell(name, table, dataset, method, printed),
            specs[name].get(method, method),
            comparison,
            studies.get(name),
        )
        for name, comparison in comparisons.items()
        for table, content in paper.items()
        for dataset, figures in content.get("rows", {}).items()
        for key, printed in figures.items()
        for vectors, method in [key.replace("/cn", "/cn-paper").split("/")]
        if vectors == name
    ]
    return Reproduction(cells, comparisons, missing, studies)


def _fill_in(cell: PaperCell, spec: str, comparison: Comparison, study: Study | None) -> PaperCell:
    """Return a cell with its score, where its data was there."""
    if cell.table != "dialogue":
        try:
            row = comparison.evaluations[spec][cell.dataset]
        except KeyError:
            return cell
        return replace(cell, measured=row.score, used=row.used, total=row.total)
    if study is None:
        return cell
    # The mean over runs, for one slot or averaged over all.
    slots = [slot for slot in SLOTS if cell.dataset.lower() in (slot, "average")]
    turns = sum(study.string_match[slot].total for slot in slots)
    measured = fmean(study.mean(spec, slot) for slot in slots)
    return replace(cell, measured=measured, used=turns, total=turns)
