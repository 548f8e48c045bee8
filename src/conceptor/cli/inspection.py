"""`inspect`: statistics of vectors, and whether post-processing will help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.inputs import DEMO, open_or_demo
from conceptor.cli.output import check_outputs, safe_console, to_json, warn

if TYPE_CHECKING:
    from conceptor.inspection import Inspection


@app.command()
def inspect(
    vectors: opt.Vectors = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="uniform|zipf|wordfreq:LANG|FILE",
            help="Word frequencies; values and default as in postprocess.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also draw spectrum and gate to this svg, pdf or png file."
        ),
    ] = None,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    as_json: opt.Json = False,
) -> None:
    """Show norms, spectrum and isotropy before and after, and whether post-processing helps.

    Example: [b]conceptor inspect glove.840B.300d.txt --plot spectrum.svg[/b]
    """
    from conceptor.base.progress import on_terminal
    from conceptor.inspection import inspect as run
    from conceptor.vectors import VectorSource

    check_outputs([], [vectors, weights], plot)
    source = open_or_demo(vectors, on_error)
    with on_terminal() as progress:
        found = run(source, weights, name=str(vectors or DEMO), progress=progress)
    warn(source.findings.lines() if isinstance(source, VectorSource) else ())
    if plot is not None:
        found.draw(plot)
    if as_json:
        typer.echo(to_json(found.to_dict()), nl=False)
    else:
        _show(found)


def _show(found: Inspection) -> None:
    from rich import box
    from rich.table import Table

    console = safe_console()
    console.print(
        f"{found.vectors}: {found.count:,} vectors, dimension {found.dimension}; {found.fitted_on}",
        markup=False,
    )
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("", "before", "after"):
        table.add_column(title, justify="left" if not title else "right")
    sides = (found.before, found.after)
    rows = {
        "length: mean": [f"{side.norms[0]:.4g}" for side in sides],
        "length: smallest to largest": [
            f"{side.norms[1]:.4g} – {side.norms[2]:.4g}" for side in sides
        ],
        "leading eigenvalues, % of total": [_format_percent(side.eigenvalues) for side in sides],
        "their correlation with log frequency": [_format_signed(side.frequency) for side in sides],
        "partition ratio (Mu & Viswanath)": [f"{side.partition_ratio:.3g}" for side in sides],
        "IsoScore": [f"{side.isoscore:.3f}" for side in sides],
        "participation in running text": [f"{side.participation:.3f}" for side in sides],
    }
    for label, cells in rows.items():
        table.add_row(label, *cells)
    console.print(table)
    console.print(f"suggested aperture {found.aperture:.4g}, quota {found.quota:.3f}")
    console.print(found.advice, markup=False)


def _format_percent(values: list[float]) -> str:
    return " ".join(f"{100 * value:.1f}" for value in values)


def _format_signed(values: list[float]) -> str:
    return " ".join(f"{value:+.2f}" for value in values) or "unknown"
