"""Debiasing by expressions against hard debiasing and LEACE: bias and quality, with intervals.

    pip install names concept-erasure torch
    python benchmarks/debiasing.py googlenews-13k
    python benchmarks/debiasing.py glove

Gender is what tells Bolukbasi et al.'s 62 pairs apart, or their 218 gender-specific words; names
are American first names that are mostly of one gender, without any name of any WEAT test. The
setting (expression, strength of each concept, power) is chosen anew for each of the three WEAT
tests about gender, on the other two and on the stereotypes of professions, among settings that do
not lower the mean of the similarity sets; `held out` is the mean of |d| over tests that had no say.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor import Conceptor, Spectrum, WordVectors
from conceptor.algebra.aperture import scale_free_aperture
from conceptor.comparing.bias import BiasComparison, compare_bias
from conceptor.concepts.expressions import Expression
from conceptor.concepts.lists import USAGE, Concepts, learn_concepts
from conceptor.data.registry import demo_vectors, fetch
from conceptor.evaluation import load_battery
from conceptor.evaluation.bias import AssociationTest, GenderWords, load_association_tests
from conceptor.vectors.chunks import collect_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Transform = Callable[[Sequence[str], np.ndarray], np.ndarray]

GENDER_TESTS = ("WEAT 6 career/family", "WEAT 7 math/arts", "WEAT 8 science/arts")
# A name counts as male or female if it is so at least this many times as often.
MOSTLY = 10
NAMES = 400
EXPRESSIONS = (
    "not gender",
    "not (gender or names)",
    "not (usage or gender)",
    "not (usage or gender or names)",
)
LISTS = {"pairs": ("pairs", "name-pairs"), "words": ("words", "names")}
STRENGTHS = (0.2, 0.4, 0.8, 1.6, 4.0)
NAME_STRENGTHS = (0.5, 1.5, 5.0, 15.0)


def read_vectors(name: str) -> object:
    if name == "glove":
        return WordVectors(*demo_vectors())
    return fetch(f"vectors/{name}.bin")


def first_names(tests: Sequence[AssociationTest], lower: bool) -> dict[str, list[str]]:
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
            name
            for name, share in shares[kind].items()
            if share > MOSTLY * shares[other].get(name, 0) and name.lower() not in tested
        ]
        found[kind] = [name.lower() if lower else name for name in mostly[:NAMES]]
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


def matrix(
    concepts: Concepts,
    expression: str,
    names: Mapping[str, str],
    strengths: Mapping[str, float],
    power: float,
) -> np.ndarray:
    """Return what an expression makes of concepts, each as strong as it is told."""
    found = {}
    for name in Expression(expression).names:
        learnt = USAGE if name == USAGE else names[name]
        spectrum = spectra(concepts, learnt)
        aperture = scale_free_aperture(spectrum.values, strengths.get(name, 1.0))
        found[name] = Conceptor.from_spectrum(spectrum, aperture)
    return Expression(expression)(found).power(power).matrix


_SPECTRA: dict[str, Spectrum] = {}


def spectra(concepts: Concepts, name: str) -> Spectrum:
    if name not in _SPECTRA:
        _SPECTRA[name] = Spectrum.from_matrix(concepts.moments[name].second_moment)
    return _SPECTRA[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vectors", choices=["googlenews-13k", "googlenews-26k", "glove"])
    options = parser.parse_args()
    vectors, lower = read_vectors(options.vectors), options.vectors == "glove"
    tests = load_association_tests()
    gender = GenderWords.load()
    names = first_names(tests, lower)
    pairs = lower_cased([*gender.pairs, *gender.equalized], lower)
    lists = {
        "pairs": pairs,
        "words": lower_cased([(word,) for word in gender.seed], lower),
        "names": [(name,) for name in (*names["female"], *names["male"])],
        "name-pairs": [],
    }
    battery = load_battery(["similarity"])
    about = [*(test for test in tests if test.name in GENDER_TESTS), gender.stereotypes()]
    listed = frozenset(word for items in lists.values() for item in items for word in item)
    wanted = battery.words.union(listed, gender.specific, *(test.words for test in tests))
    wanted |= {word.lower() for word in wanted} | frozenset(gender.professions)
    table = collect_rows(vectors, wanted)
    known = {kind: [name for name in some if name in table] for kind, some in names.items()}
    lists["name-pairs"] = list(zip(known["female"], known["male"], strict=False))
    concepts = learn_concepts(vectors, lists, [*lists, USAGE])
    print(f"{options.vectors}: {len(known['male'])} male and {len(known['female'])} female names")
    for remark in concepts.remarks:
        print(f"  {remark}")

    lengths = unit(table.vectors)

    def judge(M: np.ndarray) -> tuple[dict[str, float], float]:
        changed = table.with_vectors((lengths @ M).astype(np.float32))
        scores = [test.score(changed) for test in about]
        found = {each.name: each.value for each in scores if each is not None}
        return found, battery.run(changed).means()["similarity"]

    before, similarity = judge(np.eye(lengths.shape[1]))
    settings = []
    for expression, (kind, (g, n)), power in itertools.product(
        EXPRESSIONS, LISTS.items(), (0.5, 1.0)
    ):
        for strength in STRENGTHS:
            for other in NAME_STRENGTHS if "names" in expression else (1.0,):
                M = matrix(
                    concepts,
                    expression,
                    {"gender": g, "names": n},
                    {"gender": strength, "names": other},
                    power,
                )
                label = (
                    f"{expression}, {kind}, strengths {strength:g} and {other:g}, power {power:g}"
                )
                settings.append((label, M, *judge(M)))
    allowed = [each for each in settings if each[3] >= similarity]
    measured = [name for name in GENDER_TESTS if name in before]
    print(
        f"{len(settings)} settings, {len(allowed)} of them with similarity not below the original"
    )
    chosen: dict[str, tuple[str, np.ndarray]] = {}
    for held in measured:
        label, M, *_ = min(
            allowed,
            key=lambda each: np.mean([abs(d) for name, d in each[2].items() if name != held]),
        )
        chosen[held] = label, M
        print(f"chosen without {held}: {label}")
    methods: dict[str, Transform] = {
        "hard debiasing": hard_debiasing(gender, table),
        "LEACE": leace(
            table,
            [a for a, _ in pairs] + known["female"],
            [b for _, b in pairs] + known["male"],
        ),
        **{f"without {held}": apply(M) for held, (_, M) in chosen.items()},
        "not (usage or gender), auto": apply(
            matrix(concepts, "not (usage or gender)", {"gender": "pairs"}, {}, 1.0)
        ),
        "not (gender or names), auto": apply(
            matrix(
                concepts, "not (gender or names)", {"gender": "pairs", "names": "names"}, {}, 1.0
            )
        ),
    }
    compared = compare_bias(vectors, methods)
    report(compared, measured)


def apply(M: np.ndarray) -> Transform:
    return lambda _, rows: (unit(rows) @ M).astype(np.float32)


def report(compared: BiasComparison, tests: Sequence[str]) -> None:
    columns = list(compared.scores)
    print(f"\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for measure in compared.measures:
        cells = []
        for method in columns:
            found = compared.measured(method, measure)
            p = "" if found.p is None else f", p {found.p:.3f}"
            cells.append(f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]{p}")
        print(f"| {measure} | {' | '.join(cells)} |")
    held = [abs(compared.measured(f"without {name}", name).value) for name in tests]
    print(
        "| mean abs d of the gender tests | "
        + " | ".join(
            ""
            if method.startswith("without")
            else "{0.value:.2f} [{0.low:.2f}, {0.high:.2f}]".format(
                compared.mean_absolute(method, tests)
            )
            for method in columns
        )
        + " |"
    )
    for name in compared.quality_of(columns[0]):
        cells = []
        for method in columns:
            score, gain = compared.quality_of(method)[name]
            cells.append(
                f"{score:.2f}" + ("" if gain is None else f" [{gain.low:+.2f}, {gain.high:+.2f}]")
            )
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\nheld out, mean of |d|: {np.mean(held):.2f} ({', '.join(f'{d:.2f}' for d in held)})")


if __name__ == "__main__":
    main()
