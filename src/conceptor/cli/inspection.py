"""`inspect`, `methods` and `explore`: look at vectors, and at the methods."""

from __future__ import annotations

import secrets
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Annotated

import typer
from typer import Option

from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import plan_figure, show_tables, suggest, warn, write_json

_PLOT = Option(metavar="FILE", help="Also draw spectrum and gate to this svg, pdf or png file.")
_METHODS = Option(
    metavar="NAME,...",
    help="Methods on the page.  [default: cn, cn-paper, abtt, pvn, whitening, zipf-whitening; for "
    "texts gentle, renormalization, abtt, cn, whitening]",
)
_PORT = Option(min=0, max=65535, metavar="N", help="Port to use; 0 for a free one.")
_NO_BROWSER = Option("--no-browser", help="Only print the address; do not open a browser.")


@app.command()
def inspect(
    vectors: opt.Vectors = "demo",
    weights: opt.Weights = None,
    plot: Annotated[Path | None, _PLOT] = None,
    as_json: opt.Json = False,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
) -> None:
    """Show whether post-processing would help, and why."""
    from conceptor.inspection import inspect as run

    plan_figure(plot, [vectors, weights])
    source = opt.open_source(vectors, on_error=on_error, column=column, rows=rows)
    with on_terminal() as progress:
        inspection = run(source, weights, progress=progress)
    warn(source.findings.lines())
    if plot is not None:
        inspection.draw(plot)
    if as_json:
        write_json(inspection.to_dict())
        return
    facts = (
        f"{inspection.vectors}: {inspection.count:,} {inspection.rows}, "
        f"dimension {inspection.dimension}; {inspection.fitted_on}"
    )
    aperture = f"suggested aperture {inspection.aperture:.4g}, " if inspection.aperture else ""
    closing = [facts, f"{aperture}quota {inspection.quota:.3f}"]
    lines = filter(None, [inspection.verdict, inspection.reasons])
    show_tables(inspection.tables(), list(lines), closing)
    if inspection.reasons:
        suggest("compare", vectors)


@app.command()
def methods() -> None:
    """List all methods with descriptions and parameters."""
    from conceptor.methods import METHODS

    indent = max(map(len, METHODS)) + 2
    wrap = TextWrapper(get_terminal_size().columns, subsequent_indent=" " * indent)
    for name, method in METHODS.items():
        typer.echo(wrap.fill(f"{name:<{indent}}{method.description}"))
        settings = ", ".join(f"{key}={value}" for key, value in method.parameters.items())
        text = f"fitted on {method.words}; {settings.replace('=None', '')}"
        typer.echo(wrap.fill(" " * indent + text))


@app.command()
def explore(
    vectors: opt.Vectors = "demo",
    methods: Annotated[str | None, _METHODS] = None,
    port: Annotated[int, _PORT] = 0,
    no_browser: Annotated[bool, _NO_BROWSER] = False,
    texts: opt.Texts = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    data: opt.Data = None,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
) -> None:
    """Look at vectors in a browser, before and after a method.

    The page is for this machine only; to open it from another one, forward its --port with ssh -L.
    """
    from conceptor.explore import server
    from conceptor.fit import FitOptions

    server.require_extra()
    from conceptor.explore.session import Session

    # Report mistakes in the call before reading the vectors.
    with server.open_socket(port) as listening:
        names = None if methods is None else list(opt.read_methods(methods))
        kind = "texts" if texts is not None else rows
        settings = {"--column": column, "--rows": kind}
        flags = ["--on-error", "skip"] if on_error == "skip" else []
        flags += [word for name, value in settings.items() if value for word in (name, value)]
        source = opt.open_source(vectors, texts=texts, on_error=on_error, column=column, rows=rows)
        options = FitOptions(weights, vocabulary, data=data)
        with on_terminal() as progress:
            session = Session(source, names, options, flags=flags, progress=progress)
        warn(source.findings.lines())
        token = secrets.token_urlsafe(24)
        address = f"http://{server.HOST}:{listening.getsockname()[1]}/?token={token}"

        def ready() -> None:
            typer.echo(f"{session.table.name}: {address}  (Ctrl-C to stop)")
            if not no_browser:
                typer.launch(address)

        server.serve(server.create_app(session, token), listening, ready)
