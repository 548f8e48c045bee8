"""Eigenvalue weighting, CN and All-But-The-Top on our own PPMI vectors.

    python benchmarks/ppmi_corpus.py corpus.txt
    python benchmarks/ppmi_study.py corpus.txt

prints the tables of docs/studies/paper.md. Every row starts from the same E = ΘD of one training;
EW with p = 1 is E itself. The paper's CN and ABTT are fitted on all words equally, `cn` with the
words' counts in the corpus. Benchmark files are found in the same way as by `conceptor compare`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from conceptor.evaluation import load_battery
from conceptor.evaluation.comparison import compare
from conceptor.fit import FitOptions
from conceptor.methods import ORIGINAL
from conceptor.paper.ppmi import cooccurrence, ppmi, truncated_svd, weight_eigenvalues
from conceptor.report.scores import comparison_tables
from conceptor.report.tables import markdown
from conceptor.vectors.table import WordVectors

DIMENSION = 300
POWERS = (0.5, 0.25, 0.0)
METHODS = {
    ORIGINAL: ORIGINAL,
    "abtt": "abtt:n_directions=3",
    "cn-paper": "cn-paper",
    "cn": "cn:aperture=2",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus")
    counted = cooccurrence(parser.parse_args().corpus)
    words = counted.words
    theta, values = truncated_svd(ppmi(counted), DIMENSION)
    print(f"{counted.tokens:,} tokens, {len(words):,} words, {counted.matrix.nnz:,} ordered pairs")
    first, last = values[0], values[-1]
    print(
        f"singular values {first:.1f} … {last:.1f}; eigenvalues of R = EᵀE/|V| "
        f"{first**2 / len(words):.3g} … {last**2 / len(words):.3g}\n"
    )
    battery = load_battery()
    counts = dict(zip(words, counted.counts.tolist(), strict=True))
    comparison = compare(
        (words, weight_eigenvalues(theta, values, 1.0)),
        METHODS,
        battery,
        FitOptions(weights=counts, vocabulary=f"top:{len(words)}"),
        name="PPMI",
    )
    evaluations = {ORIGINAL: comparison.evaluations[ORIGINAL]}
    for power in POWERS:
        table = WordVectors(words, weight_eigenvalues(theta, values, power))
        evaluations[f"ew p={power:g}"] = battery.run(table)
    for table in comparison_tables(
        replace(comparison, evaluations=evaluations | dict(comparison.evaluations))
    ):
        print(markdown(table))


if __name__ == "__main__":
    main()
