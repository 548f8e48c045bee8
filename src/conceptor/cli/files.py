"""`postprocess`, `fit`, `apply` and `convert`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from conceptor.base.errors import InvalidInputError, printable
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import make_lexicon, open_source, read_size, resolve_method
from conceptor.cli.output import check_json_output, check_outputs, warn, write_json
from conceptor.cli.shards import (
    is_sharded,
    is_spacy_pipeline,
    open_shards,
    postprocess_shards,
    refuse_file_options,
    refuse_shard_options,
)

if TYPE_CHECKING:
    from conceptor.vectors.conversion import Report

# A folder for the Hugging Face hub, which is no format of a file.
_HUB = "hub"


@app.command()
def postprocess(
    source: opt.In,
    target: opt.Out,
    method: opt.Method = None,
    aperture: opt.Aperture = None,
    directions: opt.Directions = None,
    dimensions: opt.Dimensions = None,
    power: opt.Power = None,
    ridge: opt.Ridge = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    synonyms: opt.Synonyms = None,
    antonyms: opt.Antonyms = None,
    paper: opt.Paper = False,
    purpose: opt.Purpose = None,
    save_map: opt.SaveMap = None,
    memory: opt.Memory = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
    scheduler: opt.Scheduler = None,
    workers: opt.Workers = None,
    column: opt.Column = None,
) -> None:
    """Post-process a vectors file in bounded memory, or shards on a cluster.

    Formats: word2vec binary and text, GloVe, fastText .vec and .bin, .npy, .safetensors, .parquet,
    .feather, and for OUT .tsv (TensorBoard's projector); text and binary ones also compressed as
    .gz .bz2 .xz .zst .zip. The format of IN is recognised by its content, that of OUT by its name;
    OUT appears only when complete. Shards (a directory or a quoted pattern) are written to a
    directory; repeat an interrupted run to continue it. So is a spaCy pipeline, which
    keeps all but its vectors.

    [bold]Examples[/bold]

      conceptor postprocess GoogleNews-vectors-negative300.bin.gz better.bin

      conceptor postprocess glove.840B.300d.txt better.txt --save-map cn.safetensors

      conceptor postprocess GoogleNews-vectors-negative300.bin.gz as-in-the-paper.bin --paper

      conceptor postprocess glove.840B.300d.txt for-averages.txt --for sentences

      conceptor postprocess wiki.vec better.parquet --method abtt --directions 3

      conceptor postprocess glove.840B.300d.txt smaller.safetensors --dimensions 128

      conceptor postprocess glove.840B.300d.txt my-vectors --format hub     # a folder to upload

      conceptor postprocess cc.fr.300.bin better.bin

      conceptor postprocess some-model2vec-folder/ better-folder/

      conceptor postprocess embeddings.npy better.npy

      conceptor postprocess 'shards/*.parquet' better/ --workers 2

      conceptor postprocess 's3://lake/shards/' s3://lake/better/ --scheduler tcp://HOST:8786
    """
    check_json_output(target, as_json=as_json)
    from conceptor.base.progress import on_terminal
    from conceptor.fitting import FitOptions

    is_spacy = is_spacy_pipeline(source)
    is_shards = not is_spacy and is_sharded(source, scheduler, workers, column)
    opened: Any = None
    if is_shards:
        refuse_file_options(target, format, dtype, on_error, replace_spaces)
        opened = open_shards(source, column)
    elif not is_spacy:
        opened = open_source(source, on_error, replace_spaces, wordless=True)
    chosen = resolve_method(
        opened,
        method,
        paper,
        weights,
        aperture,
        purpose,
        dimensions,
        n_directions=directions,
        power=power,
        ridge=ridge,
    )
    budget = read_size(memory)
    lists = [*(synonyms or ()), *(antonyms or ())]
    options = FitOptions(weights, vocabulary, make_lexicon(synonyms, antonyms), function_words)
    if is_spacy:
        kind = "spaCy pipelines"
        refuse_file_options(target, format, dtype, on_error, replace_spaces, kind)
        refuse_shard_options(kind, save_map, scheduler, workers, column)
        from conceptor.integrations.spacy import postprocess_folder

        with on_terminal() as progress:
            report = postprocess_folder(
                source, target, chosen, options, force=force, progress=progress
            )
        _print_report(report, as_json=as_json)
        return
    if is_shards:
        report = postprocess_shards(
            source,
            target,
            chosen,
            scheduler,
            workers,
            budget,
            weights=weights,
            vocabulary=vocabulary,
            column=column,
            save_map=save_map,
            force=force,
        )
        _print_report(report, as_json=as_json)
        return
    from conceptor.postprocessing import postprocess as run

    if format == _HUB:
        from conceptor.integrations.hub import save_folder

        if save_map is not None:
            raise InvalidInputError(f"--format {_HUB} saves the map in OUT; remove --save-map")
        with on_terminal() as progress:
            report = save_folder(
                opened,
                target,
                chosen,
                options,
                dtype=dtype.value if dtype else "float32",
                force=force,
                progress=progress,
                caution=lambda doubt: warn([doubt]),
            )
        _print_report(report, as_json=as_json)
        return
    check_outputs([_file(target), save_map], [weights, vocabulary, function_words, *lists])
    with on_terminal() as progress:
        report = run(
            opened,
            target,
            chosen,
            options,
            memory=budget,
            save_map=save_map,
            caution=lambda doubt: warn([doubt]),
            format=format,
            dtype=dtype.value if dtype else None,
            force=force,
            progress=progress,
        )
    _print_report(report, as_json=as_json)


@app.command()
def fit(
    source: opt.In,
    target: Annotated[str, Argument(metavar="MAP", help="File to save the map to.")],
    method: opt.Method = None,
    aperture: opt.Aperture = None,
    directions: opt.Directions = None,
    dimensions: opt.Dimensions = None,
    power: opt.Power = None,
    ridge: opt.Ridge = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    paper: opt.Paper = False,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    as_json: opt.SummaryJson = False,
) -> None:
    """Fit a map to a vectors file, to apply it later.

    [bold]Example[/bold]

      conceptor fit glove.txt cn.safetensors --vocabulary enwiki_vocab_min200.txt --aperture 2
    """
    from conceptor.base.progress import on_terminal
    from conceptor.fitting import FitOptions
    from conceptor.postprocessing import fit as run
    from conceptor.vectors.target import check_new_file

    check_outputs([target], [weights, vocabulary, function_words])
    opened = open_source(source, on_error, wordless=True)
    chosen = resolve_method(
        opened,
        method,
        paper,
        weights,
        aperture,
        dimensions=dimensions,
        n_directions=directions,
        power=power,
        ridge=ridge,
    )
    check_new_file(target, opened.files(), force=force)
    options = FitOptions(weights, vocabulary, function_words=function_words)
    with on_terminal() as progress:
        fitted, report = run(opened, chosen, options, progress=progress)
    fitted.map.save(target)
    _print_report(report, as_json=as_json)


@app.command()
def apply(
    map_: Annotated[str, Argument(metavar="MAP", help="Map saved by fit or --save-map.")],
    source: opt.In,
    target: opt.Out,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Apply a saved map to a vectors file.

    [bold]Example[/bold]

      conceptor apply cn.safetensors new-words.txt new-words-better.txt
    """
    from conceptor.algebra.affine_map import AffineMap

    check_outputs([_file(target)], [map_])
    loaded = AffineMap.load(map_)
    _transfer(loaded, source, target, format, dtype, force, on_error, replace_spaces, as_json)


@app.command()
def convert(
    source: opt.In,
    target: opt.Out,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Convert a vectors file to another format.

    [bold]Example[/bold]

      conceptor convert glove.840B.300d.txt glove.bin --replace-spaces _

      conceptor convert glove.txt glove-int8.safetensors --dtype int8

      conceptor convert glove.txt tensors.tsv
    """
    _transfer(None, source, target, format, dtype, force, on_error, replace_spaces, as_json)


def _file(target: str) -> str | None:
    """Return a target that is no folder; whether a folder may be written, its source tells."""
    return None if os.path.isdir(target) else target


def _transfer(
    map_: Any,  # noqa: ANN401
    source: str,
    target: str,
    format: str | None,
    dtype: opt.DtypeChoice | None,
    force: bool,
    on_error: opt.OnErrorChoice,
    replace_spaces: str | None,
    as_json: bool,
) -> None:
    check_json_output(target, as_json=as_json)
    from conceptor.base.progress import on_terminal
    from conceptor.vectors.conversion import convert as run

    with on_terminal() as progress:
        report = run(
            open_source(source, on_error, replace_spaces, wordless=True),
            target,
            map_,
            format=format,
            dtype=dtype.value if dtype else None,
            force=force,
            progress=progress,
        )
    _print_report(report, as_json=as_json)


def _print_report(report: Report, *, as_json: bool) -> None:
    """Print warnings, then a summary."""
    warn(report.remarks)
    if as_json:
        write_json(asdict(report))
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
    if report.lengths == "usage":
        line += ", frequent words made short"
    typer.echo(printable(line), err=True)
