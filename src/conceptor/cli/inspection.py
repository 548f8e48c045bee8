"""`inspect`: what vectors look like, and whether post-processing will help."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer looks it up
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from conceptor.cli.app import app
from conceptor.cli.evaluation_options import DEMO, opened
from conceptor.cli.file_options import OnError, OnErrorOption
from conceptor.cli.output import as_json_text, check_outputs, warn

if TYPE_CHECKING:
    from conceptor.inspection import Inspection


@app.command()
def inspect(
    vectors: Annotated[
        Path | None,
        typer.Argument(help="A vectors file; without it, GloVe 6B 50d from the demo extra."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="uniform|zipf|wordfreq:LANG|FILE",
            help="How often words are used. Default: by their rank, in a file sorted by frequency.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw spectrum and gate: svg, png or pdf."),
    ] = None,
    on_error: OnErrorOption = OnError.error,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at vectors: norms, spectrum, isotropy, word frequency; before and after; and advise.

    Example: [b]conceptor inspect glove.840B.300d.txt --plot spectrum.svg[/b]
    """
    from conceptor.base.progress import on_terminal
    from conceptor.inspection import inspect as run
    from conceptor.vectors import VectorSource

    check_outputs([], [vectors, weights], plot)
    skip: Literal["skip", "raise"] = "skip" if on_error is OnError.skip else "raise"
    source = opened(vectors, skip)
    with on_terminal() as progress:
        found = run(source, weights, name=str(vectors or DEMO), progress=progress)
    warn(source.findings.lines() if isinstance(source, VectorSource) else ())
    if plot is not None:
        found.draw(plot)
    if as_json:
        typer.echo(as_json_text(found.to_dict()), nl=False)
    else:
        _show(found)


def _show(found: Inspection) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"{found.vectors}: {found.count:,} vectors of {found.dimension} numbers; {found.fitted_on}",
        markup=False,
    )
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("", "before", "after"):
        table.add_column(title, justify="left" if not title else "right")
    sides = (found.before, found.after)
    rows = {
        "length: mean": [f"{side.norms[0]:.4g}" for side in sides],
        "length: least to most": [f"{side.norms[1]:.4g} – {side.norms[2]:.4g}" for side in sides],
        "leading eigenvalues, % of all": [_format_percent(side.eigenvalues) for side in sides],
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
    return " ".join(f"{value:+.2f}" for value in values) or "not known"
