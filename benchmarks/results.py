"""Write docs/results.md: the paper's tables, and every method on every task, with intervals.

    python benchmarks/results.py docs/results.md [PART ...] [--resume DIR]

Without PART, all of them: paper (Tables 1, 3 and 4 on Google News), supervision (Table 2), dialogue
(Table 5), remarks (what the paper says of text classification and fastText), and glove-50d,
google-news-26k, google-news-13k (all methods). With PARTs, only their sections are written anew.
--resume DIR keeps what `conceptor reproduce` has finished.

Needs the demo extra, and $CONCEPTOR_DATA with the benchmark files and both sets of Google News
vectors. The dialogue part prints what `python benchmarks/dialogue.py` has measured so far, and
remarks what docs/claims.md holds.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import dialogue
import table2

from conceptor.base.files import replace_atomically
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

CLAIMS = Path(__file__).parents[1] / "docs" / "claims.md"
FIGURE = Path(__file__).parents[1] / "docs" / "figure1.svg"

INTRODUCTION = f"""# Results

Written by `python benchmarks/results.py docs/results.md`, in parts that can be named (`paper`,
`supervision`, `dialogue`, `remarks`, `glove-50d`, `google-news-26k`, `google-news-13k`); not edited
by hand. `conceptor compare` prints such tables for vectors of your own. What the tasks and figures
mean: evaluation.md.

`gain` is the difference of the means from the original vectors, with the {RESAMPLES:,}-resample
paired bootstrap 95% interval below it. The best of each row is in bold.
"""

PAPER = """Also printed by `conceptor reproduce`. Cells: the paper's figure → ours (difference). †
marks sets of which less than 90% of the items, or for sentences of the words, have a vector here:
those figures are about other data than the paper's. *a*, *and*, *of* and *to*, which the paper's
own file lacks as well, do not count.
"""

REASONS = """The paper quotes its original and ABTT columns from another paper's pipeline. Sentences
suffer from what a fragment lacks even where nine tenths of the words are there: the missing ones
are names and rare words, which tell sentences apart. 2012/SMTeuroparl hangs on single pairs, and
so does STS 2012 through it ([evaluation.md](evaluation.md)). Counter-fitting gains more here than
the paper reports, with antonyms above all; that is not explained ([lexicon.md](lexicon.md)).
"""

TABLE_2 = """SimLex-999 on Google News and on GloVe 6B 50d beside the paper's figures, which for
GloVe are of larger vectors: there rows compare, not cells; also printed by `python
benchmarks/table2.py [VECTORS]`. Lexicon, differences, costs elsewhere: lexicon.md.
"""

DIALOGUE = """WOZ 2.0; also printed by `python benchmarks/dialogue.py markdown STUDY`, from the runs
that `python benchmarks/dialogue.py run STUDY FILE` made. Model, training, reading of the figures:
dialogue.md.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    parser.add_argument("--resume", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    names = arguments.parts or list(PARTS)
    sections = read_sections(arguments.target)
    for name in names:
        title, write = PARTS[name]
        text = write(arguments.resume) if name == "paper" else write()
        sections[title] = f"## {title}\n\n{text.strip()}\n"
    ordered = [sections[title] for title, _ in PARTS.values() if title in sections]
    with replace_atomically(arguments.target) as beside:
        beside.write_text("\n".join([INTRODUCTION, *ordered]), encoding="utf-8")


def read_sections(path: Path) -> dict[str, str]:
    """Return the sections of a file by title."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.split("\n", 1)[0]: f"## {part.rstrip()}\n" for part in found}


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
    lines += [f"{found.summary[0]}. The others are of {named}, and of Table 2. "]
    lines += [REASONS]
    lines += ["### Figure 1: variance gating coefficients, d = 3 and α = 2\n"]
    lines += ["![Gating coefficients of ABTT and CN on Google News](figure1.svg)\n"]
    return "\n".join([*lines, "Drawn by `conceptor reproduce --figure` as well.\n"])


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
    """Set what docs/claims.md has measured beside the paper's two remarks."""
    claims = read_sections(CLAIMS)
    classes = read_rows(claims["Text classification"])
    gains = [classes[m][2:] for m in ("abtt", "cn-paper")]
    same = all(a.split()[-1] == b.split()[-1] for a, b in zip(*gains, strict=True))
    by_vectors = claims["Every set of vectors"].split("\n### ")
    fast = read_rows(next(part for part in by_vectors if part.startswith("fastText")))
    tasks = fast[""]
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
        "Figures from [claims.md](claims.md), by `python benchmarks/claims.py`.\n\n"
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


def read_rows(text: str) -> dict[str, list[str]]:
    """Return the rows of a Markdown table by their first cell, which for the head is empty."""
    lines = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


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
