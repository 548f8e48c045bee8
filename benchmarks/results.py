"""Write docs/data/results.json: the paper's Tables 1 to 4 beside ours.

    python benchmarks/results.py [paper] [supervision]

`paper` has Tables 1, 3 and 4 and Figure 1 on the available part of Google News, `supervision` Table
2 on the same and on GloVe 6B 50d (demo extra). Sections that are not named stay. Needs
$CONCEPTOR_DATA with the benchmark files and both sets of Google News vectors. Table 5 is
benchmarks/dialogue.py.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import data_files
from common import complete_battery, demo, markdown_table, show_interval

from conceptor.base.display import format_signed
from conceptor.evaluation import PAPER_FAMILIES, Battery, Comparison, evaluate, load_battery
from conceptor.fit import fit_methods
from conceptor.paper.counterfitting import counterfit, load_lexicon
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.reproduction import METHODS, PaperVectors, reproduce
from conceptor.paper.tables import TITLES, draw_gates
from conceptor.vectors.files import as_vectors

if TYPE_CHECKING:
    from conceptor.paper.tables import Reproduction
    from conceptor.vectors.vectors import Vectors

TARGET = data_files.DATA / "results.json"
FIGURE = data_files.DATA.parent / "pictures" / "figure1.svg"
PAPER = """Also printed by `conceptor reproduce`. Cells: the paper's figure → ours (difference). †
marks sets of which less than 90% of the items, or for sentences of the words, have a vector here:
those figures are about other data than the paper's. *a*, *and*, *of* and *to*, which the paper's
own file lacks as well, do not count.
"""
TABLE_2 = """SimLex-999 on Google News and on GloVe 6B 50d beside the paper's figures, which for
GloVe are of larger vectors: there rows compare, not cells. `a+b` is b after a. Differences have 95%
intervals of a paired bootstrap over the word pairs.
"""
# The paper's figures × 100 for Google News word2vec and for Common Crawl GloVe.
SIMLEX = {
    "original": (44.20, 40.83),
    "counterfit-syn": (45, 46),
    "counterfit-ant": (33, 43),
    "counterfit": (47, 50),
    "cn-paper": (47, 49),
}


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
    lines = [TABLE_2]
    for title, vectors in (
        ("Google News 31k (300d)", google_news_vectors()[0]),
        ("GloVe 6B 50d", demo()),
    ):
        lines += [f"### {title}\n", simlex(as_vectors(vectors)), ""]
    return "\n".join(lines)


def simlex(vectors: Vectors) -> str:
    """Return the paper's Table 2 beside the results of these vectors."""
    lexicon = load_lexicon()
    tasks = load_battery(["similarity"]).tasks
    battery = Battery([task for task in tasks if task.dataset == "SimLex"])

    def mapped(opened: Vectors, method: str) -> Vectors:
        return opened.mapped(fit_methods(opened, [method]).methods[method])

    fitted = counterfit(vectors, **lexicon)
    cn, cn_paper = mapped(vectors, "cn"), mapped(vectors, "cn-paper")
    variants = {
        "original": vectors,
        "counterfit-syn": counterfit(vectors, synonyms=lexicon["synonyms"]),
        "counterfit-ant": counterfit(vectors, antonyms=lexicon["antonyms"]),
        "counterfit": fitted,
        "cn-paper": cn_paper,
        "cn-paper+counterfit": counterfit(cn_paper, **lexicon),
        "counterfit+cn-paper": mapped(fitted, "cn-paper"),
        "cn": cn,
        "cn+counterfit": counterfit(cn, **lexicon),
    }
    evaluations = {name: evaluate(each, battery, name=name) for name, each in variants.items()}
    over_original = Comparison(vectors.name, evaluations, resamples=2000)
    over_counterfit = replace(over_original, baseline="counterfit")
    rows = []
    for name, evaluation in evaluations.items():
        gains = [over_original.interval(name, ["SimLex"])]
        is_shown = name.startswith("cn") or name == "counterfit+cn-paper"
        gains.append(over_counterfit.interval(name, ["SimLex"]) if is_shown else None)
        paper = [f"{figure:g}" for figure in SIMLEX.get(name, ())] or ["", ""]
        cells = [show_interval(gain, 2) if gain else "" for gain in gains]
        rows.append([name, *paper, f"{evaluation['SimLex'].score:.2f}", *cells])
    columns = ["method", "paper, word2vec", "paper, GloVe", "here", "over original"]
    row = evaluations["original"]["SimLex"]
    used = f"{row.used} of {row.total} pairs."
    return f"{markdown_table([*columns, 'over counterfit'], rows)}\n\n{used}"


SECTIONS = {
    "paper": ("The paper's Tables 1, 3 and 4: Google News (300d)", papers_tables),
    "supervision": ("The paper's Table 2: supervision by synonyms and antonyms", supervision),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=" or ".join(SECTIONS))
    tables = data_files.read(TARGET) if TARGET.exists() else {}
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        _, new = data_files.parse(f"## {title}\n\n{make()}")
        place = data_files.slug(title)
        others = {k: v for k, v in tables.items() if k != place and not k.startswith(f"{place}/")}
        tables = new | others
    data_files.write_tables(TARGET, "", tables, "python benchmarks/results.py")


if __name__ == "__main__":
    main()
