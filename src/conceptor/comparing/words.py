"""Comparing post-processors: fit each to the same vectors, score all on the same items."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conceptor.algebra.methods import DEFAULT_METHODS, ORIGINAL
from conceptor.base.arrays import jsonable
from conceptor.base.notebook import html_table
from conceptor.base.progress import Progress, silent
from conceptor.evaluation import Battery, Evaluation, Missing, load_battery
from conceptor.evaluation.statistics import RESAMPLES, Differences, Interval, paired_differences
from conceptor.fitting import FitOptions, fit_methods
from conceptor.vectors.chunks import as_vectors, vectors_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.algebra.methods import LexiconRecipe, Recipe, Solution

__all__ = ["Comparison", "compare"]


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
        What the methods were fitted on.
    cautions : sequence of str
        Warnings about the word weights.
    solutions : dict of str to Solution
        Solutions of the methods that are a single spectral method.
    baseline : str
        The method that gains are over.
    baselines : dict of str to str
        Other baselines, for the methods listed here.
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
        """Gains of all other methods over the baseline, by dataset."""
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
            baseline, list(statistics.values()), resamples=self.resamples, seed=self.seed
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
        intervals = {name: self.interval(name, over) for name in self.methods}
        return {name: interval for name, interval in intervals.items() if interval is not None}

    @property
    def summary(self) -> list[str]:
        """What each method gains and loses, in words; beyond its interval, or else level."""
        lines = []
        by_family = {family: self.gains(family) for family in self.families}
        for method in self.methods:
            found: dict[str, list[str]] = {"gains": [], "loses": [], "level on": []}
            for family, gains in by_family.items():
                if method in gains:
                    gain = gains[method]
                    kind = "gains" if gain.low > 0 else "loses" if gain.high < 0 else "level on"
                    amount = "" if kind == "level on" else f" {abs(gain.difference):.1f}"
                    found[kind].append(f"{family}{amount}")
            parts = [f"{kind} {', '.join(what)}" for kind, what in found.items() if what]
            if parts:
                against = self.baselines.get(method, self.baseline)
                lines.append(f"{method} against {against}: {'; '.join(parts)}")
        return lines

    @property
    def families(self) -> list[str]:
        """The tasks that were run, in order."""
        return next(iter(self.evaluations.values())).families

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        gains = {family: self.gains(family) for family in self.families}
        return {
            "vectors": self.vectors,
            "notes": list(self.notes),
            "summary": self.summary,
            "methods": [
                {
                    "name": name,
                    "results": [row.to_dict() for row in evaluation.rows()],
                    "means": evaluation.means(),
                    "gains": {
                        family: jsonable(asdict(by[name]))
                        for family, by in gains.items()
                        if name in by
                    },
                }
                for name, evaluation in self.evaluations.items()
            ],
            "missing": self.missing,
        }


def compare(
    vectors: object,
    methods: Sequence[str] | Mapping[str, Sequence[Recipe | LexiconRecipe]] = DEFAULT_METHODS,
    tasks: Iterable[str] | Battery | None = None,
    options: FitOptions | None = None,
    *,
    name: str | None = None,
    missing: Missing | str = Missing.SKIP,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Fit methods to vectors and score each on the same items, in one pass over the vectors.

    The scored vectors are those that `postprocess` writes for the same method and options.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    methods : names, or recipes by name
        From `original` and `conceptor.algebra.methods.METHODS`; `a+b` applies b after a. Chains
        and lexicon methods take further passes over the vectors.
    tasks : names from `conceptor.evaluation.FAMILIES`, or a Battery
        As in `conceptor.evaluation.evaluate`. A battery loaded once can serve many comparisons.
    options : FitOptions, optional
        Word weights, the vocabulary to fit on, and the lexicon.
    name, missing
        As in `conceptor.evaluation.evaluate`.
    resamples, seed
        For the paired bootstrap; 0 resamples for no intervals.
    progress
        Called while reading the vectors and fitting to a lexicon.

    Examples
    --------
    >>> from conceptor import compare
    >>> compare("glove.6B.300d.txt", ["original", "cn"])  # doctest: +SKIP
    """
    options = options or FitOptions()
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, options.data)
    title = name or vectors_name(vectors)
    opened = as_vectors(vectors)
    found = fit_methods(opened, methods, options, wanted=battery.words, progress=progress)
    transforms = {method: fitted.transforms for method, fitted in found.methods.items()}
    evaluations = battery.run_all(found.rows, opened, transforms, Missing(missing), progress)
    remarks = [f"{name}: {one}" for name, each in evaluations.items() for one in each.remarks]
    solutions = {
        method: fitted.solution
        for method, fitted in found.methods.items()
        if fitted.solution is not None
    }
    return Comparison(
        title,
        evaluations,
        [*found.notes, *remarks],
        resamples,
        seed,
        solutions,
        cautions=found.cautions,
    )
