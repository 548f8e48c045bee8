"""`postprocess`, `fit`, `apply` and `convert`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import check_stream, note, say, suggest, warn, write_json

if TYPE_CHECKING:
    from conceptor.postprocessing import Report

_MAP = Argument(metavar="MAP", help="File to save the map to.")
_SAVED_MAP = Argument(metavar="MAP", help="Map saved by fit or --save-map.")
_MEMORY = opt.more(
    metavar="SIZE",
    help="Keep vectors between passes up to this size, e.g. 100MB or 8GB; for shards, the limit of "
    "each process.  [default: a quarter of the machine's memory]",
)
_SCHEDULER = opt.more(metavar="ADDRESS", help="Run on this Dask cluster, such as tcp://HOST:8786.")
_WORKERS = opt.more(min=1, metavar="N", help="Processes for shards.  [default: one per processor]")


@app.command()
def postprocess(
    source: opt.In,
    target: opt.Out,
    method: opt.OneMethod = None,
    dimensions: opt.Dimensions = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    save_map: opt.SaveMap = None,
    memory: Annotated[str | None, _MEMORY] = None,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
    replace_spaces: opt.ReplaceSpaces = None,
    scheduler: Annotated[str | None, _SCHEDULER] = None,
    workers: Annotated[int | None, _WORKERS] = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Improve a vectors file, or shards on a cluster.

    Formats: word2vec binary and text, GloVe, fastText .vec and .bin, .npy, .parquet, .feather;
    text and binary files may be compressed: .gz .bz2 .xz .zst. The format of IN is
    detected from its content, the format of OUT from its name. OUT appears only when complete.
    Shards (a directory or a quoted pattern) are written to a directory; repeat an interrupted run
    to continue it.

    For example:

      conceptor postprocess demo paper.txt.gz --method cn-paper

      conceptor postprocess demo small.npy --dimensions 25 --dtype int8
    """
    from conceptor.fit import FitOptions
    from conceptor.integrations.sources import is_sharded, postprocess_shards
    from conceptor.postprocessing import postprocess as run

    check_stream(target, as_json=as_json)
    options = FitOptions(weights, vocabulary)
    parameters: dict[str, Any] = {} if dimensions is None else {"n_components": dimensions}
    with on_terminal() as progress:
        how: dict[str, Any] = {"save_map": save_map, "force": force, "progress": progress}
        how["memory"] = None if memory is None else opt.read_size(memory)
        if is_sharded(source) or scheduler or workers:
            for_files = {
                "--format": format is not None,
                f"--dtype {dtype}": dtype not in (None, "float32"),
                "--on-error skip": on_error == "skip",
                "--replace-spaces": replace_spaces is not None,
            }
            how |= {"scheduler": scheduler, "workers": workers, "parameters": parameters}
            how |= {"column": column, "rows": rows, "for_files": for_files, "note": note}
            report = postprocess_shards(source, target, method, options, **how)
        else:
            opened = opt.open_source(
                source, on_error=on_error, column=column, rows=rows, replace_spaces=replace_spaces
            )
            how |= {"format": format, "dtype": dtype, "caution": lambda doubt: warn([doubt])}
            report = run(opened, target, method, options, **how, **parameters)
    _print_report(report, target, as_json=as_json)
    if not as_json and report.rows == "texts":
        suggest("neighbors", target, "1")
    elif not as_json:
        suggest("evaluate", source, target)


@app.command()
def fit(
    source: opt.In,
    target: Annotated[str, _MAP],
    method: opt.OneMethod = None,
    dimensions: opt.Dimensions = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    force: opt.Force = False,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Fit a map to a vectors file, to apply it later.

    For example:

      conceptor fit demo abtt.safetensors --method abtt --vocabulary top:50000
    """
    from conceptor.fit import FitOptions
    from conceptor.postprocessing import fit as run

    opened = opt.open_source(source, on_error=on_error, column=column, rows=rows)
    options = FitOptions(weights, vocabulary)
    parameters = {} if dimensions is None else {"n_components": dimensions}
    with on_terminal() as progress:
        report = run(opened, target, method, options, force=force, progress=progress, **parameters)
    _print_report(report, target, as_json=as_json)
    if not as_json:
        suggest("apply", target, "IN", "OUT")


@app.command()
def apply(
    map_file: Annotated[str, _SAVED_MAP],
    source: opt.In,
    target: opt.Out,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Apply a saved map to a vectors file.

    For example:

      conceptor fit demo cn.safetensors

      conceptor apply cn.safetensors demo better.bin
    """
    _write(**locals())


@app.command()
def convert(
    source: opt.In,
    target: opt.Out,
    format: opt.Format = None,
    dtype: opt.Dtype = None,
    force: opt.Force = False,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    replace_spaces: opt.ReplaceSpaces = None,
    as_json: opt.SummaryJson = False,
) -> None:
    """Convert a vectors file to another format.

    For example:

      conceptor convert demo glove-int8.npy --dtype int8
    """
    _write(map_file=None, **locals())


def _write(
    source: str,
    target: str,
    map_file: str | None,
    *,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Write vectors, after a map if there is one. Words and texts are written alike."""
    from conceptor.algebra.affine_map import AffineMap
    from conceptor.integrations.sources import open_source
    from conceptor.postprocessing import convert as run

    check_stream(target, as_json=as_json)
    map_ = None if map_file is None else AffineMap.load(map_file)
    how = {name: options.pop(name) for name in ("on_error", "column", "replace_spaces")}
    with on_terminal() as progress:
        report = run(open_source(source, **how), target, map_, **options, progress=progress)
    _print_report(report, target, as_json=as_json)
    if map_ is not None and report.rows == "words" and not as_json:
        suggest("evaluate", source, target)


def _print_report(report: Report, target: str, *, as_json: bool) -> None:
    """Print warnings, then a summary: the file, and how the method was fitted."""
    warn(report.remarks)
    if as_json:
        write_json(asdict(report))
        return
    where = "standard output" if target == "-" else target
    speed = report.megabytes_per_second  # 0 for vectors that are no file
    say(
        f"{where}: {report.words:,} {report.rows} × {report.dimension} in {report.seconds:.1f} s"
        + (f" ({speed:,.0f} MB/s)" if speed >= 0.5 else "")
    )
    if report.fitted_on is not None:
        is_part = report.estimated_on not in (None, report.words)
        number = f"{report.estimated_on:,} {report.rows}: " if is_part else ""
        say(f"{report.method}, fitted on {number}{report.fitted_on}")
    removed = report.variance_removed or 0.0
    effects = {
        "aperture {:.4g}": report.aperture,
        "{:.1%} of the variance removed": removed if removed > 5e-4 else None,
        "quota {:.3f}": report.quota,
        "frequent words made short": report.lengths if report.lengths == "usage" else None,
    }
    shown = [text.format(value) for text, value in effects.items() if value is not None]
    if shown:
        say(", ".join(shown))
