"""Debiasing by expressions against hard debiasing and LEACE: bias and quality, with intervals.

    pip install names concept-erasure torch
    python benchmarks/debiasing.py glove
    python benchmarks/debiasing.py googlenews

The concept of gender is the difference within Bolukbasi et al.'s 62 pairs; names are American first
names that are mostly of one gender, paired across genders. The strengths of `usage`, gender and
names are chosen, among settings that do not lower the mean of the similarity sets, on association
tests that are built for this: categories of Battig against pairs of gendered words, as in WEAT 7
and 8, and against names that the concept was not fitted to, as in WEAT 6. Of many such tests, those
with the most bias in the original vectors are used. No word of WEAT 6, 7 and 8 is in them, and no
name of WEAT 6 in the concept; so these three had no part in the choice.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor import Conceptor, Spectrum, WordVectors
from conceptor.algebra.aperture import scale_free_aperture
from conceptor.concepts.expressions import Expression
from conceptor.concepts.lists import USAGE, learn_concepts
from conceptor.data.registry import demo_vectors, fetch
from conceptor.evaluation import Battery, load_battery
from conceptor.evaluation.bias import (
    AssociationTest,
    EffectSize,
    GenderWords,
    load_association_tests,
)
from conceptor.evaluation.categorization import Categorization
from conceptor.evaluation.compare.bias import BiasComparison, Measured, compare_bias
from conceptor.paper.google_news import google_news_vectors
from conceptor.vectors.chunks import collect_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conceptor.concepts.lists import Concepts

    Transform = Callable[[Sequence[str], np.ndarray], np.ndarray]
    Names = dict[str, list[str]]
    Pairs = Sequence[tuple[str, ...]]

GENDER_TESTS = ("WEAT 6 career/family", "WEAT 7 math/arts", "WEAT 8 science/arts")
# A name counts as male or female if that gender is at least this many times as frequent.
MOSTLY = 10
NAMES = 400
# Strengths: at s the mean direction of a concept has odds s². 0 leaves the concept out.
STRENGTHS = {
    USAGE: (0.0, 0.3, 0.6, 1.0),
    "gender": (1.0, 2.0, 5.0, 10.0, 20.0),
    "names": (0.3, 1.0, 3.0, 6.0),
}
# Words in each list of a test, tests to draw, and tests to keep of each kind.
LISTED, DRAWN, KEPT = 8, 4000, 200
BIASED = 0.15


def read_vectors(name: str) -> object:
    if name == "glove":
        return WordVectors(*demo_vectors())
    return google_news_vectors()[0] if name == "googlenews" else fetch(f"vectors/{name}.bin")


def first_names(tests: Sequence[AssociationTest], lower: bool) -> Names:
    """Return names that are mostly male and mostly female, the commonest first."""
    import names

    shares = {
        kind: {
            line.split()[0].capitalize(): float(line.split()[1])
            for line in Path(names.FILES[f"first:{kind}"]).read_text().splitlines()
        }
        for kind in ("male", "female")
    }
    tested = {word.lower() for test in tests for word in test.words}
    found = {}
    for kind, other in (("male", "female"), ("female", "male")):
        mostly = [
            name.lower() if lower else name
            for name, share in shares[kind].items()
            if share > MOSTLY * shares[other].get(name, 0) and name.lower() not in tested
        ]
        found[kind] = mostly[:NAMES]
    return found


def lower_cased(words: Sequence[tuple[str, ...]], lower: bool) -> list[tuple[str, ...]]:
    return [tuple(word.lower() if lower else word for word in item) for item in words]


def hard_debiasing(gender: GenderWords, table: WordVectors) -> Transform:
    """Neutralise all words that are not about gender and equalise pairs (Bolukbasi et al. 2016)."""
    direction = gender.direction(table)
    about = gender.specific | {word.lower() for word in gender.specific}
    equal: dict[str, np.ndarray] = {}
    for pair in gender.equalized:
        rows = table.rows(pair, lowercase=True)
        if (rows < 0).any():
            continue
        both = unit(table.vectors[rows])
        centre = both.mean(axis=0)
        centre -= (centre @ direction) * direction
        half = np.sqrt(max(0.0, 1 - centre @ centre))
        sign = 1 if (both[1] - both[0]) @ direction > 0 else -1
        for row, side in zip(rows, (-sign, sign), strict=True):
            equal[table.words[row]] = centre + side * half * direction

    def transform(words: Sequence[str], rows: np.ndarray) -> np.ndarray:
        out = unit(rows)
        neutral = np.array([word not in about for word in words])
        out[neutral] -= np.outer(out[neutral] @ direction, direction)
        out = unit(out)
        for i, word in enumerate(words):
            if word in equal:
                out[i] = equal[word]
        return out.astype(np.float32)

    return transform


def leace(table: WordVectors, female: Sequence[str], male: Sequence[str]) -> Transform:
    """Erase the linear trace of the gender of words whose gender is known (Belrose et al. 2023)."""
    import torch
    from concept_erasure import LeaceEraser

    rows = [table.rows(words) for words in (female, male)]
    rows = [each[each >= 0] for each in rows]
    X = torch.from_numpy(unit(table.vectors[np.concatenate(rows)]))
    z = torch.from_numpy(np.repeat([0, 1], [len(each) for each in rows]))
    eraser = LeaceEraser.fit(X, z)
    return lambda _, some: eraser(torch.from_numpy(unit(some))).numpy().astype(np.float32)


def unit(rows: np.ndarray) -> np.ndarray:
    wide = np.asarray(rows, dtype=np.float64)
    return wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)


@dataclass(frozen=True)
class Rows:
    """Rows of a table's words in the four lists of an association test."""

    targets: tuple[np.ndarray, np.ndarray]
    attributes: tuple[np.ndarray, np.ndarray]

    def effect(self, vectors: np.ndarray) -> float:
        """Return d for vectors of length 1."""
        direction = np.subtract(*(vectors[rows].mean(axis=0) for rows in self.attributes))
        first, second = (vectors[rows] @ direction for rows in self.targets)
        spread = np.concatenate([first, second]).std(ddof=1)
        return float((first.mean() - second.mean()) / spread)


def made_tests(
    table: WordVectors,
    battig: Categorization,
    pairs: Pairs,
    names: Names,
    tests: Sequence[AssociationTest],
) -> dict[str, list[Rows]]:
    """Return tests of both kinds for choosing; no concept is fitted to their names."""
    rng = np.random.default_rng(0)
    tested = {word.lower() for test in tests for word in test.words}
    members = defaultdict(list)
    rows = table.rows(battig.concepts, lowercase=True)
    for label, word, row in zip(battig.labels, battig.concepts, rows, strict=True):
        if row >= 0 and word.lower() not in tested:
            members[label].append(row)
    groups = [
        np.unique(each) for each in members.values() if len(set(each)) >= LISTED + LISTED // 2
    ]
    free = [pair for pair in pairs if not {word.lower() for word in pair} & tested]
    known = np.array([table.rows(pair) for pair in free])
    known = known[(known >= 0).all(axis=1)]
    people = [table.rows(names[kind]) for kind in ("male", "female")]
    drawn: dict[str, list[Rows]] = {"pairs": [], "names": []}
    for _ in range(DRAWN):
        one, other = rng.choice(len(groups), 2, replace=False)
        first = rng.choice(groups[one], LISTED, replace=False)
        second = np.setdiff1d(rng.choice(groups[other], LISTED, replace=False), first)
        female, male = known[rng.choice(len(known), LISTED, replace=False)].T
        drawn["pairs"].append(Rows((first, second), (male, female)))
        if min(map(len, people)) >= LISTED:
            some = [rng.choice(each, LISTED, replace=False) for each in people]
            drawn["names"].append(Rows((some[0], some[1]), (first, second)))
    lengths = unit(table.vectors)
    kept = {}
    for kind, each in drawn.items():
        sizes = np.array([abs(test.effect(lengths)) for test in each])
        best = np.argsort(-sizes, kind="stable")[: int(BIASED * len(sizes))]
        kept[kind] = [each[i] for i in rng.permutation(best)[:KEPT]]
    return kept


class Strengths:
    """Concepts at any strengths."""

    def __init__(self, concepts: Concepts) -> None:
        self.spectra = {
            name: Spectrum.from_matrix(moments.second_moment)
            for name, moments in concepts.moments.items()
        }

    def apertures(self, strengths: Mapping[str, float]) -> dict[str, float]:
        """Return the α of each concept."""
        return {
            name: scale_free_aperture(self.spectra[name].values, strength)
            for name, strength in strengths.items()
        }

    def negation(self, strengths: Mapping[str, float]) -> np.ndarray:
        """Return the matrix of `not (... or ...)`."""
        found = {
            name: Conceptor.from_spectrum(self.spectra[name], aperture)
            for name, aperture in self.apertures(strengths).items()
        }
        return Expression(f"not ({' or '.join(found)})")(found).matrix


def choose(
    table: WordVectors, concepts: Strengths, tests: Mapping[str, list[Rows]], battery: Battery
) -> dict[str, float]:
    """Return the strengths with the smallest mean |d| among those that keep the similarity."""
    lengths = unit(table.vectors)

    def judge(M: np.ndarray) -> tuple[float, dict[str, float], float]:
        moved = lengths @ M
        changed = table.with_vectors(moved.astype(np.float32))
        moved = unit(moved)
        effects = {
            kind: float(np.mean([abs(test.effect(moved)) for test in each]))
            for kind, each in tests.items()
            if each
        }
        # As among the three tests: two of categories, one of names.
        weights = [{"pairs": 2, "names": 1}[kind] for kind in effects]
        mean = float(np.average(list(effects.values()), weights=weights))
        return mean, effects, battery.run(changed).means()["similarity"]

    def told(found: tuple[float, dict[str, float], float]) -> str:
        mean, effects, similarity = found
        each = ", ".join(f"{kind} {value:.2f}" for kind, value in effects.items())
        return f"mean |d| of the tests that choose {mean:.2f} ({each}), similarity {similarity:.2f}"

    before = judge(np.eye(lengths.shape[1]))
    print(f"original: {told(before)}")
    names = [name for name in STRENGTHS if name in concepts.spectra]
    best, count, allowed = None, 0, 0
    for values in itertools.product(*(STRENGTHS[name] for name in names)):
        strengths = {name: s for name, s in zip(names, values, strict=True) if s}
        found = judge(concepts.negation(strengths))
        count += 1
        if found[2] >= before[2]:
            allowed += 1
            if best is None or found[0] < best[0][0]:
                best = found, strengths
    if best is None:
        raise SystemExit("every setting lowers the similarity")
    print(f"{count} settings, {allowed} of them with similarity not below the original")
    print(f"chosen: {told(best[0])}: strengths {best[1]}")
    return best[1]


def apply(M: np.ndarray) -> Transform:
    return lambda _, rows: (unit(rows) @ M).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    files = ["googlenews", "googlenews-13k", "googlenews-26k"]
    parser.add_argument("vectors", choices=["glove", *files])
    options = parser.parse_args()
    vectors, lower = read_vectors(options.vectors), options.vectors == "glove"
    tests = [test for test in load_association_tests() if test.name in GENDER_TESTS]
    gender = GenderWords.load()
    pairs = lower_cased([*gender.pairs, *gender.equalized], lower)
    battig = Categorization.read("BM", fetch("categorization/battig.csv"))
    battery = load_battery(["similarity"])
    candidates = first_names(tests, lower)
    listed = [word for pair in pairs for word in pair]
    wanted = battery.words.union(listed, gender.specific, battig.concepts, *candidates.values())
    table = collect_rows(vectors, wanted | {word.lower() for word in wanted})
    names = {kind: [name for name in some if name in table] for kind, some in candidates.items()}
    print(f"{options.vectors}: {len(names['male'])} male and {len(names['female'])} female names")
    shuffled = {
        kind: [each[i] for i in np.random.default_rng(1).permutation(len(each))]
        for kind, each in names.items()
    }
    half = {kind: each[: len(each) // 2] for kind, each in shuffled.items()}
    rest = {kind: each[len(each) // 2 :] for kind, each in shuffled.items()}

    def learn(some: Names) -> Strengths:
        lists: dict[str, Pairs] = {"gender": pairs}
        couples = list(zip(some["female"], some["male"], strict=False))
        if len(couples) >= LISTED // 2:
            lists["names"] = couples
        return Strengths(learn_concepts(vectors, lists, [*lists, USAGE]))

    made = made_tests(table, battig, pairs, rest, tests)
    strengths = choose(table, learn(half), made, battery)
    concepts = learn(names)
    apertures = {name: float(f"{a:.3g}") for name, a in concepts.apertures(strengths).items()}
    print(f"as apertures: {apertures}")
    auto = dict.fromkeys(concepts.spectra, 1.0)
    methods: dict[str, Transform] = {
        "hard debiasing": hard_debiasing(gender, table),
        "LEACE": leace(
            table,
            [a for a, _ in pairs] + names["female"],
            [b for _, b in pairs] + names["male"],
        ),
        "chosen": apply(concepts.negation(strengths)),
        f"not ({' or '.join(auto)}), auto": apply(concepts.negation(auto)),
        "not (usage or gender), auto": apply(concepts.negation({USAGE: 1.0, "gender": 1.0})),
    }
    report(compare_bias(vectors, methods))


def chance(compared: BiasComparison, tests: Sequence[str], draws: int = 2000) -> float:
    """Return the mean |d| of the tests when their words are divided at random."""
    rng = np.random.default_rng(0)
    found = []
    for name in tests:
        effect = compared.scores["original"][name].statistic
        assert isinstance(effect, EffectSize)
        both, first = np.concatenate(effect.associations), effect.groups[0]
        for _ in range(draws):
            order = rng.permutation(both)
            found.append(abs(order[:first].mean() - order[first:].mean()) / both.std(ddof=1))
    return float(np.mean(found))


def mean_absolute(
    compared: BiasComparison, method: str, measures: Sequence[str], against: str | None = None
) -> Measured:
    """Return the mean of |d| over some tests, or its excess over another method's."""

    def mean(name: str) -> tuple[float, np.ndarray]:
        row = list(compared.scores).index(name)
        values = [abs(compared.scores[name][each].value) for each in measures]
        samples = [np.abs(compared.resampled[each][row]) for each in measures]
        return float(np.mean(values)), np.mean(samples, axis=0)

    value, samples = mean(method)
    if against is not None:
        other, others = mean(against)
        value, samples = value - other, samples - others
    return Measured.of(value, samples)


def report(compared: BiasComparison) -> None:
    methods = list(compared.scores)
    tests = [name for name in GENDER_TESTS if name in compared.measures]
    print(f"\ngender tests that can be run: {', '.join(tests) or 'none'}")
    print(f"their words divided at random: mean |d| {chance(compared, tests):.2f}")
    others = [name for name in compared.measures if name not in tests]
    quality = compared.quality_of(methods[0])
    titles = [*tests, "mean abs d", *(f"over {each}" for each in methods[:3]), *others, *quality]
    print(f"| | {' | '.join(titles)} |\n|---|{'---:|' * len(titles)}")
    for method in methods:
        cells = [shown(compared.measured(method, name)) for name in tests]
        cells.append(shown(mean_absolute(compared, method, tests)))
        cells += [
            shown(mean_absolute(compared, method, tests, against=rival), "+")
            for rival in methods[:3]
        ]
        cells += [shown(compared.measured(method, name)) for name in others]
        for score, gain in compared.quality_of(method).values():
            interval = "" if gain is None else f" [{gain.low:+.2f}, {gain.high:+.2f}]"
            cells.append(f"{score:.2f}{interval}")
        print(f"| {method} | {' | '.join(cells)} |")


def shown(found: Measured, sign: str = "") -> str:
    p = "" if found.p is None else f", p {found.p:.3f}"
    value, low, high = (f"{x:{sign}.2f}" for x in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]{p}"


if __name__ == "__main__":
    main()
