"""`evaluate`, `compare` and `reproduce`: score vectors, methods, and the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.cli import options as opt
from conceptor.cli import output as out
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

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conceptor.evaluation import Evaluation
    from conceptor.vectors.source import VectorSource


@app.command()
def evaluate(
    vectors: Annotated[list[Path], Argument(help="Vectors files.", metavar="VECTORS")],
    tasks: opt.Tasks = None,
    missing: opt.Missing = "skip",
    kmeans: opt.Kmeans = "categories",
    pairs: opt.Pairs = None,
    sentence_pairs: opt.SentencePairs = None,
    resamples: opt.Resamples = 1000,
    seed: opt.Seed = 0,
    data: opt.Data = None,
    offline: opt.Offline = False,
    by_task: opt.ByTask = False,
    as_json: opt.Json = False,
    as_markdown: opt.Markdown = False,
    as_csv: opt.Csv = False,
    output: opt.Output = None,
) -> None:
    """Score vectors files on standard benchmarks, or on your own; gains are over the first file.

    [bold]Examples[/bold]

      conceptor evaluate my-vectors.bin better.bin --tasks similarity,sts --json

      conceptor evaluate wiki.fr.vec better.fr.vec --pairs my-french-pairs.tsv
    """
    from conceptor.base.progress import on_terminal
    from conceptor.evaluation import Missing
    from conceptor.evaluation import evaluate as run
    from conceptor.evaluation.compare.words import Comparison
    from conceptor.report.tables import comparison_tables, coverage_note, csv_text

    out.check_one_format(as_json, as_markdown, as_csv)
    out.check_outputs([output], [*vectors, *(pairs or ()), *(sentence_pairs or ())])
    if len(set(vectors)) < len(vectors):
        raise InvalidInputError("a vectors file was named twice; name each once")
    policy = parse_choice(Missing, missing, "--missing")
    # All files are opened first: what is wrong with one shows before anything is downloaded.
    sources = [open_source(path) for path in vectors]
    battery = load_benchmarks(
        tasks, data, offline=offline, kmeans=kmeans, pairs=pairs, sentence_pairs=sentence_pairs
    )
    evaluations = []
    for path, source in zip(vectors, sources, strict=True):
        with on_terminal() as progress:
            evaluations.append(
                run(source, battery, name=str(path), missing=policy, progress=progress)
            )
    _warn_if_unused(evaluations)
    by_name = {found.vectors: found for found in evaluations}
    comparison = Comparison(
        "", by_name, resamples=resamples, seed=seed, baseline=evaluations[0].vectors
    )
    if not as_csv:
        with on_terminal() as progress:
            comparison.resample(progress)
    if as_json:
        found = [
            each.to_dict() | {"against": comparison.baseline, "gains": comparison.gains_of(name)}
            for name, each in by_name.items()
        ]
        out.write_json(found[0] if len(found) == 1 else found, output)
    elif as_csv:
        out.write_output(csv_text(by_name), output)
    else:
        notes = [f"{each.vectors}: {one}" for each in evaluations for one in each.remarks]
        notes += coverage_note(evaluations)
        tables = comparison_tables(comparison, by_task=by_task, one_file=False)
        out.show_tables(tables, notes, as_markdown, output, "\n".join(comparison.summary))


@app.command()
def compare(
    vectors: opt.Vectors = None,
    methods: Annotated[
        str,
        Option(
            autocompletion=opt.complete_method,
            help="Comma-separated list of methods (`conceptor methods` lists them), or [b]all[/b] "
            "that need nothing but vectors. [b]cn+counterfit[/b] applies one after the other, "
            "[b]abtt:n_directions=3[/b] sets a parameter.",
        ),
    ] = "original,abtt,cn-paper,cn",
    tasks: opt.Tasks = None,
    vocabulary: opt.Vocabulary = None,
    weights: opt.Weights = None,
    function_words: opt.FunctionWords = None,
    sentences: Annotated[
        str | None,
        Option(
            help="Also compare sentence encoders on the tasks about texts (sts, sts-b, "
            "classification, retrieval): comma-separated list of average, sif, sif-10, usif, "
            "model2vec, pca, abtt, renormalization, whitening, conceptor (and combinations: "
            "cn-sif, sif-conceptor, sif-spelling, conceptor-known), each fitted on the test "
            "set's own sentences and on those of the other sets of the same task."
        ),
    ] = None,
    synonyms: opt.Synonyms = None,
    antonyms: opt.Antonyms = None,
    missing: opt.Missing = "skip",
    kmeans: opt.Kmeans = "categories",
    pairs: opt.Pairs = None,
    sentence_pairs: opt.SentencePairs = None,
    examples: Annotated[
        int,
        Option(min=0, help="Example words whose nearest words are shown, before and after."),
    ] = 10,
    resamples: opt.Resamples = 1000,
    seed: opt.Seed = 0,
    data: opt.Data = None,
    offline: opt.Offline = False,
    by_task: opt.ByTask = False,
    as_json: opt.Json = False,
    as_markdown: opt.Markdown = False,
    as_csv: opt.Csv = False,
    as_html: opt.Html = False,
    output: opt.Output = None,
) -> None:
    """Post-process vectors with several methods and compare their scores.

    [bold]Examples[/bold]

      conceptor compare

      conceptor compare my-vectors.bin --methods original,abtt,cn --tasks similarity,sts

      conceptor compare my-vectors.bin --methods all --html -o report.html

      conceptor compare wiki.fr.vec --pairs my-french-pairs.tsv

      conceptor compare --tasks sts --sentences average,sif,usif,conceptor
    """
    from conceptor.base.progress import on_terminal
    from conceptor.evaluation import Missing
    from conceptor.evaluation.compare.words import compare as run
    from conceptor.fitting import FitOptions
    from conceptor.methods import ORIGINAL, as_methods, spectral_methods
    from conceptor.report.page import page
    from conceptor.report.tables import (
        comparison_tables,
        coverage_note,
        csv_text,
        example_table,
        sentence_tables,
    )

    out.check_one_format(as_json, as_markdown, as_csv, as_html)
    lists = [each for files in (synonyms, antonyms, pairs, sentence_pairs) for each in files or ()]
    out.check_outputs([output], [vectors, vocabulary, weights, function_words, *lists])
    policy = parse_choice(Missing, missing, "--missing")
    names = [ORIGINAL, *spectral_methods()] if methods == "all" else split_list(methods)
    chains = as_methods(names)
    encoders = []
    if sentences is not None:
        from conceptor.evaluation.compare import (
            sentences as encoding,  # scikit-learn takes a second
        )

        encoders = encoding.validate_encoders(split_list(sentences))
    source = open_or_demo(vectors)
    title = str(vectors or DEMO)
    battery = load_benchmarks(
        tasks, data, offline=offline, kmeans=kmeans, pairs=pairs, sentence_pairs=sentence_pairs
    )
    if encoders:
        encoding.sentence_tasks(battery)
    fetch_vocabulary(data, offline=offline)
    lexicon = make_lexicon(synonyms, antonyms, data, offline=offline)
    options = FitOptions(weights, vocabulary, lexicon, function_words, data)
    both: dict[str, Any] = {"name": title, "resamples": resamples, "seed": seed}
    with on_terminal() as progress:
        comparison = run(
            source,
            chains,
            battery,
            options,
            missing=policy,
            # A table for people, which takes a search of its own.
            examples=0 if as_csv else examples,
            progress=progress,
            **both,
        )
        if not as_csv:
            comparison.resample(progress)
    out.warn(f"{title}: {caution}" for caution in comparison.cautions)
    _warn_if_unused([next(iter(comparison.evaluations.values()))])
    by_sentence = None
    if encoders:
        with on_terminal() as progress:
            by_sentence = encoding.compare_sentences(
                source, battery, encoders, options, progress=progress, **both
            )
            if not as_csv:
                by_sentence.resample(progress)
    if as_json:
        found = {"sentences": by_sentence.to_dict()} if by_sentence else {}
        out.write_json(comparison.to_dict() | found, output)
    elif as_csv:
        more = by_sentence.evaluations if by_sentence else {}
        out.write_output(csv_text({**comparison.evaluations, **more}), output)
    elif as_html:
        out.write_output(page(comparison, by_sentence, by_task=by_task), output)
    else:
        tables = comparison_tables(comparison, by_task=by_task)
        notes, closing = list(comparison.notes), list(comparison.summary)
        notes += coverage_note(comparison.evaluations.values())
        if by_sentence is not None:
            tables += sentence_tables(by_sentence, by_task=by_task)
            notes += by_sentence.notes
            closing += by_sentence.summary
        if comparison.examples:
            tables.append(example_table(comparison))
        out.show_tables(tables, [title, *notes], as_markdown, output, "\n".join(closing))


@app.command()
def reproduce(
    word2vec: Annotated[
        Path | None,
        Option(
            help="Google News vectors, GoogleNews-vectors-negative300.bin.  \\[default, without "
            "--glove: the 31,530 words of them that can be had]"
        ),
    ] = None,
    glove: Annotated[
        Path | None,
        Option(
            help="Common Crawl GloVe, glove.840B.300d.txt.  \\[default, without --word2vec: GloVe "
            "6B 50d as a stand-in (demo extra)]"
        ),
    ] = None,
    notebook: Annotated[
        bool,
        Option(
            "--notebook",
            help="Rank ties and split sentences as the authors' notebook does (notebook extra).",
        ),
    ] = False,
    figure: Annotated[
        Path | None,
        Option(help="Also draw the gating figure to this svg, pdf or png file (plots extra)."),
    ] = None,
    dialogue: Annotated[
        int,
        Option(
            min=0,
            metavar="RUNS",
            help="Dialogue state trackers to train for each method: minutes per run; 0 for none "
            "(dialogue extra).",
        ),
    ] = 0,
    resume: Annotated[
        Path | None,
        Option(
            help="Keep what is finished in this directory, and do not do again what it holds: the "
            "same command continues after a stop.",
            metavar="DIR",
        ),
    ] = None,
    data: opt.Data = None,
    offline: opt.Offline = False,
    as_json: opt.Json = False,
    as_markdown: opt.Markdown = False,
    as_html: opt.Html = False,
    output: opt.Output = None,
) -> None:
    """Run the paper's protocol and compare its published scores with the measured ones.

    [bold]Examples[/bold]

      conceptor reproduce

      conceptor reproduce --dialogue 5 --resume study

      conceptor reproduce --word2vec GoogleNews-vectors-negative300.bin --glove glove.840B.300d.txt
    """
    out.check_one_format(as_json, as_markdown, as_html)
    out.check_outputs([output], [word2vec, glove], figure)
    if resume is not None and resume.exists() and not resume.is_dir():
        raise InvalidInputError(f"--resume {resume}: not a directory; name one, or remove it")
    given = {"word2vec": word2vec, "glove": glove}
    files = {name: open_source(path) for name, path in given.items() if path is not None}
    sources: dict[str, object] = {**files}
    from conceptor.base.progress import on_terminal
    from conceptor.paper import reproduction
    from conceptor.paper.dialogue import TrackerOptions
    from conceptor.paper.dialogue.comparing import FewWordsWarning
    from conceptor.paper.report import (
        draw_gates,
        gates_text,
        reproduction_page,
        reproduction_tables,
    )
    from conceptor.paper.tables import file_note

    if not sources:
        with out.download_progress() as bars:
            found_vectors, missing = reproduction.available_vectors(
                data, offline=offline, progress=bars
            )
        out.warn(f"{name} left out: {why}" for name, why in missing.items())
        sources.update(found_vectors)
    if not sources:
        raise ConceptorError("no vectors were found; use --word2vec FILE or --glove FILE")
    battery = load_benchmarks(None, data, offline=offline, kmeans="categories", more=False)
    told = reproduction.estimate_time(sources, dialogue)
    if dialogue and resume is None:
        told += "; --resume DIR makes it possible to stop and continue"
    typer.echo(f"conceptor: {told}", err=True)
    with (
        out.print_warnings(FewWordsWarning),
        on_terminal() as progress,
        out.training_progress(TrackerOptions().epochs) as watch,
    ):
        found = reproduction.reproduce(
            sources,
            battery,
            notebook=notebook,
            dialogue=dialogue,
            resume=resume,
            data=data,
            offline=offline,
            progress=progress,
            watch=watch,
        )
    if figure is not None:
        draw_gates(found, figure)
    other_files = [
        note
        for name, source in files.items()
        if (note := file_note(name, _count_words(source), source.dimension, found.cells))
    ]
    if as_json:
        out.write_json(found.to_dict() | {"other_files": other_files}, output)
    elif as_html:
        out.write_output(reproduction_page(found, other_files), output)
    else:
        tables = reproduction_tables(found)
        after = "\n".join([*found.summary, gates_text(found)])
        out.show_tables(tables, [*found.notes, *other_files], as_markdown, output, after=after)


def _warn_if_unused(evaluations: Iterable[Evaluation]) -> None:
    """Warn about vectors without any word of the benchmarks."""
    out.warn(
        f"{evaluation.vectors}: none of the benchmarks' words has a vector; check that the words "
        "are English, in lower case and without prefixes"
        for evaluation in evaluations
        if not any(outcome.used for outcome in evaluation.outcomes)
    )


def _count_words(source: VectorSource) -> int:
    """Return how many words a file has; it is read for that where an earlier run has fitted it."""
    return source.count or sum(len(words) for words, _ in source.chunks())
