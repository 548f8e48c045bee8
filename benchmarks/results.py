"""Write docs/data/results.json: the paper's tables, and every method on every task, with intervals.

    python benchmarks/results.py docs/data/results.json [PART ...]

Without PART, all of them: paper (Tables 1, 3 and 4 on Google News), supervision (Table 2), dialogue
(Table 5), and glove-50d, google-news-26k, google-news-13k (all methods). With PARTs, only their
sections are rewritten; sections without a PART, such as the paper's remarks, stay.

Needs the demo extra, and $CONCEPTOR_DATA with the benchmark files and both sets of Google News
vectors. The dialogue part prints the results of `python benchmarks/dialogue.py` so far.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import dialogue
import table2
from common import complete_battery, demo, google_news, markdown_table, show_interval

from conceptor.base.numbers import format_signed
from conceptor.evaluation import FAMILIES, PAPER_FAMILIES
from conceptor.evaluation.comparison import compare_words
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.methods import ORIGINAL
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.reproduction import METHODS, PaperVectors, reproduce
from conceptor.paper.tables import TITLES, draw_gates
from conceptor.report.scores import comparison_tables
from conceptor.report.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from conceptor.paper.tables import Reproduction

DOCS = Path(__file__).parents[1] / "docs"
FIGURE = DOCS / "pictures" / "figure1.svg"
# The methods for words.
WORD_METHODS = (
    ORIGINAL, "cn", "cn-paper", "abtt", "whitening", "zipf-whitening", "pvn", "hsr", "ppa", "ew",
)  # fmt: skip

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
that `python benchmarks/dialogue.py run STUDY DIRECTORY` made.
"""


def papers_tables() -> str:
    vectors, title = google_news_vectors()
    sources = {"word2vec": PaperVectors(vectors, title)}
    reproduction = reproduce(sources, complete_battery(PAPER_FAMILIES))
    draw_gates(reproduction, FIGURE)
    notes = reproduction.parts["word2vec"].notes[:2]
    lines = [PAPER, *(f"- {note}" for note in notes), f"- {title}", ""]
    for table, heading in TITLES.items():
        if table not in ("supervised_simlex", "dialogue"):
            lines += [f"### {heading}\n", beside_the_paper(reproduction, table), ""]
    cells = [c for c in reproduction.cells if c.comparable and c.table != "supervised_simlex"]
    far = ", ".join(dict.fromkeys(c.dataset for c in cells if abs(c.difference) > 1.5))
    lines += [f"{reproduction.summary[0]}. The others are of {far}, and of Table 2."]
    return "\n".join(lines)


def beside_the_paper(reproduction: Reproduction, table: str) -> str:
    cells = {(c.dataset, c.method): c for c in reproduction.cells if c.table == table}
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _ in cells):
        row = [cells[dataset, method] for method in METHODS]
        shown = [f"{c.paper:.2f} → {c.measured:.2f} ({format_signed(c.difference)})" for c in row]
        rows.append([f"{dataset}{row[0].mark}", *shown, f"{row[0].used}/{row[0].total}"])
    return markdown_table(["", *METHODS, "used"], rows)


def supervision() -> str:
    news = ["### Google News 31k (300d)\n", *table2.table(google_news_vectors()[0]), ""]
    return "\n".join([TABLE_2, *news, "### GloVe 6B 50d\n", *table2.table(demo()), ""])


def dialogues() -> str:
    lines = [DIALOGUE]
    for name, plan in dialogue.PLANS.items():
        if dialogue.summary_file(name).exists():
            lines += [f"### {dialogue.VECTORS}: {plan.training}\n"]
            lines += [line.replace("### ", "#### ") for line in dialogue.section(name)]
    return "\n".join(lines)


def all_methods(title: str, vectors: Callable[[], object]) -> str:
    battery = complete_battery(family for family in FAMILIES if family != "classification")
    comparison = compare_words(vectors(), WORD_METHODS, battery, name=title)
    lines = [*(f"- {note}" for note in comparison.notes), ""]
    lines += [markdown(table) for table in comparison_tables(comparison, by_task=True)]
    lines.append("### Where conceptor negation wins and where it loses\n")
    lines.append(
        "Gain over the original by dataset, with its interval; `=` if the interval contains zero.\n"
    )
    names = {1: "wins", 0: "=", -1: "loses"}
    methods = ("cn-paper", "cn")
    signs: dict[str, list[int]] = {method: [] for method in methods}
    rows = []
    for outcome in comparison.evaluations[ORIGINAL].outcomes:
        cells = [outcome.dataset]
        for method in methods:
            gain = comparison.interval(method, [outcome.dataset])
            signs[method].append(gain.sign)
            cells += [show_interval(gain, 2), names[gain.sign]]
        rows.append(cells)
    lines += [markdown_table(["", "cn-paper", "", "cn", ""], rows), ""]
    for method, each in signs.items():
        lines.append(
            f"- {method}: wins on {each.count(1)}, undecided on {each.count(0)}, "
            f"loses on {each.count(-1)} of {len(each)} datasets."
        )
    return "\n".join(lines) + "\n"


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "paper": ("The paper's Tables 1, 3 and 4: Google News (300d)", papers_tables),
    "supervision": ("The paper's Table 2: supervision by synonyms and antonyms", supervision),
    "dialogue": ("The paper's Table 5: dialogue state tracking", dialogues),
    "glove-50d": ("GloVe 6B 50d", partial(all_methods, "GloVe 6B 50d", demo)),
} | {
    f"google-news-{size}": (
        f"Google News {size} (300d)",
        partial(all_methods, f"Google News {size} (300d)", partial(google_news, size)),
    )
    for size in ("26k", "13k")
}


def belongs(name: str, title: str) -> bool:
    """Return whether a table is in the section of this title."""
    place = data_files.slug(title)
    return name == place or name.startswith(f"{place}/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    arguments = parser.parse_args()
    tables = data_files.read(arguments.target) if arguments.target.exists() else {}
    for name in arguments.parts or PARTS:
        title, make = PARTS[name]
        _, new = data_files.parse(f"## {title}\n\n{make()}")
        tables = {k: table for k, table in tables.items() if not belongs(k, title)} | new
    ordered = {
        k: table for title, _ in PARTS.values() for k, table in tables.items() if belongs(k, title)
    }
    data_files.write_tables(arguments.target, NOTE, ordered | tables)


if __name__ == "__main__":
    main()
