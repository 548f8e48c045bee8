"""Eigenvalue weighting, CN and All-But-The-Top on PPMI vectors of one's own.

    python benchmarks/ppmi_corpus.py corpus.txt
    python benchmarks/ppmi_study.py corpus.txt

prints the tables of docs/studies/ppmi.md. Every row starts from the same E = ΘD of one training; EW
with p = 1 is E itself. The paper's CN and ABTT are fitted on all words alike, `cn` with the words'
counts in the corpus. The benchmarks are found as `conceptor compare` finds them.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from conceptor.evaluation import WordVectors, load_battery
from conceptor.evaluation.compare.words import compare
from conceptor.fitting import FitOptions
from conceptor.methods import ORIGINAL, Method
from conceptor.paper.ppmi import PPMIVectors, cooccurrence
from conceptor.report.forms import markdown
from conceptor.report.tables import comparison_tables

POWERS = (0.5, 0.25, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--min-count", type=int, default=10)
    parser.add_argument("--subsample", type=float, default=None)
    parser.add_argument("--aperture", type=float, default=2.0)
    parser.add_argument("--directions", type=int, default=3)
    options = parser.parse_args()

    counted = cooccurrence(options.corpus, window=options.window, min_count=options.min_count)
    trained = PPMIVectors(options.dimension, subsample=options.subsample).fit_counts(counted)
    print(
        f"{counted.tokens:,} tokens, {len(counted.words):,} words, {counted.matrix.nnz:,} pairs of "
        "them in order"
    )
    values = trained.singular_values_
    print(
        f"singular values {values[0]:.1f} … {values[-1]:.1f}; eigenvalues of R = EᵀE/|V| "
        f"{values[0] ** 2 / len(trained.words):.3g} … {values[-1] ** 2 / len(trained.words):.3g}\n"
    )
    battery = load_battery()
    methods = {
        ORIGINAL: (),
        "abtt": Method.parse(f"abtt:n_directions={options.directions}"),
        "cn-paper": Method.parse(f"cn-paper:aperture={options.aperture}"),
        "cn": Method.parse(f"cn:aperture={options.aperture}"),
    }
    found = compare(
        (trained.words, trained.vectors(power=1)),
        methods,
        battery,
        FitOptions(weights=trained.counts, vocabulary=f"top:{len(trained.words)}"),
        name="PPMI",
    )
    weighted = {
        f"ew p={power:g}": battery.run(WordVectors(trained.words, trained.vectors(power=power)))
        for power in POWERS
    }
    evaluations = {ORIGINAL: found.evaluations[ORIGINAL], **weighted, **found.evaluations}
    for table in comparison_tables(dataclasses.replace(found, evaluations=evaluations)):
        print(markdown(table))


if __name__ == "__main__":
    main()
