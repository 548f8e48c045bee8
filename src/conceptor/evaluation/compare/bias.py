"""Bias and quality of vectors side by side, before and after, on the same items."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.progress import Progress, silent
from conceptor.data import registry
from conceptor.evaluation import Battery, load_battery
from conceptor.evaluation.analogy import FAMILY, FILE, read_family
from conceptor.evaluation.bias import BiasScore, load_measures
from conceptor.evaluation.compare.words import Comparison
from conceptor.evaluation.statistics import CONFIDENCE, RESAMPLES, Mean, paired_differences
from conceptor.methods import ORIGINAL
from conceptor.vectors.chunks import Transform, as_vectors, collect_rows, keep_vectors, through

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.evaluation.statistics import Interval

# The benchmarks that debiasing must not harm.
QUALITY = ("similarity", "sts", "analogy")


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure and its percentile bootstrap interval; `p` is a permutation test's."""

    value: float
    low: float
    high: float
    p: float | None = None

    @classmethod
    def of(cls, value: float, samples: NDArray[np.float64], p: float | None = None) -> Measured:
        """Return a value with the interval of its resamples."""
        tail = 50 * (1 - CONFIDENCE)
        low, high = np.nanpercentile(samples, [tail, 100 - tail])
        return cls(value, float(low), float(high), p)


@dataclass(frozen=True, eq=False)
class BiasComparison:
    """Bias and quality of the same vectors, before and after several methods.

    Attributes
    ----------
    quality : Comparison
        Similarity, STS and analogies, including those about families (`king queen`).
    scores : mapping of methods to mappings of measures to BiasScore
        `original` first; a measure is missing if too many of its words are.
    """

    quality: Comparison
    scores: Mapping[str, Mapping[str, BiasScore]]

    @property
    def measures(self) -> list[str]:
        """The measures' names, in order."""
        return list(self.scores[ORIGINAL])

    @cached_property
    def resampled(self) -> dict[str, NDArray[np.float64]]:
        """Values of each measure: methods × resamples, the draws shared by all methods."""
        zero = {
            name: Mean(np.zeros(each.statistic.size))
            for name, each in self.scores[ORIGINAL].items()
        }
        methods = [
            {name: each.statistic for name, each in of.items()} for of in self.scores.values()
        ]
        found = paired_differences(zero, methods, resamples=self.quality.resamples or RESAMPLES)
        return {name: each.resampled / 100 for name, each in found.items()}

    def measured(self, method: str, measure: str) -> Measured:
        """Return a measure of bias with its interval."""
        score = self.scores[method][measure]
        samples = self.resampled[measure][list(self.scores).index(method)]
        return Measured.of(score.value, samples, score.p)

    def quality_of(self, method: str) -> dict[str, tuple[float, Interval | None]]:
        """Return the mean of each family of benchmarks, and its gain over the original."""
        found: dict[str, tuple[float, Interval | None]] = {
            family: (mean, self.quality.gains(family).get(method))
            for family, mean in self.quality.evaluations[method].means().items()
        }
        if "analogy" in found:
            score = self.quality.evaluations[method][FAMILY].score
            found[FAMILY] = score, self.quality.interval(method, [FAMILY])
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        methods = [
            {
                "name": method,
                "bias": {
                    name: asdict(self.measured(method, name))
                    | {"used": score.used, "total": score.total}
                    for name, score in of.items()
                },
            }
            for method, of in self.scores.items()
        ]
        found: dict[str, Any] = jsonable({"methods": methods, "quality": self.quality.to_dict()})
        return found


def compare_bias(
    vectors: object,
    methods: Mapping[str, Transform],
    data: str | os.PathLike[str] | None = None,
    *,
    tasks: Sequence[str] = QUALITY,
    resamples: int = RESAMPLES,
    progress: Progress = silent,
) -> BiasComparison:
    """Measure bias and quality of vectors, before and after each method.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    methods : mapping of names to functions of words and rows
    data : path, optional
        Directory with the benchmark files.
    tasks : names from `conceptor.evaluation.FAMILIES`
        The benchmarks of quality.
    """
    opened = keep_vectors(as_vectors(vectors))
    battery = load_battery(tasks, data)
    if "analogy" in tasks:
        family = read_family(registry.fetch(FILE, data))
        battery = Battery([*battery.tasks, family], battery.missing)
    measures = load_measures(opened, data)
    wanted = battery.words.union(*(each.words for each in measures))
    rows = collect_rows(opened, wanted, progress)
    steps: dict[str, tuple[Transform, ...]] = {
        ORIGINAL: (),
        **{name: (method,) for name, method in methods.items()},
    }
    tables = {
        name: rows.with_vectors(through(rows.words, rows.vectors, some))
        for name, some in steps.items()
    }
    scores = {
        name: {each.name: score for each in measures if (score := each.score(table)) is not None}
        for name, table in tables.items()
    }
    evaluations, _ = battery.run_all(tables, opened, steps, progress=progress)
    quality = Comparison(opened.name, evaluations, resamples=resamples)
    return BiasComparison(quality, scores)
