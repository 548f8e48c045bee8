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

from conceptor.datasets import demo_vectors
from conceptor.dialogue_comparison import RANDOM, Prepared, prepare
from conceptor.evaluation.dialogue import SLOTS, Corpus, Options, load
from conceptor.evaluation.dialogue.study import Study
from conceptor.evaluation.dialogue.trials import Trial, run_trial
from conceptor.methods import DEFAULT_METHODS, settings_for

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
            print("\n".join(tables()))


def prepared(corpus: Corpus) -> Prepared:
    vectors = demo_vectors()
    return prepare(vectors, corpus, METHODS, settings_for(vectors))


def read(path: Path) -> list[Trial]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Trial.from_dict(json.loads(line)) for line in lines]


def run(path: Path, shard: int, shards: int) -> None:
    corpus = load()
    # Seeds first, so that a study cut short has fewer seeds and not fewer methods.
    jobs = prepared(corpus).jobs(METHODS, SEEDS, SLOTS)
    by_slot = [[job for job in jobs if job.slot == slot] for slot in SLOTS]
    mine = sorted(
        (job for some in by_slot for job in some[shard::shards]), key=lambda job: job.seed
    )
    for job in mine:
        if (job.method, job.seed, job.slot) in {(t.method, t.seed, t.slot) for t in read(path)}:
            continue
        trial, _ = run_trial(corpus, job, Options())
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(trial.to_dict()) + "\n")
        print(f"{job}: epoch {trial.kept} of {len(trial.curve)}, {trial.seconds:.0f} s", flush=True)


def summarise(path: Path) -> None:
    corpus = load()
    order = {
        (m, s, slot): i
        for i, (s, m, slot) in enumerate(
            (s, m, slot) for s in SEEDS for m in METHODS for slot in SLOTS
        )
    }
    trials = sorted(read(path), key=lambda t: order[t.method, t.seed, t.slot])
    study = Study.of("GloVe 6B 50d", corpus, trials, prepared(corpus).notes)
    found = study.to_dict(curves=False)
    SUMMARY.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def tables() -> list[str]:
    raise NotImplementedError


if __name__ == "__main__":
    main()
