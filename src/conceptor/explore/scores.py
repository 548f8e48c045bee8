"""Scores on the page: what a method gains and loses on words, and what it changes for texts.

Benchmarks that search all rows use fixed samples of their questions, so that they take about a
second for 400,000 words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from conceptor.evaluation import Battery, Evaluation, load_battery
from conceptor.evaluation.analogy import Analogy
from conceptor.evaluation.statistics import Differences, paired_differences
from conceptor.evaluation.synonyms import SynonymRecall
from conceptor.evaluation.unlabeled import hubness, share_kept, without_own
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from conceptor.evaluation.task import SearchTask, Task
    from conceptor.explore.table import PageTable, Side

__all__ = ["Score", "evaluate", "load_sample", "text_scores", "word_scores"]

_TITLES = {
    "similarity": ("Word similarity", "mean Spearman's ρ × 100 of {} datasets"),
    "synonyms": ("Synonym retrieval", "% of synonyms among the ten nearest words, sampled"),
    "analogy": ("Analogies", "% of analogies, sampled"),
}
_QUESTIONS, _RESAMPLES = 500, 200
# Rows whose neighbors are searched, and rows for hubness.
_SEARCHED, _HUBS, _NEAREST = 1000, 2000, 10


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
    tasks: list[Task | SearchTask] = []
    for task in load_battery(_TITLES, data, offline=True).tasks:
        if isinstance(task, Analogy):
            order = np.random.default_rng(0).permutation(len(task.questions))[:_QUESTIONS]
            questions = [task.questions[i] for i in sorted(order.tolist())]
            task = replace(task, questions=questions)
        elif isinstance(task, SynonymRecall):
            # The other words can only be answers.
            queries = [word for word in task.synonyms if word in table][:_QUESTIONS]
            synonyms = dict.fromkeys(task.synonyms, frozenset[str]())
            synonyms |= {word: task.synonyms[word] for word in queries}
            task = replace(task, synonyms=synonyms)
        if getattr(task, "among", None) is None:
            tasks.append(task)
    return Battery(tasks)


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


def text_scores(before: Side, after: Side) -> list[Score]:
    """Return the share of neighbors that stay, and how much a few rows are near to all others."""
    table = before.table
    order = np.random.default_rng(0).permutation(len(table))
    queries = order[:_SEARCHED]

    def near(side: Side) -> NDArray[np.int64]:
        nearest = Nearest(side.rows(queries), _NEAREST + 1)
        side.search(nearest)
        return without_own(nearest.rows, queries)

    same = 100 * float(share_kept(near(after), near(before)).mean())
    hubs = order[:_HUBS]
    skews = [hubness(side.rows(hubs), _NEAREST) for side in (before, after)]
    return [
        Score("Same neighbors", 100.0, same, f"% of the ten nearest of {len(queries):,} texts"),
        Score(
            "Hubness", skews[0], skews[1], f"skewness of neighbor counts among {len(hubs):,} texts"
        ),
    ]
