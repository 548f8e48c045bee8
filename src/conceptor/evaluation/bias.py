"""Bias and quality of vectors before and after debiasing, on the same items.

docs/studies/debiasing.md describes what each measure of bias shows, and the limits of all of them.
"""

from __future__ import annotations

import itertools
import json
import math
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
from conceptor.evaluation.analogy import FAMILY, FILE, read_family
from conceptor.evaluation.battery import Battery, load_battery
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
from conceptor.vectors.vectors import Transform, Vectors, collect_rows, keep

Directory = str | os.PathLike[str] | None

# The benchmarks that debiasing must not harm.
QUALITY = ("similarity", "sts", "analogy")
# A test is left out if more than this share of one of its lists is unknown.
_MISSING = 0.2
# Up to this many divisions of the targets, all are tried; otherwise this many random ones.
_PERMUTATIONS = 20_000
# The most biased words are taken from this many first words, as in Gonen & Goldberg.
_COMMON = 50_000
# Ratings of professions from female (−1) to male (1) that count as a stereotype.
_STEREOTYPE = 0.3


class Measure(NamedTuple):
    """A measure of bias: its name, the words it needs, its number of items, and its score.

    The score is a function of item weights; 0 means no bias. It is None if too few of the words
    have a vector.
    """

    name: str
    words: Sequence[str]
    total: int
    score: Callable[[WordVectors], Statistic | None]


@dataclass(frozen=True, eq=False)
class EffectSize:
    """Cohen's d of the associations of two groups of words: difference of means over deviation.

    A word's association is its mean cosine with the first attributes, minus that with the second.
    The resampled items are the words of both groups and the attributes of both kinds; `cosines` are
    those of words × attributes, `first` are the sizes of the first group and of the first kind.
    """

    cosines: Float64
    first: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of words and attributes."""
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
        """The p-value of a permutation test of the two groups."""
        ones = np.ones((self.cosines.shape[1], 1))
        each = (self.cosines @ _contrast(ones, self.first[1]))[:, 0]
        return permutation_p_value(each[: self.first[0]], each[self.first[0] :])


def _contrast(weights: ItemWeights, first: int) -> ItemWeights:
    """Return weights that sum to the mean of the first rows minus the mean of the others."""
    one, other = weights[:first], weights[first:]
    return np.concatenate([one / one.sum(axis=0), -other / other.sum(axis=0)])


def permutation_p_value(first: Vector, second: Vector, seed: int = 0) -> float:
    """Return the share of divisions of all values whose means differ as much as in this one.

    If there are few divisions, all are tried, including this one; else random ones.
    """
    both, size = np.concatenate([first, second]), len(first)
    # The difference of means grows with the sum of the first group.
    expected = both.mean() * size
    observed = abs(first.sum() - expected)
    if math.comb(len(both), size) <= _PERMUTATIONS:
        chosen = np.array(list(itertools.combinations(range(len(both)), size)))
        extra = 0
    else:
        generator = np.random.default_rng(seed)
        orders = generator.permuted(np.tile(np.arange(len(both)), (_PERMUTATIONS, 1)), axis=1)
        chosen, extra = orders[:, :size], 1
    sums = np.abs(both[chosen].sum(axis=1) - expected)
    # Despite rounding, a division must count as being as extreme as itself.
    as_extreme = int(np.count_nonzero(sums >= observed * (1 - 1e-9)))
    return (as_extreme + extra) / (len(sums) + extra)


def association_test(name: str, *lists: Sequence[str]) -> Measure:
    """Return a WEAT: how much closer the first targets are to the first attributes than the second.

    `lists` are two lists of targets and two of attributes. The score is the effect size d of
    ``mean cos(w, A) − mean cos(w, B)`` over the targets w. p is the share of divisions of the
    targets that differ as much, in either direction, so that a reversed association does not look
    unbiased (Caliskan et al. 2017 count one direction).
    """

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
    keys = ("first_target", "second_target", "first_attribute", "second_attribute")
    for number, entry in enumerate(_read_json("bias/weat.json", data), start=1):
        parts = [entry[key] for key in keys]
        # The authors removed names that were too rare.
        lists = [
            [word for word in part["words"] if word not in part.get("remove", ())] for part in parts
        ]
        # The number distinguishes tests of the same targets, as in the paper.
        left, right = parts[2:] if parts[0]["name"] == "Male names" else parts[:2]
        name = f"WEAT {number} {left['name'].lower()}/{right['name'].lower()}"
        tests.append(association_test(name, *lists))
    return tests


def _read_json(file: str, data: Directory) -> Any:  # noqa: ANN401
    return json.loads(registry.fetch(file, data).read_text(encoding="utf-8"))


def _unit_vectors(table: WordVectors, words: Iterable[str]) -> Float64:
    rows = table.rows(words, lowercase=True)
    return unit_rows(table.vectors[rows[rows >= 0]])


@dataclass(frozen=True, eq=False)
class Gender:
    """Measures of gender, by the lists of Bolukbasi et al. 2016.

    `pairs` define the gender direction, the female word first; `specific` words have a gender by
    definition. `professions` are rated by people from female (−1) to male (1), without those that
    have a gender by definition.
    """

    pairs: Sequence[tuple[str, str]]
    specific: frozenset[str]
    professions: Mapping[str, float]

    @classmethod
    def load(cls, data: Directory = None) -> Gender:
        """Read the lists."""
        lists = _read_json("bias/bolukbasi.json", data)["gender"]
        rated = {word: rating for word, own, rating in lists["professions"] if abs(own) < 0.5}
        pairs = [(female, male) for female, male in lists["definitional_pairs"]]
        return cls(pairs, frozenset(lists["specific_full"]), rated)

    def direction(self, table: WordVectors) -> Vector:
        """Return the direction from female to male that best separates the pairs."""
        female, male = self._sides(table)
        differences = unit_rows(male) - unit_rows(female)
        axis: Vector = np.linalg.svd(differences, full_matrices=False)[2][0]
        return axis if (differences @ axis).mean() >= 0 else -axis

    def _sides(self, table: WordVectors) -> list[Float64]:
        rows = np.array([table.rows(pair, lowercase=True) for pair in self.pairs])
        rows = rows[(rows >= 0).all(axis=1)]
        if not len(rows):
            raise InvalidInputError("none of the pairs that define gender has vectors")
        return [table.vectors[column].astype(np.float64) for column in rows.T]

    def direct_bias(self, table: WordVectors) -> Statistic:
        """Return the mean of |cos(w, g)| over professions w (Bolukbasi et al. 2016).

        The direction g is computed again for each set of vectors.
        """
        return Mean(np.abs(_unit_vectors(table, self.professions) @ self.direction(table)))

    def relational_association(self, table: WordVectors) -> Statistic:
        """Return RIPA: the mean of |w·(x − y)| / |x − y| over pairs and professions w.

        Here it is divided by the mean length of the professions, so that shorter vectors do not
        score lower (Ethayarajh et al. 2019).
        """
        rows = table.rows(self.professions, lowercase=True)
        vectors = table.vectors[rows[rows >= 0]].astype(np.float64)
        female, male = self._sides(table)
        each = np.abs(vectors @ unit_rows(male - female).T).mean(axis=1)
        return Mean(each / np.linalg.norm(vectors, axis=1).mean())

    def remaining_clusters(self, vectors: Vectors, each: int = 500) -> Measure:
        """Return whether the words that were most biased still form two clusters.

        The words are those farthest along the gender direction among the first 50,000. The score
        is the share of words on the right side of a 2-means clustering (Gonen & Goldberg 2019),
        minus one half, times two: 0 is chance, 1 is all.
        """
        table = collect_rows(vectors, with_lower(itertools.chain(*self.pairs)), first=_COMMON)
        common = int((table.places < _COMMON).sum())
        along = unit_rows(table.vectors[:common]) @ self.direction(table)
        ordered = dict.fromkeys(table.words[i] for i in np.argsort(along, kind="stable"))
        neutral = [word for word in ordered if word.isalpha() and word.islower()]
        neutral = [word for word in neutral if word not in self.specific]
        each = min(each, len(neutral) // 2)
        female, male = neutral[:each], neutral[-each:]

        def score(table: WordVectors) -> Statistic:
            from sklearn.cluster import KMeans

            sides = [_unit_vectors(table, words) for words in (female, male)]
            labels = KMeans(2, n_init=10, random_state=0).fit_predict(np.concatenate(sides))
            right = labels == (np.arange(len(labels)) >= len(sides[0]))
            return Mean(2.0 * right - 1 if right.mean() >= 0.5 else 1 - 2.0 * right)

        return Measure("clusters that remain", [*female, *male], 2 * each, score)


def load_measures(vectors: Vectors, data: Directory = None) -> list[Measure]:
    """Return all measures; the original `vectors` determine which words are biased."""
    gender = Gender.load(data)
    ratings = gender.professions.items()
    male = [word for word, rating in ratings if rating >= _STEREOTYPE]
    female = [word for word, rating in ratings if rating <= -_STEREOTYPE]
    she, he = zip(*gender.pairs, strict=True)
    words, total = [*gender.professions, *he, *she], len(gender.professions)
    return [
        *load_association_tests(data),
        association_test("stereotypes of professions", male, female, he, she),
        Measure("direct bias of professions", words, total, gender.direct_bias),
        Measure("RIPA of professions", words, total, gender.relational_association),
        gender.remaining_clusters(vectors),
    ]


@dataclass(frozen=True, eq=False)
class BiasComparison:
    """Bias and quality of the same vectors, before and after several methods."""

    quality: Comparison  # similarity, STS and analogies, also those about families (`king queen`)
    # By method (`original` first) and measure, which is missing if too many of its words are.
    scores: Mapping[str, Mapping[str, Statistic]]
    totals: Mapping[str, int]  # the number of items of each measure

    @cached_property
    def resampled(self) -> dict[str, Float64]:
        """Values of each measure: methods × resamples, the draws shared by all methods."""
        zero = {name: Mean(np.zeros(each.size)) for name, each in self.scores[ORIGINAL].items()}
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
        items = {"used": score.size, "total": self.totals[measure]}
        return {"value": value(score), "low": low, "high": high, "p": p} | items

    def quality_of(self, method: str) -> dict[str, tuple[float, Interval | None]]:
        """Return the mean of each family of benchmarks, and its gain over the original."""
        evaluation = self.quality.evaluations[method]
        means: dict[str, tuple[float, Interval | None]] = {
            family: (mean, self.quality.gains(family).get(method))
            for family, mean in evaluation.means().items()
        }
        if "analogy" in means:
            means[FAMILY] = evaluation[FAMILY].score, self.quality.interval(method, [FAMILY])
        return means

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        methods = [
            {"name": name, "bias": {each: self.measured(name, each) for each in scores}}
            for name, scores in self.scores.items()
        ]
        data: dict[str, Any] = jsonable({"methods": methods, "quality": self.quality.to_dict()})
        return data


def compare_bias(
    vectors: object,
    methods: Mapping[str, Transform],
    data: Directory = None,
    *,
    tasks: Sequence[str] = QUALITY,
    resamples: int = RESAMPLES,
    progress: Progress = silent,
) -> BiasComparison:
    """Measure bias and quality of vectors, before and after each method.

    Parameters
    ----------
    vectors : path, Vectors, WordVectors, (words, array), ...
    methods : mapping of names to functions of words and rows
    data, tasks
        Directory with the benchmark files, and families of benchmarks that measure quality.
    """
    opened = keep(as_vectors(vectors))
    battery = load_battery(tasks, data)
    if "analogy" in tasks:
        family = read_family(registry.fetch(FILE, data))
        battery = Battery([*battery.tasks, family], battery.missing)
    measures = load_measures(opened, data)
    words = with_lower(itertools.chain(*(each.words for each in measures)))
    rows = collect_rows(opened, battery.words | words, progress=progress)
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
