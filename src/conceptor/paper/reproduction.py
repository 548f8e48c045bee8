"""Run the paper's protocol on its vectors, or on the available part of them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import MissingExtraError
from conceptor.base.progress import Progress, silent
from conceptor.data import registry
from conceptor.data.word_lists import PAPER_VOCABULARY, Directory
from conceptor.evaluation import Evaluation
from conceptor.evaluation.battery import Battery, evaluate
from conceptor.evaluation.comparison import compare
from conceptor.evaluation.task import TextTask
from conceptor.fit import FitOptions
from conceptor.methods import ORIGINAL
from conceptor.paper.counterfitting import counterfit, load_lexicon
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.tables import PaperCell, Part, Reproduction, paper_tables
from conceptor.paper.woz import SLOTS, load_corpus
from conceptor.vectors.files import as_vectors, open_vectors
from conceptor.vectors.vectors import keep

if TYPE_CHECKING:
    from conceptor.paper.dialogue import Study
    from conceptor.paper.tracker import TrackerOptions

# The paper's cn is called cn-paper here; cn is a later refinement.
METHODS = (ORIGINAL, "abtt", "cn-paper")
# The variants of counter-fitting, and the pairs of the lexicon that each uses.
SUPERVISED = {
    "counterfit-syn": ("synonyms",),
    "counterfit-ant": ("antonyms",),
    "counterfit": ("synonyms", "antonyms"),
}
# Frequent words that the whole Google News file lacks, so the paper had no vectors for them either.
NOT_IN_GOOGLE_NEWS = ("a", "and", "of", "to")
# Words and dimension of GoogleNews-vectors-negative300.bin and of glove.840B.300d.txt.
_FILES = {"word2vec": (3_000_000, 300), "glove": (2_196_017, 300)}


@dataclass(frozen=True, eq=False)
class PaperVectors:
    """Vectors for a column of the paper: its own, or a replacement."""

    vectors: object
    title: str
    stand_in: bool = False


def available_vectors(
    data: Directory = None, *, offline: bool = False, progress: Progress = silent
) -> tuple[dict[str, PaperVectors], dict[str, str]]:
    """Return the published parts of Google News and the stand-in for GloVe, and what is missing."""
    available, missing = {}, {}
    try:
        news, title = google_news_vectors(data, offline=offline, progress=progress)
        available["word2vec"] = PaperVectors(news, title)
    except registry.MissingDataError as error:
        missing["word2vec"] = str(error)
    try:
        title = "GloVe 6B 50d, a stand-in for 840B 300d: smaller vectors from less text"
        available["glove"] = PaperVectors(open_vectors("demo"), title, stand_in=True)
    except MissingExtraError as error:
        missing["glove"] = str(error)
    return available, missing


def reproduce(
    sources: Mapping[str, object],
    battery: Battery,
    *,
    dialogue: int = 0,
    options: TrackerOptions | None = None,
    resume: str | os.PathLike[str] | None = None,
    data: Directory = None,
    offline: bool = False,
    progress: Progress = silent,
) -> Reproduction:
    """Run the paper's protocol: α = 2, d = 3 (word2vec) or 2 (GloVe), the 200-count vocabulary.

    `sources` are vectors, or PaperVectors, of `word2vec`, `glove` or both; `battery` has the
    paper's three tasks. `dialogue` is the number of trackers to train for each method and slot,
    with `options` and `resume` as in `compare_dialogue`. Without lexicon or dialogues, their cells
    stay empty; without the vocabulary, methods are fitted on the words that they use otherwise.
    """
    vocabulary, remarks = None, []
    try:
        vocabulary = registry.fetch(PAPER_VOCABULARY, data, offline=offline)
    except registry.MissingDataError as error:
        remarks.append(f"fitted on other words than the paper's: {error}")
    fitting = FitOptions(vocabulary=vocabulary, data=data)
    missing, lexicon = dict(battery.missing), {}
    try:
        lexicon = load_lexicon(data, offline=offline)
    except registry.MissingDataError as error:
        missing["lexicon"] = str(error)
    simlex = Battery([task for task in battery.tasks if task.dataset == "SimLex"])
    variants = SUPERVISED if lexicon and simlex.tasks else {}
    cells: list[PaperCell] = []
    parts = {}
    for name, source in sources.items():
        if not isinstance(source, PaperVectors):
            source = PaperVectors(source, as_vectors(source).name)
        vectors = keep(as_vectors(source.vectors))
        directions = paper_tables()["settings"]["abtt_directions"][name]
        specs = {m: f"abtt:n_directions={directions}" if m == "abtt" else m for m in METHODS}
        how: dict[str, Any] = {"rows": "words", "resamples": 0, "progress": progress}
        comparison = compare(vectors, list(specs.values()), battery, fitting, **how)
        evaluations = {method: comparison.evaluations[spec] for method, spec in specs.items()}
        for variant, kinds in variants.items():
            pairs = (lexicon[kind] if kind in kinds else [] for kind in ("synonyms", "antonyms"))
            fitted = counterfit(vectors, *pairs, progress=progress)
            evaluations[variant] = evaluate(fitted, simlex, progress=progress)
        gates = {spec: solution.gate.tolist() for spec, solution in comparison.solutions.items()}
        notes = [note.replace(str(vocabulary), PAPER_VOCABULARY) for note in comparison.notes]
        study = None
        try:
            if dialogue:
                from conceptor.paper.dialogue import compare_dialogue

                corpus = load_corpus(data, offline=offline)
                how = {"options": options, "resume": resume, "progress": progress}
                methods = list(specs.values())
                study = compare_dialogue(vectors, corpus, methods, fitting, seeds=dialogue, **how)
                notes.append(f"dialogue: {dialogue} run(s) of each method; {study.notes[0]}")
        except (registry.MissingDataError, MissingExtraError) as error:
            missing["dialogue"] = str(error)
        parts[name] = Part(source.title, source.stand_in, gates, notes)
        absent = {}
        for task in battery.tasks:
            if name == "word2vec" and isinstance(task, TextTask):
                words, counts = task.texts.counts
                absent[task.dataset] = int(counts[:, np.isin(words, NOT_IN_GOOGLE_NEWS)].sum())
        cells += [_measure(cell, specs, evaluations, study, absent) for cell in _paper_cells(name)]
        their_count, size = _FILES[name]
        count = vectors.count or sum(len(labels) for labels, _ in vectors.chunks())
        # A few words more or less, as after removing duplicates, still count as the same file.
        is_same = vectors.dimension == size and abs(count - their_count) <= their_count / 1000
        if source is not sources[name] and not is_same:
            sizes = f"{count:,} words × {vectors.dimension} instead of {their_count:,} × {size}"
            why = "so differences come from the vectors too"
            remarks.append(f"{name}: not the paper's file ({sizes}), {why}")
    if not dialogue:
        missing["dialogue"] = "not requested"
    return Reproduction(cells, parts, missing, remarks)


def _paper_cells(name: str) -> list[PaperCell]:
    """Return the published scores on these vectors."""
    cells = []
    for table, content in paper_tables().items():
        for dataset, figures in content.get("rows", {}).items():
            for key, printed in figures.items():
                vectors, method = key.replace("/cn", "/cn-paper").split("/")
                if vectors == name:
                    cells.append(PaperCell(name, table, dataset, method, printed))
    return cells


def _measure(
    cell: PaperCell,
    specs: Mapping[str, str],
    evaluations: Mapping[str, Evaluation],
    study: Study | None,
    absent: Mapping[str, int],
) -> PaperCell:
    """Return a cell with its score; `absent` are tokens that the paper had no vectors for."""
    if cell.table == "dialogue":
        if study is None:
            return cell
        slots = [slot for slot in SLOTS if cell.dataset.lower() in (slot, "average")]
        turns = sum(int(study.string_match[slot][1].sum()) for slot in slots)
        score = fmean(study.mean(specs[cell.method], slot) for slot in slots)
        return replace(cell, measured=score, used=turns, total=turns, coverage=1.0)
    evaluation = evaluations.get(cell.method)
    if evaluation is None or all(row.dataset != cell.dataset for row in evaluation.rows()):
        return cell
    row = evaluation[cell.dataset]
    # The coverage of an STS year is that of all its tasks together.
    year = cell.dataset.removeprefix("STS ")
    known = total = 0
    for outcome in evaluation.outcomes:
        if outcome.dataset == cell.dataset or outcome.dataset.startswith(f"{year}/"):
            counts = outcome.known_tokens or (outcome.used, outcome.total)
            known += counts[0]
            total += counts[1] - absent.get(outcome.dataset, 0)
    share = known / total if total else math.nan
    return replace(cell, measured=row.score, used=row.used, total=row.total, coverage=share)
