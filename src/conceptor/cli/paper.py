"""`reproduce`: the paper's tables, its PPMI vectors, and its dialogue task."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.bars import download_progress
from conceptor.cli.benchmarks import fetch_vocabulary, load_benchmarks
from conceptor.cli.output import (
    check_outputs,
    choose_form,
    note,
    print_summary,
    print_warnings,
    show,
    warn,
    write_output,
)

TokenChoice = StrEnum("TokenChoice", ["words", "spaces"])
UnitChoice = StrEnum("UnitChoice", ["line", "paragraph", "document"])

Resume = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Keep results of finished trackers in this directory, and do not train those again: "
        "repeat an interrupted command to continue it.",
    ),
]

reproduce_app = typer.Typer()
app.add_typer(reproduce_app, name="reproduce")


@reproduce_app.callback(invoke_without_command=True)
def reproduce(
    context: typer.Context,
    word2vec: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Google News vectors, GoogleNews-vectors-negative300.bin.  \\[default, without "
            "--glove: a subset of 31,530 words, if available]",
        ),
    ] = None,
    glove: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Common Crawl GloVe, glove.840B.300d.txt.  \\[default, without --word2vec: GloVe "
            "6B 50d as a stand-in (demo extra)]",
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
    trackers: Annotated[
        int,
        Option(
            "--dialogue",
            min=0,
            metavar="RUNS",
            help="Number of dialogue state trackers to train per method; each takes minutes; 0 for "
            "none (dialogue extra).",
        ),
    ] = 0,
    resume: Resume = None,
    data: opt.Data = None,
    offline: opt.Offline = False,
    as_json: opt.Json = False,
    as_csv: opt.Csv = False,
    as_html: opt.Html = False,
    as_markdown: opt.Markdown = False,
    as_latex: opt.Latex = False,
    output: opt.Output = None,
) -> None:
    """Run the paper's protocol and compare its published scores with the measured ones.

    [bold]Examples[/bold]

      conceptor data fetch

      conceptor reproduce --glove demo --latex -o tables.tex
    """
    if context.invoked_subcommand is not None:
        return
    form = choose_form(json=as_json, csv=as_csv, html=as_html, markdown=as_markdown, latex=as_latex)
    check_outputs([output], [word2vec, glove], figure)
    _check_resume(resume)
    files = {"word2vec": word2vec, "glove": glove}
    sources: dict[str, object] = {
        name: opt.open_source(path).require_words() for name, path in files.items() if path
    }
    from conceptor.evaluation import PAPER_FAMILIES
    from conceptor.paper import reproduction, tables
    from conceptor.paper.woz import FewWordsWarning

    fetch_vocabulary(data, offline=offline, required=True)
    if not sources:
        with download_progress() as bars:
            available, missing = reproduction.available_vectors(
                data, offline=offline, progress=bars
            )
        warn(f"{name} left out: {why}" for name, why in missing.items())
        sources.update(available)
    if not sources:
        raise ConceptorError("no vectors were found; use --word2vec FILE or --glove FILE")
    battery = load_benchmarks(PAPER_FAMILIES, data, offline=offline)
    if trackers and resume is None:
        note("trackers take long to train; with --resume DIR you can stop and continue later")
    with print_warnings(FewWordsWarning), on_terminal() as progress:
        reproduced = reproduction.reproduce(
            sources,
            battery,
            notebook=notebook,
            dialogue=trackers,
            resume=resume,
            data=data,
            offline=offline,
            progress=progress,
        )
    if figure is not None:
        tables.draw_gates(reproduced, figure)
    show(tables.reproduction_result(reproduced), form, output)


def _check_resume(resume: Path | None) -> None:
    """Raise, before any work, if --resume is not a directory."""
    if resume is not None and resume.exists() and not resume.is_dir():
        raise InvalidInputError(f"--resume {resume}: not a directory; name one, or remove it")


@reproduce_app.command()
def ppmi(
    corpus: Annotated[
        list[Path], Argument(metavar="CORPUS...", help="Plain text in UTF-8; may be compressed.")
    ],
    target: Annotated[Path, Argument(metavar="OUT", help="Vectors file to write.")],
    dimension: Annotated[int, Option(min=1, help="Dimension of the vectors.")] = 300,
    window: Annotated[int, Option(min=1, help="Number of context tokens on each side.")] = 5,
    power: Annotated[
        float, Option(help="Exponent p of the singular values: vectors are Θ D^p.")
    ] = 0.5,
    min_count: Annotated[int, Option(min=1, help="Ignore words with fewer occurrences.")] = 10,
    max_words: Annotated[
        int | None, Option(min=1, help="Keep only the most frequent words.")
    ] = None,
    smoothing: Annotated[
        float, Option(min=0.0, max=1.0, help="Exponent of the context counts.")
    ] = 0.75,
    shift: Annotated[float, Option(min=1.0, help="k; log k is subtracted from the PMI.")] = 1.0,
    tokens: Annotated[
        TokenChoice, Option(help="Runs of letters and digits, or anything between spaces.")
    ] = TokenChoice.words,
    keep_case: Annotated[bool, Option("--keep-case", help="Do not convert to lower case.")] = False,
    unit: Annotated[
        UnitChoice,
        Option(help="Unit that windows do not cross; paragraph for text with wrapped lines."),
    ] = UnitChoice.line,
    counts: Annotated[
        Path | None, Option(metavar="FILE", help="Also write 'word count' lines, for --weights.")
    ] = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    as_json: opt.SummaryJson = False,
) -> None:
    """Train word vectors on plain text: co-occurrence, PPMI, truncated SVD.

    [bold]Example[/bold]

      conceptor reproduce ppmi README.md vectors.bin --dimension 20 --min-count 2
    """
    from conceptor.paper.ppmi import cooccurrence, truncated_svd, weight_eigenvalues
    from conceptor.paper.ppmi import ppmi as information
    from conceptor.vectors.target import check_new_file, plan_target, write_vectors

    writing: dict[str, Any] = {"format": format, "dtype": dtype and dtype.value, "force": force}
    plan_target(target, dimension=dimension, **writing)
    check_outputs([target, counts], corpus)
    if counts is not None:
        check_new_file(counts, force=force)
    started = time.perf_counter()
    with on_terminal() as progress:
        counted = cooccurrence(
            corpus,
            window=window,
            min_count=min_count,
            max_words=max_words,
            tokens=tokens.value,  # type: ignore[arg-type]
            lowercase=not keep_case,
            unit=unit.value,  # type: ignore[arg-type]
            progress=progress,
        )
        progress("factoring", None, 0)
        matrix = information(counted, smoothing=smoothing, shift=shift)
        vectors = weight_eigenvalues(*truncated_svd(matrix, dimension), power)
    words = counted.words
    write_vectors(target, [(words, vectors)], count=len(words), **writing)
    if counts is not None:
        lines = zip(words, counted.counts.tolist(), strict=True)
        write_output("".join(f"{word} {count}\n" for word, count in lines), counts)
    seconds = time.perf_counter() - started
    summary = {"words": len(words), "tokens": counted.tokens, "seconds": seconds}
    line = f"{len(words):,} words × {dimension} from {counted.tokens:,} tokens in {seconds:.1f} s"
    print_summary(summary, line, as_json=as_json)


@reproduce_app.command()
def dialogue(
    vectors: opt.Vectors = "demo",
    methods: Annotated[
        str | None,
        Option(
            help="Comma-separated list of methods as in [b]compare[/b], or [b]random[/b] for "
            "random vectors.  \\[default: original,abtt,cn-paper,cn]"
        ),
    ] = None,
    seeds: Annotated[int, Option(min=1, help="Number of runs for each method.")] = 5,
    slots: Annotated[
        str, Option(help="Comma-separated list of food, price range, area.")
    ] = "food,price range,area",
    workers: Annotated[
        int | None, Option(min=1, help="Number of processes.  \\[default: one per processor]")
    ] = None,
    resume: Resume = None,
    epochs: Annotated[
        int, Option(min=1, help="Maximum number of epochs, of 64 batches each.")
    ] = 30,
    patience: Annotated[
        int, Option(min=1, help="Stop after this many epochs without better accuracy.")
    ] = 10,
    batch: Annotated[int, Option(min=2, help="Turns per batch.")] = 256,
    rate: Annotated[float, Option(help="Learning rate of Adam.")] = 0.003,
    published: Annotated[
        bool,
        Option(
            "--published",
            help="Trackers as in the public code: initial weights are N(0, 1), and values that the "
            "system asks to confirm do not count. They learn more slowly.",
        ),
    ] = False,
    trust: Annotated[
        float, Option(min=0, help="Initial weight of the previous belief; a turn's scores have 1.")
    ] = 5.0,
    data: opt.Data = None,
    offline: opt.Offline = False,
    as_json: opt.Json = False,
    as_csv: opt.Csv = False,
    as_html: opt.Html = False,
    as_markdown: opt.Markdown = False,
    as_latex: opt.Latex = False,
    output: opt.Output = None,
) -> None:
    r"""Train dialogue state trackers on each method's vectors and compare their accuracy.

    [bold]Examples[/bold]

      pip install 'conceptor\[dialogue]'

      conceptor data fetch

      conceptor reproduce dialogue demo --methods original,cn --seeds 1 --epochs 3
    """
    form = choose_form(json=as_json, csv=as_csv, html=as_html, markdown=as_markdown, latex=as_latex)
    check_outputs([output], [vectors])
    _check_resume(resume)
    from conceptor.fit import FitOptions
    from conceptor.methods import DEFAULT_METHODS
    from conceptor.paper.dialogue import compare_dialogue, dialogue_result
    from conceptor.paper.tracker import TrackerOptions
    from conceptor.paper.woz import FewWordsWarning, load_corpus

    options = TrackerOptions(
        published=published,
        epochs=epochs,
        patience=patience,
        batch=batch,
        rate=rate,
        trust=trust,
    )
    names = list(DEFAULT_METHODS) if methods is None else opt.split_list(methods)
    source = opt.open_source(vectors).require_words()
    with download_progress() as bars:
        corpus = load_corpus(data, offline=offline, progress=bars)
    fetch_vocabulary(data, offline=offline)
    with print_warnings(FewWordsWarning), on_terminal() as progress:
        study = compare_dialogue(
            source,
            corpus,
            names,
            FitOptions(data=data),
            slots=opt.split_list(slots),
            seeds=seeds,
            options=options,
            workers=workers,
            name=vectors,
            resume=resume,
            progress=progress,
        )
    show(dialogue_result(study), form, output)
