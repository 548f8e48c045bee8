"""Post-processors side by side: fit each on the vectors given, score all on the same items."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from conceptor import datasets, estimation
from conceptor.errors import InvalidInputError
from conceptor.estimation import Weighting
from conceptor.evaluation import Missing
from conceptor.evaluation.statistics import RESAMPLES, Differences, Interval, paired_differences
from conceptor.progress import Progress, silent
from conceptor.usage import Usage, alphabetical, read_counts, usage

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from conceptor.estimators import SpectralPostprocessor
    from conceptor.evaluation import Battery, Evaluation

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "Comparison",
    "Method",
    "Settings",
    "compare",
    "settings_for",
]

ORIGINAL = "original"
FIRST_WORDS = Weighting(Usage(top=50_000), "the first 50,000 words")
RANKS = Weighting(Usage("zipf"), "all words, weighted by rank in the file")


@dataclass(frozen=True)
class Settings:
    """What the methods are fitted with: their authors' choices unless told otherwise.

    `aperture` is that of the paper's CN, `usage_aperture` that of CN weighted by usage.
    """

    aperture: float = 2.0
    usage_aperture: float | Literal["auto"] = "auto"
    directions: int = 2
    ridge: float = 50.0
    vocabulary: Weighting = FIRST_WORDS
    usage: Weighting = RANKS


@dataclass(frozen=True)
class Method:
    """A row of the table of methods: its estimator, and what it is fitted on."""

    name: str
    description: str
    estimator: Callable[[Settings], SpectralPostprocessor]
    weighting: Callable[[Settings], Weighting]


def _vocabulary(settings: Settings) -> Weighting:
    return settings.vocabulary


def _usage(settings: Settings) -> Weighting:
    return settings.usage


def _function_words(_: Settings) -> Weighting:
    return _english_function_words()


@cache
def _english_function_words() -> Weighting:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return Weighting(Usage(vocabulary=ENGLISH_STOP_WORDS), "scikit-learn's English function words")


def _cn(settings: Settings) -> SpectralPostprocessor:
    from conceptor.estimators import ConceptorNegation

    return ConceptorNegation(aperture=settings.aperture)


def _cn_usage(settings: Settings) -> SpectralPostprocessor:
    from conceptor.estimators import ConceptorNegation

    return ConceptorNegation(aperture=settings.usage_aperture)


def _abtt(settings: Settings) -> SpectralPostprocessor:
    from conceptor.estimators import AllButTheTop

    return AllButTheTop(directions=settings.directions)


def _pvn(settings: Settings) -> SpectralPostprocessor:
    from conceptor.estimators import PrincipalVarianceNormalization

    return PrincipalVarianceNormalization(directions=settings.directions)


def _whitening(_: Settings) -> SpectralPostprocessor:
    from conceptor.estimators import Whitening

    return Whitening()


def _hsr(settings: Settings) -> SpectralPostprocessor:
    from conceptor.estimators import HalfSiblingRegression

    return HalfSiblingRegression(ridge=settings.ridge)


METHODS = {
    method.name: method
    for method in (
        Method("abtt", "All-But-The-Top", _abtt, _vocabulary),
        Method("cn", "Conceptor Negation", _cn, _vocabulary),
        Method("cn-zipf", "Conceptor Negation weighted by usage", _cn_usage, _usage),
        Method("whitening", "ZCA whitening", _whitening, _vocabulary),
        Method("zipf-whitening", "whitening weighted by usage", _whitening, _usage),
        Method("pvn", "Principal Variance Normalization", _pvn, _vocabulary),
        Method("hsr", "Half-Sibling Regression by ridge", _hsr, _function_words),
    )
}
DEFAULT_METHODS = (ORIGINAL, "abtt", "cn", "cn-zipf")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of every method on the same items.

    Attributes
    ----------
    vectors : str
        What was post-processed.
    evaluations : dict of str to Evaluation
        By method; the vectors as they came are `original`.
    notes : sequence of str
        What the methods were fitted on.
    """

    vectors: str
    evaluations: Mapping[str, Evaluation]
    notes: Sequence[str] = ()
    resamples: int = RESAMPLES
    seed: int = 0
    estimators: Mapping[str, SpectralPostprocessor] = field(default_factory=dict, repr=False)
    baseline: str = ORIGINAL

    @property
    def methods(self) -> list[str]:
        """The methods' names, in order."""
        return list(self.evaluations)

    @property
    def missing(self) -> dict[str, str]:
        """Datasets that could not be had, and why."""
        return next(iter(self.evaluations.values())).missing

    @cached_property
    def _differences(self) -> dict[str, Differences]:
        """Gains over the original by dataset, for the methods after it."""
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
        """Return the interval of a method's mean gain on these datasets, over the baseline.

        `against` names another method to compare with; the draws are the same for all.
        """
        found = self.differences(method, datasets, against)
        return None if found is None else found.interval(0)

    def differences(
        self, method: str, datasets: Sequence[str], against: str | None = None
    ) -> Differences | None:
        """Return a method's mean gain on these datasets, as measured and in each resample."""
        others = [name for name in self.methods if name != self.baseline]
        parts = [self._differences[name] for name in datasets if name in self._differences]
        if method not in others or not parts:
            return None
        mean = Differences.mean(parts)
        mine = [others.index(method)]
        if against is None or against == self.baseline:
            return Differences(mean.measured[mine], mean.resampled[mine])
        theirs = [others.index(against)]
        return Differences(
            mean.measured[mine] - mean.measured[theirs],
            mean.resampled[mine] - mean.resampled[theirs],
        )

    def gains(self, family: str) -> dict[str, Interval]:
        """Return each method's gain over the baseline on a family's mean, with its interval."""
        if self.baseline not in self.evaluations:
            return {}
        over = [o.dataset for o in self.evaluations[self.baseline].mean_outcomes(family)]
        intervals = {name: self.interval(name, over) for name in self.methods}
        return {name: interval for name, interval in intervals.items() if interval is not None}

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
            "methods": [
                {
                    "name": name,
                    "results": [row.to_dict() for row in evaluation.rows()],
                    "means": evaluation.means(),
                    "gains": {
                        family: {"difference": i.difference, "low": i.low, "high": i.high}
                        for family, by_method in gains.items()
                        if (i := by_method.get(name)) is not None
                    },
                }
                for name, evaluation in self.evaluations.items()
            ],
            "missing": self.missing,
        }


def compare(
    vectors: object,
    battery: Battery,
    methods: Sequence[str] = DEFAULT_METHODS,
    settings: Settings | None = None,
    *,
    name: str = "vectors",
    missing: Missing = Missing.SKIP,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Fit methods on vectors and score each on the same items, in one pass over the vectors.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    battery : Battery
        From `conceptor.evaluation.load`.
    methods : names
        Out of `original` and `METHODS`.
    settings : Settings, optional
        Aperture, directions, vocabulary and usage weights.
    name, missing
        As in `conceptor.evaluation.evaluate`.
    resamples, seed
        Of the paired bootstrap; 0 resamples for none.
    progress
        Told how far the reading is.
    """
    settings = settings or Settings()
    chosen = [METHODS[method] for method in checked(methods) if method != ORIGINAL]
    weightings = list(dict.fromkeys(method.weighting(settings) for method in chosen))
    gathered = estimation.gather(
        estimation.chunks_of(vectors, progress), weightings, battery.words, first=battery.first
    )
    moments = dict(zip(weightings, gathered.moments, strict=True))
    squares = dict(zip(weightings, gathered.squared_weights, strict=True))
    estimators = {}
    for each in chosen:
        over = each.weighting(settings)
        estimators[each.name] = each.estimator(settings).fit_moments(moments[over], squares[over])
    evaluations = {}
    for method in dict.fromkeys(methods):
        rows = gathered.vectors
        if method != ORIGINAL:
            rows = rows.with_vectors(estimators[method].map_(rows.vectors))
        evaluations[method] = battery.run(rows, f"{name} ({method})", missing)
    notes = [
        f"{', '.join(m.name for m in chosen if m.weighting(settings) is weighting)}: "
        f"fitted on {weighting.description} ({moments[weighting].count:,} of "
        f"{gathered.count:,} vectors)"
        for weighting in weightings
    ]
    return Comparison(name, evaluations, notes, resamples, seed, estimators)


def checked(methods: Sequence[str]) -> list[str]:
    """Return the methods, each once; an error for a name that is none."""
    for method in methods:
        if method != ORIGINAL and method not in METHODS:
            known = ", ".join([ORIGINAL, *METHODS])
            raise InvalidInputError(f"no method is called {method!r}; the methods are {known}")
    if not methods:
        raise InvalidInputError("no method was named")
    return list(dict.fromkeys(methods))


def settings_for(
    vectors: object,
    *,
    vocabulary: str | None = None,
    usage: str | None = None,
    data: str | os.PathLike[str] | None = None,
    offline: bool = False,
    aperture: float = 2.0,
    usage_aperture: float | Literal["auto"] = "auto",
    directions: int = 2,
    ridge: float = 50.0,
) -> Settings:
    """Return the settings for some vectors from what users write.

    Parameters
    ----------
    vectors : path, open source, WordVectors, ...
        Only their first words are looked at.
    vocabulary : `top:N`, a file of words, or None
        None is the paper's list where it can be had, else the first 50,000 words.
    usage : `zipf`, `wordfreq:LANG`, a file of "word count" lines, or None
        None is `zipf`, or for a file in alphabetical order, where ranks mean nothing, the counts
        of the paper's list if that can be had.
    data, offline
        Where the paper's list is looked for.
    aperture, usage_aperture, directions, ridge
        Of CN, CN weighted by usage, ABTT and PVN, HSR.
    """
    listed: Path | None = None
    if vocabulary is None or usage is None:
        with suppress(datasets.MissingDataError):
            listed = datasets.fetch(estimation.PAPER_VOCABULARY, data, offline=offline)
    return Settings(
        aperture=aperture,
        usage_aperture=usage_aperture,
        directions=directions,
        ridge=ridge,
        vocabulary=_choose_vocabulary(vocabulary, listed),
        usage=_choose_usage(usage, listed, vectors),
    )


def _choose_vocabulary(choice: str | None, listed: Path | None) -> Weighting:
    if choice is None:
        return FIRST_WORDS if listed is None else estimation.paper_vocabulary(listed)
    chosen = usage(vocabulary=choice)
    top = f"the first {chosen.top:,} words" if chosen.top else f"the words of {choice}"
    return Weighting(chosen, top)


def _choose_usage(choice: str | None, listed: Path | None, vectors: object) -> Weighting:
    if choice is None and listed is not None and _alphabetical(vectors):
        counts = usage(read_counts(listed))
        return Weighting(counts, "words weighted by their counts in Wikipedia (2015)")
    if choice is None or choice == "zipf":
        return RANKS
    return Weighting(usage(choice), f"words weighted by {choice}")


def _alphabetical(vectors: object) -> bool:
    words, _ = next(estimation.chunks_of(vectors))
    return alphabetical(list(words[:1000]))
