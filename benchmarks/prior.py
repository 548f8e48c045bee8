"""How much a prior for frequent words helps neighbours, by method.

    python benchmarks/prior.py [VECTORS ...]

Synonyms among the ten nearest of all words, ordered by cosine − β log(1 + rank / 1000), for several
β, and the median rank of the neighbours. By default on GloVe 6B 50d and Google News 26k.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from conceptor.data import registry as datasets
from conceptor.evaluation import Battery
from conceptor.evaluation.compare.words import compare
from conceptor.evaluation.neighbours import FILE, read_neighbours
from conceptor.vectors import WordVectors, open_vectors

PRIORS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06)
METHODS = ("original", "cn")


def main(paths: list[str]) -> None:
    sets = {path: open_vectors(path) for path in paths} or {
        "GloVe 6B 50d": WordVectors(*datasets.demo_vectors()),
        "Google News 26k": open_vectors(datasets.fetch("vectors/googlenews-26k.bin")),
    }
    task = read_neighbours(datasets.fetch(FILE))[0]
    battery = Battery([replace(task, dataset=f"{prior:g}", prior=prior) for prior in PRIORS])
    for name, vectors in sets.items():
        print(f"| {name} | " + " | ".join(f"{prior:g}" for prior in PRIORS) + " |")
        for method, evaluation in compare(
            vectors, METHODS, battery, resamples=0
        ).evaluations.items():
            cells = [
                f"{outcome.score:.2f} ({outcome.remark.split()[4].rstrip(',')})"
                for outcome in evaluation.outcomes
            ]
            print(f"| {method} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
