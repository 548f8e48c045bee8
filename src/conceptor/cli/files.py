"""`postprocess`, `fit`, `apply` and `convert`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument

from conceptor.base.errors import printable
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.groups import (
    ClusterOptions,
    LexiconOptions,
    MethodOptions,
    ReadOptions,
    RowOptions,
    WeightOptions,
    WriteOptions,
)
from conceptor.cli.kinds import Postprocessing
from conceptor.cli.output import check_outputs, file_target, print_summary, warn

if TYPE_CHECKING:
    from conceptor.algebra.affine_map import AffineMap
    from conceptor.postprocessing import Report
    from conceptor.vectors.conversion import Written


@command()
def postprocess(
    source: opt.In,
    target: opt.Out,
    *,
    method: MethodOptions,
    weights: WeightOptions,
    lists: LexiconOptions,
    purpose: opt.Purpose = None,
    save_map: opt.SaveMap = None,
    memory: opt.Memory = None,
    writing: WriteOptions,
    reading: ReadOptions,
    cluster: ClusterOptions,
) -> None:
    """Post-process a vectors file in bounded memory, or shards on a cluster.

    Formats: word2vec binary and text, GloVe, fastText .vec and .bin, .npy, .safetensors, .parquet,
    .feather, and for OUT .tsv (TensorBoard's projector); text and binary files may be compressed:
    .gz .bz2 .xz .zst .zip. The format of IN is detected from its content, the format of OUT from
    its name. OUT appears only when complete. Shards (a directory or a quoted pattern) are written
    to a directory; repeat an interrupted run to continue it. A spaCy pipeline is also written to a
    directory; only its vectors change.

    [bold]Examples[/bold]

      conceptor postprocess demo better.bin

      conceptor postprocess demo paper.txt.gz --paper --save-map map.safetensors

      conceptor postprocess demo averages.npy --for sentences

      conceptor postprocess demo small.safetensors --dimensions 25 --dtype int8

      conceptor postprocess demo my-vectors --format hub     # a folder to upload
    """
    writing.check(target)
    job = Postprocessing(
        source, target, method, weights, lists, purpose, save_map, memory, writing, reading, cluster
    )
    print_report(job.run(), as_json=writing.as_json)


@command()
def fit(
    source: opt.In,
    target: Annotated[str, Argument(metavar="MAP", help="File to save the map to.")],
    *,
    method: MethodOptions,
    weights: WeightOptions,
    force: opt.Force = False,
    reading: RowOptions,
    as_json: opt.SummaryJson = False,
) -> None:
    """Fit a map to a vectors file, to apply it later.

    [bold]Examples[/bold]

      conceptor fit demo cn.safetensors

      conceptor fit demo paper.safetensors --vocabulary top:50000 --aperture 2
    """
    from conceptor.postprocessing import fit as run
    from conceptor.postprocessing import fit_background
    from conceptor.vectors.target import check_new_file

    check_outputs([target], weights.files)
    opened = reading.open(source, wordless=True)
    chosen = method.choose(opened, weights.weights)
    check_new_file(target, opened.files(), force=force)
    with on_terminal() as progress:
        fitted, report = run(opened, chosen, weights.fit_options(), progress=progress)
        background, said = fit_background(opened, fitted.map)
    report.remarks += [f"{source}: {each}" for each in said]
    fitted.map.save(target, background=background)
    print_report(report, as_json=as_json)


@command()
def apply(
    map_: Annotated[str, Argument(metavar="MAP", help="Map saved by fit or --save-map.")],
    source: opt.In,
    target: opt.Out,
    *,
    writing: WriteOptions,
    reading: ReadOptions,
) -> None:
    """Apply a saved map to a vectors file.

    [bold]Examples[/bold]

      conceptor fit demo cn.safetensors

      conceptor apply cn.safetensors demo better.bin
    """
    from conceptor.algebra.affine_map import AffineMap

    check_outputs([file_target(target)], [map_])
    _transfer(AffineMap.load(map_), source, target, writing, reading)


@command()
def convert(
    source: opt.In,
    target: opt.Out,
    *,
    writing: WriteOptions,
    reading: ReadOptions,
) -> None:
    """Convert a vectors file to another format.

    [bold]Examples[/bold]

      conceptor convert demo glove.txt

      conceptor convert glove.txt glove.bin --replace-spaces _

      conceptor convert glove.bin glove-int8.safetensors --dtype int8
    """
    _transfer(None, source, target, writing, reading)


def _transfer(
    map_: AffineMap | None, source: str, target: str, writing: WriteOptions, reading: ReadOptions
) -> None:
    writing.check(target)
    from conceptor.vectors.conversion import convert as run

    # Words and texts are written alike, so the kind of rows does not matter here.
    opened = reading.open(source, wordless=True, says_kind=False)
    with on_terminal() as progress:
        written = run(opened, target, map_, **writing.arguments, progress=progress)
    if writing.as_json:
        from conceptor.postprocessing import Report  # only JSON has fields for a fit

        print_report(Report.of(written), as_json=True)
        return
    warn(written.remarks)
    typer.echo(printable(_describe_written(written)), err=True)


def _describe_written(written: Written) -> str:
    return (
        f"{written.words:,} {written.rows} × {written.dimension} in {written.seconds:.1f} s "
        f"({written.megabytes_per_second:,.0f} MB/s)"
    )


def print_report(report: Report, *, as_json: bool) -> None:
    """Print warnings, then a summary."""
    warn(report.remarks)
    line = _describe_written(report)
    if report.fitted_on is not None:
        few = report.estimated_on is not None and report.estimated_on != report.words
        number = f"{report.estimated_on:,} {report.rows}: " if few else ""
        line += f"; {report.method} fitted on {number}{report.fitted_on}"
    if report.variance_removed is not None and report.quota is not None:
        line += f", {report.variance_removed:.1%} of the variance removed, quota {report.quota:.3f}"
    if report.aperture is not None:
        line += f", aperture {report.aperture:.4g}"
    if report.lengths == "usage":
        line += ", frequent words made short"
    print_summary(asdict(report), line, as_json=as_json)
