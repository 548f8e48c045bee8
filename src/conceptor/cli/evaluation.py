"""`evaluate` and `compare`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer looks it up
from typing import Annotated

import typer

from conceptor.cli.app import app
from conceptor.cli.evaluation_options import (
    DEMO,
    AntonymsOption,
    ByTaskOption,
    CsvOption,
    DataOption,
    JsonOption,
    KmeansOption,
    MarkdownOption,
    MissingOption,
    OfflineOption,
    OutputOption,
    SynonymsOption,
    choice,
    chosen_battery,
    chosen_lexicon,
    fetch_vocabulary,
    opened,
    say_if_nothing_was_used,
    split,
)
from conceptor.cli.file_options import FunctionWords, Vocabulary, Weights  # noqa: TC001 - Typer
from conceptor.cli.output import as_json_text, check_outputs, one_format, show, warn, write


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
    from conceptor.base.progress import on_terminal
    from conceptor.evaluation import Missing
    from conceptor.report.tables import csv_text, evaluation_tables
    from conceptor.vectors.chunks import collect_rows

    one_format(as_json, as_markdown, as_csv)
    check_outputs([output], vectors)
    policy = choice(Missing, missing, "--missing")
    sources = [opened(path) for path in vectors]
    battery = chosen_battery(tasks, data, offline=offline, kmeans=kmeans)
    evaluations = []
    for path, source in zip(vectors, sources, strict=True):
        with on_terminal() as progress:
            rows = collect_rows(source, battery.words, battery.first, progress)
        evaluations.append(battery.run(rows, str(path), policy))
    say_if_nothing_was_used(evaluations)
    if as_json:
        found = [evaluation.to_dict() for evaluation in evaluations]
        text = as_json_text(found[0] if len(found) == 1 else found)
    elif as_csv:
        text = csv_text({evaluation.vectors: evaluation for evaluation in evaluations})
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
            help="Out of original, cn, cn-paper, abtt, whitening, zipf-whitening, pvn, hsr, ppa, "
            "ew, and with a lexicon counterfit, counterfit-syn, counterfit-ant, retrofit; "
            "comma-separated, or [b]all[/b] without a lexicon. [b]cn+counterfit[/b] is one after "
            "the other, [b]abtt:n_directions=3[/b] sets a parameter.",
        ),
    ] = "original,abtt,cn-paper,cn",
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Out of similarity, sts, categorization, analogy, sts-b; comma-separated."
        ),
    ] = None,
    vocabulary: Vocabulary = None,
    weights: Weights = None,
    function_words: FunctionWords = None,
    sentences: Annotated[
        str | None,
        typer.Option(
            help="Also compare sentence vectors on STS and SICK, out of average, sif, usif, "
            "conceptor (and what lies between: cn-sif, sif-conceptor, sif-spelling, "
            "conceptor-known); each fitted on the test set's own sentences and on those of the "
            "other sets."
        ),
    ] = None,
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
    from conceptor.algebra.methods import ORIGINAL, parse_methods, spectral_methods
    from conceptor.base.progress import on_terminal
    from conceptor.comparing.words import compare as run
    from conceptor.evaluation import Missing
    from conceptor.fitting import FitOptions
    from conceptor.report.page import page
    from conceptor.report.tables import comparison_tables, csv_text, sentence_tables

    one_format(as_json, as_markdown, as_csv, as_html)
    lists = [*(synonyms or ()), *(antonyms or ())]
    check_outputs([output], [vectors, vocabulary, weights, function_words, *lists])
    policy = choice(Missing, missing, "--missing")
    names = [ORIGINAL, *spectral_methods()] if methods == "all" else split(methods)
    chains = parse_methods(names)
    encoders = []
    if sentences is not None:
        # scikit-learn takes a second to import.
        from conceptor.comparing.sentences import (
            compare_sentences,
            sentence_tasks,
            validate_encoders,
        )

        encoders = validate_encoders(split(sentences))
    source = opened(vectors)
    title = str(vectors or DEMO)
    battery = chosen_battery(tasks, data, offline=offline, kmeans=kmeans)
    if encoders:
        sentence_tasks(battery)
    fetch_vocabulary(data, offline=offline)
    lexicon = chosen_lexicon(synonyms, antonyms, data, offline=offline)
    options = FitOptions(weights, vocabulary, lexicon, function_words, data)
    with on_terminal() as progress:
        comparison = run(
            source,
            chains,
            battery,
            options,
            name=title,
            missing=policy,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
    warn(f"{title}: {caution}" for caution in comparison.cautions)
    say_if_nothing_was_used([next(iter(comparison.evaluations.values()))])
    by_sentence = None
    if encoders:
        with on_terminal() as progress:
            by_sentence = compare_sentences(
                source,
                battery,
                encoders,
                options,
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
        write(csv_text({**comparison.evaluations, **more}), output)
    elif as_html:
        write(page(comparison, by_sentence, by_task=by_task), output)
    else:
        tables = comparison_tables(comparison, by_task=by_task)
        notes = list(comparison.notes)
        if by_sentence is not None:
            tables += sentence_tables(by_sentence, by_task=by_task)
            notes += by_sentence.notes
        show(tables, [title, *notes], as_markdown, output)
