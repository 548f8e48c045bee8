"""`dialogue`: word vectors at work in a dialogue state tracker, and the tracker at work."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer looks it up
from typing import TYPE_CHECKING, Annotated

import typer

from conceptor.base.errors import InvalidInputError
from conceptor.cli.app import app
from conceptor.cli.conversation import converse
from conceptor.cli.evaluation_options import (
    DEMO,
    DataOption,
    JsonOption,
    MarkdownOption,
    OfflineOption,
    OutputOption,
    choice,
    fetch_vocabulary,
    opened,
    split,
)
from conceptor.cli.output import as_json_text, check_outputs, one_format, saying, show, write
from conceptor.cli.progress import download_progress, training_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.dialogue import Corpus, TrackerOptions
    from conceptor.dialogue.saved import BeliefTracker
    from conceptor.dialogue.study import Study
    from conceptor.dialogue.trials import Job, TrackerWeights


@app.command()
def dialogue(
    vectors: Annotated[
        Path | None,
        typer.Argument(help="A vectors file; without it, GloVe 6B 50d from the demo extra."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="As in [b]compare[/b], and [b]random[/b] for random vectors; comma-separated. "
            "Default: original,abtt,cn-paper,cn; with --interactive cn.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 5,
    slots: Annotated[
        str, typer.Option(help="Out of food, price range, area; comma-separated.")
    ] = "food,price range,area",
    epochs: Annotated[int, typer.Option(min=1, help="At most, of 64 batches each.")] = 60,
    patience: Annotated[
        int, typer.Option(min=1, help="Epochs without a better accuracy before training stops.")
    ] = 20,
    batch: Annotated[int, typer.Option(min=2, help="Turns in a batch.")] = 256,
    rate: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 0.003,
    update: Annotated[
        str,
        typer.Option(help="Of the belief: [b]constrained[/b], [b]full[/b] or [b]alpha[/b]."),
    ] = "constrained",
    confirm: Annotated[
        str,
        typer.Option(
            help="Gate for values the system puts to the user: [b]working[/b], or [b]inert[/b] as "
            "in the public code."
        ),
    ] = "working",
    start: Annotated[
        str,
        typer.Option(
            help="Start values: [b]scaled[/b] by the number of inputs, or N(0, 1) as in the "
            "[b]original[/b], which learns more slowly."
        ),
    ] = "scaled",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; default one for each processor.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Save the trained trackers there: DIR/METHOD/SEED.", metavar="DIR"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the learning curves there: svg, pdf or png (plots extra)."),
    ] = None,
    interactive: Annotated[
        bool,
        typer.Option(
            "--interactive",
            help="Read what a user says, line by line, and show the belief after each.",
        ),
    ] = False,
    load: Annotated[
        Path | None,
        typer.Option(help="A saved tracker for --interactive: DIR/METHOD/SEED.", metavar="DIR"),
    ] = None,
    data: DataOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    output: OutputOption = None,
) -> None:
    """Train dialogue state trackers on vectors post-processed in several ways, and compare them.

    Examples
    --------
    [b]conceptor dialogue[/b]

    [b]conceptor dialogue my-vectors.bin --methods original,cn --seeds 10 --slots food,area[/b]

    [b]conceptor dialogue --methods cn --seeds 1 --save trackers[/b]

    [b]conceptor dialogue --interactive --load trackers/cn/0[/b]
    """
    from conceptor.algebra.methods import DEFAULT_METHODS
    from conceptor.comparing.dialogue import require_torch, validate_methods, validate_slots
    from conceptor.dialogue import Confirm, Initialization, TrackerOptions, Update

    one_format(as_json, as_markdown)
    check_outputs([output], [vectors], plot)
    require_torch()
    if load is not None:
        if not interactive:
            raise InvalidInputError("--load is for --interactive")
        from conceptor.dialogue.saved import BeliefTracker

        converse(BeliefTracker.load(load))
        return
    options = TrackerOptions(
        update=choice(Update, update, "--update"),
        confirm=choice(Confirm, confirm, "--confirm"),
        start=choice(Initialization, start, "--start"),
        epochs=epochs,
        patience=patience,
        batch=batch,
        rate=rate,
    )
    default = ["cn"] if interactive else list(DEFAULT_METHODS)
    chosen = validate_methods(split(methods) if methods is not None else default)
    if interactive and len(chosen) > 1:
        raise InvalidInputError("--interactive trains one method; name one with --methods")
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
    study, trackers = _train(
        vectors,
        chosen,
        validate_slots(split(slots)),
        1 if interactive else seeds,
        options,
        workers,
        data,
        offline=offline,
    )
    if save is not None:
        for tracker in trackers:
            tracker.save(save / tracker.provenance["method"] / str(tracker.provenance["seed"]))
    if plot is not None:
        from conceptor.report.plots import draw_learning

        draw_learning(study, plot)
    if interactive:
        converse(trackers[0])
    elif as_json:
        write(as_json_text(study.to_dict()), output)
    else:
        from conceptor.report.dialogue import dialogue_tables

        show(dialogue_tables(study), [study.vectors, *study.notes], as_markdown, output)


def _train(
    vectors: Path | None,
    methods: Sequence[str],
    slots: Sequence[str],
    seeds: int,
    options: TrackerOptions,
    workers: int | None,
    data: Path | None,
    *,
    offline: bool,
) -> tuple[Study, list[BeliefTracker]]:
    from conceptor.base.progress import on_terminal
    from conceptor.comparing.dialogue import FewWordsWarning, compare_dialogue
    from conceptor.dialogue import load_corpus
    from conceptor.fitting import FitOptions

    source = opened(vectors)
    with download_progress() as bars:
        corpus = load_corpus(data, offline=offline, progress=bars)
    fetch_vocabulary(data, offline=offline)
    weights: dict[tuple[str, int], dict[Job, TrackerWeights]] = {}

    def keep(job: Job, trained: TrackerWeights) -> None:
        weights.setdefault((job.method, job.seed), {})[job] = trained

    with (
        saying(FewWordsWarning),
        on_terminal() as progress,
        training_progress(options.epochs) as watch,
    ):
        study = compare_dialogue(
            source,
            corpus,
            methods,
            FitOptions(data=data),
            slots=slots,
            seeds=seeds,
            options=options,
            workers=workers,
            name=str(vectors or DEMO),
            progress=progress,
            watch=watch,
            keep=keep,
        )
    return study, [_tracker(corpus, study.vectors, by_job, options) for by_job in weights.values()]


def _tracker(
    corpus: Corpus, vectors: str, weights: dict[Job, TrackerWeights], options: TrackerOptions
) -> BeliefTracker:
    from conceptor.dialogue.saved import BeliefTracker

    first = next(iter(weights))
    return BeliefTracker.from_parts(
        first.embedding,
        corpus.values,
        {job.slot: trained for job, trained in weights.items()},
        options,
        {"vectors": vectors, "method": first.method, "seed": first.seed},
    )
