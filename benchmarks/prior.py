"""How much a prior for frequent words helps synonym retrieval, by method.

    python benchmarks/prior.py [VECTORS ...]

Synonyms among the ten nearest of all words, ordered by cosine − β log(1 + rank / 1000), for several
β, and the median rank of the neighbors. By default on GloVe 6B 50d and Google News 26k.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from common import demo, google_news, markdown_table

from conceptor.data import registry
from conceptor.evaluation import Battery
from conceptor.evaluation.comparison import compare_words
from conceptor.evaluation.synonyms import FILE, read_synonyms
from conceptor.vectors import open_vectors

PRIORS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06)


def main(paths: list[str]) -> None:
    sets = {path: open_vectors(path) for path in paths} or {
        "GloVe 6B 50d": demo(),
        "Google News 26k": google_news(),
    }
    task = read_synonyms(registry.fetch(FILE))[0]
    battery = Battery([replace(task, dataset=f"{prior:g}", prior=prior) for prior in PRIORS])
    for name, vectors in sets.items():
        comparison = compare_words(vectors, ["original", "cn"], battery, resamples=0)
        rows = []
        for method, evaluation in comparison.evaluations.items():
            # The remark is: neighbors at median rank N, ...
            ranks = [each.remark.split()[4].rstrip(",") for each in evaluation.outcomes]
            pairs = zip(evaluation.outcomes, ranks, strict=True)
            rows.append([method, *(f"{each.score:.2f} ({rank})" for each, rank in pairs)])
        print(markdown_table([name, *(f"{prior:g}" for prior in PRIORS)], rows))


if __name__ == "__main__":
    main(sys.argv[1:])
