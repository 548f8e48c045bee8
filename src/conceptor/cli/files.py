"""Commands from file to file: postprocess, fit, apply, convert."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conceptor.base.errors import InvalidInputError
from conceptor.cli.app import app
from conceptor.cli.choices import chosen_method, read_size
from conceptor.cli.evaluation_options import AntonymsOption, SynonymsOption, chosen_lexicon
from conceptor.cli.file_options import (
    Aperture,
    Directions,
    Dtype,
    DtypeOption,
    Force,
    Format,
    FunctionWords,
    In,
    Json,
    Memory,
    MethodOption,
    OnError,
    OnErrorOption,
    Out,
    Paper,
    Power,
    ReplaceSpaces,
    Ridge,
    SaveMap,
    Vocabulary,
    Weights,
)
from conceptor.cli.output import as_json_text, check_outputs, warn
from conceptor.cli.scale import (
    ClusterOptions,
    Column,
    Scheduler,
    ShardOptions,
    Workers,
    is_sharded,
    postprocess_shards,
    refuse_file_options,
)

if TYPE_CHECKING:
    from conceptor.vectors import VectorSource
    from conceptor.vectors.conversion import Report


@app.command()
def postprocess(
    source: In,
    target: Out,
    method: MethodOption = None,
    aperture: Aperture = None,
    directions: Directions = None,
    power: Power = None,
    ridge: Ridge = None,
    weights: Weights = None,
    vocabulary: Vocabulary = None,
    function_words: FunctionWords = None,
    synonyms: SynonymsOption = None,
    antonyms: AntonymsOption = None,
    paper: Paper = False,
    save_map: SaveMap = None,
    memory: Memory = None,
    format: Format = None,
    dtype: DtypeOption = Dtype.float32,
    force: Force = False,
    on_error: OnErrorOption = OnError.error,
    replace_spaces: ReplaceSpaces = None,
    as_json: Json = False,
    scheduler: Scheduler = None,
    workers: Workers = None,
    column: Column = None,
) -> None:
    """Post-process a file of vectors into another, in bounded memory; or shards, on a cluster.

    Formats: word2vec binary and text, GloVe, fastText .vec, .npy, .safetensors, .parquet,
    .feather; .gz .bz2 .xz .zst .zip around text and binary ones. The input is recognised by its
    content, OUT is written as its name says and appears only when complete. Shards (a directory
    or a pattern in quotes) go to a directory; a run that was stopped goes on where it was.

    [bold]Examples[/bold]

      conceptor postprocess GoogleNews-vectors-negative300.bin.gz better.bin

      conceptor postprocess glove.840B.300d.txt better.txt --save-map cn.safetensors

      conceptor postprocess GoogleNews-vectors-negative300.bin.gz as-in-the-paper.bin --paper

      conceptor postprocess wiki.vec better.parquet --method abtt --directions 3

      conceptor postprocess 'shards/*.parquet' better/ --workers 2

      conceptor postprocess 's3://lake/shards/' s3://lake/better/ --scheduler tcp://HOST:8786
    """
    _refuse_json_into_pipe(target, as_json=as_json)
    from conceptor.base.progress import on_terminal

    chosen = chosen_method(
        method,
        paper=paper,
        weights=weights,
        aperture=aperture,
        n_directions=directions,
        power=power,
        ridge=ridge,
    )
    budget = read_size(memory)
    if is_sharded(source, scheduler, workers, column):
        refuse_file_options(target, format, dtype, on_error, replace_spaces)
        cluster = ClusterOptions(scheduler, workers, budget)
        shards = ShardOptions(weights, vocabulary, column, save_map, force)
        _close(postprocess_shards(source, target, chosen, cluster, shards), as_json=as_json)
        return
    from conceptor.fitting import FitOptions
    from conceptor.pipeline import postprocess as run

    lists = [*(synonyms or ()), *(antonyms or ())]
    check_outputs([target, save_map], [weights, vocabulary, function_words, *lists])
    lexicon = chosen_lexicon(synonyms, antonyms)
    with on_terminal() as progress:
        report = run(
            _opened(source, on_error, replace_spaces),
            target,
            chosen,
            FitOptions(weights, vocabulary, lexicon, function_words),
            memory=budget,
            save_map=save_map,
            format=format,
            dtype=dtype.value,
            force=force,
            progress=progress,
        )
    _close(report, as_json=as_json)


@app.command()
def fit(
    source: In,
    target: Annotated[str, typer.Argument(metavar="MAP", help="Where to save the map.")],
    method: MethodOption = None,
    aperture: Aperture = None,
    directions: Directions = None,
    power: Power = None,
    ridge: Ridge = None,
    weights: Weights = None,
    vocabulary: Vocabulary = None,
    function_words: FunctionWords = None,
    paper: Paper = False,
    force: Force = False,
    on_error: OnErrorOption = OnError.error,
    as_json: Json = False,
) -> None:
    """Learn a map from a file of vectors, to apply it later.

    [bold]Example[/bold]

      conceptor fit glove.txt cn.safetensors --vocabulary enwiki_vocab_min200.txt --aperture 2
    """
    from conceptor.base.progress import on_terminal
    from conceptor.fitting import FitOptions
    from conceptor.pipeline import fit as run
    from conceptor.vectors.target import check_new_file

    chosen = chosen_method(
        method,
        paper=paper,
        weights=weights,
        aperture=aperture,
        n_directions=directions,
        power=power,
        ridge=ridge,
    )
    check_outputs([target], [weights, vocabulary, function_words])
    opened = _opened(source, on_error, None)
    check_new_file(target, opened.files(), force=force)
    options = FitOptions(weights, vocabulary, function_words=function_words)
    with on_terminal() as progress:
        solution, report = run(opened, chosen, options, progress=progress)
    solution.map.save(target)
    _close(report, as_json=as_json)


@app.command()
def apply(
    map_: Annotated[str, typer.Argument(metavar="MAP", help="A map saved by fit or --save-map.")],
    source: In,
    target: Out,
    format: Format = None,
    dtype: DtypeOption = Dtype.float32,
    force: Force = False,
    on_error: OnErrorOption = OnError.error,
    replace_spaces: ReplaceSpaces = None,
    as_json: Json = False,
) -> None:
    """Apply a saved map to a file of vectors.

    [bold]Example[/bold]

      conceptor apply cn.safetensors new-words.txt new-words-better.txt
    """
    from conceptor.algebra.affine_map import AffineMap

    check_outputs([target], [map_])
    loaded = AffineMap.load(map_)
    _transfer(loaded, source, target, format, dtype, force, on_error, replace_spaces, as_json)


@app.command()
def convert(
    source: In,
    target: Out,
    format: Format = None,
    dtype: DtypeOption = Dtype.float32,
    force: Force = False,
    on_error: OnErrorOption = OnError.error,
    replace_spaces: ReplaceSpaces = None,
    as_json: Json = False,
) -> None:
    """Write vectors in another format.

    [bold]Example[/bold]

      conceptor convert glove.840B.300d.txt glove.bin --replace-spaces _
    """
    _transfer(None, source, target, format, dtype, force, on_error, replace_spaces, as_json)


def _transfer(
    map_: Any,  # noqa: ANN401
    source: str,
    target: str,
    format: str | None,
    dtype: Dtype,
    force: bool,
    on_error: OnError,
    replace_spaces: str | None,
    as_json: bool,
) -> None:
    _refuse_json_into_pipe(target, as_json=as_json)
    from conceptor.base.progress import on_terminal
    from conceptor.vectors.conversion import convert as run

    with on_terminal() as progress:
        report = run(
            _opened(source, on_error, replace_spaces),
            target,
            map_,
            format=format,
            dtype=dtype.value,
            force=force,
            progress=progress,
        )
    _close(report, as_json=as_json)


def _opened(source: str, on_error: OnError, replace_spaces: str | None) -> VectorSource:
    from conceptor.vectors.files import open_vectors

    return open_vectors(
        source,
        on_error="skip" if on_error is OnError.skip else "raise",
        replace_spaces=replace_spaces,
    )


def _refuse_json_into_pipe(target: str, *, as_json: bool) -> None:
    if as_json and target == "-":
        raise InvalidInputError("--json and vectors cannot both go to standard output")


def _close(report: Report, *, as_json: bool) -> None:
    """Say what was odd, then what was done."""
    warn(report.remarks)
    if as_json:
        typer.echo(as_json_text(asdict(report)), nl=False)
        return
    line = (
        f"{report.words:,} words × {report.dimension} in {report.seconds:.1f} s "
        f"({report.megabytes_per_second:,.0f} MB/s)"
    )
    if report.fitted_on is not None:
        few = report.estimated_on is not None and report.estimated_on != report.words
        number = f"{report.estimated_on:,} words: " if few else ""
        line += f"; {report.method} fitted on {number}{report.fitted_on}"
    if report.variance_removed is not None and report.quota is not None:
        line += f", {report.variance_removed:.1%} of the variance removed, quota {report.quota:.3f}"
    if report.aperture is not None:
        line += f", aperture {report.aperture:.4g}"
    typer.echo(line, err=True)
