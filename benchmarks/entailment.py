"""Graded entailment: whether A ≤ B says that every A is a B.

    python benchmarks/entailment.py [--vectors FILE] [--size 50] [--corpus FILE]

HyperLex: Spearman's correlation with ratings of "A is a kind of B". LEDS, EVAL, WBLESS: average
precision of the true pairs. BiBLESS: of the true pairs in either order, how many are put the right
way round. × 100, over the pairs whose words all measures know. Frequency is the rank in the file,
and with --corpus the count there. Clouds are the nearest neighbours of a word; with --corpus also
its contexts there, and counts give WeedsPrec and invCL.
"""

from __future__ import annotations

import argparse
import csv
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import rankdata

from conceptor.concepts.clouds import Cloud, context_clouds, neighbour_clouds
from conceptor.corpus.counting import cooccurrence
from conceptor.corpus.ppmi import ppmi
from conceptor.data.registry import demo_vectors, fetch
from conceptor.vectors import WordVectors, open_vectors
from conceptor.vectors.chunks import collect_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Measure = Callable[[str, str], float]

SETS = {
    "HyperLex": "entailment/hyperlex_rnd.tsv",
    "LEDS": "entailment/leds.tsv",
    "WBLESS": "entailment/wbless.tsv",
    "EVAL": "entailment/eval.tsv",
    "BiBLESS": "entailment/bibless.tsv",
}


class Pair(NamedTuple):
    """Two words and what people say of them."""

    a: str
    b: str
    gold: float


def read(name: str) -> list[Pair]:
    with fetch(SETS[name]).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    values = {"True": 1.0, "False": 0.0}
    column = "score" if name == "HyperLex" else "label"
    return [
        Pair(row["word1"], row["word2"], values.get(row[column]) or float(row[column] == "1"))
        if name not in ("HyperLex", "BiBLESS")
        else Pair(row["word1"], row["word2"], float(row[column]))
        for row in rows
    ]


def spearman(scores: Array, gold: Array) -> float:
    return float(np.corrcoef(rankdata(scores), rankdata(gold))[0, 1])


def average_precision(scores: Array, gold: Array) -> float:
    order = np.argsort(-scores, kind="stable")
    hits = np.flatnonzero(gold[order] > 0) + 1
    return float((np.arange(1, len(hits) + 1) / hits).mean())


def score(name: str, pairs: list[Pair], measure: Measure, rng: np.random.Generator) -> list[float]:
    """Return the score, and that of resamples of the pairs."""
    gold = np.array([pair.gold for pair in pairs])
    forward = np.array([measure(pair.a, pair.b) for pair in pairs])
    if name == "BiBLESS":
        # A tie, as any symmetric measure has it, is half right.
        lead = forward - np.array([measure(pair.b, pair.a) for pair in pairs])
        right = np.where(lead == 0, 0.5, np.sign(lead) == gold)[gold != 0]
        draws = rng.integers(0, len(right), (200, len(right)))
        return [right.mean(), *right[draws].mean(axis=1)]
    function = spearman if name == "HyperLex" else average_precision
    draws = rng.integers(0, len(gold), (200, len(gold)))
    return [function(forward, gold), *(function(forward[i], gold[i]) for i in draws)]


def measures_of(
    vectors: WordVectors, clouds: Mapping[str, Cloud], frequency: Mapping[str, float]
) -> dict[str, Measure]:
    """Return measures of "every a is a b"."""
    rows = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    unit = dict(zip(vectors.words, rows, strict=True))

    def cosine(a: str, b: str) -> float:
        return float(unit[a] @ unit[b])

    def evidence(a: str, b: str) -> float:
        return float(clouds[b].evidence(clouds[a].rows).mean())

    def own_evidence(a: str, b: str) -> float:
        return float(clouds[b].evidence(unit[a][np.newaxis])[0])

    def ratio(a: str, b: str) -> float:
        return frequency[b] - frequency[a]

    return {
        "cosine": cosine,
        "log frequency of B": lambda a, b: frequency[b],
        "log frequency ratio": ratio,
        "order: smallest eigenvalue of B − A": lambda a, b: clouds[a].order(clouds[b]),
        "quota ratio": lambda a, b: clouds[b].quota / clouds[a].quota,
        "evidence of A in B's conceptor": own_evidence,
        "evidence of A's cloud in B's conceptor": evidence,
        "cosine × log frequency ratio": lambda a, b: cosine(a, b) * ratio(a, b),
        "evidence of A × log frequency ratio": lambda a, b: own_evidence(a, b) * ratio(a, b),
        "evidence of A's cloud × log ratio": lambda a, b: evidence(a, b) * ratio(a, b),
    }


def count_measures(path: str, words: set[str]) -> tuple[dict[str, float], dict[str, Measure]]:
    """Return log counts, and the inclusion measures of a PPMI matrix."""
    counted = cooccurrence(path, min_count=20)
    matrix = ppmi(counted)
    row = {word: i for i, word in enumerate(counted.words) if word in words}
    features = {
        word: dict(
            zip(
                matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]].tolist(),
                matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]].tolist(),
                strict=True,
            )
        )
        for word, i in row.items()
    }
    totals = {word: sum(each.values()) or 1.0 for word, each in features.items()}

    def weeds(a: str, b: str) -> float:
        """Return the share of A's features that B has too (Weeds & Weir 2003)."""
        other = features[b]
        return sum(x for c, x in features[a].items() if c in other) / totals[a]

    def clarke(a: str, b: str) -> float:
        """Return the same with the lesser of both weights (Clarke 2009)."""
        other = features[b]
        return sum(min(x, other.get(c, 0.0)) for c, x in features[a].items()) / totals[a]

    def inverse(a: str, b: str) -> float:
        """Return A in B and B not in A (Lenci & Benotto 2012)."""
        return float(np.sqrt(clarke(a, b) * (1 - clarke(b, a))))

    frequency = {word: float(np.log(counted.counts[i])) for word, i in row.items()}
    return frequency, {"WeedsPrec": weeds, "invCL": inverse}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors")
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--aperture", type=float, default=2.0)
    parser.add_argument("--corpus")
    options = parser.parse_args(arguments)
    vectors = open_vectors(options.vectors) if options.vectors else WordVectors(*demo_vectors())
    pairs = {name: read(name) for name in SETS}
    words = {word for each in pairs.values() for pair in each for word in pair[:2]}
    known = collect_rows(vectors, words)
    clouds = neighbour_clouds(
        vectors, known.words, options.size, aperture=options.aperture, among=100_000
    )
    frequency = {
        word: -float(np.log(1 + place))
        for word, place in zip(known.words, known.places, strict=True)
    }
    measures = measures_of(known, clouds, frequency)
    common = set(clouds)
    if options.corpus:
        counts, more = count_measures(options.corpus, words)
        with open(options.corpus, encoding="utf-8") as lines:
            texts = (line.lower().split() for line in lines)
            around = context_clouds(
                texts, words, WordVectors(*demo_vectors()), aperture=options.aperture
            )
        measures |= {
            f"contexts: {name}": each
            for name, each in measures_of(known, around, counts).items()
            if "cosine" not in name
        } | more
        common &= set(counts) & set(around)
    used = {name: [p for p in each if {p.a, p.b} <= common] for name, each in pairs.items()}
    print("| | " + " | ".join(SETS) + " |")
    print("|---|" + "---:|" * len(SETS))
    print("| pairs | " + " | ".join(f"{len(used[n]):,} of {len(pairs[n]):,}" for n in SETS) + " |")
    for title, measure in measures.items():
        cells = []
        for name in SETS:
            value, *sampled = score(name, used[name], measure, np.random.default_rng(0))
            half = (np.percentile(sampled, 97.5) - np.percentile(sampled, 2.5)) / 2
            cells.append(f"{100 * value:.1f} ± {100 * half:.1f}")
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
