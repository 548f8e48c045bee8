"""Scores that update while a slider is dragged: the spectrum of running text, two benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.recipes import Words
from conceptor.base.arrays import cosines
from conceptor.data import registry as datasets
from conceptor.evaluation.similarity import FILES, WordSimilarity
from conceptor.evaluation.statistics import value
from conceptor.explore.answers import Score
from conceptor.fitting import Request, gather
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.table import MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.recipes import Solution
    from conceptor.base.arrays import Float64
    from conceptor.explore.fitted import PageMethods
    from conceptor.explore.table import PageTable
    from conceptor.fitting import FitOptions

__all__ = ["QuickFigures"]

_BENCHMARKS = {"WS": "WordSim-353", "SimLex": "SimLex-999"}


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
                task = WordSimilarity.read(title, paths[FILES[name]])
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
        score = 100 * value(found) if self.known.any() else np.nan
        return score if np.isfinite(score) else None


def _eigenvalues(matrix: Float64) -> Float64:
    return np.asarray(np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0.0))
