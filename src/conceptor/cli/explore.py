"""`explore`: a page to look at vectors."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer
from typer import Argument, Option

from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import warn


@app.command()
def explore(
    vectors: opt.Vectors = "demo",
    better: Annotated[
        str | None,
        Argument(
            metavar="[BETTER]",
            help="A second file to compare with the first; it is the after side.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        Option(
            autocompletion=opt.complete_method,
            help="Comma-separated list of methods on the page.  \\[default: cn,cn-paper,abtt,pvn,"
            "whitening,zipf-whitening; for texts gentle,renormalization,abtt,cn,whitening]",
        ),
    ] = None,
    port: Annotated[int, Option(min=0, max=65535, help="Port to use; 0 for a free one.")] = 0,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Only print the address; do not open a browser.")
    ] = False,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    data: opt.Data = None,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    texts: opt.Texts = None,
) -> None:
    r"""Look at vectors in a browser: neighbors, a map, concepts, before and after a method.

    The page is for this machine only; to open it from another one, forward its --port with ssh -L.

    [bold]Examples[/bold]

      pip install 'conceptor\[explore]'

      conceptor explore demo
    """
    from conceptor.explore import server

    server.require_extra()
    from conceptor.explore.session import Session

    # Report mistakes in the call before reading the vectors.
    with server.open_socket(port) as listening:
        names = None if methods is None else opt.read_methods(methods)
        flags = ["--on-error", "skip"] if on_error is opt.OnErrorChoice.skip else []
        flags += [] if column is None else ["--column", column]
        kind = "texts" if texts is not None else rows and rows.value
        flags += [] if kind is None else ["--rows", kind]
        first = opt.open_source(vectors, on_error, column, rows, texts=texts)
        second = None if better is None else opt.open_source(better, on_error, column, rows)
        options = opt.fit_options(weights, vocabulary, function_words, data)
        with on_terminal() as progress:
            session = Session(first, second, names, options, flags=flags, progress=progress)
        for each in (first, second):
            warn(each.findings.lines() if each else ())
        token = secrets.token_urlsafe(24)
        address = f"http://{server.HOST}:{listening.getsockname()[1]}/?token={token}"

        def ready() -> None:
            typer.echo(f"{session.table.name}: {address}  (Ctrl-C to stop)")
            if not no_browser:
                typer.launch(address)

        server.serve(server.create_app(session, token), listening, ready)
