"""The paper's Table 2 (SimLex with supervision) beside our measurements.

    python benchmarks/table2.py [VECTORS]

Without VECTORS: GloVe 6B 50d. docs/studies/lexicon.md shows its output. Differences have
95% intervals of a paired bootstrap over the word pairs of SimLex-999. `a+b` is b after a.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from common import demo, markdown_table, show_interval

from conceptor.evaluation import Battery, Comparison, evaluate, load_battery
from conceptor.fit import fit_methods
from conceptor.paper.counterfitting import counterfit, load_lexicon
from conceptor.vectors.files import as_vectors
from conceptor.vectors.vectors import Vectors

# The paper's figures × 100 for Google News word2vec and for Common Crawl GloVe.
PAPER = {
    "original": (44.20, 40.83),
    "counterfit-syn": (45, 46),
    "counterfit-ant": (33, 43),
    "counterfit": (47, 50),
    "cn-paper": (47, 49),
}


def simlex_only() -> Battery:
    return Battery([t for t in load_battery(["similarity"]).tasks if t.dataset == "SimLex"])


def mapped(vectors: Vectors, method: str) -> Vectors:
    return vectors.mapped(fit_methods(vectors, [method]).methods[method])


def table(vectors: object) -> list[str]:
    """Return the paper's Table 2 beside the results of these vectors."""
    opened, battery, lexicon = as_vectors(vectors), simlex_only(), load_lexicon()
    fitted = counterfit(opened, **lexicon)
    cn, cn_paper = mapped(opened, "cn"), mapped(opened, "cn-paper")
    variants = {
        "original": opened,
        "counterfit-syn": counterfit(opened, synonyms=lexicon["synonyms"]),
        "counterfit-ant": counterfit(opened, antonyms=lexicon["antonyms"]),
        "counterfit": fitted,
        "cn-paper": cn_paper,
        "cn-paper+counterfit": counterfit(cn_paper, **lexicon),
        "counterfit+cn-paper": mapped(fitted, "cn-paper"),
        "cn": cn,
        "cn+counterfit": counterfit(cn, **lexicon),
    }
    evaluations = {name: evaluate(each, battery, name=name) for name, each in variants.items()}
    over_original = Comparison(opened.name, evaluations, resamples=2000)
    over_counterfit = replace(over_original, baseline="counterfit")
    rows = []
    for name, evaluation in evaluations.items():
        gains = [over_original.interval(name, ["SimLex"])]
        is_shown = name.startswith("cn") or name == "counterfit+cn-paper"
        gains.append(over_counterfit.interval(name, ["SimLex"]) if is_shown else None)
        paper = [f"{figure:g}" for figure in PAPER.get(name, ())] or ["", ""]
        cells = [show_interval(gain, 2) if gain else "" for gain in gains]
        rows.append([name, *paper, f"{evaluation['SimLex'].score:.2f}", *cells])
    columns = ["method", "paper, word2vec", "paper, GloVe", "here", "over original"]
    row = evaluations["original"]["SimLex"]
    lines = markdown_table([*columns, "over counterfit"], rows).split("\n")
    return [*lines, "", f"{row.used} of {row.total} pairs."]


def preserving(vectors: object) -> str:
    """Return the effect of the preserving term before and after CN, which increases distances."""
    opened, battery, lexicon = as_vectors(vectors), simlex_only(), load_lexicon()
    rows = []
    for name, each in (("original", opened), ("cn-paper", mapped(opened, "cn-paper"))):
        scores = [
            evaluate(counterfit(each, **lexicon, radius=radius), battery)["SimLex"].score
            for radius in (0.2, 0.0)
        ]
        rows.append([name, *(f"{score:.2f}" for score in scores)])
    columns = ["counter-fitting of", "SimLex, neighbors preserved", "SimLex, without that term"]
    return markdown_table(columns, rows)


if __name__ == "__main__":
    source = sys.argv[1] if len(sys.argv) > 1 else demo()
    print("\n".join([*table(source), "", preserving(source)]))
