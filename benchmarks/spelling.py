"""How well spelling predicts a word's vector, on words whose vectors are known.

    python benchmarks/spelling.py [NAME=FILE ...]

Of the words of lower-case letters among the first 20,000, 1,500 are hidden and predicted from the
others, after usage-weighted conceptor negation. No similarity benchmark is used.
Needs the demo extra and $CONCEPTOR_DATA with vectors/googlenews-13k.bin.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from conceptor.algebra.recipes import METHODS, Words
from conceptor.data import registry as datasets
from conceptor.fitting import FitOptions, gather
from conceptor.sentences.spelling import Spelling
from conceptor.vectors import open_vectors
from conceptor.vectors.chunks import read_chunks

NGRAMS = ((3, 5), (3, 6), (2, 6), (3, 8))
POWERS = (1.0, 2.0, 3.0, 4.0)
HIDDEN, OF = 1_500, 20_000


def main(more: list[str]) -> None:
    sources = {
        "GloVe 6B 50d": datasets.demo_vectors(),
        "Google News subset": open_vectors(datasets.fetch("googlenews-13k.bin")),
    }
    sources |= {
        name: open_vectors(file) for name, _, file in (each.partition("=") for each in more)
    }
    print("| share told | " + " | ".join(sources) + " |\n|---" + "|---:" * len(sources) + "|")
    samples = [split(source) for source in sources.values()]
    for ngrams in NGRAMS:
        for power in POWERS:
            cells = [f"{share_told(sample, ngrams, power):.3f}" for sample in samples]
            print(f"| {ngrams[0]}–{ngrams[1]}, power {power:g} | " + " | ".join(cells) + " |")
    for name, sample in zip(sources, samples, strict=True):
        begin = time.perf_counter()
        spelling = Spelling(sample.known, sample.vectors)
        ready = time.perf_counter()
        spelling(sample.hidden)
        end = time.perf_counter()
        each = (end - ready) / len(sample.hidden)
        print(f"{name}: {ready - begin:.2f} s to prepare, {1e3 * each:.2f} ms a word")


class Sample(NamedTuple):
    """Known words and hidden words, with their vectors."""

    known: list[str]
    vectors: np.ndarray
    hidden: list[str]
    truth: np.ndarray


def split(source: object) -> Sample:
    usage = FitOptions().weights_for(Words.USAGE, source)
    gathered = gather(read_chunks(source), [usage], first=OF)
    negation = METHODS["cn"].solve(gathered.moments[usage])
    names = [w for w in gathered.rows.words if w.isalpha() and w.islower()]
    order = np.random.default_rng(0).permutation(len(names))
    vectors = negation.map(gathered.rows.vectors[gathered.rows.rows(names)])
    known, hidden = order[HIDDEN:], order[:HIDDEN]
    return Sample(
        [names[i] for i in known], vectors[known], [names[i] for i in hidden], vectors[hidden]
    )


def share_told(sample: Sample, ngrams: tuple[int, int], power: float) -> float:
    """Return R²: the share of the squared distance from the mean that spelling explains."""
    spelling = Spelling(sample.known, sample.vectors, ngrams=ngrams, power=power)
    told = spelling.average_known(sample.hidden)
    mean = sample.vectors.mean(axis=0)
    return 1 - ((sample.truth - told) ** 2).sum() / ((sample.truth - mean) ** 2).sum()


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main(sys.argv[1:])
