"""`inspect` and `methods`: look at vectors, and at the methods."""

from __future__ import annotations

from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Annotated

import typer
from typer import Option

from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import check_outputs, show_tables, warn, write_json


@app.command()
def inspect(
    vectors: opt.Vectors = "demo",
    weights: opt.Weights = None,
    plot: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also draw spectrum and gate to this svg, pdf or png file."),
    ] = None,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    as_json: opt.Json = False,
) -> None:
    """Show norms, spectrum and isotropy before and after, and whether post-processing helps.

    [bold]Example[/bold]

      conceptor inspect demo
    """
    from conceptor.inspection import inspect as run

    check_outputs([], [vectors, weights], plot)
    source = opt.open_source(vectors, on_error, column, rows, folders=True)
    with on_terminal() as progress:
        inspection = run(source, weights, progress=progress)
    warn(source.findings.lines())
    if plot is not None:
        inspection.draw(plot)
    if as_json:
        write_json(inspection.to_dict())
        return
    title = (
        f"{inspection.vectors}: {inspection.count:,} {inspection.rows}, "
        f"dimension {inspection.dimension}; {inspection.fitted_on}"
    )
    aperture = f"suggested aperture {inspection.aperture:.4g}, " if inspection.aperture else ""
    closing = [f"{aperture}quota {inspection.quota:.3f}", inspection.advice]
    show_tables(inspection.tables(), [title], closing)


@app.command()
def methods() -> None:
    """List all methods with their descriptions and parameters.

    [bold]Example[/bold]

      conceptor methods
    """
    from conceptor.methods import METHODS

    indent = max(map(len, METHODS)) + 2
    wrap = TextWrapper(get_terminal_size().columns, subsequent_indent=" " * indent)
    for name, method in METHODS.items():
        typer.echo(wrap.fill(f"{name:<{indent}}{method.description}"))
        settings = ", ".join(f"{key}={value}" for key, value in method.parameters.items())
        text = f"fitted on {method.words}; {settings.replace('=None', '')}"
        typer.echo(wrap.fill(" " * indent + text))
