"""`evaluate`, `compare` and `reproduce`: score vectors, methods, and the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.bars import download_progress, training_progress
from conceptor.cli.benchmarks import BenchmarkOptions, DataOptions, LabelOptions, load_benchmarks
from conceptor.cli.groups import LexiconOptions, RowOptions, ShowOptions, TextOptions, WeightOptions
from conceptor.cli.options import option, read_methods, split_list
from conceptor.cli.output import print_warnings, warn, with_flags
from conceptor.vectors.rows import refuse_settings
from conceptor.vectors.vectors import RowKind, Vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conceptor.evaluation import Evaluation
    from conceptor.fitting import FitOptions
    from conceptor.paper.tables import Reproduction
    from conceptor.vectors.source import VectorSource


@command()
def evaluate(
    vectors: Annotated[list[Path], Argument(help="Vectors files.", metavar="VECTORS")],
    *,
    reading: RowOptions,
    benchmarks: BenchmarkOptions,
    where: DataOptions,
    show: ShowOptions,
) -> None:
    """Score vectors files on standard benchmarks, or on your own; gains are over the first file.

    [bold]Examples[/bold]

      conceptor postprocess demo better.bin

      conceptor evaluate demo better.bin --tasks similarity

      conceptor evaluate demo --tasks similarity --html -o scores.html
    """
    from conceptor.evaluation import evaluate as run
    from conceptor.evaluation.battery import refuse_texts
    from conceptor.evaluation.compare.words import Comparison
    from conceptor.report.result import evaluation_result

    show.check([*vectors, *benchmarks.files])
    if len(set(vectors)) < len(vectors):
        raise InvalidInputError("a vectors file was named twice; name each once")
    policy = benchmarks.policy
    # Open all files first, so that a bad one is reported before anything is downloaded.
    sources = {str(path): reading.open(path) for path in vectors}
    for source in sources.values():
        refuse_texts(source)
    battery = benchmarks.load(where)
    found = {}
    for name, source in sources.items():
        with on_terminal() as progress:
            found[name] = run(source, battery, name=name, missing=policy, progress=progress)
    _warn_if_unused(found.values())
    comparison = Comparison("", found, **benchmarks.bootstrap, baseline=next(iter(found)))
    with on_terminal() as progress:
        comparison.resample(progress)
    show.show(evaluation_result(comparison, by_task=benchmarks.by_task))


@command()
def compare(
    vectors: opt.Vectors = None,
    *,
    methods: opt.Methods = None,
    reading: TextOptions,
    weights: WeightOptions,
    lists: LexiconOptions,
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
    benchmarks: BenchmarkOptions,
    labels: LabelOptions,
    examples: Annotated[
        int, Option(min=0, help="Show the nearest words of this many words, before and after.")
    ] = 10,
    where: DataOptions,
    show: ShowOptions,
) -> None:
    """Post-process vectors with several methods and compare their scores.

    Rows of texts, as in emb.parquet or in emb.npy with --texts, are compared on your own scored
    pairs (--pairs) or queries (--queries, --relevant), at full and smaller sizes; without these,
    on measures that need no labels.

    [bold]Examples[/bold]

      conceptor compare demo --tasks similarity --html -o report.html

      conceptor compare demo --methods original,abtt,cn --tasks similarity
    """
    from conceptor.methods import DEFAULT_METHODS, as_methods

    show.check([vectors, *weights.files, *lists.files, *benchmarks.files])
    chosen = as_methods(DEFAULT_METHODS if methods is None else read_methods(methods))
    source, name = reading.open_or_demo(vectors)
    if source.kind is RowKind.TEXTS:
        refuse_settings(source, "words", sentences=sentences, tasks=benchmarks.tasks)
        show.check([*source.files(), *benchmarks.files, labels.queries, labels.relevant])
        named = None if methods is None else read_methods(methods)
        own = {"pairs": benchmarks.files or None, **labels.arguments, **benchmarks.bootstrap}
        _compare_texts(source, name, named, weights.fit_options(), show, own)
        return
    refuse_settings(source, "texts", **vars(labels))
    _compare(
        source,
        name,
        chosen,
        None if sentences is None else split_list(sentences),
        benchmarks,
        where,
        show,
        weights.fit_options(lists.lexicon(where.data, offline=where.offline), where.data),
        examples=0 if show.as_csv else examples,  # a table for people; it costs an extra search
    )


def _compare_texts(
    source: Vectors,
    name: str,
    methods: list[str] | None,
    options: FitOptions,
    show: ShowOptions,
    own: dict[str, Any],
) -> None:
    from conceptor.evaluation.compare.texts import compare_texts
    from conceptor.report.texts import text_result

    with on_terminal() as progress:
        found = compare_texts(source, methods, options, name=name, progress=progress, **own)
        found.comparison.resample(progress)
    warn(f"{name}: {each}" for each in found.cautions)
    show.show(text_result(found, with_flags))


def _compare(
    source: Vectors,
    name: str,
    methods: Any,  # noqa: ANN401
    encoders: list[str] | None,
    benchmarks: BenchmarkOptions,
    where: DataOptions,
    show: ShowOptions,
    options: Any,  # noqa: ANN401
    examples: int,
) -> None:
    from conceptor.evaluation.compare.words import compare as run
    from conceptor.report.result import comparison_result

    policy, by_sentence = benchmarks.policy, None
    if encoders is not None:
        from conceptor.evaluation.compare import sentences  # scikit-learn takes a second

        encoders = sentences.validate_encoders(encoders)
    battery = benchmarks.load(where)
    if encoders is not None:
        sentences.sentence_tasks(battery)
    where.fetch_vocabulary()
    both: dict[str, Any] = {"name": name, **benchmarks.bootstrap}
    with on_terminal() as progress:
        both["progress"] = progress
        comparison = run(
            source, methods, battery, options, missing=policy, examples=examples, **both
        )
        comparison.resample(progress)
    warn(f"{name}: {caution}" for caution in comparison.cautions)
    _warn_if_unused([next(iter(comparison.evaluations.values()))])
    if encoders is not None:
        with on_terminal() as both["progress"]:
            by_sentence = sentences.compare_sentences(source, battery, encoders, options, **both)
            by_sentence.resample(both["progress"])
    show.show(comparison_result(comparison, by_sentence, by_task=benchmarks.by_task))


@dataclass(frozen=True)
class PaperOptions:
    """Which parts of the paper are reproduced, on which vectors."""

    word2vec: Path | None = option(
        None,
        "Google News vectors, GoogleNews-vectors-negative300.bin.  \\[default, without "
        "--glove: a subset of 31,530 words, if available]",
    )
    glove: Path | None = option(
        None,
        "Common Crawl GloVe, glove.840B.300d.txt.  \\[default, without --word2vec: GloVe "
        "6B 50d as a stand-in (demo extra)]",
    )
    notebook: bool = option(
        False,
        "Rank ties and split sentences as the authors' notebook does (notebook extra).",
        "--notebook",
    )
    figure: Path | None = option(
        None, "Also draw the gating figure to this svg, pdf or png file (plots extra)."
    )
    dialogue: int = option(
        0,
        "Number of dialogue state trackers to train per method; each takes minutes; 0 "
        "for none (dialogue extra).",
        min=0,
        metavar="RUNS",
    )
    resume: Path | None = option(
        None,
        "Keep finished results in this directory and do not compute them again: "
        "repeat an interrupted command to continue it.",
        metavar="DIR",
    )

    def check(self) -> None:
        """Raise, before any work, if --resume is not a directory."""
        if self.resume is not None and self.resume.exists() and not self.resume.is_dir():
            raise InvalidInputError(
                f"--resume {self.resume}: not a directory; name one, or remove it"
            )

    def open(self) -> dict[str, VectorSource]:
        """Open the named files."""
        given = {"word2vec": self.word2vec, "glove": self.glove}
        return {name: RowOptions().open(path) for name, path in given.items() if path is not None}


@command()
def reproduce(*, paper: PaperOptions, where: DataOptions, show: ShowOptions) -> None:
    """Run the paper's protocol and compare its published scores with the measured ones.

    [bold]Examples[/bold]

      conceptor data fetch

      conceptor reproduce --glove demo --latex -o tables.tex
    """
    show.check([paper.word2vec, paper.glove], paper.figure)
    paper.check()
    files = paper.open()
    from conceptor.paper.report import draw_gates, reproduction_result
    from conceptor.paper.tables import file_note

    found = _reproduce(files, paper, where)
    if paper.figure is not None:
        draw_gates(found, paper.figure)
    notes = (
        file_note(name, _count_words(source), source.dimension, found.cells)
        for name, source in files.items()
    )
    show.show(reproduction_result(found, [note for note in notes if note]))


def _reproduce(
    files: Mapping[str, VectorSource], paper: PaperOptions, where: DataOptions
) -> Reproduction:
    """Run the protocol on these files, or on those of the paper's vectors that are available."""
    from conceptor.evaluation import PAPER_FAMILIES
    from conceptor.paper import reproduction
    from conceptor.paper.dialogue.comparing import FewWordsWarning
    from conceptor.paper.dialogue.options import TrackerOptions

    where.fetch_vocabulary(required=True)
    sources: dict[str, object] = {**files}
    if not sources:
        with download_progress() as bars:
            found_vectors, missing = reproduction.available_vectors(
                where.data, offline=where.offline, progress=bars
            )
        warn(f"{name} left out: {why}" for name, why in missing.items())
        sources.update(found_vectors)
    if not sources:
        raise ConceptorError("no vectors were found; use --word2vec FILE or --glove FILE")
    battery = load_benchmarks(PAPER_FAMILIES, where)
    if paper.dialogue and paper.resume is None:
        line = "trackers take long to train; with --resume DIR you can stop and continue later"
        typer.echo(f"conceptor: {line}", err=True)
    with (
        print_warnings(FewWordsWarning),
        on_terminal() as progress,
        training_progress(TrackerOptions().epochs) as watch,
    ):
        return reproduction.reproduce(
            sources,
            battery,
            notebook=paper.notebook,
            dialogue=paper.dialogue,
            resume=paper.resume,
            data=where.data,
            offline=where.offline,
            progress=progress,
            watch=watch,
        )


def _warn_if_unused(evaluations: Iterable[Evaluation]) -> None:
    """Warn about vectors that contain no word of the benchmarks."""
    warn(
        f"{evaluation.vectors}: none of the benchmarks' words has a vector; check that the words "
        "are English, in lower case and without prefixes"
        for evaluation in evaluations
        if not any(outcome.used for outcome in evaluation.outcomes)
    )


def _count_words(source: VectorSource) -> int:
    """Return the number of words; reads the file if an earlier run has already fitted it."""
    return source.count or sum(len(words) for words, _ in source.chunks())
