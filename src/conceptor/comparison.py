"""Post-processors side by side: fit each on the vectors given, score all on the same items."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conceptor.arrays import jsonable
from conceptor.chains import LEXICON_METHODS, Stream, lexicon_step, spectral_step
from conceptor.estimation import gather
from conceptor.evaluation import Missing
from conceptor.evaluation.rows import chunks_of
from conceptor.evaluation.statistics import RESAMPLES, Differences, Interval, paired_differences
from conceptor.methods import DEFAULT_METHODS, METHODS, ORIGINAL, Settings, checked
from conceptor.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from conceptor.evaluation import Battery, Evaluation, WordVectors
    from conceptor.spectral import SpectralMethod

__all__ = ["Comparison", "PostProcessed", "compare", "post_process"]


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
    baseline : str
        The method that gains are over.
    baselines : dict of str to str
        Another one, for the methods named here.
    """

    vectors: str
    evaluations: Mapping[str, Evaluation]
    notes: Sequence[str] = ()
    resamples: int = RESAMPLES
    seed: int = 0
    estimators: Mapping[str, SpectralMethod] = field(default_factory=dict, repr=False)
    baseline: str = ORIGINAL
    baselines: Mapping[str, str] = field(default_factory=dict)

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
        """Gains over the baseline by dataset, for the methods besides it."""
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
        """Return the interval of a method's mean gain on these datasets, over its baseline.

        `against` names another method to compare with; the draws are the same for all.
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
        Out of `original`, `METHODS` and `LEXICON_METHODS`; several joined by `+` are applied one
        after the other. Chains and lexicon methods take further passes over the vectors.
    settings : Settings, optional
        Aperture, directions, vocabulary, usage weights and lexicon.
    name, missing
        As in `conceptor.evaluation.evaluate`.
    resamples, seed
        Of the paired bootstrap; 0 resamples for none.
    progress
        Told how far the reading is, and the fitting to a lexicon.
    """
    found = post_process(
        vectors, battery.words, methods, settings, first=battery.first, progress=progress
    )
    evaluations = {
        method: battery.run(rows, f"{name} ({method})", missing)
        for method, rows in found.rows.items()
    }
    return Comparison(name, evaluations, found.notes, resamples, seed, found.estimators)


@dataclass(frozen=True, eq=False)
class PostProcessed:
    """The rows that an evaluation asks for, as each method leaves them.

    Attributes
    ----------
    rows : dict of str to WordVectors
        By method.
    notes : sequence of str
        What the methods were fitted on.
    estimators : dict of str to estimator
        The spectral ones, fitted.
    """

    rows: Mapping[str, WordVectors]
    notes: Sequence[str]
    estimators: Mapping[str, SpectralMethod]


def post_process(
    vectors: object,
    words: Collection[str],
    methods: Sequence[str],
    settings: Settings | None = None,
    *,
    first: int = 0,
    progress: Progress = silent,
) -> PostProcessed:
    """Fit methods on vectors, and return these words and the `first` of the file after each."""
    settings = settings or Settings()
    names = checked(methods)
    chosen = [METHODS[method] for method in names if method in METHODS]
    weightings = list(dict.fromkeys(method.weighting(settings) for method in chosen))
    gathered = gather(chunks_of(vectors, progress), weightings, words, first=first)
    moments = dict(zip(weightings, gathered.moments, strict=True))
    estimators = {
        method.name: method.estimator(settings).fit_moments(moments[method.weighting(settings)])
        for method in chosen
    }
    streams = {ORIGINAL: Stream(vectors)}
    found = {}
    for method in names:
        rows = gathered.vectors
        if method in estimators:
            rows = rows.with_vectors(estimators[method].map_(rows.vectors))
        elif method != ORIGINAL:
            stream = _stream_after(method, streams, settings, progress)
            rows = rows.with_vectors(stream.transform(rows.words, rows.vectors))
        found[method] = rows
    notes = [
        f"{', '.join(m.name for m in chosen if m.weighting(settings) is weighting)}: "
        f"fitted on {weighting.description} ({moments[weighting].count:,} of "
        f"{gathered.count:,} vectors)"
        for weighting in weightings
    ]
    notes += [
        f"{method}: aperture {estimator.aperture_:.4g}"
        for method, estimator in estimators.items()
        if hasattr(estimator, "aperture_")
    ]
    return PostProcessed(found, notes, estimators)


def _stream_after(
    method: str, streams: dict[str, Stream], settings: Settings, progress: Progress
) -> Stream:
    """Return the vectors after a method or a chain of them; what chains share is fitted once."""
    if method not in streams:
        before, _, last = method.rpartition("+")
        stream = _stream_after(before or ORIGINAL, streams, settings, progress)
        if last in LEXICON_METHODS:

            def named(label: str, fraction: float | None, words: int) -> None:
                progress(f"{method}: {label}", fraction, words)

            step = lexicon_step(LEXICON_METHODS[last](settings.lexicon), named)
        else:
            spectral = METHODS[last]
            estimator = spectral.estimator(settings)
            step = spectral_step(estimator.fit_moments, spectral.weighting(settings))
        streams[method] = stream.then(step)
    return streams[method]
