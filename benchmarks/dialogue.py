"""Write the tables of dialogue state tracking into docs/data/dialogue.json: the paper's Table 5.

    python benchmarks/dialogue.py default DIRECTORY [--epochs N] [--seeds N]
    python benchmarks/dialogue.py published DIRECTORY

The vectors are the available part of Google News, the methods those of `conceptor compare` and
random vectors. `default` trains five times, `published` once, with the published training. Finished
trackers are kept in DIRECTORY, so it can be stopped and continued at any time. Needs the dialogue
extra and WOZ 2.0 (`conceptor data fetch`). Hours.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import data_files
import numpy as np
from common import markdown_table, show_interval

from conceptor.methods import DEFAULT_METHODS
from conceptor.paper.dialogue import RANDOM, compare_dialogue, dialogue_tables
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.tables import paper_tables
from conceptor.paper.tracker import PUBLISHED, TrackerOptions
from conceptor.paper.woz import JOINT, SLOTS, load_corpus
from conceptor.report.tables import markdown

if TYPE_CHECKING:
    from conceptor.paper.dialogue import Study

TRAININGS = {"default": (TrackerOptions(), 5), "published": (PUBLISHED, 1)}
TARGET = data_files.DATA / "dialogue.json"


def conclusion(study: Study) -> str:
    """Return which differences from the original are significant, and for how many runs."""
    runs = min(len(by_seed) for by_seed in study.runs.values())
    if runs < 2:
        return f"{runs} run(s) of each method: nothing can be concluded about differences."
    first, *others = study.runs
    gains = {
        (method, goal): study.difference(method, goal) for method in others for goal in study.goals
    }
    verdicts = {1: "it does", -1: "it hurts", 0: "undecided"}
    parts = [
        f"{method}, {verdicts[gains[method, JOINT].sign]} (joint goal "
        f"{show_interval(gains[method, JOINT])})"
        for method in ("cn-paper", "cn")
    ]
    significant = [
        f"{method} on {goal} ({'better' if gain.sign > 0 else 'worse'})"
        for (method, goal), gain in gains.items()
        if gain.sign
    ]
    return (
        f"**Does CN help?** With {runs} runs of each method: {'; '.join(parts)}. Of "
        f"{len(gains)} comparisons with {first} these have an interval without zero: "
        f"{', '.join(significant) or 'none'}; one in twenty would by chance. The others are "
        "undecided, not shown to be equal."
    )


def beside_the_paper(study: Study) -> str:
    """Return the paper's Table 5 beside the means of this study."""
    methods = [method for method in DEFAULT_METHODS if method in study.runs]
    published = [
        f"{vectors}/{method}"
        for vectors in ("word2vec", "glove")
        for method in ("original", "abtt", "cn")
    ]
    rows = []
    for name, figures in paper_tables()["dialogue"]["rows"].items():
        slots = SLOTS if name == "Average" else [name.lower()]
        here = [np.mean([study.mean(method, slot) for slot in slots]) for method in methods]
        numbers = [*(figures[column] for column in published), *here]
        rows.append([name, *(f"{number:.1f}" for number in numbers)])
    columns = [column.replace("/", ", ") for column in published]
    return markdown_table(["", *columns, *(f"here, {method}" for method in methods)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("training", choices=TRAININGS)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seeds", type=int)
    arguments = parser.parse_args()
    options, seeds = TRAININGS[arguments.training]
    title = f"{arguments.training.capitalize()} training"
    if arguments.epochs:
        options = replace(options, epochs=arguments.epochs)
        title += f", {arguments.epochs} epochs"
    study = compare_dialogue(
        google_news_vectors()[0],
        load_corpus(),
        [*DEFAULT_METHODS, RANDOM],
        seeds=arguments.seeds or seeds,
        options=options,
        name="Google News 31k (300d)",
        resume=arguments.directory,
        progress=lambda label, share, done: print(label, share, done, flush=True),
    )
    lines = [f"## {title}\n", *(f"- {note}" for note in study.notes), ""]
    lines += map(markdown, dialogue_tables(study))
    lines += [conclusion(study), "", "### Beside the paper's Table 5\n", beside_the_paper(study)]
    _, new = data_files.parse("\n".join(lines))
    place = data_files.slug(title)
    tables = data_files.read(TARGET) if TARGET.exists() else {}
    others = {k: v for k, v in tables.items() if k != place and not k.startswith(f"{place}/")}
    data_files.write_tables(
        TARGET, "", new | others, "python benchmarks/dialogue.py TRAINING DIRECTORY"
    )


if __name__ == "__main__":
    main()
