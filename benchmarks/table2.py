"""The paper's Table 2 (SimLex with supervision) beside what is measured here.

    python benchmarks/table2.py [VECTORS]

Without VECTORS: GloVe 6B 50d. docs/studies/lexicon.md shows its output. Differences have
95% intervals of a paired bootstrap over the word pairs of SimLex-999.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from conceptor.data.registry import demo_vectors
from conceptor.evaluation import load_battery
from conceptor.evaluation.compare.words import compare
from conceptor.fitting import fit_methods
from conceptor.lexicon import CounterFitting
from conceptor.lexicon.files import Lexicon
from conceptor.methods import ORIGINAL
from conceptor.vectors import open_vectors
from conceptor.vectors.chunks import MappedVectors, collect_rows

if TYPE_CHECKING:
    from conceptor.evaluation import Battery

# Method, the paper's figure × 100 for Google News word2vec and for Common Crawl GloVe.
PAPER = {
    "original": (44.20, 40.83),
    "counterfit-syn": (45, 46),
    "counterfit-ant": (33, 43),
    "counterfit": (47, 50),
    "cn-paper": (47, 49),
    "retrofit": None,
    "cn-paper+counterfit": None,
    "counterfit+cn-paper": None,
    "cn": None,
    "cn+counterfit": None,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vectors", nargs="?")
    name = parser.parse_args().vectors
    vectors = demo_vectors() if name is None else open_vectors(name)
    print("\n".join([*table(vectors), "", *preserving(vectors)]))


def simlex_only() -> Battery:
    everything = load_battery(["similarity"])
    simlex = [task for task in everything.tasks if task.dataset == "SimLex"]
    return dataclasses.replace(everything, tasks=simlex)


def table(vectors: object) -> list[str]:
    """Return the paper's Table 2 beside what these vectors give."""
    found = compare(vectors, list(PAPER), simlex_only(), resamples=2000)
    supervised = dataclasses.replace(
        found,
        evaluations={
            ORIGINAL: found.evaluations["counterfit"],
            **{m: e for m, e in found.evaluations.items() if m.startswith(("cn", "counterfit+"))},
        },
    )
    lines = [
        "| method | paper, word2vec | paper, GloVe | here | over original | over counterfit |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for method, paper in PAPER.items():
        (row,) = found.evaluations[method].rows()
        printed = [f"{figure:g}" for figure in paper] if paper else ["", ""]
        gains = [part.interval(method, ["SimLex"]) for part in (found, supervised)]
        cells = [f"{g.difference:+.2f} ({g.low:+.2f} … {g.high:+.2f})" if g else "" for g in gains]
        shown = " | ".join([*printed, f"{row.score:.2f}", *cells]).replace("-", "−")
        lines.append(f"| {method} | {shown} |")
    return [*lines, "", f"{row.used} of {row.total} pairs. {'; '.join(found.notes)}."]


def preserving(vectors: object) -> list[str]:
    """Return what the preserving term does before and after CN, whose distances are larger."""
    battery, lexicon = simlex_only(), Lexicon()
    steps = fit_methods(vectors, ["cn-paper"]).methods["cn-paper"].transforms
    lines = [
        "| counter-fitting of | neighbours kept | SimLex with them | SimLex without |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, stream in (("original", vectors), ("cn-paper", MappedVectors(vectors, steps))):
        rows = collect_rows(stream, battery.words)
        scores, kept = [], 0
        for preserve in (0.1, 0.0):
            method = CounterFitting(
                lexicon.synonym_files(),
                lexicon.antonym_files(),
                preserve=preserve,
            ).fit(stream)
            fitted = rows.with_vectors(method.transform(rows.words, rows.vectors))
            (row,) = battery.run(fitted).rows()
            scores.append(row.score)
            kept = max(kept, method.pairs_["neighbours"])
        lines.append(f"| {name} | {kept:,} | {scores[0]:.2f} | {scores[1]:.2f} |")
    return lines


if __name__ == "__main__":
    main()
