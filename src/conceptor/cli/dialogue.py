"""`dialogue`: train dialogue state trackers on word vectors, and talk to one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.bars import download_progress, training_progress
from conceptor.cli.benchmarks import DataOptions
from conceptor.cli.groups import RowOptions, ShowOptions
from conceptor.cli.options import option, parse_choice, split_list
from conceptor.cli.output import check_outputs, print_warnings

if TYPE_CHECKING:
    from conceptor.paper.dialogue.options import TrackerOptions
    from conceptor.paper.dialogue.saved import BeliefTracker
    from conceptor.paper.dialogue.study import Study
    from conceptor.paper.dialogue.trials import Job, TrackerWeights


@dataclass(frozen=True)
class TrackerTraining:
    """How trackers are built and trained."""

    epochs: int = option(30, "Maximum number of epochs, of 64 batches each.", min=1)
    patience: int = option(10, "Stop after this many epochs without better accuracy.", min=1)
    batch: int = option(256, "Turns per batch.", min=2)
    rate: float = option(0.003, "Initial learning rate of Adam.")
    decay: bool = option(False, "Decrease the learning rate linearly to zero over the epochs.")
    update: str = option(
        "constrained", "Belief update: [b]constrained[/b], [b]full[/b] or [b]alpha[/b]."
    )
    confirm: str = option(
        "working",
        "Gate for values that the system asks to confirm: [b]working[/b], or [b]inert[/b] "
        "as in the public code.",
    )
    start: str = option(
        "scaled",
        "Initial weights: [b]scaled[/b] by the number of inputs, or N(0, 1) as in the "
        "[b]original[/b], which learns more slowly.",
    )
    trust: float = option(
        5.0, "Initial weight of the previous belief; the turn's scores have 1.", min=0
    )

    def tracker_options(self) -> TrackerOptions:
        """Return the options in the form that the library expects."""
        from conceptor.paper.dialogue.options import Confirm, Initialization, TrackerOptions, Update

        named = {
            "update": parse_choice(Update, self.update, "--update"),
            "confirm": parse_choice(Confirm, self.confirm, "--confirm"),
            "start": parse_choice(Initialization, self.start, "--start"),
        }
        return TrackerOptions(**{**vars(self), **named})


@dataclass(frozen=True)
class RunOptions:
    """Which trackers are trained, and where they and their results go."""

    methods: str | None = option(
        None,
        "Comma-separated list of methods as in [b]compare[/b], or [b]random[/b] for "
        "random vectors.  \\[default: original,abtt,cn-paper,cn; with --interactive cn]",
    )
    seeds: int = option(5, "Number of runs for each method.", min=1)
    slots: str = option("food,price range,area", "Comma-separated list of food, price range, area.")
    workers: int | None = option(
        None, "Number of processes.  \\[default: one per processor]", min=1
    )
    resume: Path | None = option(
        None,
        "Keep results of finished trackers in this file, and do not train those again: "
        "repeat an interrupted command to continue it.",
        metavar="FILE",
    )
    save: Path | None = option(None, "Save the trained trackers to DIR/METHOD/SEED.", metavar="DIR")
    plot: Path | None = option(
        None, "Draw the learning curves to this svg, pdf or png file (plots extra)."
    )
    interactive: bool = option(
        False,
        "Read user turns from standard input and show the belief after each.",
        "--interactive",
    )
    load: Path | None = option(
        None, "Saved tracker for --interactive: DIR/METHOD/SEED.", metavar="DIR"
    )

    def check(self) -> None:
        """Raise for options that cannot be combined."""
        if self.load is not None and not self.interactive:
            raise InvalidInputError("--load is only for --interactive; add that, or remove --load")
        if self.resume is not None and (self.interactive or self.save is not None):
            raise InvalidInputError(
                "--resume keeps results, not trackers; remove it, or --interactive and --save"
            )

    def choose_methods(self) -> list[str]:
        """Return the methods to train on."""
        from conceptor.methods import DEFAULT_METHODS
        from conceptor.paper.dialogue.comparing import validate_methods

        default = ["cn"] if self.interactive else list(DEFAULT_METHODS)
        chosen = validate_methods(default if self.methods is None else split_list(self.methods))
        if self.interactive and len(chosen) > 1:
            raise InvalidInputError("--interactive uses one method; name one with --methods")
        return chosen


@command()
def dialogue(
    vectors: opt.Vectors = None,
    *,
    run: RunOptions,
    training: TrackerTraining,
    where: DataOptions,
    show: ShowOptions,
) -> None:
    r"""Train dialogue state trackers on each method's vectors and compare their accuracy.

    [bold]Examples[/bold]

      pip install 'conceptor\[dialogue]'

      conceptor data fetch

      conceptor dialogue demo --methods cn --seeds 1 --epochs 3 --save trackers

      echo 'cheap food' | conceptor dialogue --interactive --load trackers/cn/0
    """
    from conceptor.paper.dialogue import comparing
    from conceptor.paper.dialogue.report import dialogue_result, draw_learning

    show.check([vectors], run.plot)
    check_outputs([run.resume], [vectors, show.output])
    comparing.require_torch()
    from conceptor.paper.dialogue.saved import BeliefTracker, converse

    run.check()
    if run.load is not None:
        converse(BeliefTracker.load(run.load))
        return
    study, trackers = _train(vectors, run, training.tracker_options(), where)
    if run.save is not None:
        for tracker in trackers:
            method, seed = tracker.provenance["method"], tracker.provenance["seed"]
            tracker.save(run.save / method / str(seed))
    if run.plot is not None:
        draw_learning(study, run.plot)
    if run.interactive:
        converse(trackers[0])
    else:
        show.show(dialogue_result(study))


def _train(
    vectors: Path | None, run: RunOptions, options: TrackerOptions, where: DataOptions
) -> tuple[Study, list[BeliefTracker]]:
    """Train on the vectors of each method; return the measurements and the trackers."""
    from conceptor.fitting import FitOptions
    from conceptor.paper.dialogue import comparing
    from conceptor.paper.dialogue.saved import BeliefTracker
    from conceptor.paper.dialogue.woz import load_corpus

    chosen = run.choose_methods()
    slots = comparing.validate_slots(split_list(run.slots))
    if run.save is not None:
        run.save.mkdir(parents=True, exist_ok=True)
    source, name = RowOptions().open_or_demo(vectors, wordless=False)
    with download_progress() as bars:
        corpus = load_corpus(where.data, offline=where.offline, progress=bars)
    where.fetch_vocabulary()
    weights: dict[tuple[str, int], dict[Job, TrackerWeights]] = {}

    def keep(job: Job, trained: TrackerWeights) -> None:
        weights.setdefault((job.method, job.seed), {})[job] = trained

    with (
        print_warnings(comparing.FewWordsWarning),
        on_terminal() as progress,
        training_progress(options.epochs) as watch,
    ):
        study = comparing.compare_dialogue(
            source,
            corpus,
            chosen,
            FitOptions(data=where.data),
            slots=slots,
            seeds=1 if run.interactive else run.seeds,
            options=options,
            workers=run.workers,
            name=name,
            progress=progress,
            watch=watch,
            keep=keep,
            log=run.resume,
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
    return study, trackers
