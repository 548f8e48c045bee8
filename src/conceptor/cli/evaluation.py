"""`evaluate` and `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import (
    DEMO,
    fetch_vocabulary,
    load_benchmarks,
    make_lexicon,
    open_or_demo,
    open_source,
    parse_choice,
    split_list,
)
from conceptor.cli.output import (
    check_one_format,
    check_outputs,
    show_tables,
    to_json,
    warn,
    write_output,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conceptor.evaluation import Evaluation


@app.command()
def evaluate(
    vectors: Annotated[list[Path], typer.Argument(help="Vectors files.", metavar="VECTORS")],
    tasks: opt.Tasks = None,
    missing: opt.Missing = "skip",
    kmeans: opt.Kmeans = "categories",
    data: opt.Data = None,
    offline: opt.Offline = False,
    by_task: opt.ByTask = False,
    as_json: opt.Json = False,
    as_markdown: opt.Markdown = False,
    as_csv: opt.Csv = False,
    output: opt.Output = None,
) -> None:
    """Score vectors files on standard benchmarks.

    Example: [b]conceptor evaluate my-vectors.bin better.bin --tasks similarity,sts --json[/b]
    """
    from conceptor.base.progress import on_terminal
    from conceptor.evaluation import Missing
    from conceptor.evaluation import evaluate as run
    from conceptor.report.tables import csv_text, evaluation_tables

    check_one_format(as_json, as_markdown, as_csv)
    check_outputs([output], vectors)
    policy = parse_choice(Missing, missing, "--missing")
    # All files are opened first: what is wrong with one shows before anything is downloaded.
    sources = [open_source(path) for path in vectors]
    battery = load_benchmarks(tasks, data, offline=offline, kmeans=kmeans)
    evaluations = []
    for path, source in zip(vectors, sources, strict=True):
        with on_terminal() as progress:
            evaluations.append(
                run(source, battery, name=str(path), missing=policy, progress=progress)
            )
    _warn_if_unused(evaluations)
    if as_json:
        found = [evaluation.to_dict() for evaluation in evaluations]
        write_output(to_json(found[0] if len(found) == 1 else found), output)
    elif as_csv:
        by_name = {evaluation.vectors: evaluation for evaluation in evaluations}
        write_output(csv_text(by_name), output)
    else:
        remarks = [f"{each.vectors}: {one}" for each in evaluations for one in each.remarks]
        show_tables(evaluation_tables(evaluations, by_task=by_task), remarks, as_markdown, output)


@app.command()
def compare(
    vectors: opt.Vectors = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Comma-separated list of original, cn, cn-paper, abtt, whitening, zipf-whitening, "
            "pvn, hsr, ppa, ew, and with a lexicon counterfit, counterfit-syn, counterfit-ant, "
            "retrofit; or [b]all[/b] that need no lexicon. [b]cn+counterfit[/b] applies one after "
            "the other, [b]abtt:n_directions=3[/b] sets a parameter.",
        ),
    ] = "original,abtt,cn-paper,cn",
    tasks: opt.Tasks = None,
    vocabulary: opt.Vocabulary = None,
    weights: opt.Weights = None,
    function_words: opt.FunctionWords = None,
    sentences: Annotated[
        str | None,
        typer.Option(
            help="Also compare sentence encoders on the tasks about texts (sts, sts-b, "
            "classification, retrieval): comma-separated list of average, sif, sif-10, usif, "
            "model2vec, conceptor (and combinations: cn-sif, sif-conceptor, sif-spelling, "
            "conceptor-known), each fitted on the test set's own sentences and on those of the "
            "other sets of the same task."
        ),
    ] = None,
    synonyms: opt.Synonyms = None,
    antonyms: opt.Antonyms = None,
    missing: opt.Missing = "skip",
    kmeans: opt.Kmeans = "categories",
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of the paired bootstrap; 0 for no intervals.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the paired bootstrap.")] = 0,
    data: opt.Data = None,
    offline: opt.Offline = False,
    by_task: opt.ByTask = False,
    as_json: opt.Json = False,
    as_markdown: opt.Markdown = False,
    as_csv: opt.Csv = False,
    as_html: Annotated[
        bool, typer.Option("--html", help="Print a self-contained web page with charts.")
    ] = False,
    output: opt.Output = None,
) -> None:
    """Post-process vectors with several methods and compare their scores.

    [bold]Examples[/bold]

      conceptor compare

      conceptor compare my-vectors.bin --methods original,abtt,cn --tasks similarity,sts

      conceptor compare my-vectors.bin --methods all --html -o report.html

      conceptor compare --tasks sts --sentences average,sif,usif,conceptor
    """
    from conceptor.algebra.methods import ORIGINAL, parse_methods, spectral_methods
    from conceptor.base.progress import on_terminal
    from conceptor.comparing.words import compare as run
    from conceptor.evaluation import Missing
    from conceptor.fitting import FitOptions
    from conceptor.report.page import page
    from conceptor.report.tables import comparison_tables, csv_text, sentence_tables

    check_one_format(as_json, as_markdown, as_csv, as_html)
    lists = [*(synonyms or ()), *(antonyms or ())]
    check_outputs([output], [vectors, vocabulary, weights, function_words, *lists])
    policy = parse_choice(Missing, missing, "--missing")
    names = [ORIGINAL, *spectral_methods()] if methods == "all" else split_list(methods)
    chains = parse_methods(names)
    encoders = []
    if sentences is not None:
        # scikit-learn takes a second to import.
        from conceptor.comparing.sentences import (
            compare_sentences,
            sentence_tasks,
            validate_encoders,
        )

        encoders = validate_encoders(split_list(sentences))
    source = open_or_demo(vectors)
    title = str(vectors or DEMO)
    battery = load_benchmarks(tasks, data, offline=offline, kmeans=kmeans)
    if encoders:
        sentence_tasks(battery)
    fetch_vocabulary(data, offline=offline)
    lexicon = make_lexicon(synonyms, antonyms, data, offline=offline)
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
    _warn_if_unused([next(iter(comparison.evaluations.values()))])
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
        write_output(to_json(found), output)
    elif as_csv:
        more = {} if by_sentence is None else by_sentence.evaluations
        write_output(csv_text({**comparison.evaluations, **more}), output)
    elif as_html:
        write_output(page(comparison, by_sentence, by_task=by_task), output)
    else:
        tables = comparison_tables(comparison, by_task=by_task)
        notes = list(comparison.notes)
        if by_sentence is not None:
            tables += sentence_tables(by_sentence, by_task=by_task)
            notes += by_sentence.notes
        show_tables(tables, [title, *notes], as_markdown, output)


def _warn_if_unused(evaluations: Iterable[Evaluation]) -> None:
    """Warn about vectors without any word of the benchmarks."""
    warn(
        f"{evaluation.vectors}: none of the benchmarks' words has a vector; check that the words "
        "are English, in lower case and without prefixes"
        for evaluation in evaluations
        if not any(outcome.used for outcome in evaluation.outcomes)
    )
