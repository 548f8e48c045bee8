"""`postprocess`, `fit`, `apply` and `convert`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import check_outputs, file_target, note, print_summary, warn

if TYPE_CHECKING:
    from conceptor.postprocessing import Report


@app.command()
def postprocess(
    source: opt.In,
    target: opt.Out,
    method: opt.OneMethod = None,
    aperture: opt.Aperture = None,
    dimensions: opt.Dimensions = None,
    paper: opt.Paper = False,
    purpose: opt.Purpose = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    save_map: opt.SaveMap = None,
    memory: opt.Memory = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    replace_spaces: opt.ReplaceSpaces = None,
    scheduler: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="Run on this Dask cluster, such as tcp://HOST:8786."),
    ] = None,
    workers: Annotated[
        int | None,
        Option(
            min=1,
            help="Process shards in this many local processes; --memory then limits each of "
            "them.  \\[default: one per processor]",
        ),
    ] = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Post-process a vectors file in bounded memory, or shards on a cluster.

    Formats: word2vec binary and text, GloVe, fastText .vec and .bin, .npy, .safetensors, .parquet,
    .feather; text and binary files may be compressed: .gz .bz2 .xz .zst .zip. The format of IN is
    detected from its content, the format of OUT from its name. OUT appears only when complete.
    Shards (a directory or a quoted pattern) are written to a directory; repeat an interrupted run
    to continue it. A spaCy pipeline is also written to a directory; only its vectors change.

    [bold]Examples[/bold]

      conceptor postprocess demo better.bin

      conceptor postprocess demo paper.txt.gz --paper --save-map map.safetensors

      conceptor postprocess demo averages.npy --for sentences

      conceptor postprocess demo small.safetensors --dimensions 25 --dtype int8

      conceptor postprocess demo my-vectors --format hub     # a folder to upload
    """
    from conceptor.fit import FitOptions
    from conceptor.integrations.sources import postprocess_source

    _check_stream(target, as_json=as_json)
    check_outputs([file_target(target), save_map], [weights, vocabulary, function_words])
    name, parameters = opt.read_method(
        method,
        aperture=aperture,
        dimensions=dimensions,
        paper=paper,
        purpose=purpose,
        weights=weights,
    )
    with on_terminal() as progress:
        report = postprocess_source(
            source,
            target,
            name,
            FitOptions(weights, vocabulary, function_words),
            save_map=save_map,
            memory=opt.read_size(memory),
            format=format,
            dtype=dtype,
            force=force,
            on_error="raise" if on_error is opt.OnErrorChoice.error else "skip",
            column=column,
            rows=rows,
            replace_spaces=replace_spaces,
            scheduler=scheduler,
            workers=workers,
            progress=progress,
            note=note,
            caution=lambda doubt: warn([doubt]),
            **parameters,
        )
    print_report(report, as_json=as_json)


@app.command()
def fit(
    source: opt.In,
    target: Annotated[str, Argument(metavar="MAP", help="File to save the map to.")],
    method: opt.OneMethod = None,
    aperture: opt.Aperture = None,
    dimensions: opt.Dimensions = None,
    paper: opt.Paper = False,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Fit a map to a vectors file, to apply it later.

    [bold]Examples[/bold]

      conceptor fit demo cn.safetensors

      conceptor fit demo paper.safetensors --vocabulary top:50000 --aperture 2
    """
    from conceptor.fit import FitOptions
    from conceptor.postprocessing import fit as run

    check_outputs([target], [weights, vocabulary, function_words])
    name, parameters = opt.read_method(
        method, aperture=aperture, dimensions=dimensions, paper=paper, weights=weights
    )
    opened = opt.open_source(source, on_error, column, rows)
    options = FitOptions(weights, vocabulary, function_words)
    with on_terminal() as progress:
        report = run(opened, target, name, options, force=force, progress=progress, **parameters)
    print_report(report, as_json=as_json)


@app.command()
def apply(
    map_: Annotated[str, Argument(metavar="MAP", help="Map saved by fit or --save-map.")],
    source: opt.In,
    target: opt.Out,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Apply a saved map to a vectors file.

    [bold]Examples[/bold]

      conceptor fit demo cn.safetensors

      conceptor apply cn.safetensors demo better.bin
    """
    from conceptor.algebra.affine_map import AffineMap
    from conceptor.postprocessing import convert as run

    _check_stream(target, as_json=as_json)
    check_outputs([file_target(target)], [map_])
    loaded = AffineMap.load(map_)
    # Words and texts are written alike, so the kind of rows does not matter here.
    opened = opt.open_source(source, on_error, column, replace_spaces=replace_spaces, quiet=True)
    with on_terminal() as progress:
        report = run(
            opened, target, loaded, format=format, dtype=dtype, force=force, progress=progress
        )
    print_report(report, as_json=as_json)


@app.command()
def convert(
    source: opt.In,
    target: opt.Out,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Convert a vectors file to another format.

    [bold]Examples[/bold]

      conceptor convert demo glove.txt

      conceptor convert glove.txt glove.bin --replace-spaces _

      conceptor convert glove.bin glove-int8.safetensors --dtype int8
    """
    from conceptor.postprocessing import convert as run

    _check_stream(target, as_json=as_json)
    opened = opt.open_source(source, on_error, column, replace_spaces=replace_spaces, quiet=True)
    with on_terminal() as progress:
        report = run(opened, target, format=format, dtype=dtype, force=force, progress=progress)
    print_report(report, as_json=as_json)


def _check_stream(target: str, *, as_json: bool) -> None:
    """Raise if JSON and vectors would be mixed on standard output."""
    if as_json and target == "-":
        raise InvalidInputError(
            "--json and the vectors would both go to standard output; write the vectors to a file"
        )


def print_report(report: Report, *, as_json: bool) -> None:
    """Print warnings, then a summary."""
    warn(report.remarks)
    line = (
        f"{report.words:,} {report.rows} × {report.dimension} in {report.seconds:.1f} s "
        f"({report.megabytes_per_second:,.0f} MB/s)"
    )
    if report.fitted_on is not None:
        is_part = report.estimated_on is not None and report.estimated_on != report.words
        number = f"{report.estimated_on:,} {report.rows}: " if is_part else ""
        line += f"; {report.method} fitted on {number}{report.fitted_on}"
    if report.variance_removed is not None and report.quota is not None:
        line += f", {report.variance_removed:.1%} of the variance removed, quota {report.quota:.3f}"
    if report.aperture is not None:
        line += f", aperture {report.aperture:.4g}"
    if report.lengths == "usage":
        line += ", frequent words made short"
    print_summary(asdict(report), line, as_json=as_json)
