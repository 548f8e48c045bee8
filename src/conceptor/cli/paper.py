"""`reproduce`: the paper's tables, its PPMI vectors, and its dialogue task."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from conceptor.base.errors import ConceptorError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli import output as out
from conceptor.cli.app import Group, app

_RESUME = "Keep finished trackers in this directory: repeat an interrupted command to continue it."
Resume = Annotated[Path | None, Option(metavar="DIR", file_okay=False, help=_RESUME)]
_WORD2VEC = Option(
    metavar="FILE",
    help="GoogleNews-vectors-negative300.bin.  [default, without --glove: 31,530 words of it]",
)
_GLOVE = Option(
    metavar="FILE",
    help="glove.840B.300d.txt.  [default, without --word2vec: GloVe 6B 50d as a stand-in]",
)
_FIGURE = Option(metavar="FILE", help="Also draw the gates, as svg, pdf or png (plots extra).")
_TRACKERS = Option("--dialogue", min=0, metavar="RUNS", help="Dialogue trackers for each method.")
_CORPUS = Argument(metavar="CORPUS...", help="Plain text in UTF-8; may be compressed.")
_OUT = Argument(metavar="OUT", help="Vectors file to write.")
_DIMENSION = Option(min=1, metavar="N", help="Dimension of the vectors.")
_WINDOW = Option(min=1, metavar="N", help="Number of context tokens on each side.")
_POWER = Option(metavar="P", help="Exponent p of the singular values: vectors are Θ D^p.")
_MIN_COUNT = Option(min=1, metavar="N", help="Ignore words with fewer occurrences.")
_COUNTS = Option(metavar="FILE", help="Also write 'word count' lines, for --weights.")
_METHODS = Option(metavar="NAME,...", help="Methods as in compare, or random for random vectors.")
_SEEDS = Option(min=1, metavar="N", help="Number of runs for each method.")
_SLOTS = Option(metavar="NAME,...", help="Some of food, price range, area.")
_WORKERS = Option(min=1, metavar="N", help="Number of processes.  [default: one per processor]")
_EPOCHS = Option(min=1, metavar="N", help="Maximum number of epochs.")

reproduce_app = typer.Typer(cls=Group)
app.add_typer(reproduce_app, name="reproduce")


@reproduce_app.callback(invoke_without_command=True)
def reproduce(
    context: typer.Context,
    word2vec: Annotated[str | None, _WORD2VEC] = None,
    glove: Annotated[str | None, _GLOVE] = None,
    figure: Annotated[Path | None, _FIGURE] = None,
    trackers: Annotated[int, _TRACKERS] = 0,
    resume: Resume = None,
    as_json: opt.Json = False,
    path: opt.Output = None,
    data: opt.Data = None,
    offline: opt.Offline = False,
) -> None:
    """Repeat the paper's tables, published and measured.

    For example:

      conceptor data fetch

      conceptor reproduce --glove demo -o tables.tex
    """
    if context.invoked_subcommand is not None:
        return
    output = out.plan_output(path, [word2vec, glove], as_json=as_json)
    out.plan_figure(figure, [word2vec, glove])
    files = {"word2vec": word2vec, "glove": glove}
    sources: dict[str, object] = {
        name: opt.open_source(path).require_words() for name, path in files.items() if path
    }
    from conceptor.evaluation import PAPER_FAMILIES
    from conceptor.paper import reproduction, tables
    from conceptor.paper.woz import FewWordsWarning

    with out.print_warnings(FewWordsWarning), on_terminal() as progress:
        where: dict[str, Any] = {"data": data, "offline": offline, "progress": progress}
        opt.fetch_vocabulary(**where)
        if not sources:
            available, missing = reproduction.available_vectors(**where)
            out.warn(f"{name} left out: {why}" for name, why in missing.items())
            sources.update(available)
        if not sources:
            raise ConceptorError("no vectors were found; use --word2vec FILE or --glove FILE")
        battery = opt.load_benchmarks(",".join(PAPER_FAMILIES), **where)
        reproduced = reproduction.reproduce(
            sources, battery, dialogue=trackers, resume=resume, **where
        )
    if figure is not None:
        tables.draw_gates(reproduced, figure)
    out.show(tables.reproduction_result(reproduced), output)


@reproduce_app.command()
def ppmi(
    corpus: Annotated[list[Path], _CORPUS],
    target: Annotated[Path, _OUT],
    dimension: Annotated[int, _DIMENSION] = 300,
    window: Annotated[int, _WINDOW] = 5,
    power: Annotated[float, _POWER] = 0.5,
    min_count: Annotated[int, _MIN_COUNT] = 10,
    counts: Annotated[Path | None, _COUNTS] = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    as_json: opt.SummaryJson = False,
) -> None:
    """Train PPMI word vectors on plain text.

    For example:

      conceptor reproduce ppmi README.md ppmi.bin --dimension 20 --min-count 2
    """
    from conceptor.paper.ppmi import cooccurrence, truncated_svd, weight_eigenvalues
    from conceptor.paper.ppmi import ppmi as information
    from conceptor.vectors.target import check_new_file, plan_target, write_vectors

    writing: dict[str, Any] = {"format": format, "dtype": dtype, "force": force}
    plan_target(target, dimension=dimension, **writing)
    out.plan_output(target, corpus)
    if counts is not None:
        check_new_file(counts, [*corpus, target], force=force)
    started = time.perf_counter()
    with on_terminal() as progress:
        counted = cooccurrence(corpus, window=window, min_count=min_count, progress=progress)
        progress("factoring", None, 0)
        vectors = weight_eigenvalues(*truncated_svd(information(counted), dimension), power)
    words = counted.words
    write_vectors(target, [(words, vectors)], count=len(words), **writing)
    if counts is not None:
        lines = zip(words, counted.counts.tolist(), strict=True)
        out.write_output("".join(f"{word} {count}\n" for word, count in lines), counts)
    seconds = time.perf_counter() - started
    if as_json:
        out.write_json({"words": len(words), "tokens": counted.tokens, "seconds": seconds})
    else:
        size = f"{len(words):,} words × {dimension} from {counted.tokens:,} tokens"
        out.say(f"{target}: {size} in {seconds:.1f} s")


@reproduce_app.command()
def dialogue(
    vectors: opt.Vectors = "demo",
    methods: Annotated[str, _METHODS] = "original,abtt,cn-paper,cn",
    seeds: Annotated[int, _SEEDS] = 5,
    slots: Annotated[str, _SLOTS] = "food,price range,area",
    workers: Annotated[int | None, _WORKERS] = None,
    resume: Resume = None,
    as_json: opt.Json = False,
    path: opt.Output = None,
    epochs: Annotated[int, _EPOCHS] = 30,
    data: opt.Data = None,
    offline: opt.Offline = False,
) -> None:
    """Compare dialogue state trackers on each method's vectors.

    For example:

      conceptor data fetch

      conceptor reproduce dialogue demo --methods cn --seeds 1 --epochs 3
    """
    from conceptor.fit import FitOptions
    from conceptor.paper.dialogue import compare_dialogue, dialogue_result
    from conceptor.paper.tracker import TrackerOptions
    from conceptor.paper.woz import FewWordsWarning, load_corpus

    output = out.plan_output(path, [vectors], as_json=as_json)
    source = opt.open_source(vectors).require_words()
    with out.print_warnings(FewWordsWarning), on_terminal() as progress:
        where: dict[str, Any] = {"data": data, "offline": offline, "progress": progress}
        corpus = load_corpus(**where)
        opt.fetch_vocabulary(**where)
        study = compare_dialogue(
            source,
            corpus,
            opt.split_list(methods),
            FitOptions(data=data),
            slots=opt.split_list(slots),
            seeds=seeds,
            options=TrackerOptions(epochs=epochs),
            workers=workers,
            name=vectors,
            resume=resume,
            progress=progress,
        )
    out.show(dialogue_result(study), output)
