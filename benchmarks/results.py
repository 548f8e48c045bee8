"""Write docs/results.md: every method on every task, with intervals, for three sets of vectors.

    python benchmarks/results.py docs/results.md

Needs the demo extra, and $CONCEPTOR_DATA with the benchmark files and both sets of Google News
vectors. Text classification is in docs/claims.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dialogue
import table2

from conceptor.algebra.methods import ORIGINAL, spectral_methods
from conceptor.base.files import replace_atomically
from conceptor.comparing.words import Comparison, compare
from conceptor.data import registry as datasets
from conceptor.evaluation import FAMILIES, load_battery
from conceptor.report.tables import comparison_tables, markdown

INTRODUCTION = """# Results

Written by `python benchmarks/results.py docs/results.md`; not edited by hand. `conceptor compare`
prints the same tables for vectors of your own. What the tasks and figures mean: evaluation.md.

`gain` is the difference of the means from the original vectors, with the {resamples:,}-resample
paired bootstrap 95% interval below it. The best of each row is in bold.
"""


TABLE_2 = """## The paper's Table 2: supervision by synonyms and antonyms

SimLex-999 on GloVe 6B 50d beside the paper's figures for larger vectors: rows compare, not cells;
also printed by `python benchmarks/table2.py`. Lexicon, differences, costs elsewhere: lexicon.md.
"""


DIALOGUE = """## The paper's Table 5: dialogue state tracking

WOZ 2.0 with GloVe 6B 50d; also printed by `python benchmarks/dialogue.py markdown`, from the runs
that `python benchmarks/dialogue.py run` made. Model, training, reading of the figures: dialogue.md.
"""


def main(target: str) -> None:
    battery = load_battery([family for family in FAMILIES if family != "classification"])
    if battery.missing:
        sys.exit(f"these files are missing: {', '.join(battery.missing)}")
    parts = []
    for title, vectors in (
        ("GloVe 6B 50d", datasets.demo_vectors()),
        ("Google News 26k (300d)", datasets.fetch("vectors/googlenews-26k.bin")),
        ("Google News 13k (300d)", datasets.fetch("vectors/googlenews-13k.bin")),
    ):
        comparison = compare(vectors, [ORIGINAL, *spectral_methods()], battery, name=title)
        parts.append(section(comparison))
    parts.append("\n".join([TABLE_2, *table2.table(datasets.demo_vectors()), ""]))
    parts.append("\n".join([DIALOGUE, *dialogue.section()]))
    introduction = INTRODUCTION.format(resamples=comparison.resamples)
    with replace_atomically(target) as beside:
        beside.write_text("\n".join([introduction, *parts]), encoding="utf-8")


def section(comparison: Comparison) -> str:
    lines = [f"## {comparison.vectors}\n", *(f"- {note}" for note in comparison.notes), ""]
    lines += [markdown(table) for table in comparison_tables(comparison, by_task=True)]
    lines.append("### Where conceptor negation wins and where it loses\n")
    lines.append(
        "Gain over the original by dataset, with its interval; `=` where the interval holds zero.\n"
    )
    lines.append("| | cn-paper | | cn | |\n|---|---:|---|---:|---|")
    counts = {name: {"wins": 0, "=": 0, "loses": 0} for name in ("cn-paper", "cn")}
    for outcome in comparison.evaluations[ORIGINAL].outcomes:
        cells = [outcome.dataset]
        for method, tally in counts.items():
            gain = comparison.interval(method, [outcome.dataset])
            verdict = "wins" if gain.low > 0 else "loses" if gain.high < 0 else "="
            tally[verdict] += 1
            cells += [f"{gain.difference:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]", verdict]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for method, tally in counts.items():
        lines.append(
            f"- {method}: wins on {tally['wins']}, undecided on {tally['=']}, "
            f"loses on {tally['loses']} of {sum(tally.values())} datasets."
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path("docs", "results.md")))
