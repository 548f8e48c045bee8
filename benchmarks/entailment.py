"""Graded entailment: test whether A ≤ B means that every A is a B.

    python benchmarks/entailment.py [--vectors FILE] [--size 50] [--corpus FILE] [--keep FILE]

HyperLex: Spearman's correlation with ratings of "A is a kind of B". LEDS, EVAL, WBLESS: average
precision of the true pairs. Direction, on LEDS and BiBLESS: the share of true pairs that get the
right direction. Accuracy: on WBLESS whether a pair is true, on BiBLESS whether it is true, reversed
or neither; the threshold comes from the other nine tenths of the pairs. All figures are × 100, over
the pairs whose words all measures have.

Clouds are the nearest neighbours of a word. --corpus adds clouds of the windows around a word in a
text, and of its contexts in the text's PPMI matrix; counts also give WeedsPrec and invCL. Frequency
is the rank in the file, or with --corpus the count in the text.

With --keep, finished rows are kept in a file, and a stopped run continues with the next row.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from clouds import Cloud, context_clouds, neighbour_clouds
from scipy.stats import rankdata

from conceptor.base.arrays import unit_rows
from conceptor.data.registry import demo_vectors, fetch
from conceptor.paper.ppmi.counting import cooccurrence
from conceptor.paper.ppmi.ppmi import ppmi
from conceptor.vectors import WordVectors, open_vectors
from conceptor.vectors.chunks import collect_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray

    from conceptor.paper.ppmi.counting import Cooccurrence

    Array = NDArray[np.float64]
    Measure = Callable[[str, str], float]

RESAMPLES, FOLDS = 200, 10
# How words of a text are counted; and how many contexts of a word make its cloud.
TOKEN = re.compile(r"\w+(?:'\w+)*")
CONTEXTS = 200
SETS = {
    "HyperLex": "entailment/hyperlex_rnd.tsv",
    "LEDS": "entailment/leds.tsv",
    "WBLESS": "entailment/wbless.tsv",
    "EVAL": "entailment/eval.tsv",
    "BiBLESS": "entailment/bibless.tsv",
}


class Pair(NamedTuple):
    """Two words and their rating or class by people."""

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


def right_by_threshold(scores: Array, if_above: Array, if_below: Array) -> Array:
    """Return how right each answer is, above or below a threshold that the other folds chose."""
    folds = np.random.default_rng(0).permutation(len(scores)) % FOLDS
    right = np.empty(len(scores))
    for fold in range(FOLDS):
        own = folds == fold
        order = np.argsort(scores[~own])
        above, below = if_above[~own][order], if_below[~own][order]
        # The first k are below: they are as right as that, and all others as right as above.
        total = np.concatenate([[0.0], np.cumsum(below - above)])
        cut = int(total.argmax())
        limits = np.concatenate([[-np.inf], scores[~own][order], [np.inf]])
        threshold = (limits[cut] + limits[cut + 1]) / 2
        right[own] = np.where(scores[own] > threshold, if_above[own], if_below[own])
    return right


def score(name: str, pairs: list[Pair], measure: Measure) -> dict[str, list[float]]:
    """Return a set's scores, each followed by those of resamples of the pairs."""
    rng = np.random.default_rng(0)
    gold = np.array([pair.gold for pair in pairs])
    forward = np.array([measure(pair.a, pair.b) for pair in pairs])

    def with_resamples(right: Array) -> list[float]:
        draws = rng.integers(0, len(right), (RESAMPLES, len(right)))
        return [right.mean(), *right[draws].mean(axis=1)]

    if name in ("BiBLESS", "LEDS"):
        backward = np.array([measure(pair.b, pair.a) for pair in pairs])
        # A tie, as with any symmetric measure, is half right.
        way = np.where(forward == backward, 0.5, np.sign(forward - backward) == gold)
        way = np.where(gold == 0, 0.0, way)
    if name == "BiBLESS":
        right = right_by_threshold(np.maximum(forward, backward), way, (gold == 0).astype(float))
        return {
            "BiBLESS direction": with_resamples(way[gold != 0]),
            "BiBLESS accuracy": with_resamples(right),
        }
    function = spearman if name == "HyperLex" else average_precision
    draws = rng.integers(0, len(gold), (RESAMPLES, len(gold)))
    found = {name: [function(forward, gold), *(function(forward[i], gold[i]) for i in draws)]}
    if name == "LEDS":
        found["LEDS direction"] = with_resamples(way[gold != 0])
    if name == "WBLESS":
        right = right_by_threshold(forward, gold, 1 - gold)
        found["WBLESS accuracy"] = with_resamples(right)
    return found


def measures_of(
    unit: Mapping[str, Array], clouds: Mapping[str, Cloud], frequency: Mapping[str, float]
) -> dict[str, Measure]:
    """Return measures of "every a is a b"."""

    @cache
    def evidence(a: str, b: str) -> float:
        return float(clouds[b].evidence(clouds[a].rows).mean())

    @cache
    def own_evidence(a: str, b: str) -> float:
        return float(clouds[b].evidence(unit[a][np.newaxis])[0])

    def cosine(a: str, b: str) -> float:
        return float(unit[a] @ unit[b])

    def ratio(a: str, b: str) -> float:
        return frequency[b] - frequency[a]

    def narrower(a: str, b: str) -> float:
        return cosine(a, b) * float(np.log(clouds[a].quota / clouds[b].quota))

    return {
        "cosine": cosine,
        "log frequency of B": lambda a, b: frequency[b],
        "log frequency ratio": ratio,
        "order: smallest eigenvalue of B − A": lambda a, b: clouds[a].order(clouds[b]),
        "quota ratio": lambda a, b: clouds[b].quota / clouds[a].quota,
        "evidence of A in B's conceptor": own_evidence,
        "evidence of A's cloud in B's conceptor": evidence,
        "cosine × log frequency ratio": lambda a, b: cosine(a, b) * ratio(a, b),
        "B the narrower: cosine × log quota of A over B": narrower,
        "evidence of A × log frequency ratio": lambda a, b: own_evidence(a, b) * ratio(a, b),
        "evidence of A's cloud × log ratio": lambda a, b: evidence(a, b) * ratio(a, b),
    }


class Text:
    """Counts of a text, and measures of words from them."""

    def __init__(self, path: str, words: Collection[str]) -> None:
        self.path = path
        self.counted: Cooccurrence = cooccurrence(path, min_count=20)
        self.rows = {word: i for i, word in enumerate(self.counted.words) if word in words}
        self.matrix = ppmi(self.counted)
        self.log_counts = {w: float(np.log(self.counted.counts[i])) for w, i in self.rows.items()}

    def features(self, word: str) -> tuple[NDArray[np.intp], Array]:
        """Return the contexts of a word, in order, and their PPMI."""
        part = slice(*self.matrix.indptr[self.rows[word] : self.rows[word] + 2])
        order = np.argsort(self.matrix.indices[part])
        return self.matrix.indices[part][order], self.matrix.data[part][order]

    def included(self, a: str, b: str, least: bool) -> float:
        """Return the share of A's features that B also has, or the smaller of both weights."""
        (own, weights), (other, theirs) = self.features(a), self.features(b)
        if not len(own) or not len(other):
            return 0.0
        place = np.minimum(np.searchsorted(other, own), len(other) - 1)
        shared = np.where(other[place] == own, theirs[place], 0.0)
        kept = np.minimum(weights, shared) if least else weights[shared > 0]
        return float(kept.sum() / weights.sum())

    def measures(self) -> dict[str, Measure]:
        """Return WeedsPrec (Weeds & Weir 2003) and invCL (Lenci & Benotto 2012)."""

        def inverse(a: str, b: str) -> float:
            both = self.included(a, b, least=True), self.included(b, a, least=True)
            return float(np.sqrt(both[0] * (1 - both[1])))

        return {"WeedsPrec": lambda a, b: self.included(a, b, least=False), "invCL": inverse}

    def window_clouds(self, vectors: WordVectors, aperture: float) -> dict[str, Cloud]:
        """Return clouds of the windows around each word, as means of vectors."""
        with open(self.path, encoding="utf-8") as lines:
            texts = (TOKEN.findall(line.lower()) for line in lines)
            return context_clouds(texts, self.rows, vectors, most=CONTEXTS, aperture=aperture)

    def ppmi_clouds(self, vectors: WordVectors, aperture: float) -> dict[str, Cloud]:
        """Return clouds of the vectors of each word's strongest contexts, weighted by PPMI."""
        known = vectors.rows(self.counted.words)
        found = {}
        for word in self.rows:
            contexts, weights = self.features(word)
            contexts, weights = contexts[known[contexts] >= 0], weights[known[contexts] >= 0]
            best = np.argsort(-weights, kind="stable")[:CONTEXTS]
            if len(best) >= 5:
                rows = unit_rows(vectors.vectors[known[contexts[best]]])
                scale = np.sqrt(weights[best] / weights[best].mean())
                found[word] = Cloud(rows * scale[:, np.newaxis], aperture)
        return found


def all_measures(
    options: argparse.Namespace, words: set[str]
) -> tuple[set[str], dict[str, Measure]]:
    """Return the words that all measures have, and the measures."""
    vectors = open_vectors(options.vectors) if options.vectors else WordVectors(*demo_vectors())
    known = collect_rows(vectors, words)
    clouds = neighbour_clouds(
        vectors, known.words, options.size, aperture=options.aperture, among=100_000
    )
    frequency = {
        word: -float(np.log(1 + place))
        for word, place in zip(known.words, known.places, strict=True)
    }
    unit = dict(zip(known.words, unit_rows(known.vectors), strict=True))
    if not options.corpus:
        return set(clouds), measures_of(unit, clouds, frequency)
    text = Text(options.corpus, words)
    measures = measures_of(unit, clouds, text.log_counts) | text.measures()
    around = collect_rows(vectors, set(text.counted.words))
    made = {
        "windows": text.window_clouds(around, options.aperture),
        "PPMI contexts": text.ppmi_clouds(around, options.aperture),
    }
    for kind, each in made.items():
        for title, measure in measures_of(unit, each, text.log_counts).items():
            if not title.startswith(("cosine", "log")):
                measures[f"{kind}: {title}"] = measure
    return set(clouds).intersection(*made.values()), measures


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors")
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--aperture", type=float, default=2.0)
    parser.add_argument("--corpus")
    parser.add_argument("--keep", type=Path, help="file for finished rows")
    options = parser.parse_args(arguments)
    pairs = {name: read(name) for name in SETS}
    words = {word for each in pairs.values() for pair in each for word in pair[:2]}
    common, measures = all_measures(options, words)
    used = {name: [p for p in each if {p.a, p.b} <= common] for name, each in pairs.items()}
    setting = {k: str(v) for k, v in vars(options).items() if k != "keep"}
    kept = {"setting": setting, "rows": {}}
    if options.keep and options.keep.exists():
        kept = json.loads(options.keep.read_text())
        if kept["setting"] != setting:
            sys.exit(f"{options.keep} was made with other options: {kept['setting']}")
    print("; ".join(f"{n} {len(used[n]):,} of {len(pairs[n]):,} pairs" for n in SETS), flush=True)
    for place, (title, measure) in enumerate(measures.items()):
        if title not in kept["rows"]:
            found = {k: v for name in SETS for k, v in score(name, used[name], measure).items()}
            kept["rows"][title] = {
                name: [value, float(np.subtract(*np.percentile(sampled, [97.5, 2.5]))) / 2]
                for name, (value, *sampled) in found.items()
            }
            if options.keep:
                options.keep.write_text(json.dumps(kept))
        row = kept["rows"][title]
        if place == 0:
            print("| | " + " | ".join(row) + " |\n|---|" + "---:|" * len(row))
        cells = (f"{100 * value:.1f} ± {100 * half:.1f}" for value, half in row.values())
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
