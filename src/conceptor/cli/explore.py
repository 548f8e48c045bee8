"""`explore`: a page to look at vectors."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.groups import TextOptions, WeightOptions
from conceptor.cli.options import option, split_list
from conceptor.cli.output import warn


@dataclass(frozen=True)
class PageOptions:
    """The methods on the page, and the address that serves it."""

    methods: str | None = option(
        None,
        "Comma-separated list of methods on the page.  \\[default: cn,cn-paper,abtt,pvn,"
        "whitening,zipf-whitening; for texts gentle,renormalization,abtt,cn,whitening]",
    )
    port: int = option(0, "Port to listen on; 0 for a free one.", min=0, max=65535)
    host: str = option(
        "127.0.0.1",
        "Address to listen on. With an address other than loopback, other machines can "
        "reach the page; they need a token, which is part of the printed address.",
    )
    no_browser: bool = option(
        False, "Only print the address; do not open a browser.", "--no-browser"
    )


@command()
def explore(
    vectors: opt.Vectors = None,
    better: Annotated[
        Path | None,
        Argument(
            help="A second file to compare with the first; it is the after side.",
            metavar="[BETTER]",
        ),
    ] = None,
    *,
    page: PageOptions,
    weights: WeightOptions,
    data: opt.Data = None,
    reading: TextOptions,
) -> None:
    r"""Look at vectors in a browser: neighbours, a map, directions, concepts, before and after.

    [bold]Examples[/bold]

      pip install 'conceptor\[explore]'

      conceptor explore demo
    """
    from conceptor.explore import server

    server.require_extra()
    from conceptor.explore.session import Session
    from conceptor.explore.table import PageTable
    from conceptor.vectors import VectorSource
    from conceptor.vectors.files import DEMO

    # Report mistakes in the call before reading the vectors.
    host = page.host
    listening = server.open_socket(host, page.port)
    with listening:
        chosen = None if page.methods is None else split_list(page.methods)
        options = weights.fit_options(data=data)
        with on_terminal() as progress:
            tables = []
            for path in (vectors, better) if better else (vectors,):
                source, shown = reading.open_or_demo(path)
                name = Path(shown).name
                tables.append(PageTable.open(source, name, str(path or DEMO), progress))
                warn(source.findings.lines() if isinstance(source, VectorSource) else ())
            other = tables[1] if better else None
            session = Session(tables[0], other, chosen, options, progress)
        token = None if server.is_loopback(host) else secrets.token_urlsafe(24)
        application = server.create_app(session, host=host, token=token)
        address = _address(host, listening.getsockname()[1], token)

        def ready() -> None:
            typer.echo(f"{tables[0].name}: {address}  (Ctrl-C to stop)")
            if not page.no_browser:
                typer.launch(address)

        server.serve(application, listening, ready)


def _address(host: str, port: int, token: str | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/{f'?token={token}' if token else ''}"
