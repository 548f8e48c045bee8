"""Bias and quality of vectors before and after debiasing (docs/studies/concepts.md)."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from conceptor.base.arrays import Float64, jsonable, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.data import registry
from conceptor.evaluation.battery import load_battery
from conceptor.evaluation.comparison import Comparison
from conceptor.evaluation.statistics import (
    CONFIDENCE,
    RESAMPLES,
    Interval,
    ItemWeights,
    Mean,
    Statistic,
    Vector,
    paired_differences,
    value,
)
from conceptor.evaluation.task import with_lower
from conceptor.methods import ORIGINAL
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import Transform, collect_rows, keep

Directory = str | os.PathLike[str] | None

# The benchmarks that debiasing must not harm.
QUALITY = ("similarity", "sts", "analogy")
# A test is left out if more than this share of one of its lists is unknown.
_MISSING = 0.2
# Up to this many divisions of the targets, all are tried; otherwise this many random ones.
_PERMUTATIONS = 20_000
# Ratings of professions from female (−1) to male (1) that count as a stereotype.
_STEREOTYPE = 0.3


class Measure(NamedTuple):
    """A measure of bias; its score is None if too few of its words have a vector, 0 is no bias."""

    name: str
    words: Sequence[str]
    total: int  # number of items
    score: Callable[[WordVectors], Statistic | None]


@dataclass(frozen=True, eq=False, repr=False)
class EffectSize:
    """Cohen's d of the associations of two groups of words: difference of means over deviation.

    A word's association is its mean cosine with the first attributes, minus that with the second.
    """

    cosines: Float64  # words × attributes; both are resampled
    first: tuple[int, int]  # the sizes of the first group and of the first kind of attributes

    def __len__(self) -> int:
        return sum(self.cosines.shape)

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return d for each column of weights; nan if a list is empty or nothing varies."""
        words, attributes = np.split(weights, [len(self.cosines)])
        with np.errstate(invalid="ignore", divide="ignore"):
            each = self.cosines @ _contrast(attributes, self.first[1])
            total = words.sum(axis=0)
            mean = (each * words).sum(axis=0) / total
            variance = ((each - mean) ** 2 * words).sum(axis=0) / (total - 1)
            gap = (each * _contrast(words, self.first[0])).sum(axis=0)
            effect: Vector = gap / np.sqrt(variance)
        return np.where(np.isfinite(effect), effect, np.nan)

    @cached_property
    def p(self) -> float:
        """The share of divisions of all words (random ones, if many) that differ as much.

        In either direction, so that a reversed association does not look unbiased (Caliskan et al.
        2017 count one direction).
        """
        from scipy.stats import permutation_test

        ones = np.ones((self.cosines.shape[1], 1))
        each = (self.cosines @ _contrast(ones, self.first[1]))[:, 0]
        result = permutation_test(
            (each[: self.first[0]], each[self.first[0] :]),
            lambda one, other, axis: np.abs(one.mean(axis=axis) - other.mean(axis=axis)),
            vectorized=True,
            n_resamples=_PERMUTATIONS,
            alternative="greater",
            random_state=np.random.default_rng(0),
        )
        return float(result.pvalue)

    def __repr__(self) -> str:
        words, attributes = self.cosines.shape
        size = f"{words} words × {attributes} attributes"
        return f"EffectSize(d={value(self):.2f}, p={self.p:.2g}, {size})"


def _contrast(weights: ItemWeights, first: int) -> ItemWeights:
    """Return weights that sum to the mean of the first rows minus the mean of the others."""
    one, other = weights[:first], weights[first:]
    return np.concatenate([one / one.sum(axis=0), -other / other.sum(axis=0)])


def association_test(name: str, *lists: Sequence[str]) -> Measure:
    """Return a WEAT, from two lists of targets and two of attributes."""

    def score(table: WordVectors) -> Statistic | None:
        parts = [_unit_vectors(table, words) for words in lists]
        pairs = zip(parts, lists, strict=True)
        if any(len(part) < (1 - _MISSING) * len(words) for part, words in pairs):
            return None
        cosines = np.concatenate(parts[:2]) @ np.concatenate(parts[2:]).T
        return EffectSize(cosines, (len(parts[0]), len(parts[2])))

    return Measure(name, list(itertools.chain(*lists)), sum(map(len, lists)), score)


def load_association_tests(data: Directory = None) -> list[Measure]:
    """Return the ten tests of Caliskan et al., named as `WEAT 6 career/family`."""
    tests = []
    entries = json.loads(registry.fetch("bias/weat.json", data).read_text(encoding="utf-8"))
    keys = ("first_target", "second_target", "first_attribute", "second_attribute")
    for number, entry in enumerate(entries, start=1):
        parts = [entry[key] for key in keys]
        # The authors removed names that were too rare.
        lists = [[w for w in part["words"] if w not in part.get("remove", ())] for part in parts]
        # The number distinguishes tests of the same targets, as in the paper.
        left, right = parts[2:] if parts[0]["name"] == "Male names" else parts[:2]
        name = f"WEAT {number} {left['name'].lower()}/{right['name'].lower()}"
        tests.append(association_test(name, *lists))
    return tests


def _unit_vectors(table: WordVectors, words: Iterable[str]) -> Float64:
    rows = table.rows(words, lowercase=True)
    return unit_rows(table.vectors[rows[rows >= 0]])


@dataclass(frozen=True, eq=False)
class Gender:
    """Measures of gender, by the lists of Bolukbasi et al. 2016."""

    pairs: Sequence[tuple[str, str]]  # that define the gender direction, female first
    specific: frozenset[str]  # words with a gender by definition
    professions: Mapping[str, float]  # other words, rated from female (−1) to male (1)

    @classmethod
    def load(cls, data: Directory = None) -> Gender:
        """Read the lists."""
        file = registry.fetch("bias/bolukbasi.json", data)
        lists = json.loads(file.read_text(encoding="utf-8"))["gender"]
        rated = {word: rating for word, own, rating in lists["professions"] if abs(own) < 0.5}
        pairs = [(female, male) for female, male in lists["definitional_pairs"]]
        return cls(pairs, frozenset(lists["specific_full"]), rated)

    def direction(self, table: WordVectors) -> Vector:
        """Return the direction from female to male that best separates the pairs."""
        rows = np.array([table.rows(pair, lowercase=True) for pair in self.pairs])
        rows = rows[(rows >= 0).all(axis=1)]
        if not len(rows):
            raise InvalidInputError("none of the pairs that define gender has vectors")
        female, male = (unit_rows(table.vectors[column]) for column in rows.T)
        axis: Vector = np.linalg.svd(male - female, full_matrices=False)[2][0]
        return axis if ((male - female) @ axis).mean() >= 0 else -axis

    def direct_bias(self, table: WordVectors) -> Statistic:
        """Return the mean of |cos(w, g)| over professions w, for these vectors' direction g."""
        return Mean(np.abs(_unit_vectors(table, self.professions) @ self.direction(table)))


@dataclass(frozen=True, eq=False)
class BiasComparison:
    """Bias and quality of the same vectors, before and after several methods."""

    quality: Comparison  # similarity, STS and analogies
    # By method (`original` first) and measure, which is missing if too many of its words are.
    scores: Mapping[str, Mapping[str, Statistic]]
    totals: Mapping[str, int]  # the number of items of each measure

    @cached_property
    def resampled(self) -> dict[str, Float64]:
        """The values of each measure: methods × resamples, with the same draws."""
        zero = {name: Mean(np.zeros(len(each))) for name, each in self.scores[ORIGINAL].items()}
        gains = paired_differences(
            zero, list(self.scores.values()), resamples=self.quality.resamples or RESAMPLES
        )
        return {name: each.resampled / 100 for name, each in gains.items()}

    def measured(self, method: str, measure: str) -> dict[str, Any]:
        """Return the value of a measure, its bootstrap interval, and its p-value if it has one."""
        score = self.scores[method][measure]
        samples = self.resampled[measure][list(self.scores).index(method)]
        tail = 50 * (1 - CONFIDENCE)
        low, high = np.nanpercentile(samples, [tail, 100 - tail]).tolist()
        p = score.p if isinstance(score, EffectSize) else None
        items = {"used": len(score), "total": self.totals[measure]}
        return {"value": value(score), "low": low, "high": high, "p": p} | items

    def quality_of(self, method: str) -> dict[str, tuple[float, Interval | None]]:
        """Return the mean of each family of benchmarks, and its gain over the original."""
        gains, means = self.quality.gains_of(method), self.quality.evaluations[method].means()
        return {family: (mean, gains.get(family)) for family, mean in means.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        methods = [
            {"name": name, "bias": {each: self.measured(name, each) for each in scores}}
            for name, scores in self.scores.items()
        ]
        return dict(jsonable({"methods": methods, "quality": self.quality.to_dict()}))


def compare_bias(
    vectors: object,
    methods: Mapping[str, Transform],
    data: Directory = None,
    *,
    tasks: Sequence[str] = QUALITY,
    resamples: int = RESAMPLES,
    progress: Progress = silent,
) -> BiasComparison:
    """Measure bias and quality (on `tasks`) of vectors, before and after functions of them."""
    opened = keep(as_vectors(vectors))
    battery = load_battery(tasks, data)
    gender = Gender.load(data)
    ratings = gender.professions.items()
    male = [word for word, rating in ratings if rating >= _STEREOTYPE]
    female = [word for word, rating in ratings if rating <= -_STEREOTYPE]
    she, he = zip(*gender.pairs, strict=True)
    words, total = [*gender.professions, *he, *she], len(gender.professions)
    measures = [
        *load_association_tests(data),
        association_test("stereotypes of professions", male, female, he, she),
        Measure("direct bias of professions", words, total, gender.direct_bias),
    ]
    needed = with_lower(itertools.chain(*(each.words for each in measures)))
    rows = collect_rows(opened, battery.words | needed, progress=progress)
    transforms: dict[str, Transform] = {ORIGINAL: lambda _, rows: rows, **methods}
    tables = {
        name: rows.with_vectors(transform(rows.words, rows.vectors))
        for name, transform in transforms.items()
    }
    scores: dict[str, dict[str, Statistic]] = {name: {} for name in tables}
    for (name, table), measure in itertools.product(tables.items(), measures):
        if (score := measure.score(table)) is not None:
            scores[name][measure.name] = score
    evaluations, _ = battery.run_all(tables, opened, transforms, progress=progress)
    quality = Comparison(opened.name, evaluations, resamples=resamples)
    return BiasComparison(quality, scores, {each.name: each.total for each in measures})
