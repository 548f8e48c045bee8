"""The study behind docs/dialogue.md: dialogue state tracking with GloVe 6B 50d.

    python benchmarks/dialogue.py run TRIALS.jsonl [--shard 0/2]
    python benchmarks/dialogue.py summarise TRIALS.jsonl
    python benchmarks/dialogue.py markdown

`run` trains one tracker after the other on one thread and appends each result to the file; what is
there is not done again, so it can be stopped at any time. Two shards are two processes.
`summarise` writes what the file says to benchmarks/dialogue.json, `markdown` prints that as tables.
Needs the demo and dialogue extras, and WOZ 2.0 (`conceptor data fetch`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from conceptor.algebra.methods import DEFAULT_METHODS
from conceptor.base.files import replace_atomically
from conceptor.comparing.dialogue import RANDOM, MethodEmbeddings, embed_corpus
from conceptor.comparing.paper import paper_tables
from conceptor.data.registry import demo_vectors
from conceptor.dialogue import SLOTS, Corpus, TrackerOptions, load_corpus
from conceptor.dialogue.study import Study
from conceptor.dialogue.trials import Trial, run_trial
from conceptor.report.dialogue import dialogue_tables, verdict
from conceptor.report.tables import markdown

METHODS = [*DEFAULT_METHODS, RANDOM]
SEEDS = range(5)
SUMMARY = Path(__file__).with_name("dialogue.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("trials", type=Path)
    running.add_argument("--shard", default="0/1", metavar="I/N")
    commands.add_parser("summarise").add_argument("trials", type=Path)
    commands.add_parser("markdown")
    arguments = parser.parse_args()
    match arguments.command:
        case "run":
            shard, shards = map(int, arguments.shard.split("/"))
            run(arguments.trials, shard, shards)
        case "summarise":
            summarise(arguments.trials)
        case "markdown":
            print("\n".join(section()))


def embedded(corpus: Corpus) -> MethodEmbeddings:
    return embed_corpus(demo_vectors(), corpus, METHODS)


def read(path: Path) -> list[Trial]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Trial.from_dict(json.loads(line)) for line in lines]


def run(path: Path, shard: int, shards: int) -> None:
    corpus = load_corpus()
    # Seeds first, so that a study cut short has fewer seeds and not fewer methods.
    jobs = embedded(corpus).jobs(METHODS, SEEDS, SLOTS)
    by_slot = [[job for job in jobs if job.slot == slot] for slot in SLOTS]
    mine = sorted(
        (job for some in by_slot for job in some[shard::shards]), key=lambda job: job.seed
    )
    for job in mine:
        if (job.method, job.seed, job.slot) in {(t.method, t.seed, t.slot) for t in read(path)}:
            continue
        trial, _ = run_trial(corpus, job, TrackerOptions())
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(trial.to_dict()) + "\n")
        print(f"{job}: epoch {trial.kept} of {len(trial.curve)}, {trial.seconds:.0f} s", flush=True)


def summarise(path: Path) -> None:
    corpus = load_corpus()
    trials = sorted(read(path), key=lambda trial: METHODS.index(trial.method))
    study = Study.from_trials("GloVe 6B 50d", corpus, trials, embedded(corpus).notes)
    with replace_atomically(SUMMARY) as beside:
        beside.write_text(json.dumps(study.to_dict(history=False), indent=1) + "\n")


def section() -> list[str]:
    """Return the study as Markdown: means, differences, the paper's figures, every run."""
    study = Study.from_dict(json.loads(SUMMARY.read_text(encoding="utf-8")))
    means, differences, runs = dialogue_tables(study)
    lines = [f"- {note}" for note in study.notes]
    lines += ["", *(markdown(table) for table in (means, differences))]
    lines += [f"{verdicts(study)}\n", *paper(study), markdown(runs)]
    return lines


def verdicts(study: Study) -> str:
    """Say which differences from the original are more than noise."""
    found = [
        f"{method} on {goal} ({verdict(study, method, goal)})"
        for method in study.methods[1:]
        for goal in study.goals
        if verdict(study, method, goal) in ("better", "worse")
    ]
    compared = (len(study.methods) - 1) * len(study.goals)
    named = f": {', '.join(found)}" if found else ""
    return (
        f"Of {compared} differences from {study.methods[0]}, {len(found)} have an interval without "
        f"zero{named}. One in twenty would by chance."
    )


def paper(study: Study) -> list[str]:
    """Return the paper's table for 300 dimensions, beside the means of this study."""
    rows = paper_tables()["dialogue"]["rows"]
    methods = ("original", "abtt", "cn-paper")
    columns = [
        f"{vectors}/{method}"
        for vectors in ("word2vec", "glove")
        for method in ("original", "abtt", "cn")
    ]
    heads = [column.replace("/", ", ") for column in columns]
    lines = [
        "### Beside the paper's Table 5 (300 dimensions)\n",
        "| | " + " | ".join([*heads, *(f"here, {method}" for method in methods)]) + " |",
        "| --- |" + " ---: |" * (len(columns) + len(methods)),
    ]
    for name, figures in rows.items():
        slots = SLOTS if name == "Average" else [name.lower()]
        here = [
            f"{sum(study.mean(method, slot) for slot in slots) / len(slots):.1f}"
            for method in methods
        ]
        cells = [*(f"{figures[column]:.1f}" for column in columns), *here]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


if __name__ == "__main__":
    main()
