"""The studies behind docs/studies/dialogue.md: dialogue state tracking with different word vectors.

    python benchmarks/dialogue.py run STUDY DIRECTORY
    python benchmarks/dialogue.py choose
    python benchmarks/dialogue.py markdown [STUDY]

STUDY is googlenews (300 dimensions) or published (the same vectors, the published training: one
seed). `run` trains trackers and keeps each in DIRECTORY, so it can be stopped and continued at any
time; at the end it writes the counts of every run to benchmarks/dialogue-STUDY.json. `choose`
prints the basis for the choice of training: accuracy on the held-out validation turns alone.
`markdown` prints the tables, like `benchmarks/results.py`. Needs the dialogue extra and WOZ 2.0
(`conceptor data fetch`).
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from common import markdown_table, show_interval

from conceptor.base.files import replace_atomically
from conceptor.methods import DEFAULT_METHODS, ORIGINAL
from conceptor.paper.dialogue import (
    RANDOM,
    Run,
    Study,
    compare_dialogue,
    dialogue_tables,
)
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.tables import paper_tables
from conceptor.paper.tracker import TrackerOptions, Trial
from conceptor.paper.woz import JOINT, SLOTS, load_corpus
from conceptor.report.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

METHODS = [*DEFAULT_METHODS, RANDOM]
TRUSTS = (1.0, 2.0, 3.0, 5.0, 10.0)
VECTORS = "Google News 31k (300d)"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Plan(NamedTuple):
    """The trackers that a study trains."""

    training: str
    seeds: int
    options: TrackerOptions


PLANS = {
    "googlenews": Plan("default training", 5, TrackerOptions()),
    "published": Plan(
        "published training",
        1,
        TrackerOptions(published=True, rate=0.001, epochs=400, patience=400),
    ),
}


def run(name: str, directory: Path) -> None:
    """Train the trackers that DIRECTORY does not have, and write the summary."""
    plan = PLANS[name]
    study = compare_dialogue(
        google_news_vectors()[0],
        load_corpus(),
        METHODS,
        seeds=plan.seeds,
        options=plan.options,
        name=VECTORS,
        resume=directory,
        progress=lambda label, share, done: print(label, share, done, flush=True),
    )
    with replace_atomically(summary_file(name)) as beside:
        text = json.dumps(summarize(study), indent=1, ensure_ascii=False)
        beside.write_text(text + "\n", encoding="utf-8")


def choose() -> None:
    """Print held-out accuracy by the initial weight of the belief before a turn."""
    corpus, vectors = load_corpus(), google_news_vectors()[0]
    rows = []
    for trust in TRUSTS:
        options = TrackerOptions(trust=trust)
        study = compare_dialogue(vectors, corpus, [ORIGINAL], seeds=1, options=options)
        trials = study.runs[ORIGINAL][0].trials.values()
        best = [trial.curve[trial.kept - 1]["accuracy"] for trial in trials]
        rows.append([f"{trust:g}", *(f"{100 * accuracy:.1f}" for accuracy in best)])
    print(markdown_table(["trust", *SLOTS], rows))


def summary_file(name: str) -> Path:
    return Path(__file__).with_name(f"dialogue-{name}.json")


def summarize(study: Study) -> dict[str, Any]:
    """Return the counts of a study: of each dialogue, a digit in base 36."""

    def digits(counts: Mapping[str, np.ndarray], row: int) -> dict[str, str]:
        return {goal: "".join(DIGITS[n] for n in each[row]) for goal, each in counts.items()}

    return {
        "vectors": study.vectors,
        "notes": list(study.notes),
        "turns": digits(study.string_match, 1),
        "string match": digits(study.string_match, 0),
        "runs": {
            method: {
                str(seed): {
                    "kept": {slot: trial.kept for slot, trial in run.trials.items()},
                    "right": digits(run.counts, 0),
                }
                for seed, run in runs.items()
            }
            for method, runs in study.runs.items()
        },
    }


def read_summary(name: str) -> Study:
    """Return the study of a summary, without predictions and learning curves."""
    summary = json.loads(summary_file(name).read_text(encoding="utf-8"))

    def counts(right: Mapping[str, str]) -> dict[str, np.ndarray]:
        sides = ((right[goal], turns) for goal, turns in summary["turns"].items())
        numbers = ([[DIGITS.index(digit) for digit in side] for side in both] for both in sides)
        return {goal: np.array(each) for goal, each in zip(right, numbers, strict=True)}

    runs: dict[str, dict[int, Run]] = {}
    for method, by_seed in summary["runs"].items():
        for seed, each in by_seed.items():
            trials = {
                slot: Trial(method, int(seed), slot, (), (), epoch, math.nan)
                for slot, epoch in each["kept"].items()
            }
            runs.setdefault(method, {})[int(seed)] = Run(trials, counts(each["right"]))
    return Study(summary["vectors"], counts(summary["string match"]), runs, summary["notes"])


def section(name: str) -> list[str]:
    """Return a study as Markdown: means, differences, the paper's figures, every run."""
    study = read_summary(name)
    *tables, runs = dialogue_tables(study)
    lines = [*(f"- {note}" for note in study.notes), "", *map(markdown, tables)]
    return [*lines, f"{conclusion(study)}\n", *beside_the_paper(study), markdown(runs)]


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
    count = len(significant)
    listed = f": {', '.join(significant)}" if significant else ""
    return (
        f"**Does CN help?** With {runs} runs of each method: {'; '.join(parts)}. Intervals are "
        f"over seeds and dialogues. Of all {len(gains)} comparisons with {first}, "
        f"{count or 'none'} {'has' if count < 2 else 'have'} an interval without zero{listed}; one "
        "in twenty would by chance. The others are undecided, not shown to be equal."
    )


def beside_the_paper(study: Study) -> list[str]:
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
    columns += [f"here, {method}" for method in methods]
    return ["### Beside the paper's Table 5\n", markdown_table(["", *columns], rows), ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("study", choices=PLANS)
    command.add_argument("directory", type=Path)
    command = commands.add_parser("markdown")
    command.add_argument("study", choices=PLANS, default="googlenews", nargs="?")
    commands.add_parser("choose")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.study, arguments.directory)
    elif arguments.command == "choose":
        choose()
    else:
        print("\n".join(section(arguments.study)))


if __name__ == "__main__":
    main()
