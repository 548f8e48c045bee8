"""Measures of bias in vectors: associations, a direction, and clusters that remain.

docs/studies/debiasing.md describes what each shows, and the limits of all of them.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.data import registry
from conceptor.evaluation.statistics import Mean, value
from conceptor.evaluation.task import with_lower
from conceptor.vectors.chunks import collect_rows, read_chunks

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.evaluation.statistics import ItemWeights, Statistic, Vector
    from conceptor.vectors.table import WordVectors
    from conceptor.vectors.vectors import Vectors

    Pair = tuple[str, str]


WEAT_FILE, GENDER_FILE = "bias/weat.json", "bias/bolukbasi.json"
# A test is left out if more than this share of one of its lists is unknown.
_MISSING = 0.2
# Up to this many divisions of the targets, all are tried; otherwise this many random ones.
_PERMUTATIONS = 20_000
# The most biased words are taken from this many first words, as in Gonen & Goldberg.
COMMON = 50_000


@dataclass(frozen=True, eq=False)
class BiasScore:
    """One measure of bias; 0 means no bias.

    `statistic` gives the value for resamples of its items.
    """

    name: str
    statistic: Statistic = field(repr=False)
    used: int
    total: int

    @cached_property
    def value(self) -> float:
        """The measure, with every item counted once."""
        return value(self.statistic)

    @cached_property
    def p(self) -> float | None:
        """The p-value of a permutation test, for effect sizes."""
        if not isinstance(self.statistic, EffectSize):
            return None
        return permutation_p_value(*self.statistic.associations)


@dataclass(frozen=True, eq=False)
class EffectSize:
    """Cohen's d of the associations of two groups of words: difference of means over deviation.

    A word's association is its mean cosine with the first attributes, minus that with the second.
    The resampled items are the words of both groups and the attributes of both kinds.

    Attributes
    ----------
    cosines : ndarray of words × attributes
    groups, kinds : the sizes of the two groups of words, and of the two kinds of attributes
    """

    cosines: NDArray[np.float64]
    groups: tuple[int, int]
    kinds: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of words and attributes."""
        return sum(self.cosines.shape)

    @property
    def associations(self) -> tuple[Vector, Vector]:
        """The associations of each group, with every attribute counted once."""
        each = self.cosines @ _contrast(np.ones((sum(self.kinds), 1)), self.kinds[0])
        return each[: self.groups[0], 0], each[self.groups[0] :, 0]

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return d for each column of weights; nan if a list is empty or nothing varies."""
        words, attributes = np.split(weights, [sum(self.groups)])
        with np.errstate(invalid="ignore", divide="ignore"):
            each = self.cosines @ _contrast(attributes, self.kinds[0])
            total = words.sum(axis=0)
            mean = (each * words).sum(axis=0) / total
            variance = ((each - mean) ** 2 * words).sum(axis=0) / (total - 1)
            gap = (each * _contrast(words, self.groups[0])).sum(axis=0)
            found: Vector = gap / np.sqrt(variance)
        return np.where(np.isfinite(found), found, np.nan)


def _contrast(weights: ItemWeights, first: int) -> ItemWeights:
    """Return weights that sum to the mean of the first rows minus the mean of the others."""
    one, other = weights[:first], weights[first:]
    return np.concatenate([one / one.sum(axis=0), -other / other.sum(axis=0)])


@dataclass(frozen=True, eq=False)
class AssociationTest:
    """WEAT: how much closer the first targets are to the first attributes than the second are.

    The score is the effect size d of ``mean cos(w, A) − mean cos(w, B)`` over the targets w. p is
    the share of divisions of the targets that differ as much, in either direction, so that a
    reversed association does not look unbiased (Caliskan et al. 2017 count one direction).
    """

    name: str
    targets: tuple[Sequence[str], Sequence[str]]
    attributes: tuple[Sequence[str], Sequence[str]]

    @property
    def words(self) -> frozenset[str]:
        """Every word, and its lower-cased form."""
        return with_lower(itertools.chain(*self.targets, *self.attributes))

    def score(self, vectors: WordVectors) -> BiasScore | None:
        """Return d and p; None if more than a fifth of a list is unknown."""
        lists = [*self.targets, *self.attributes]
        found = [_known(vectors, words) for words in lists]
        if any(len(f) < (1 - _MISSING) * len(w) for f, w in zip(found, lists, strict=True)):
            return None
        words, attributes = np.concatenate(found[:2]), np.concatenate(found[2:])
        first, second, left, right = map(len, found)
        effect = EffectSize(words @ attributes.T, (first, second), (left, right))
        return BiasScore(self.name, effect, effect.size, sum(map(len, lists)))


def permutation_p_value(first: Vector, second: Vector, seed: int = 0) -> float:
    """Return the share of divisions of all values whose means differ as much as in this one.

    If there are few divisions, all are tried, including this one; else random ones.
    """
    both, size = np.concatenate([first, second]), len(first)
    # The difference of means grows with the sum of the first group; its expectation is known.
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


def load_association_tests(data: str | os.PathLike[str] | None = None) -> list[AssociationTest]:
    """Return the ten tests of Caliskan et al., named as `6 career/family`."""
    tests = []
    entries = json.loads(registry.fetch(WEAT_FILE, data).read_text(encoding="utf-8"))
    for number, entry in enumerate(entries, start=1):
        lists = {key: _listed(part) for key, part in entry.items() if "words" in part}
        # The number distinguishes tests of the same targets, as in the paper.
        what = "attribute" if entry["first_target"]["name"] == "Male names" else "target"
        left, right = (entry[f"{which}_{what}"]["name"] for which in ("first", "second"))
        tests.append(
            AssociationTest(
                f"WEAT {number} {left}/{right}".lower().replace("weat", "WEAT"),
                (lists["first_target"], lists["second_target"]),
                (lists["first_attribute"], lists["second_attribute"]),
            )
        )
    return tests


def _listed(part: Mapping[str, Any]) -> list[str]:
    dropped = set(part.get("remove", ()))  # names that the authors found too rare
    return [word for word in part["words"] if word not in dropped]


@dataclass(frozen=True, eq=False)
class GenderWords:
    """Bolukbasi et al.'s lists: words with a gender by definition, and words without one.

    Attributes
    ----------
    pairs : pairs of words, the female one first
        They define the gender direction.
    equalized : more such pairs
        Words that differ only in gender.
    seed, specific : words
        Words with a gender by definition, and words found to be like them.
    professions : mapping of words to numbers
        How female (−1) to male (1) people rate them; without those that are so by definition.
    """

    pairs: Sequence[Pair]
    equalized: Sequence[Pair]
    seed: Sequence[str]
    specific: frozenset[str]
    professions: Mapping[str, float]

    @classmethod
    def load(cls, data: str | os.PathLike[str] | None = None) -> GenderWords:
        """Read the lists."""
        found = json.loads(registry.fetch(GENDER_FILE, data).read_text(encoding="utf-8"))["gender"]
        return cls(
            [(female, male) for female, male in found["definitional_pairs"]],
            [(female, male) for male, female in found["equalize_pairs"]],
            found["specific_seed"],
            frozenset(found["specific_full"]),
            {
                word: thought
                for word, defined, thought in found["professions"]
                if abs(defined) < 0.5
            },
        )

    def direction(self, vectors: WordVectors) -> Vector:
        """Return the direction from female to male that best separates the pairs."""
        differences = _differences(vectors, self.pairs)
        found: Vector = np.linalg.svd(differences, full_matrices=False)[2][0]
        return found if (differences @ found).mean() >= 0 else -found

    def stereotypes(self, least: float = 0.3) -> AssociationTest:
        """Return the test of whether professions have the gender that people expect."""
        thought = self.professions.items()
        sides = [w for w, t in thought if t >= least], [w for w, t in thought if t <= -least]
        female, male = zip(*self.pairs, strict=True)
        return AssociationTest("stereotypes of professions", sides, (male, female))


@dataclass(frozen=True, eq=False)
class DirectBias:
    """The mean of |cos(w, g)| over professions w, for the direction g (Bolukbasi et al. 2016).

    The direction is computed again for each set of vectors.
    """

    gender: GenderWords
    name: str = "direct bias of professions"

    @property
    def words(self) -> frozenset[str]:
        """Professions and pairs."""
        return with_lower([*self.gender.professions, *itertools.chain(*self.gender.pairs)])

    def score(self, vectors: WordVectors) -> BiasScore | None:
        """Return the measure, with professions as items."""
        known = _known(vectors, list(self.gender.professions))
        along = np.abs(known @ self.gender.direction(vectors))
        return BiasScore(self.name, Mean(along), len(known), len(self.gender.professions))


@dataclass(frozen=True, eq=False)
class RelationalAssociation(DirectBias):
    """RIPA: the mean of |w·(x − y)| / |x − y| over pairs and professions (Ethayarajh et al. 2019).

    Here it is divided by the mean length of the professions, so that shorter vectors do not score
    lower.
    """

    name: str = "RIPA of professions"

    def score(self, vectors: WordVectors) -> BiasScore | None:
        """Return the measure, with professions as items."""
        rows = vectors.rows(self.gender.professions, lowercase=True)
        known = vectors.vectors[rows[rows >= 0]].astype(np.float64)
        relations = unit_rows(_differences(vectors, self.gender.pairs, unit=False))
        each = np.abs(known @ relations.T).mean(axis=1) / np.linalg.norm(known, axis=1).mean()
        return BiasScore(self.name, Mean(each), len(known), len(rows))


@dataclass(frozen=True, eq=False)
class RemainingClusters:
    """Whether the words that were most biased still form two clusters by their old bias.

    The share of words on the right side of a 2-means clustering (Gonen & Goldberg 2019), minus
    one half, times two: 0 is chance, 1 is all.
    """

    female: Sequence[str]
    male: Sequence[str]
    name: str = "clusters that remain"

    @classmethod
    def most_biased(cls, vectors: Vectors, gender: GenderWords, each: int = 500) -> Self:
        """Choose the words farthest along the gender direction, among the first 50,000."""
        pairs = collect_rows(vectors, with_lower(itertools.chain(*gender.pairs)))
        direction = gender.direction(pairs)
        words: list[str] = []
        along: list[NDArray[np.float64]] = []
        for chunk, rows in read_chunks(vectors):
            some = list(chunk)[: COMMON - len(words)]
            words += some
            along.append(unit_rows(rows[: len(some)]) @ direction)
            if len(words) == COMMON:
                break
        order = np.argsort(np.concatenate(along), kind="stable")
        neutral = [words[i] for i in order if words[i].isalpha() and words[i].islower()]
        neutral = [word for word in dict.fromkeys(neutral) if word not in gender.specific]
        each = min(each, len(neutral) // 2)
        return cls(neutral[:each], neutral[-each:])

    @property
    def words(self) -> frozenset[str]:
        """The most biased words."""
        return frozenset([*self.female, *self.male])

    def score(self, vectors: WordVectors) -> BiasScore | None:
        """Return the measure, with words as items."""
        from sklearn.cluster import KMeans

        sides = [_known(vectors, words) for words in (self.female, self.male)]
        found = KMeans(2, n_init=10, random_state=0).fit_predict(np.concatenate(sides))
        right = found == (np.arange(len(found)) >= len(sides[0]))
        if right.mean() < 0.5:
            right = ~right
        total = len(self.female) + len(self.male)
        return BiasScore(self.name, Mean(2.0 * right - 1), len(right), total)


def load_measures(
    vectors: Vectors, data: str | os.PathLike[str] | None = None
) -> list[AssociationTest | DirectBias | RemainingClusters]:
    """Return all measures; the original `vectors` determine which words are biased."""
    gender = GenderWords.load(data)
    return [
        *load_association_tests(data),
        gender.stereotypes(),
        DirectBias(gender),
        RelationalAssociation(gender),
        RemainingClusters.most_biased(vectors, gender),
    ]


def _differences(
    vectors: WordVectors, pairs: Sequence[Pair], *, unit: bool = True
) -> NDArray[np.float64]:
    """Return the male vector of each known pair minus the female one."""
    rows = np.array([vectors.rows(pair, lowercase=True) for pair in pairs])
    rows = rows[(rows >= 0).all(axis=1)]
    if not len(rows):
        raise InvalidInputError("none of the pairs that define gender has vectors")
    female, male = (vectors.vectors[column].astype(np.float64) for column in rows.T)
    return unit_rows(male) - unit_rows(female) if unit else male - female


def _known(vectors: WordVectors, words: Sequence[str]) -> NDArray[np.float64]:
    rows = vectors.rows(words, lowercase=True)
    return unit_rows(vectors.vectors[rows[rows >= 0]])
