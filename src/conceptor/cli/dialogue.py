"""`dialogue`: train dialogue state trackers on word vectors, and talk to one."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from conceptor.base.errors import InvalidInputError
from conceptor.cli import options as opt
from conceptor.cli import output as out
from conceptor.cli.app import app
from conceptor.cli.inputs import DEMO, fetch_vocabulary, open_or_demo, parse_choice, split_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conceptor.paper.dialogue.saved import BeliefTracker
    from conceptor.paper.dialogue.trials import Job, TrackerWeights

_END = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
_HOW_TO = f"""Type what a user would say; the tracker's belief is shown after each line.
  system: area             the system has just asked for the area
  system: food=thai        the system has just asked whether the user wants thai food
  new                      start a new dialogue
End with {_END}."""


@app.command()
def dialogue(
    vectors: opt.Vectors = None,
    methods: Annotated[
        str | None,
        Option(
            help="Comma-separated list of methods as in [b]compare[/b], or [b]random[/b] for "
            "random vectors.  \\[default: original,abtt,cn-paper,cn; with --interactive cn]"
        ),
    ] = None,
    seeds: Annotated[int, Option(min=1, help="Number of runs for each method.")] = 5,
    slots: Annotated[
        str, Option(help="Comma-separated list of food, price range, area.")
    ] = "food,price range,area",
    epochs: Annotated[
        int, Option(min=1, help="Maximum number of epochs, of 64 batches each.")
    ] = 30,
    patience: Annotated[
        int, Option(min=1, help="Epochs without a better accuracy before training stops.")
    ] = 10,
    batch: Annotated[int, Option(min=2, help="Turns per batch.")] = 256,
    rate: Annotated[float, Option(help="Learning rate of Adam, at the start.")] = 0.003,
    decay: Annotated[
        bool, Option(help="Let the rate fall to zero in a straight line over the epochs.")
    ] = False,
    update: Annotated[
        str, Option(help="Belief update: [b]constrained[/b], [b]full[/b] or [b]alpha[/b].")
    ] = "constrained",
    confirm: Annotated[
        str,
        Option(
            help="Gate for values that the system asks to confirm: [b]working[/b], or [b]inert[/b] "
            "as in the public code."
        ),
    ] = "working",
    start: Annotated[
        str,
        Option(
            help="Initial weights: [b]scaled[/b] by the number of inputs, or N(0, 1) as in the "
            "[b]original[/b], which learns more slowly."
        ),
    ] = "scaled",
    trust: Annotated[
        float,
        Option(min=0, help="Initial weight of the belief before a turn; 1 is that of its scores."),
    ] = 5.0,
    workers: Annotated[
        int | None, Option(min=1, help="Number of processes.  \\[default: one per processor]")
    ] = None,
    resume: Annotated[
        Path | None,
        Option(
            help="Keep finished trackers in this file, and do not train again what it holds: the "
            "same command continues after a stop.",
            metavar="FILE",
        ),
    ] = None,
    save: Annotated[
        Path | None, Option(help="Save the trained trackers to DIR/METHOD/SEED.", metavar="DIR")
    ] = None,
    plot: Annotated[
        Path | None,
        Option(help="Draw the learning curves to this svg, pdf or png file (plots extra)."),
    ] = None,
    interactive: Annotated[
        bool,
        Option(
            "--interactive",
            help="Read user turns from standard input and show the belief after each.",
        ),
    ] = False,
    load: Annotated[
        Path | None, Option(help="Saved tracker for --interactive: DIR/METHOD/SEED.", metavar="DIR")
    ] = None,
    data: opt.Data = None,
    offline: opt.Offline = False,
    as_json: opt.Json = False,
    as_markdown: opt.Markdown = False,
    output: opt.Output = None,
) -> None:
    """Train dialogue state trackers on each method's vectors and compare their accuracy.

    [bold]Examples[/bold]

      conceptor dialogue

      conceptor dialogue my-vectors.bin --methods original,cn --seeds 10 --slots food,area

      conceptor dialogue my-vectors.bin --resume trials.jsonl

      conceptor dialogue --methods cn --seeds 1 --save trackers

      conceptor dialogue --interactive --load trackers/cn/0
    """
    from conceptor.base.progress import on_terminal
    from conceptor.fitting import FitOptions
    from conceptor.methods import DEFAULT_METHODS
    from conceptor.paper.dialogue import (
        Confirm,
        Initialization,
        TrackerOptions,
        Update,
        comparing,
        load_corpus,
    )

    out.check_one_format(as_json, as_markdown)
    out.check_outputs([output, resume], [vectors], plot)
    comparing.require_torch()
    from conceptor.paper.dialogue.saved import BeliefTracker

    if load is not None:
        if not interactive:
            raise InvalidInputError("--load is only for --interactive; add that, or remove --load")
        converse(BeliefTracker.load(load))
        return
    if resume is not None and (interactive or save is not None):
        raise InvalidInputError(
            "--resume keeps results, not trackers; remove it, or --interactive and --save"
        )
    options = TrackerOptions(
        update=parse_choice(Update, update, "--update"),
        confirm=parse_choice(Confirm, confirm, "--confirm"),
        start=parse_choice(Initialization, start, "--start"),
        trust=trust,
        epochs=epochs,
        patience=patience,
        batch=batch,
        rate=rate,
        decay=decay,
    )
    default = ["cn"] if interactive else list(DEFAULT_METHODS)
    chosen = comparing.validate_methods(split_list(methods) if methods is not None else default)
    if interactive and len(chosen) > 1:
        raise InvalidInputError("--interactive uses one method; name one with --methods")
    tracked = comparing.validate_slots(split_list(slots))
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
    source = open_or_demo(vectors)
    with out.download_progress() as bars:
        corpus = load_corpus(data, offline=offline, progress=bars)
    fetch_vocabulary(data, offline=offline)
    weights: dict[tuple[str, int], dict[Job, TrackerWeights]] = {}

    def keep(job: Job, trained: TrackerWeights) -> None:
        weights.setdefault((job.method, job.seed), {})[job] = trained

    with (
        out.print_warnings(comparing.FewWordsWarning),
        on_terminal() as progress,
        out.training_progress(epochs) as watch,
    ):
        study = comparing.compare_dialogue(
            source,
            corpus,
            chosen,
            FitOptions(data=data),
            slots=tracked,
            seeds=1 if interactive else seeds,
            options=options,
            workers=workers,
            name=str(vectors or DEMO),
            progress=progress,
            watch=watch,
            keep=keep,
            log=resume,
        )
    trackers = [
        BeliefTracker.from_parts(
            next(iter(by_job)).embedding,
            corpus.values,
            {job.slot: trained for job, trained in by_job.items()},
            options,
            {"vectors": study.vectors, "method": method, "seed": seed},
        )
        for (method, seed), by_job in weights.items()
    ]
    if save is not None:
        for tracker in trackers:
            tracker.save(save / tracker.provenance["method"] / str(tracker.provenance["seed"]))
    if plot is not None:
        from conceptor.paper.dialogue.report import draw_learning

        draw_learning(study, plot)
    if interactive:
        converse(trackers[0])
    elif as_json:
        out.write_json(study.to_dict(), output)
    else:
        from conceptor.paper.dialogue.report import dialogue_tables

        out.show_tables(dialogue_tables(study), [study.vectors, *study.notes], as_markdown, output)


def converse(tracker: BeliefTracker) -> None:
    """Read turns from standard input and show the belief state after each."""
    from conceptor.paper.dialogue import SLOTS, Turn
    from conceptor.paper.dialogue.woz import system_acts

    if sys.stdin.isatty():
        typer.echo(_HOW_TO, err=True)
    goals: dict[str, str] = {}
    acts: list[object] = []
    for line in _lines():
        if line == "new":
            goals, acts = {}, []
        elif line.startswith("system:"):
            acts = [_act(act) for act in split_list(line.removeprefix("system:"))]
            if not any(system_acts(acts)):
                slots = ", ".join(SLOTS)
                typer.echo(f"conceptor: not a system act; name a slot: {slots}", err=True)
        else:
            beliefs = tracker.listen(Turn(line, *system_acts(acts)), goals)
            goals = {slot: b.value for slot, b in beliefs.items() if b.value is not None}
            acts = []
            for slot in SLOTS:
                if slot in beliefs:
                    shares = ", ".join(
                        f"{value or 'not set'} {share:.0%}"
                        for value, share in beliefs[slot].likeliest()
                    )
                    typer.echo(f"  {slot:<12} {goals.get(slot, '—'):<16} ({shares})")


def _act(act: str) -> object:
    slot, equals, value = (part.strip() for part in act.partition("="))
    return [slot, value] if equals else slot


def _lines() -> Iterator[str]:
    prompt = "> " if sys.stdin.isatty() else ""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid bytes become an unknown word
    while True:
        if prompt:
            typer.echo(prompt, nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()
