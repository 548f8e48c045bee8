"""Words in context: senses by conceptors against plain vectors.

    python benchmarks/senses.py [--vectors FILE] [--method cn] [--data DIR]

SCWS (Huang et al. 2012): 2,003 pairs of words, each in a context, with ten ratings. Figures
are Spearman's correlation with their mean × 100, over the pairs whose words have vectors, and over
the pairs of a word with itself (241 in all). A word's context is the words within ten positions,
without frequent words.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from clouds import Cloud, Senses, neighbour_clouds
from scipy.stats import rankdata

from conceptor.base.arrays import unit_rows
from conceptor.data.registry import demo_vectors, fetch
from conceptor.fitting import fit_methods
from conceptor.vectors import WordVectors, open_vectors
from conceptor.vectors.chunks import MappedVectors, collect_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    # From a word and the vectors around it to the word's vector in that context.
    InContext = Callable[[str, Array], Array]

WINDOW, FREQUENT = 10, 150


class Occurrence(NamedTuple):
    """A word and the words around it."""

    word: str
    around: tuple[str, ...]


def read(path: object) -> list[tuple[Occurrence, Occurrence, float]]:
    """Return pairs of words in context with their mean rating."""
    with open(path, encoding="utf-8") as lines:  # type: ignore[call-overload]
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return [(occurrence(r[1], r[5]), occurrence(r[3], r[6]), float(r[7])) for r in rows]


def occurrence(word: str, text: str) -> Occurrence:
    before, _, rest = text.partition("<b>")
    _, _, after = rest.partition("</b>")
    left, right = before.lower().split(), after.lower().split()
    return Occurrence(word.lower(), (*left[-WINDOW:], *right[:WINDOW]))


def spearman(a: Array, b: Array) -> float:
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def cosine(a: Array, b: Array) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors")
    parser.add_argument("--method", default="original")
    parser.add_argument("--data")
    options = parser.parse_args(arguments)
    source = open_vectors(options.vectors) if options.vectors else WordVectors(*demo_vectors())
    fitted = fit_methods(source, [options.method]).methods[options.method]
    vectors = MappedVectors(source, fitted.transforms)
    pairs = read(fetch("senses/scws.txt", options.data))
    sides = [side for pair in pairs for side in pair[:2]]
    words = {side.word for side in sides}
    known = collect_rows(vectors, words.union(*(side.around for side in sides)))
    known = known.with_vectors(unit_rows(known.vectors))
    frequent = {w for w, place in zip(known.words, known.places, strict=True) if place < FREQUENT}
    clouds = neighbour_clouds(vectors, words, 50, among=100_000)
    senses: dict[tuple[str, int], Senses] = {}

    def vector(word: str) -> Array:
        return known.vectors[known.rows([word])[0]]

    def senses_of(word: str, count: int) -> Senses:
        if (word, count) not in senses:
            senses[word, count] = Senses.from_cloud(vector(word), clouds[word], count)
        return senses[word, count]

    def around(side: Occurrence) -> Array:
        some = [w for w in side.around if w not in frequent and w != side.word]
        rows = known.rows(some)
        return known.vectors[rows[rows >= 0]]

    def filtered(word: str, context: Array) -> Array:
        """Return the word plus the part of it that the context's conceptor keeps."""
        factor = Cloud(context).factor
        return vector(word) + factor @ (factor.T @ vector(word))

    def sense_mean(word: str, context: Array) -> Array:
        found = senses_of(word, 2)
        best = int(found.evidence(context).argmax())
        return unit_rows(found.clouds[best].rows.mean(axis=0, keepdims=True))[0] + vector(word)

    ways: dict[str, InContext] = {
        "plain vectors": lambda word, context: vector(word),
        "context alone": lambda word, context: context.mean(axis=0),
        "word + mean of the context": lambda word, context: vector(word) + context.mean(axis=0),
        "word + conceptor of the context": filtered,
        "2 senses: word + mean of the sense": sense_mean,
        "2 senses: NOT the other": lambda w, context: senses_of(w, 2).vector_in(context),
        "3 senses: NOT (OR of the others)": lambda w, context: senses_of(w, 3).vector_in(context),
        "2 senses: word + NOT the other": lambda w, context: (
            vector(w) + senses_of(w, 2).vector_in(context)
        ),
    }
    used = [
        (a, b, rating)
        for a, b, rating in pairs
        if {a.word, b.word} <= set(clouds) and len(around(a)) and len(around(b))
    ]
    gold = np.array([rating for *_, rating in used])
    same = np.array([a.word == b.word for a, b, _ in used])
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(used), (500, len(used)))
    count = f"{len(used):,} of {len(pairs):,} pairs"
    print(f"| {count} | all | against plain | same word ({same.sum()}) |")
    print("|---|---:|---:|---:|")
    plain = None
    for name, way in ways.items():
        made = np.array(
            [cosine(*(way(side.word, around(side)) for side in pair[:2])) for pair in used]
        )
        plain = made if plain is None else plain
        gains = [spearman(made[i], gold[i]) - spearman(plain[i], gold[i]) for i in draws]
        low, high = 100 * np.percentile(gains, [2.5, 97.5])
        own = "–" if np.ptp(made[same]) < 1e-9 else f"{100 * spearman(made[same], gold[same]):.1f}"
        lead = "" if made is plain else f"[{low:+.1f}, {high:+.1f}]"
        print(f"| {name} | {100 * spearman(made, gold):.1f} | {lead} | {own} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
