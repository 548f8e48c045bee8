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
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import demo, markdown_table, show_interval

from conceptor import Conceptor
from conceptor.algebra.gates import scale_free_aperture
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import unit_rows
from conceptor.concepts.expressions import Expression
from conceptor.concepts.lists import USAGE, learn_concepts
from conceptor.data import registry
from conceptor.evaluation import Battery, load_battery
from conceptor.evaluation.bias import Gender, compare_bias, load_association_tests
from conceptor.evaluation.statistics import CONFIDENCE, value
from conceptor.evaluation.word_tasks import Categorization
from conceptor.paper.google_news import google_news_vectors
from conceptor.vectors.files import as_vectors
from conceptor.vectors.vectors import collect_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conceptor.algebra.moments import Moments
    from conceptor.evaluation.bias import BiasComparison
    from conceptor.vectors.table import WordVectors

    Transform = Callable[[Sequence[str], np.ndarray], np.ndarray]
    Names = dict[str, list[str]]
    Pairs = Sequence[tuple[str, str]]

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
# Words in each list of a test, tests to draw, and tests to use of each kind.
LISTED, DRAWN, USED = 8, 4000, 200
BIASED = 0.15


def first_names(tested: set[str], lower: bool) -> Names:
    """Return names that are mostly male and mostly female, the commonest first."""
    import names

    shares = {
        kind: {
            line.split()[0].capitalize(): float(line.split()[1])
            for line in Path(names.FILES[f"first:{kind}"]).read_text().splitlines()
        }
        for kind in ("male", "female")
    }
    return {
        kind: [
            name.lower() if lower else name
            for name, share in shares[kind].items()
            if share > MOSTLY * shares[other].get(name, 0) and name.lower() not in tested
        ][:NAMES]
        for kind, other in (("male", "female"), ("female", "male"))
    }


def hard_debiasing(gender: Gender, equalized: Pairs, table: WordVectors) -> Transform:
    """Neutralize all words that are not about gender and equalize pairs (Bolukbasi et al. 2016)."""
    direction = gender.direction(table)
    about = gender.specific | {word.lower() for word in gender.specific}
    equal: dict[str, np.ndarray] = {}
    for pair in equalized:
        rows = table.rows(pair, lowercase=True)
        if (rows < 0).any():
            continue
        both = unit_rows(table.vectors[rows])
        center = both.mean(axis=0)
        center -= (center @ direction) * direction
        half = np.sqrt(max(0.0, 1 - center @ center))
        sign = 1 if (both[1] - both[0]) @ direction > 0 else -1
        for row, side in zip(rows, (-sign, sign), strict=True):
            equal[table.words[row]] = center + side * half * direction

    def transform(words: Sequence[str], rows: np.ndarray) -> np.ndarray:
        out = unit_rows(rows)
        neutral = np.array([word not in about for word in words])
        out[neutral] -= np.outer(out[neutral] @ direction, direction)
        out = unit_rows(out)
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
    X = torch.from_numpy(unit_rows(table.vectors[np.concatenate(rows)]))
    z = torch.from_numpy(np.repeat([0, 1], [len(each) for each in rows]))
    eraser = LeaceEraser.fit(X, z)
    return lambda _, rows: eraser(torch.from_numpy(unit_rows(rows))).numpy().astype(np.float32)


def apply(M: np.ndarray) -> Transform:
    return lambda _, rows: (unit_rows(rows) @ M).astype(np.float32)


@dataclass(frozen=True)
class Rows:
    """Rows of a table's words in the four lists of an association test."""

    targets: tuple[np.ndarray, np.ndarray]
    attributes: tuple[np.ndarray, np.ndarray]

    def effect(self, vectors: np.ndarray) -> float:
        """Return d for unit vectors."""
        direction = np.subtract(*(vectors[rows].mean(axis=0) for rows in self.attributes))
        first, second = (vectors[rows] @ direction for rows in self.targets)
        spread = np.concatenate([first, second]).std(ddof=1)
        return float((first.mean() - second.mean()) / spread)


def make_tests(
    table: WordVectors, battig: Categorization, pairs: Pairs, names: Names, tested: set[str]
) -> dict[str, list[Rows]]:
    """Return tests of both kinds for choosing; no concept is fitted to their names."""
    rng = np.random.default_rng(0)
    members = defaultdict(list)
    rows = table.rows(battig.concepts, lowercase=True)
    for label, word, row in zip(battig.labels, battig.concepts, rows, strict=True):
        if row >= 0 and word.lower() not in tested:
            members[label].append(row)
    groups = [
        np.unique(each) for each in members.values() if len(set(each)) >= LISTED + LISTED // 2
    ]
    free = [pair for pair in pairs if not {word.lower() for word in pair} & tested]
    paired = np.array([table.rows(pair) for pair in free])
    paired = paired[(paired >= 0).all(axis=1)]
    people = [table.rows(names[kind]) for kind in ("male", "female")]
    drawn: dict[str, list[Rows]] = {"pairs": [], "names": []}
    for _ in range(DRAWN):
        one, other = rng.choice(len(groups), 2, replace=False)
        first = rng.choice(groups[one], LISTED, replace=False)
        second = np.setdiff1d(rng.choice(groups[other], LISTED, replace=False), first)
        female, male = paired[rng.choice(len(paired), LISTED, replace=False)].T
        drawn["pairs"].append(Rows((first, second), (male, female)))
        if min(map(len, people)) >= LISTED:
            chosen = [rng.choice(each, LISTED, replace=False) for each in people]
            drawn["names"].append(Rows((chosen[0], chosen[1]), (first, second)))
    units = unit_rows(table.vectors)
    used = {}
    for kind, each in drawn.items():
        sizes = np.array([abs(test.effect(units)) for test in each])
        best = np.argsort(-sizes, kind="stable")[: int(BIASED * len(sizes))]
        used[kind] = [each[i] for i in rng.permutation(best)[:USED]]
    return used


class Strengths:
    """Concepts at any strengths."""

    def __init__(self, concepts: Mapping[str, Moments]) -> None:
        self.spectra = {
            name: Spectrum.from_matrix(moments.second_moment) for name, moments in concepts.items()
        }

    def apertures(self, strengths: Mapping[str, float]) -> dict[str, float]:
        """Return the α of each concept."""
        return {
            name: strength * scale_free_aperture(self.spectra[name].values)
            for name, strength in strengths.items()
        }

    def negation(self, strengths: Mapping[str, float]) -> np.ndarray:
        """Return the matrix of `not (... or ...)`."""
        conceptors = {
            name: Conceptor.from_spectrum(self.spectra[name], aperture)
            for name, aperture in self.apertures(strengths).items()
        }
        return Expression(f"not ({' or '.join(conceptors)})")(conceptors).matrix


def choose(
    table: WordVectors, concepts: Strengths, tests: Mapping[str, list[Rows]], battery: Battery
) -> dict[str, float]:
    """Return the strengths with the smallest mean |d| among those that keep the similarity."""
    units = unit_rows(table.vectors)

    def judge(M: np.ndarray) -> tuple[float, float, str]:
        """Return mean |d|, similarity, and both in words."""
        moved = units @ M
        changed = table.with_vectors(moved.astype(np.float32))
        moved = unit_rows(moved)
        effects = {
            kind: float(np.mean([abs(test.effect(moved)) for test in each]))
            for kind, each in tests.items()
            if each
        }
        # As among the three tests: two of categories, one of names.
        weights = [{"pairs": 2, "names": 1}[kind] for kind in effects]
        mean = float(np.average(list(effects.values()), weights=weights))
        similarity = battery.run(changed).means()["similarity"]
        each = ", ".join(f"{kind} {effect:.2f}" for kind, effect in effects.items())
        return mean, similarity, f"mean |d| {mean:.2f} ({each}), similarity {similarity:.2f}"

    before = judge(np.eye(units.shape[1]))
    print(f"original: {before[2]}")
    names = [name for name in STRENGTHS if name in concepts.spectra]
    allowed = []
    for values in itertools.product(*(STRENGTHS[name] for name in names)):
        strengths = {name: s for name, s in zip(names, values, strict=True) if s}
        result = judge(concepts.negation(strengths))
        if result[1] >= before[1]:
            allowed.append((result, strengths))
    if not allowed:
        raise SystemExit("every setting lowers the similarity")
    best, strengths = min(allowed, key=lambda each: each[0][0])
    print(f"{len(allowed)} settings with similarity not below the original")
    print(f"chosen: {best[2]}: strengths {strengths}")
    return strengths


def mean_effect(
    comparison: BiasComparison, method: str, tests: Sequence[str], against: str | None = None
) -> str:
    """Return the mean of |d| over tests, or its excess over another method's, with interval."""

    def mean(name: str) -> np.ndarray:
        row = list(comparison.scores).index(name)
        values = [abs(value(comparison.scores[name][each])) for each in tests]
        samples = [np.abs(comparison.resampled[each][row]) for each in tests]
        return np.append(np.mean(values), np.mean(samples, axis=0))

    numbers = mean(method) - (0 if against is None else mean(against))
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.nanpercentile(numbers[1:], [tail, 100 - tail])
    sign = "" if against is None else "+"
    return f"{numbers[0]:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def report(comparison: BiasComparison) -> None:
    methods, measures = list(comparison.scores), list(comparison.scores["original"])
    tests = [name for name in GENDER_TESTS if name in measures]
    print(f"\ngender tests that can be run: {', '.join(tests) or 'none'}")
    others = [name for name in measures if name not in tests]
    quality = comparison.quality_of(methods[0])
    columns = [*tests, "mean abs d", *(f"over {each}" for each in methods[:3]), *others, *quality]
    lines = []
    for method in methods:
        shown = {}
        for name in measures:
            each = comparison.measured(method, name)
            p = "" if each["p"] is None else f", p {each['p']:.3f}"
            shown[name] = f"{each['value']:.2f} [{each['low']:.2f}, {each['high']:.2f}]{p}"
        cells = [shown[name] for name in tests]
        cells.append(mean_effect(comparison, method, tests))
        cells += [mean_effect(comparison, method, tests, other) for other in methods[:3]]
        cells += [shown[name] for name in others]
        for score, gain in comparison.quality_of(method).values():
            cells.append(f"{score:.2f}" + (f" ({show_interval(gain, 2)})" if gain else ""))
        lines.append([method, *cells])
    print(markdown_table(["", *columns], lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vectors", choices=["glove", "googlenews"])
    name = parser.parse_args().vectors
    lower = name == "glove"
    vectors = as_vectors(demo() if lower else google_news_vectors()[0])
    tests = [test for test in load_association_tests() if test.name in GENDER_TESTS]
    tested = {word.lower() for test in tests for word in test.words}
    gender = Gender.load()
    lists = json.loads(registry.fetch("bias/bolukbasi.json").read_text())["gender"]
    equalized = [(female, male) for male, female in lists["equalize_pairs"]]
    pairs = [*gender.pairs, *equalized]
    if lower:
        pairs = [(female.lower(), male.lower()) for female, male in pairs]
    battig = Categorization.read("BM", registry.fetch("categorization/battig.csv"))
    battery = load_battery(["similarity"])
    candidates = first_names(tested, lower)
    listed = [word for pair in pairs for word in pair]
    wanted = battery.words.union(listed, gender.specific, battig.concepts, *candidates.values())
    table = collect_rows(vectors, wanted | {word.lower() for word in wanted})
    names = {kind: [name for name in each if name in table] for kind, each in candidates.items()}
    print(f"{name}: {len(names['male'])} male and {len(names['female'])} female names")
    shuffled = {
        kind: [each[i] for i in np.random.default_rng(1).permutation(len(each))]
        for kind, each in names.items()
    }
    half = {kind: each[: len(each) // 2] for kind, each in shuffled.items()}
    rest = {kind: each[len(each) // 2 :] for kind, each in shuffled.items()}

    def learn(people: Names) -> Strengths:
        lists: dict[str, Pairs] = {"gender": pairs}
        couples = list(zip(people["female"], people["male"], strict=False))
        if len(couples) >= LISTED // 2:
            lists["names"] = couples
        return Strengths(learn_concepts(vectors, lists, [*lists, USAGE])[0])

    strengths = choose(table, learn(half), make_tests(table, battig, pairs, rest, tested), battery)
    concepts = learn(names)
    apertures = {name: float(f"{a:.3g}") for name, a in concepts.apertures(strengths).items()}
    print(f"as apertures: {apertures}")
    auto = dict.fromkeys(concepts.spectra, 1.0)
    female, male = ([pair[side] for pair in pairs] for side in (0, 1))
    methods: dict[str, Transform] = {
        "hard debiasing": hard_debiasing(gender, equalized, table),
        "LEACE": leace(table, female + names["female"], male + names["male"]),
        "chosen": apply(concepts.negation(strengths)),
        f"not ({' or '.join(auto)}), auto": apply(concepts.negation(auto)),
        "not (usage or gender), auto": apply(concepts.negation({USAGE: 1.0, "gender": 1.0})),
    }
    report(compare_bias(vectors, methods))


if __name__ == "__main__":
    main()
