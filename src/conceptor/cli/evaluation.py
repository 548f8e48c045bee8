"""`evaluate`, `compare` and `reproduce`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from conceptor.cli.app import app
from conceptor.cli.file_options import read_aperture
from conceptor.cli.output import as_json_text, one_format, saying, show, write
from conceptor.cli.progress import download_progress, training_progress
from conceptor.errors import ConceptorError, InvalidInputError

if TYPE_CHECKING:
    from conceptor.evaluation import Battery

_Choice = TypeVar("_Choice", bound=StrEnum)

DataOption = Annotated[
    Path | None,
    typer.Option(
        help="Directory with the benchmark files; default $CONCEPTOR_DATA, then installed "
        "packages, the cache, the network.",
        metavar="DIR",
    ),
]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Never ask the network.")]
MissingOption = Annotated[
    str,
    typer.Option(
        help="Words the vectors lack: [b]skip[/b] their items, try [b]lowercase[/b] too, or "
        "score them [b]zero[/b].",
    ),
]
ByTaskOption = Annotated[bool, typer.Option("--by-task", help="Show every STS task, not years.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV, at full precision.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write to this file instead of standard output."),
]
KmeansOption = Annotated[
    str,
    typer.Option(
        help="Where k-means begins: the [b]categories[/b]' means (the paper's choice; it uses the "
        "labels) or k-means++ ([b]plusplus[/b]), 50 starts.",
    ),
]
SynonymsOption = Annotated[
    list[Path] | None,
    typer.Option(help="Pairs of synonyms, one a line; may be repeated. Default: the paper's."),
]
AntonymsOption = Annotated[
    list[Path] | None,
    typer.Option(help="Pairs of antonyms, one a line; may be repeated. Default: the paper's."),
]


@app.command()
def evaluate(
    vectors: Annotated[list[Path], typer.Argument(help="Vectors files.", metavar="VECTORS")],
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Out of similarity, sts, categorization, analogy, sts-b; comma-separated."
        ),
    ] = None,
    missing: MissingOption = "skip",
    kmeans: KmeansOption = "categories",
    data: DataOption = None,
    offline: OfflineOption = False,
    by_task: ByTaskOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    as_csv: CsvOption = False,
    output: OutputOption = None,
) -> None:
    """Score vectors files on standard benchmarks.

    Example: [b]conceptor evaluate my-vectors.bin better.bin --tasks similarity,sts --json[/b]
    """
    from conceptor.evaluation import Missing
    from conceptor.evaluation.rows import chunks_of, collect
    from conceptor.progress import on_terminal
    from conceptor.report import comma_separated, evaluation_tables

    one_format(as_json, as_markdown, as_csv)
    policy = choice(Missing, missing, "--missing")
    sources = [opened(path) for path in vectors]
    battery = _battery(tasks, data, offline=offline, kmeans=kmeans)
    evaluations = []
    for path, source in zip(vectors, sources, strict=True):
        with on_terminal() as progress:
            rows = collect(chunks_of(source, progress), battery.words, battery.first)
        evaluations.append(battery.run(rows, str(path), policy))
    if as_json:
        found = [evaluation.to_dict() for evaluation in evaluations]
        text = as_json_text(found[0] if len(found) == 1 else found)
    elif as_csv:
        text = comma_separated({evaluation.vectors: evaluation for evaluation in evaluations})
    else:
        show(evaluation_tables(evaluations, by_task=by_task), [], as_markdown, output)
        return
    write(text, output)


@app.command()
def compare(
    vectors: Annotated[
        Path | None,
        typer.Argument(help="A vectors file; without it, GloVe 6B 50d from the demo extra."),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Out of original, abtt, cn, cn-zipf, whitening, zipf-whitening, pvn, hsr, and "
            "with a lexicon counterfit-syn, counterfit-ant, counterfit, retrofit; "
            "comma-separated, or [b]all[/b] without a lexicon. [b]cn+counterfit[/b] is one after "
            "the other.",
        ),
    ] = "original,abtt,cn,cn-zipf",
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Out of similarity, sts, categorization, analogy, sts-b; comma-separated."
        ),
    ] = None,
    vocabulary: Annotated[
        str | None,
        typer.Option(
            help="What methods are fitted on: a file of words or [b]top:N[/b]. Default: the "
            "paper's list where it is at hand, else top:50000.",
            metavar="FILE|top:N",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="Usage for cn-zipf and zipf-whitening: [b]zipf[/b] (ranks in the file), "
            '[b]wordfreq:LANG[/b], or a file of "word count" lines. Default: ranks; for an '
            "alphabetical file, Wikipedia counts.",
            metavar="zipf|wordfreq:LANG|FILE",
        ),
    ] = None,
    aperture: Annotated[float, typer.Option(min=0.0, help="Aperture of cn.")] = 2.0,
    usage_aperture: Annotated[
        str, typer.Option(help="Aperture of cn-zipf: a number or [b]auto[/b].")
    ] = "auto",
    sentences: Annotated[
        str | None,
        typer.Option(
            help="Also compare sentence vectors on STS and SICK, out of average, sif, usif, "
            "conceptor (and what lies between: cn-sif, sif-conceptor, sif-spelling, "
            "conceptor-known); each fitted on the test set's own sentences and on those of the "
            "other sets."
        ),
    ] = None,
    directions: Annotated[int, typer.Option(min=0, help="Directions of ABTT and PVN.")] = 2,
    ridge: Annotated[float, typer.Option(help="Ridge of HSR.")] = 50.0,
    synonyms: SynonymsOption = None,
    antonyms: AntonymsOption = None,
    missing: MissingOption = "skip",
    kmeans: KmeansOption = "categories",
    resamples: Annotated[
        int, typer.Option(min=0, help="Of the paired bootstrap; 0 for no intervals.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the paired bootstrap.")] = 0,
    data: DataOption = None,
    offline: OfflineOption = False,
    by_task: ByTaskOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    as_csv: CsvOption = False,
    as_html: Annotated[
        bool, typer.Option("--html", help="Print a web page with charts, complete in itself.")
    ] = False,
    output: OutputOption = None,
) -> None:
    """Post-process vectors in several ways and score each: before and after, side by side.

    Examples
    --------
    [b]conceptor compare[/b]

    [b]conceptor compare my-vectors.bin --methods original,abtt,cn --tasks similarity,sts[/b]

    [b]conceptor compare my-vectors.bin --methods all --html -o report.html[/b]

    [b]conceptor compare --tasks sts --sentences average,sif,usif,conceptor[/b]
    """
    from conceptor.comparison import compare as run
    from conceptor.datasets import demo_vectors
    from conceptor.evaluation import Missing
    from conceptor.methods import METHODS, ORIGINAL, checked, settings_for
    from conceptor.progress import on_terminal
    from conceptor.report import comma_separated, comparison_tables, sentence_tables
    from conceptor.report_page import page

    one_format(as_json, as_markdown, as_csv, as_html)
    policy = choice(Missing, missing, "--missing")
    names = checked([ORIGINAL, *METHODS] if methods == "all" else split(methods))
    chosen_aperture = read_aperture(usage_aperture)
    encoders = []
    if sentences is not None:
        # scikit-learn takes a second to import.
        from conceptor.sentence_comparison import checked_encoders, compare_sentences

        encoders = checked_encoders(split(sentences))
    source = demo_vectors() if vectors is None else opened(vectors)
    title = "GloVe 6B 50d" if vectors is None else str(vectors)
    battery = _battery(tasks, data, offline=offline, kmeans=kmeans)
    settings = settings_for(
        source,
        vocabulary=vocabulary,
        usage=weights,
        data=data,
        offline=offline,
        aperture=aperture,
        usage_aperture=chosen_aperture,
        directions=directions,
        ridge=ridge,
        synonyms=synonyms or (),
        antonyms=antonyms or (),
    )
    with on_terminal() as progress:
        comparison = run(
            source,
            battery,
            names,
            settings,
            name=title,
            missing=policy,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
    by_sentence = None
    if encoders:
        with on_terminal() as progress:
            by_sentence = compare_sentences(
                source,
                battery,
                encoders,
                settings,
                name=title,
                resamples=resamples,
                seed=seed,
                progress=progress,
            )
    if as_json:
        found = comparison.to_dict()
        if by_sentence is not None:
            found["sentences"] = by_sentence.to_dict()
        write(as_json_text(found), output)
    elif as_csv:
        more = {} if by_sentence is None else by_sentence.evaluations
        write(comma_separated({**comparison.evaluations, **more}), output)
    elif as_html:
        write(page(comparison, by_sentence, by_task=by_task), output)
    else:
        tables = comparison_tables(comparison, by_task=by_task)
        notes = list(comparison.notes)
        if by_sentence is not None:
            tables += sentence_tables(by_sentence, by_task=by_task)
            notes += by_sentence.notes
        show(tables, [title, *notes], as_markdown, output)


@app.command()
def reproduce(
    word2vec: Annotated[
        Path | None, typer.Option(help="Google News vectors, GoogleNews-vectors-negative300.bin.")
    ] = None,
    glove: Annotated[
        Path | None, typer.Option(help="Common Crawl GloVe, glove.840B.300d.txt.")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Also draw the gating figure there: svg, pdf or png (plots extra)."),
    ] = None,
    dialogue: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="RUNS",
            help="How often dialogue state trackers are trained for each method: minutes each at "
            "50 dimensions, much longer at 300; 0 leaves them out (dialogue extra).",
        ),
    ] = 1,
    data: DataOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    output: OutputOption = None,
) -> None:
    """Run the paper's protocol and print paper, measured and difference for every cell.

    Example: [b]conceptor reproduce --word2vec GoogleNews-vectors-negative300.bin --glove
    glove.840B.300d.txt[/b]
    """
    from conceptor import reproduction
    from conceptor.dialogue_comparison import FewWordsWarning
    from conceptor.evaluation.dialogue import Options
    from conceptor.progress import on_terminal

    one_format(as_json, as_markdown)
    given = {"word2vec": word2vec, "glove": glove}
    sources = {name: opened(path) for name, path in given.items() if path is not None}
    if not sources:
        raise InvalidInputError("name at least one file: --word2vec FILE or --glove FILE")
    battery = _battery(None, data, offline=offline, kmeans="categories", extras=False)
    epochs = Options().epochs
    with (
        saying(FewWordsWarning),
        on_terminal() as progress,
        training_progress(epochs) as watch,
    ):
        found = reproduction.reproduce(
            sources,
            battery,
            dialogue=dialogue,
            data=data,
            offline=offline,
            progress=progress,
            watch=watch,
        )
    if figure is not None:
        found.draw_gates(figure)
    if as_json:
        write(as_json_text(found.to_dict()), output)
    else:
        show(found.tables(), found.notes, as_markdown, output, after=found.gates_text())


def _battery(
    tasks: str | None,
    data: Path | None,
    *,
    offline: bool,
    kmeans: str,
    extras: bool = True,
) -> Battery:
    """Load the benchmarks and say what is missing; an error if nothing is left."""
    from conceptor.evaluation import PAPER_FAMILIES, Battery, load
    from conceptor.evaluation.categorization import Start

    start = choice(Start, kmeans, "--kmeans")
    families = PAPER_FAMILIES if tasks is None else split(tasks)
    with download_progress() as progress:
        battery = load(families, data, start=start, offline=offline, progress=progress)
        if battery.missing and tasks is None and extras:
            # Analogies come with the demo extra, so that there is more to see without a network.
            more = load(["analogy"], data, offline=True)
            battery = Battery([*battery.tasks, *more.tasks], battery.missing)
    if battery.missing:
        why = next(iter(battery.missing.values()))
        typer.echo(
            f"conceptor: {len(battery.missing)} benchmark files are not at hand and their tasks "
            f"left out: {why}",
            err=True,
        )
    if not battery.tasks:
        raise ConceptorError("no benchmark is at hand; run: conceptor data fetch")
    return battery


def opened(path: Path) -> object:
    """Open a vectors file; what is wrong with it is said before anything is downloaded."""
    from conceptor.vectors import open_vectors

    return open_vectors(path)


def split(names: str) -> list[str]:
    """Part names at commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def choice(kind: type[_Choice], value: str, option: str) -> _Choice:
    """Return the choice of this name; an error that lists them where there is none."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInputError(f"{option} is one of {known}, not {value!r}") from None
