"""`data list` and `data fetch`."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Annotated

import typer
from typer import Argument

from conceptor.base.errors import ConceptorError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import Group, app
from conceptor.cli.output import note, write_json

data_app = typer.Typer(cls=Group, help="List and download the benchmark files.")
app.add_typer(data_app, name="data", no_args_is_help=True)
_NAMES = Argument(help="Names of files; all by default.", metavar="NAME")


@data_app.command("list")
def list_files(data: opt.Data = None, as_json: opt.Json = False) -> None:
    """List the benchmark files: how many of each kind were found, and which are missing.

    --json adds the hash, source, terms and citation of each file.
    """
    from dataclasses import asdict

    from conceptor.data.registry import find, registry

    places = {file: find(file, data) for file in registry().values()}
    if as_json:
        rows = []
        for file, place in places.items():
            path, kind = place or (None, None)
            rows.append(asdict(file) | {"found": path and str(path), "place": kind})
        write_json(rows)
        return
    width, indent = get_terminal_size().columns, " " * 38
    wrap = TextWrapper(width, subsequent_indent=indent, break_on_hyphens=False)
    for kind in dict.fromkeys(file.name.partition("/")[0] for file in places):
        files = [file for file in places if file.name.startswith(f"{kind}/")]
        absent = [file.name.rpartition("/")[2] for file in files if places[file] is None]
        megabytes = sum(file.bytes for file in files) / 1e6
        missing = f"  absent: {', '.join(absent)}" if absent else ""
        here = f"{len(files) - len(absent)} of {len(files)}"
        typer.echo(wrap.fill(f"{kind:<16} {here:>8} {megabytes:7.1f} MB{missing}"))
    number = sum(place is None for place in places.values())
    if number:
        typer.echo(f"{number} files were not found; `conceptor data fetch` downloads what it can")


@data_app.command("fetch")
def fetch_files(names: Annotated[list[str] | None, _NAMES] = None, data: opt.Data = None) -> None:
    """Download files that were not found locally to the cache, verified by SHA-256.

    For example:

      conceptor data fetch word-similarity/EN-RG-65.txt
    """
    from conceptor.data.registry import data_file, fetch_all, registry

    files = [data_file(name) for name in names] if names else list(registry().values())
    with on_terminal() as progress:
        paths, missing = fetch_all([file.name for file in files], data, progress=progress)
    for name, path in paths.items():
        typer.echo(f"{name}\t{path}")
    # A file that no server offers counts as a failure only if the user named it.
    failed = [name for name in missing if names or data_file(name).url is not None]
    for name in missing.keys() - set(failed):
        note(f"{name}: {missing[name]}")
    if failed:
        count, first = f"{len(failed)} of {len(files)}", f"{failed[0]}: {missing[failed[0]]}"
        raise ConceptorError(f"{count} files could not be downloaded; first {first}")
