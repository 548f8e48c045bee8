"""Scores on the page: benchmarks of pairs, of searches among all words, and texts without labels.

The first follow a slider while it is dragged. The others take about a second for 400,000 rows, on
fixed samples of the questions, so the page requests them only when a slider rests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.recipes import Solution, Words
from conceptor.base.arrays import Float64, cosines
from conceptor.data import registry as datasets
from conceptor.evaluation import analogy, neighbours
from conceptor.evaluation.battery import Battery
from conceptor.evaluation.own import read_words
from conceptor.evaluation.similarity import FILES, WordSimilarity
from conceptor.evaluation.statistics import value
from conceptor.evaluation.unlabelled import hubness, share_kept, without_own
from conceptor.explore.answers import Score, Settings
from conceptor.explore.cache import Cache
from conceptor.fitting import FitOptions, Request, gather
from conceptor.vectors.chunks import Transform, read_chunks, through
from conceptor.vectors.search import Nearest, search
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.evaluation.result import Evaluation
    from conceptor.explore.fitted import PageMethods
    from conceptor.explore.table import PageTable

_BENCHMARKS = {"WS": "WordSim-353", "SimLex": "SimLex-999"}
_TITLES = {
    "Google semantic": ("Analogies, meaning", "of analogies such as Athens : Greece, all words"),
    "Google syntactic": ("Analogies, grammar", "of analogies such as big : bigger, all words"),
    "synonyms@10": ("Neighbours", "of a word's synonyms among its ten nearest of all words"),
}
# Sizes of samples: questions of a benchmark; rows whose neighbours are searched, and for hubness.
_QUESTIONS, _ASKED, _HUBS = 500, 1000, 2000
_NEAR = 10
_KEPT = 64


class QuickFigures:
    """Spectrum and scores of a table before and after a solution, and of a second file."""

    def __init__(
        self, table: PageTable, other: PageTable | None, methods: PageMethods, options: FitOptions
    ) -> None:
        self._table, self._other, self._methods, self._options = table, other, methods, options

    def spectrum(self, solution: Solution | None) -> Float64:
        """Return the spectrum of running text after the method; None is the second file."""
        if solution is None:
            return self._other_spectrum
        moments = self._methods.usage_moments(unit=solution.map.unit)
        shift = moments.mean - solution.map.offset
        centred = moments.covariance + np.outer(shift, shift)
        return _eigenvalues(solution.map.matrix.T @ centred @ solution.map.matrix)

    @cached_property
    def spectrum_before(self) -> Float64:
        """The spectrum of running text before the method."""
        return _eigenvalues(self._methods.usage_moments(unit=False).second_moment)

    @cached_property
    def _other_spectrum(self) -> Float64:
        assert self._other is not None
        weights = self._options.weights_for(Words.USAGE, self._other.vectors)
        found = gather(read_chunks(self._other.vectors), Request([weights]))
        return _eigenvalues(found.moments[weights].second_moment)

    def scores(self, solution: Solution | None) -> list[Score]:
        """Return benchmarks before and after; None is the second file."""
        found = []
        for before, pairs, other in self._benchmarks:
            after, change = (other or pairs, None) if solution is None else (pairs, solution.map)
            score = after.score(change)
            used = f"{int(after.known.sum()):,} of {len(after.known):,} pairs"
            note = f"Spearman × 100, {used}"
            found.append(Score(pairs.task.dataset, before, score, note))
        return found

    @cached_property
    def _benchmarks(self) -> list[tuple[float | None, _Pairs, _Pairs | None]]:
        """The score before, and the vectors of a benchmark's pairs in each table."""
        if self._table.of_texts:
            return []
        paths, _ = datasets.fetch_all(
            [FILES[name] for name in _BENCHMARKS], self._options.data, offline=True
        )
        found = []
        for name, title in _BENCHMARKS.items():
            if FILES[name] in paths:
                task = read_words(title, paths[FILES[name]])
                pairs = _Pairs.look_up(task, self._table)
                other = None if self._other is None else _Pairs.look_up(task, self._other)
                found.append((pairs.score(None), pairs, other))
        return found


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The vectors of a benchmark's words, looked up once; pairs that lack one are left out."""

    task: WordSimilarity
    known: NDArray[np.bool_]
    left: NDArray[np.float32]
    right: NDArray[np.float32]

    @classmethod
    def look_up(cls, task: WordSimilarity, table: PageTable) -> _Pairs:
        left, right = (table.vectors.rows(words) for words in zip(*task.pairs, strict=True))
        known = (left != MISSING) & (right != MISSING)
        return cls(task, known, table.rows[left[known]], table.rows[right[known]])

    def score(self, change: AffineMap | None) -> float | None:
        """Return the score of `WordSimilarity.score`, after a map if there is one."""
        sides = (self.left, self.right) if change is None else map(change, (self.left, self.right))
        found = self.task.correlate(cosines(*sides), np.asarray(self.task.gold)[self.known])
        return _finite(100 * value(found)) if self.known.any() else None


def _eigenvalues(matrix: Float64) -> Float64:
    return np.asarray(np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0.0))


class SlowFigures(ABC):
    """Scores that need a search among all rows, before and after; keeps the last few."""

    def __init__(self, table: PageTable, other: PageTable | None, options: FitOptions) -> None:
        self._table, self._other, self._options = table, other, options
        self._scores: Cache[list[Score]] = Cache(_KEPT)

    def scores(self, settings: Settings, solution: Solution | None) -> list[Score]:
        """Return the scores at some settings; None is the second file."""
        return self._scores.get(settings, lambda: self._make(solution))

    @abstractmethod
    def _make(self, solution: Solution | None) -> list[Score]: ...


class SearchedFigures(SlowFigures):
    """Analogies, and synonyms among neighbours."""

    def _make(self, solution: Solution | None) -> list[Score]:
        if not self._battery.tasks:
            return []
        if solution is not None:
            after = self._evaluate(self._table, _steps(solution.map))
        else:
            assert self._other is not None
            after = self._evaluate(self._other, ())
        found = []
        for old, new in zip(self._before.outcomes, after.outcomes, strict=True):
            title, what = _TITLES[new.dataset]
            note = f"% {what}; a sample of {new.used:,}"
            found.append(Score(title, _finite(old.score), _finite(new.score), note))
        return found

    @cached_property
    def _before(self) -> Evaluation:
        return self._evaluate(self._table, ())

    def _evaluate(self, table: PageTable, steps: tuple[Transform, ...]) -> Evaluation:
        words = sorted(self._battery.words)
        rows = table.vectors.rows(words)
        known = np.flatnonzero(rows != MISSING)
        rows = rows[known]
        wanted = through((), np.asarray(table.rows[rows], dtype=np.float32), steps)
        kept = WordVectors([words[i] for i in known], wanted, places=rows.astype(np.int64))
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


class TextFigures(SlowFigures):
    """Neighbours kept, and hubness; none for a second file, which has other rows."""

    def _make(self, solution: Solution | None) -> list[Score]:
        if solution is None:
            return []
        near = self._near(_steps(solution.map))
        kept = 100 * float(share_kept(near, self._before).mean())
        note = f"a sample of {len(near):,} rows, searched among all"
        rows = np.asarray(self._table.rows[self._order[:_HUBS]])
        before, after = (_finite(hubness(each, _NEAR)) for each in (rows, solution.map(rows)))
        hubs = f"skewness of neighbour counts, among {len(rows):,} rows"
        return [
            Score("Neighbours kept", 100.0, kept, f"% of the ten nearest; {note}"),
            Score("Hubness", before, after, hubs),
        ]

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.random.default_rng(0).permutation(len(self._table))

    @cached_property
    def _before(self) -> NDArray[np.int64]:
        return self._near(())

    def _near(self, steps: tuple[Transform, ...]) -> NDArray[np.int64]:
        asked = self._order[:_ASKED]
        found = Nearest(through((), np.asarray(self._table.rows[asked]), steps), _NEAR + 1)
        search(self._table.vectors, {"": [found]}, {"": steps})
        return without_own(found.rows, asked)


def _steps(change: AffineMap) -> tuple[Transform, ...]:
    """Return a map as the only step of a method, in single precision."""
    return (lambda _, rows: np.asarray(change(rows), dtype=np.float32),)


def _finite(score: float) -> float | None:
    return score if np.isfinite(score) else None
