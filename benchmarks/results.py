"""Write docs/data/results.json: the paper's tables, and every method on every task, with intervals.

    python benchmarks/results.py docs/data/results.json [PART ...] [--resume DIR]

Without PART, all of them: paper (Tables 1, 3 and 4 on Google News), supervision (Table 2), dialogue
(Table 5), remarks (the paper's remarks on text classification and fastText), and glove-50d,
google-news-26k, google-news-13k (all methods). With PARTs, only their sections are rewritten.
--resume DIR keeps the finished parts of `conceptor reproduce`.

Needs the demo extra, and $CONCEPTOR_DATA with the benchmark files and both sets of Google News
vectors. The dialogue part prints the results of `python benchmarks/dialogue.py` so far, and
remarks those in docs/data/claims.json.
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import dialogue
import table2

from conceptor.base.numbers import format_signed
from conceptor.data import registry as datasets
from conceptor.evaluation import FAMILIES, PAPER_FAMILIES, Battery, load_battery
from conceptor.evaluation.compare.words import Comparison, compare
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.methods import ORIGINAL, spectral_methods
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.report import TITLES, draw_gates
from conceptor.paper.reproduction import METHODS, PaperVectors, reproduce
from conceptor.report.forms import markdown
from conceptor.report.tables import comparison_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from conceptor.paper.tables import Reproduction

DOCS = Path(__file__).parents[1] / "docs"
CLAIMS = DOCS / "data" / "claims.json"
FIGURE = DOCS / "pictures" / "figure1.svg"

NOTE = f"""Written by `python benchmarks/results.py docs/data/results.json`, in parts that can be
named. `gain` is the difference of the means from the original vectors, with the 95% interval of
the paired bootstrap ({RESAMPLES:,} resamples) below it. The best of each row is in bold."""

PAPER = """Also printed by `conceptor reproduce`. Cells: the paper's figure → ours (difference). †
marks sets of which less than 90% of the items, or for sentences of the words, have a vector here:
those figures are about other data than the paper's. *a*, *and*, *of* and *to*, which the paper's
own file lacks as well, do not count.
"""

TABLE_2 = """SimLex-999 on Google News and on GloVe 6B 50d beside the paper's figures, which for
GloVe are of larger vectors: there rows compare, not cells; also printed by `python
benchmarks/table2.py [VECTORS]`.
"""

DIALOGUE = """WOZ 2.0; also printed by `python benchmarks/dialogue.py markdown STUDY`, from the runs
that `python benchmarks/dialogue.py run STUDY FILE` made.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    parser.add_argument("--resume", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    names = arguments.parts or list(PARTS)
    kept = data_files.read(arguments.target) if arguments.target.exists() else {}
    for name in names:
        title, write = PARTS[name]
        text = write(arguments.resume) if name == "paper" else write()
        _, found = data_files.parse(f"## {title}\n\n{text}")
        place = data_files.slug(title)
        kept = {k: table for k, table in kept.items() if not belongs(k, place)} | found
    ordered = {
        k: table
        for title, _ in PARTS.values()
        for k, table in kept.items()
        if belongs(k, data_files.slug(title))
    }
    data_files.write_tables(arguments.target, NOTE, ordered)


def belongs(name: str, section: str) -> bool:
    """Return whether a table is the section's own or below it."""
    return name == section or name.startswith(f"{section}/")


@functools.cache
def benchmarks(*families: str) -> Battery:
    battery = load_battery(families)
    if battery.missing:
        sys.exit(f"these files are missing: {', '.join(battery.missing)}")
    return battery


def papers_tables(resume: Path | None = None) -> str:
    vectors, title = google_news_vectors()
    found = reproduce(
        {"word2vec": PaperVectors(vectors, title)}, benchmarks(*PAPER_FAMILIES), resume=resume
    )
    draw_gates(found, FIGURE)
    lines = [PAPER, *(f"- {note}" for note in found.parts["word2vec"].notes[:2]), f"- {title}", ""]
    for table, heading in TITLES.items():
        if table not in ("supervised_simlex", "dialogue"):
            lines += [f"### {heading}\n", *beside_the_paper(found, table), ""]
    cells = [c for c in found.cells if c.comparable and c.table != "supervised_simlex"]
    far = [c.dataset for c in cells if abs(c.difference) > 1.5]
    named = ", ".join(dict.fromkeys(far))
    lines += [f"{found.summary[0]}. The others are of {named}, and of Table 2."]
    return "\n".join(lines)


def beside_the_paper(found: Reproduction, table: str) -> list[str]:
    cells = {(c.dataset, c.method): c for c in found.cells if c.table == table}
    lines = [f"| | {' | '.join(METHODS)} | used |", "|---|" + "---:|" * (len(METHODS) + 1)]
    for dataset in dict.fromkeys(dataset for dataset, _ in cells):
        row = [cells[dataset, method] for method in METHODS]
        shown = [f"{c.paper:.2f} → {c.measured:.2f} ({format_signed(c.difference)})" for c in row]
        mark = "" if row[0].comparable else " †"
        lines.append(f"| {dataset}{mark} | {' | '.join(shown)} | {row[0].used}/{row[0].total} |")
    return lines


def supervision() -> str:
    news, _ = google_news_vectors()
    lines = [TABLE_2, "### Google News 31k (300d)\n", *table2.table(news), ""]
    return "\n".join([*lines, "### GloVe 6B 50d\n", *table2.table(datasets.demo_vectors()), ""])


def dialogues() -> str:
    lines = [DIALOGUE]
    for name, plan in dialogue.PLANS.items():
        if dialogue.summary_file(name).exists():
            lines += [f"### {plan.title}: {plan.training}\n"]
            lines += [line.replace("### ", "#### ") for line in dialogue.section(name)]
    return "\n".join(lines)


def remarks() -> str:
    """Compare the figures of docs/data/claims.json with the paper's two remarks."""
    claims = data_files.read(CLAIMS)
    classes = {row[0]: row[1:] for row in claims["text-classification"].rows}
    gains = [classes[m][2:] for m in ("abtt", "cn-paper")]
    same = all(a.split()[-1] == b.split()[-1] for a, b in zip(*gains, strict=True))
    measured = claims["every-set-of-vectors/fasttext-100d"]
    fast = {row[0]: row[1:] for row in measured.rows}
    tasks = measured.columns[1:]
    differences = {
        method: [float(x) - float(y) for x, y in zip(fast[method], fast[ORIGINAL], strict=True)]
        for method in ("abtt", "cn-paper")
    }
    visible = sum(gain > 1 for found in differences.values() for gain in found)
    shown = (
        "; ".join(
            f"{method} " + ", ".join(f"{t} {g:+.1f}" for t, g in zip(tasks, found, strict=True))
            for method, found in differences.items()
        )
        .replace("-", "−")
        .replace("cn−paper", "cn-paper")
    )
    count = sum(map(len, differences.values()))
    return (
        "Figures by `python benchmarks/claims.py`.\n\n"
        '- **Text classification: "ABTT and CN yield equivalent results".** '
        f"{'Agreed' if same else 'Contradicted, by about half a point'}. Accuracy of logistic "
        "regression on averages, mean of six sets, over the original vectors: ABTT "
        f"{' and '.join(gains[0])}, CN {' and '.join(gains[1])} (GloVe 6B 50d and Google News "
        "26k).\n"
        '- **fastText: "neither post-processing method provides visible gain".** '
        f"{'Contradicted' if visible > count / 2 else 'Agreed'} for vectors of our own (100 "
        f"dimensions, with character n-grams): {shown}; {visible} of {count} gains are above a "
        "point. Subwords do not keep frequency out of these vectors. The published fastText "
        "vectors, trained on far more text, were not measured."
    )


def all_methods(title: str, vectors: Callable[[], object]) -> str:
    battery = benchmarks(*(family for family in FAMILIES if family != "classification"))
    return section(compare(vectors(), [ORIGINAL, *spectral_methods()], battery, name=title))


def section(comparison: Comparison) -> str:
    lines = [*(f"- {note}" for note in comparison.notes), ""]
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


PARTS: dict[str, tuple[str, Callable[..., str]]] = {
    "paper": ("The paper's Tables 1, 3 and 4: Google News (300d)", papers_tables),
    "supervision": ("The paper's Table 2: supervision by synonyms and antonyms", supervision),
    "dialogue": ("The paper's Table 5: dialogue state tracking", dialogues),
    "remarks": ("The paper's remarks: text classification and fastText", remarks),
} | {
    name: (title, functools.partial(all_methods, title, vectors))
    for name, title, vectors in (
        ("glove-50d", "GloVe 6B 50d", datasets.demo_vectors),
        (
            "google-news-26k",
            "Google News 26k (300d)",
            lambda: datasets.fetch("vectors/googlenews-26k.bin"),
        ),
        (
            "google-news-13k",
            "Google News 13k (300d)",
            lambda: datasets.fetch("vectors/googlenews-13k.bin"),
        ),
    )
}


if __name__ == "__main__":
    main()
