"""Compare methods: fit each to the same vectors, score all on the same items."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.notebook import html_table
from conceptor.base.numbers import format_signed
from conceptor.base.progress import Progress, silent
from conceptor.concepts.found import Neighbour, as_data, name_rows
from conceptor.concepts.neighbours import plan_searches, without_asked
from conceptor.evaluation import Battery, Evaluation, Missing, load_battery
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.statistics import RESAMPLES, Differences, Interval, paired_differences
from conceptor.fitting import FitOptions, fit_methods
from conceptor.methods import DEFAULT_METHODS, ORIGINAL, MethodsLike
from conceptor.vectors.chunks import as_vectors, keep_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.algebra.recipes import Solution
    from conceptor.vectors.search import Nearest
    from conceptor.vectors.table import WordVectors


# The number of neighbours shown for an example word, and the number of first words of a file that
# may be examples if no benchmark has its words.
_NEIGHBOURS, _FIRST = 5, 5000
_VERDICTS = {1: "better than", -1: "worse than", 0: "level with"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Scores of every method on the same items.

    Attributes
    ----------
    vectors : str
        Name of the vectors.
    evaluations : dict of str to Evaluation
        By method; `original` is the vectors without post-processing.
    notes : sequence of str
        The data that the methods were fitted on.
    cautions : sequence of str
        Warnings about the word weights.
    solutions : dict of str to Solution
        Solutions of the methods that are a single spectral method.
    baseline : str
        The method that gains are measured against.
    baselines : dict of str to str
        Other baselines, for the methods listed here.
    examples : dict of str to dict of str to list of Neighbour
        Neighbours of example words, by method and word.
    """

    vectors: str
    evaluations: Mapping[str, Evaluation]
    notes: Sequence[str] = ()
    resamples: int = RESAMPLES
    seed: int = 0
    solutions: Mapping[str, Solution] = field(default_factory=dict, repr=False)
    baseline: str = ORIGINAL
    baselines: Mapping[str, str] = field(default_factory=dict)
    cautions: Sequence[str] = ()
    examples: Mapping[str, Mapping[str, Sequence[Neighbour]]] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """The methods' names, in order."""
        return list(self.evaluations)

    def __repr__(self) -> str:
        means = (f"{method}: {scores}" for method, scores in self._means().items())
        return f"Comparison({self.vectors}; {'; '.join(means)})"

    def _repr_html_(self) -> str:
        """Show each method's means in a notebook."""
        return html_table(self.vectors, self._means())

    def _means(self) -> dict[str, str]:
        return {
            method: ", ".join(f"{family} {mean:.2f}" for family, mean in found.means().items())
            for method, found in self.evaluations.items()
        }

    @property
    def missing(self) -> dict[str, str]:
        """Datasets that were not found, and why."""
        return next(iter(self.evaluations.values())).missing

    @cached_property
    def _differences(self) -> dict[str, Differences]:
        return self._resample(silent)

    def resample(self, progress: Progress = silent) -> None:
        """Draw the resamples now, instead of at the first interval."""
        vars(self)["_differences"] = self._resample(progress)

    def _resample(self, progress: Progress) -> dict[str, Differences]:
        """Return the gains of all other methods over the baseline, by dataset."""
        if self.baseline not in self.evaluations or self.resamples == 0:
            return {}
        statistics = {
            name: {o.dataset: o.statistic for o in evaluation.outcomes}
            for name, evaluation in self.evaluations.items()
        }
        baseline = statistics.pop(self.baseline)
        if not statistics:
            return {}
        return paired_differences(
            baseline,
            list(statistics.values()),
            resamples=self.resamples,
            seed=self.seed,
            progress=progress,
        )

    def interval(
        self, method: str, datasets: Sequence[str], against: str | None = None
    ) -> Interval | None:
        """Return the interval of a method's mean gain over its baseline on these datasets.

        `against` names another method to compare with; all methods share the same draws.
        """
        found = self.differences(method, datasets, against)
        return None if found is None else found.interval(0)

    def differences(
        self, method: str, datasets: Sequence[str], against: str | None = None
    ) -> Differences | None:
        """Return a method's mean gain on these datasets, as measured and in each resample."""
        against = against or self.baselines.get(method, self.baseline)
        others = [name for name in self.methods if name != self.baseline]
        parts = [self._differences[name] for name in datasets if name in self._differences]
        if method not in others or method == against or not parts:
            return None
        mean = Differences.mean(parts)
        mine = [others.index(method)]
        if against == self.baseline:
            return Differences(mean.measured[mine], mean.resampled[mine])
        theirs = [others.index(against)]
        return Differences(
            mean.measured[mine] - mean.measured[theirs],
            mean.resampled[mine] - mean.resampled[theirs],
        )

    def gains(self, family: str) -> dict[str, Interval]:
        """Return each method's gain over its baseline on a family's mean, with its interval."""
        if self.baseline not in self.evaluations:
            return {}
        over = [o.dataset for o in self.evaluations[self.baseline].mean_outcomes(family)]
        intervals = {
            name: self.interval(name, [each for each in over if each not in found.left_out])
            for name, found in self.evaluations.items()
        }
        return {name: interval for name, interval in intervals.items() if interval is not None}

    def gains_of(self, method: str) -> dict[str, Any]:
        """Return the JSON form of a method's gains over its baseline, by family."""
        gains = {family: self.gains(family).get(method) for family in self.families}
        return {family: jsonable(asdict(gain)) for family, gain in gains.items() if gain}

    @property
    def summary(self) -> list[str]:
        """The gains and losses of each method, one sentence each; level if not beyond chance."""
        by_family = {family: self.gains(family) for family in self.families}
        lines = []
        for method in self.methods:
            verdicts: dict[int, list[str]] = {sign: [] for sign in _VERDICTS}
            for family, gains in by_family.items():
                if method not in gains or math.isnan(gains[method].difference):
                    continue
                gain = gains[method]
                size = f" ({format_signed(gain.difference, 1)})" if gain.sign else ""
                verdicts[gain.sign].append(f"{family}{size}")
            parts: list[str] = []
            for sign, families in verdicts.items():
                if families:
                    verdict = _VERDICTS[sign]
                    whom = f"{verdict} {self.baselines.get(method, self.baseline)}"
                    parts.append(
                        f"{whom if not parts else verdict.split()[0]} on {_join(families)}"
                    )
            if parts:
                lines.append(f"{method} is {'; '.join(parts)}.")
        return lines

    @property
    def families(self) -> list[str]:
        """The tasks that were run, in order."""
        return next(iter(self.evaluations.values())).families

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "vectors": self.vectors,
            "notes": list(self.notes),
            "summary": self.summary,
            "methods": [
                {
                    "name": name,
                    "results": [row.to_dict() for row in evaluation.rows()],
                    "means": evaluation.means(),
                    "gains": self.gains_of(name),
                }
                for name, evaluation in self.evaluations.items()
            ],
            "left_out": next(iter(self.evaluations.values())).left_out,
            "examples": as_data(self.examples),
            "missing": self.missing,
        }


def _join(names: Sequence[str]) -> str:
    """Return a list as in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _choose_examples(rows: WordVectors, battery: Battery, number: int) -> list[str]:
    """Return words from the start of the file to its end, denser at the start.

    They come from word pairs, since such words mean something by themselves; if the vectors have
    too few of them, as in another language, from all words.
    """
    pairs = (task for task in battery.tasks if isinstance(task, WordSimilarity))
    asked = frozenset().union(*(task.words for task in pairs))
    pool = [word for word in rows.words if word in asked and word.isalpha()]
    if len(pool) < number:
        pool = [word for word in rows.words if word.isalpha()]
    # The first few words of a pool are often function words; they make poor examples.
    start = min(100, len(pool) // 10 + 1)
    ends = np.geomspace(start, len(pool), number).tolist() if pool else []
    return list(dict.fromkeys(pool[int(end) - 1] for end in ends))


def compare(
    vectors: object,
    methods: MethodsLike = DEFAULT_METHODS,
    tasks: Iterable[str] | Battery | None = None,
    options: FitOptions | None = None,
    *,
    name: str | None = None,
    missing: Missing | str = Missing.SKIP,
    resamples: int = RESAMPLES,
    seed: int = 0,
    examples: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Fit methods to vectors of words and score each on the same items, in two passes.

    Parameters are those of `conceptor.compare`.
    """
    options = options or FitOptions()
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, options.data)
    opened = keep_vectors(as_vectors(vectors))
    first = _FIRST if examples else 0
    found = fit_methods(
        opened, methods, options, wanted=battery.words, first=first, progress=progress
    )
    words: list[str] = []
    searches: dict[str, Nearest] = {}
    if examples:
        words = _choose_examples(next(iter(found.rows.values())), battery, examples)
        names = list(found.methods)
        ends = dict.fromkeys((names[0], names[-1])) if words else {}
        searches = plan_searches(opened, found, words, ends, n=_NEIGHBOURS)
    transforms = {method: fitted.transforms for method, fitted in found.methods.items()}
    evaluations, near = battery.run_all(
        found.rows,
        opened,
        transforms,
        Missing(missing),
        progress,
        {method: [each] for method, each in searches.items()},
    )
    remarks = [f"{name}: {one}" for name, each in evaluations.items() for one in each.remarks]
    solutions = {
        method: fitted.solution
        for method, fitted in found.methods.items()
        if fitted.solution is not None
    }
    return Comparison(
        name or opened.name,
        evaluations,
        [*found.notes, *remarks],
        resamples,
        seed,
        solutions,
        cautions=found.cautions,
        examples=without_asked(name_rows(searches, near), words, _NEIGHBOURS),
    )
