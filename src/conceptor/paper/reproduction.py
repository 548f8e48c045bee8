"""Run the paper's protocol on its vectors, or on the available part of them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from conceptor.base.arrays import jsonable
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import replace_atomically
from conceptor.base.progress import Progress, silent
from conceptor.data import registry as datasets
from conceptor.data.word_lists import PAPER_VOCABULARY
from conceptor.evaluation.compare.words import compare
from conceptor.evaluation.texts import TextTask
from conceptor.fitting import FitOptions
from conceptor.lexicon.files import Lexicon
from conceptor.methods import ORIGINAL
from conceptor.paper.dialogue.comparing import compare_dialogue, require_torch
from conceptor.paper.dialogue.woz import SLOTS, Corpus, load_corpus
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.notebook import as_in_notebook
from conceptor.paper.tables import PaperCell, Part, Reproduction, paper_tables
from conceptor.vectors.chunks import as_vectors
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from conceptor.evaluation import Battery, Evaluation
    from conceptor.paper.dialogue.options import TrackerOptions
    from conceptor.paper.dialogue.study import Study
    from conceptor.paper.dialogue.trials import Watch

# The paper's cn is called cn-paper here; cn is a later refinement.
METHODS = (ORIGINAL, "abtt", "cn-paper")
SUPERVISED = ("counterfit-syn", "counterfit-ant", "counterfit")
# Frequent words that the whole Google News file lacks, so the paper had no vectors for them either.
NOT_IN_GOOGLE_NEWS = frozenset({"a", "and", "of", "to"})


@dataclass(frozen=True, eq=False)
class PaperVectors:
    """Vectors for a column of the paper: its own, or a replacement."""

    vectors: object
    title: str
    stand_in: bool = False


def available_vectors(
    data: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    progress: datasets.Bars | None = None,
) -> tuple[dict[str, PaperVectors], dict[str, str]]:
    """Return the available vectors of the paper, and why others are missing.

    `word2vec` are the published parts of Google News, `glove` is GloVe 6B 50d as a stand-in.
    """
    found, missing = {}, {}
    try:
        news, title = google_news_vectors(data, offline=offline, progress=progress)
        found["word2vec"] = PaperVectors(news, title)
    except datasets.MissingDataError as error:
        missing["word2vec"] = str(error)
    try:
        title = "GloVe 6B 50d, a stand-in for 840B 300d: smaller vectors from less text"
        demo = WordVectors(*datasets.demo_vectors())
        found["glove"] = PaperVectors(demo, title, stand_in=True)
    except MissingExtraError as error:
        missing["glove"] = str(error)
    return found, missing


def reproduce(
    sources: Mapping[str, object],
    battery: Battery,
    *,
    notebook: bool = False,
    dialogue: int = 0,
    options: TrackerOptions | None = None,
    resume: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    offline: bool = False,
    workers: int | None = None,
    progress: Progress = silent,
    watch: Watch | None = None,
) -> Reproduction:
    """Run the paper's protocol: α = 2, d = 3 (word2vec) or 2 (GloVe), the 200-count vocabulary.

    Parameters
    ----------
    sources : mapping of `word2vec` and `glove` to vectors, or to PaperVectors
        One of the two is enough; each is read once per part, in bounded memory. If you do not have
        the paper's files, use `available_vectors`.
    battery : Battery
        The paper's three tasks.
    notebook : bool
        Rank ties and split sentences as the authors' notebook does (needs NLTK).
    dialogue, options, workers : int, and TrackerOptions and int, optional
        The number of trackers to train for each method and slot (0 for none), their options, and
        the number of processes.
    resume : path, optional
        Directory for finished results: the tables of each set of vectors, and every tracker. They
        are not computed again.
    data, offline
        Where to find the estimation vocabulary, the lexicon and the dialogues. The vocabulary is
        required; without the others, their cells stay empty.
    progress, watch
        Called while reading the vectors, and after every training epoch.
    """
    chosen = {
        name: source
        if isinstance(source, PaperVectors)
        else PaperVectors(source, as_vectors(source).name)
        for name, source in sources.items()
    }
    specs = {name: _specify(name) for name in chosen}
    battery = as_in_notebook(battery) if notebook else battery
    vocabulary = datasets.fetch(PAPER_VOCABULARY, data, offline=offline)
    lexicon = Lexicon(data=data, offline=offline)
    missing = dict(battery.missing) | _missing_lexicon(lexicon)
    fitting = FitOptions(vocabulary=vocabulary, lexicon=lexicon, data=data)
    kept = _Finished(resume)
    parts = {}
    for name, source in chosen.items():
        key = {
            "title": source.title,
            "vectors": _identity(source.vectors),
            "notebook": notebook,
            "missing": sorted(missing),
        }
        part = kept.part(name, key)
        if part is None:
            more = () if "lexicon" in missing else SUPERVISED
            part = _measure(name, source, specs[name], more, battery, fitting, progress)
            kept.write(name, key, part)
        parts[name] = part
    corpus = _load_dialogues(dialogue, missing, data, offline=offline)
    studies = {
        name: compare_dialogue(
            source.vectors,
            corpus,
            list(specs[name].values()),
            fitting,
            seeds=dialogue,
            options=options,
            workers=workers,
            progress=progress,
            watch=watch,
            log=kept.trials(name),
        )
        for name, source in chosen.items()
        if corpus is not None
    }
    cells = [
        _add_dialogue(cell, specs[name].get(cell.method, cell.method), studies.get(name))
        for name, part in parts.items()
        for cell in part.cells
    ]
    return Reproduction(cells, parts, missing, studies, notebook)


def _missing_lexicon(lexicon: Lexicon) -> dict[str, str]:
    """Return why the lexicon is missing, if it is."""
    try:
        lexicon.synonym_files()
        lexicon.antonym_files()
    except datasets.MissingDataError as error:
        return {"lexicon": str(error)}
    return {}


def _load_dialogues(
    runs: int,
    missing: dict[str, str],
    data: str | os.PathLike[str] | None,
    *,
    offline: bool,
) -> Corpus | None:
    """Return the dialogues if trackers are wanted and can be trained; `missing` gets the reason."""
    if not runs:
        missing["dialogue"] = "not requested"
        return None
    try:
        require_torch()
        return load_corpus(data, offline=offline)
    except (datasets.MissingDataError, MissingExtraError) as error:
        missing["dialogue"] = str(error)
        return None


def _specify(name: str) -> dict[str, str]:
    """Return the paper's methods with its settings for these vectors."""
    directions = paper_tables()["settings"]["abtt_directions"][name]
    return {each: f"abtt:n_directions={directions}" if each == "abtt" else each for each in METHODS}


def _measure(
    name: str,
    source: PaperVectors,
    specs: Mapping[str, str],
    more: Sequence[str],
    battery: Battery,
    fitting: FitOptions,
    progress: Progress,
) -> Part:
    """Fill in every cell of the paper's tables for these vectors, except dialogue."""
    comparison = compare(
        source.vectors, [*specs.values(), *more], battery, fitting, resamples=0, progress=progress
    )
    nowhere = NOT_IN_GOOGLE_NEWS if name == "word2vec" else frozenset()
    excused = {
        task.dataset: sum(token in nowhere for text in task.texts.tokens for token in text)
        for task in battery.tasks
        if isinstance(task, TextTask)
    }
    cells = []
    for table, content in paper_tables().items():
        for dataset, figures in content.get("rows", {}).items():
            for key, printed in figures.items():
                vectors, method = key.replace("/cn", "/cn-paper").split("/")
                if vectors != name:
                    continue
                cell = PaperCell(name, table, dataset, method, printed)
                evaluation = comparison.evaluations.get(specs.get(method, method))
                cells.append(_fill_in(cell, evaluation, excused) if evaluation else cell)
    gates = {m: solution.gate.tolist() for m, solution in comparison.solutions.items()}
    vocabulary = str(fitting.vocabulary)
    notes = [note.replace(vocabulary, PAPER_VOCABULARY) for note in comparison.notes]
    return Part(source.title, source.stand_in, cells, gates, notes)


def _fill_in(cell: PaperCell, evaluation: Evaluation, excused: Mapping[str, int]) -> PaperCell:
    """Return a cell, with its score if its data was found.

    `excused` are tokens, by dataset, that the paper had no vectors for.
    """
    try:
        row = evaluation[cell.dataset]
    except KeyError:
        return cell
    # The coverage of an STS year is that of all its tasks together.
    year = cell.dataset.removeprefix("STS ")
    known = total = 0
    for outcome in evaluation.outcomes:
        if outcome.dataset == cell.dataset or outcome.dataset.startswith(f"{year}/"):
            some, of_all = outcome.known_tokens or (outcome.used, outcome.total)
            known += some
            total += of_all - excused.get(outcome.dataset, 0)
    share = known / total if total else math.nan
    return replace(cell, measured=row.score, used=row.used, total=row.total, coverage=share)


def _add_dialogue(cell: PaperCell, spec: str, study: Study | None) -> PaperCell:
    """Return a cell about dialogue with the mean over runs, for one slot or averaged over all."""
    if cell.table != "dialogue" or study is None:
        return cell
    slots = [slot for slot in SLOTS if cell.dataset.lower() in (slot, "average")]
    turns = sum(study.string_match[slot].total for slot in slots)
    measured = fmean(study.mean(spec, slot) for slot in slots)
    return replace(cell, measured=measured, used=turns, total=turns, coverage=1.0)


def _identity(vectors: object) -> list[Any]:
    """Return an identifier of a file, or of vectors in memory."""
    opened = as_vectors(vectors)
    states = [(str(path), path.stat()) for path in opened.files()]
    return [[path, each.st_size, each.st_mtime_ns] for path, each in states] or [repr(opened)]


@dataclass(frozen=True)
class _Finished:
    """The directory of finished parts; if it is None, nothing is kept."""

    directory: str | os.PathLike[str] | None

    def part(self, name: str, key: Mapping[str, Any]) -> Part | None:
        """Return the finished tables of these vectors, if the same command wrote them."""
        path = self._file(f"{name}.json")
        if path is None or not path.exists():
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            known, part = found["key"], Part.from_dict(found["part"])
        except (OSError, ValueError, KeyError, TypeError):
            raise InvalidInputError(
                f"{path}: not a finished part of a reproduction; remove it"
            ) from None
        return part if known == json.loads(json.dumps(key)) else None

    def write(self, name: str, key: Mapping[str, Any], part: Part) -> None:
        """Keep finished tables."""
        path = self._file(f"{name}.json")
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"key": key, "part": jsonable(asdict(part))}, indent=1)
            with replace_atomically(path) as beside:
                beside.write_text(text + "\n", encoding="utf-8")

    def trials(self, name: str) -> Path | None:
        """Return the file of finished trackers."""
        return self._file(f"{name}-trials.jsonl")

    def _file(self, name: str) -> Path | None:
        return None if self.directory is None else Path(self.directory, name)
