"""Scores on the page: what a method gains and loses on words, in about a second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from conceptor.evaluation import Battery, Evaluation, load_battery
from conceptor.evaluation.statistics import Differences, paired_differences
from conceptor.evaluation.word_tasks import Analogy, SynonymRecall
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from conceptor.evaluation.task import Task
    from conceptor.explore.table import PageTable, Side

__all__ = ["Score", "evaluate", "load_sample", "word_scores"]

_TITLES = {
    "similarity": ("Word similarity", "mean Spearman's ρ × 100 of {} datasets"),
    "synonyms": ("Synonym retrieval", "% of synonyms among the ten nearest words, sampled"),
    "analogy": ("Analogies", "% of analogies, sampled"),
}
_QUESTIONS, _RESAMPLES = 500, 200

Question = TypeVar("Question")


@dataclass(frozen=True)
class Score:
    """A score before and after; `low` and `high` bound the gain with 95% confidence, if known."""

    name: str
    before: float
    after: float
    note: str
    low: float | None = None
    high: float | None = None


def load_sample(table: PageTable, data: str | os.PathLike[str] | None) -> Battery:
    """Read the benchmarks whose files are found, with fewer questions for slow ones."""
    tasks: list[Task] = []
    for task in load_battery(_TITLES, data, offline=True).tasks:
        if isinstance(task, Analogy):
            task = replace(task, questions=_sample(task.questions))
        elif isinstance(task, SynonymRecall):
            # The other words can only be answers.
            queries = _sample([word for word in task.synonyms if word in table])
            synonyms = dict.fromkeys(task.synonyms, frozenset[str]())
            synonyms |= {word: task.synonyms[word] for word in queries}
            task = replace(task, synonyms=synonyms)
        if getattr(task, "among", None) is None:
            tasks.append(task)
    return Battery(tasks)


def _sample(questions: Sequence[Question]) -> list[Question]:
    order = np.random.default_rng(0).permutation(len(questions))[:_QUESTIONS]
    return [questions[i] for i in sorted(order.tolist())]


def evaluate(side: Side, battery: Battery) -> Evaluation:
    """Score one side on the benchmarks."""
    words = sorted(battery.words)
    places = side.table.places(words)
    present = np.flatnonzero(places != MISSING)
    places = places[present]
    rows = WordVectors([words[i] for i in present], side.rows(places), places.astype(np.int64))
    return battery.run_all({"": rows}, side.table.vectors, {"": side})[0][""]


def word_scores(before: Evaluation, after: Evaluation) -> list[Score]:
    """Return the mean score of each family of benchmarks, and the interval of its gain."""
    scores = []
    for family, (name, note) in _TITLES.items():
        pairs = [
            (old, new)
            for old, new in zip(before.outcomes, after.outcomes, strict=True)
            if old.task == family and np.isfinite([old.score, new.score]).all()
        ]
        if not pairs:
            continue
        differences = paired_differences(
            {old.dataset: old.statistic for old, _ in pairs},
            [{new.dataset: new.statistic for _, new in pairs}],
            resamples=_RESAMPLES,
        )
        gain = Differences.mean(list(differences.values())).interval(0)
        first, second = np.mean([[old.score, new.score] for old, new in pairs], axis=0).tolist()
        scores.append(Score(name, first, second, note.format(len(pairs)), gain.low, gain.high))
    return scores
