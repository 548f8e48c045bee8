"""Benchmarks that search all words, scored as in `evaluate`: a method may lose on them.

Fixed samples of the questions take about a second for 400,000 words, so the page requests them
only when a slider rests.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.data import registry as datasets
from conceptor.evaluation import analogy, neighbours
from conceptor.evaluation.battery import Battery
from conceptor.explore.answers import Score
from conceptor.explore.cache import Cache
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.recipes import Solution
    from conceptor.evaluation.result import Evaluation
    from conceptor.explore.answers import Settings
    from conceptor.explore.table import PageTable
    from conceptor.fitting import FitOptions


_QUESTIONS = 500
_KEPT = 64
_TITLES = {
    "Google semantic": ("Analogies, meaning", "of analogies such as Athens : Greece, all words"),
    "Google syntactic": ("Analogies, grammar", "of analogies such as big : bigger, all words"),
    "synonyms@10": ("Neighbours", "of a word's synonyms among its ten nearest of all words"),
}


class SearchedFigures:
    """Analogies and synonyms among neighbours, before and after; keeps the last few."""

    def __init__(self, table: PageTable, other: PageTable | None, options: FitOptions) -> None:
        self._table, self._other, self._options = table, other, options
        self._scores: Cache[list[Score]] = Cache(_KEPT)

    def scores(self, settings: Settings, solution: Solution | None) -> list[Score]:
        """Return the scores at some settings; None is the second file."""
        return self._scores.get(settings, lambda: self._make(solution))

    def _make(self, solution: Solution | None) -> list[Score]:
        if not self._battery.tasks:
            return []
        if solution is not None:
            after = self._evaluate(self._table, solution.map)
        else:
            assert self._other is not None
            after = self._evaluate(self._other)
        found = []
        for old, new in zip(self._before.outcomes, after.outcomes, strict=True):
            title, what = _TITLES[new.dataset]
            note = f"% {what}; a sample of {new.used:,}"
            found.append(Score(title, _finite(old.score), _finite(new.score), note))
        return found

    @cached_property
    def _before(self) -> Evaluation:
        return self._evaluate(self._table)

    def _evaluate(self, table: PageTable, change: AffineMap | None = None) -> Evaluation:
        words = sorted(self._battery.words)
        rows = table.vectors.rows(words)
        known = np.flatnonzero(rows != MISSING)
        rows = rows[known]
        wanted = np.asarray(table.rows[rows], dtype=np.float32)

        def transform(_: Sequence[str], some: NDArray[np.float32]) -> NDArray[np.float32]:
            assert change is not None
            return np.asarray(change(some), dtype=np.float32)

        if change is not None:
            wanted = transform((), wanted)
        kept = WordVectors([words[i] for i in known], wanted, places=rows.astype(np.int64))
        steps = () if change is None else (transform,)
        found, _ = self._battery.run_all({"": kept}, table.vectors, {"": steps})
        return found[""]

    @cached_property
    def _battery(self) -> Battery:
        """Samples of the benchmarks whose files are found."""
        paths, _ = datasets.fetch_all(
            [analogy.FILE, neighbours.FILE], self._options.data, offline=True
        )
        tasks: list[analogy.Analogy | neighbours.SynonymRecall] = []
        if analogy.FILE in paths:
            for task in analogy.read_analogies(paths[analogy.FILE]):
                if task.among is None:
                    tasks.append(analogy.Analogy(task.dataset, _sample(task.questions)))
        if neighbours.FILE in paths:
            (whole, *_) = neighbours.read_neighbours(paths[neighbours.FILE])
            tasks.append(_fewer(whole, self._table))
        return Battery(tasks)


def _finite(score: float) -> float | None:
    return score if np.isfinite(score) else None


def _sample(questions: Sequence[analogy.Question]) -> list[analogy.Question]:
    order = np.random.default_rng(0).permutation(len(questions))[:_QUESTIONS]
    return [questions[i] for i in sorted(order.tolist())]


def _fewer(task: neighbours.SynonymRecall, table: PageTable) -> neighbours.SynonymRecall:
    """Query fewer words; the others are listed without synonyms, so they are only answers."""
    asked = [word for word in task.synonyms if word in table.vectors][:_QUESTIONS]
    synonyms = dict.fromkeys(task.synonyms, frozenset[str]())
    return neighbours.SynonymRecall(
        task.dataset, synonyms | {word: task.synonyms[word] for word in asked}
    )
