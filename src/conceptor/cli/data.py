"""`data list`, `data fetch` and `data verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from conceptor.base.errors import ConceptorError
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.bars import download_progress
from conceptor.cli.output import write_json

if TYPE_CHECKING:
    from conceptor.data.registry import DataFile

data_app = typer.Typer(help="List, download and verify the benchmark files.", no_args_is_help=True)
app.add_typer(data_app, name="data")

NamesArgument = Annotated[
    list[str] | None, Argument(help="Names of files; all by default.", metavar="NAME")
]


@data_app.command("list")
def list_files(
    data: opt.Data = None,
    long: Annotated[
        bool, Option("--long", help="Show every file, with hash, source, terms and citation.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """List the benchmark files: how many of each kind were found, and which are missing.

    [bold]Examples[/bold]

      conceptor data list

      conceptor data list --long
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
    kinds: dict[str, list[DataFile]] = {}
    for file, place in places.items():
        kinds.setdefault(file.name.partition("/")[0], []).append(file)
        if long:
            where = typer.style(*((f"in {place[1]}", "green") if place else ("absent", "red")))
            typer.echo(f"{typer.style(file.name, bold=True)}  {file.bytes:,} bytes  {where}")
            typer.echo(f"  sha256 {file.sha256}")
            typer.echo(f"  from {file.source}; terms: {file.licence}")
            typer.echo(f"  cite {file.citation}")
    for kind, files in kinds.items() if not long else ():
        absent = [file.name.rpartition("/")[2] for file in files if places[file] is None]
        megabytes = sum(file.bytes for file in files) / 1e6
        here = f"{len(files) - len(absent)} of {len(files)}"
        line = f"{kind:<16} {here:>8} {'file' if len(files) == 1 else 'files'} {megabytes:7.1f} MB"
        missing = typer.style(f"  absent: {', '.join(absent)}", "red") if absent else ""
        typer.echo(line + missing)
    number = sum(place is None for place in places.values())
    if number:
        typer.echo(f"{number} files were not found; `conceptor data fetch` downloads what it can")


@data_app.command("fetch")
def fetch_files(names: NamesArgument = None, data: opt.Data = None) -> None:
    """Download files that were not found locally to the cache, verified by SHA-256.

    [bold]Example[/bold]

      conceptor data fetch word-similarity/EN-RG-65.txt
    """
    from conceptor.data.registry import data_file, fetch_all, registry

    files = [data_file(name) for name in names] if names else list(registry().values())
    with download_progress() as progress:
        paths, missing = fetch_all([file.name for file in files], data, progress=progress)
    for name, path in paths.items():
        typer.echo(f"{name}\t{path}")
    # A file that no server offers counts as a failure only if the user named it.
    failed = {
        name: why for name, why in missing.items() if names or data_file(name).url is not None
    }
    for name in missing.keys() - failed.keys():
        typer.echo(f"conceptor: {name}: {missing[name]}", err=True)
    if failed:
        name, why = next(iter(failed.items()))
        raise ConceptorError(
            f"{len(failed)} of {len(files)} files could not be downloaded; first {name}: {why}"
        )


@data_app.command("verify")
def verify_files(names: NamesArgument = None, data: opt.Data = None) -> None:
    """Hash files again and print which are ok, WRONG or absent; exit code 1 if any is wrong.

    [bold]Example[/bold]

      conceptor data verify
    """
    from conceptor.data.registry import data_file, registry, verify

    files = [data_file(name) for name in names] if names else list(registry().values())
    wrong = 0
    for file in files:
        copies = verify(file, data)
        for path, whole in copies:
            typer.echo(f"{'ok' if whole else 'WRONG'}\t{file.name}\t{path}")
            wrong += not whole
        if not copies:
            typer.echo(f"absent\t{file.name}")
    if wrong:
        raise ConceptorError(
            f"{wrong} files do not match their SHA-256; delete them and run: conceptor data fetch"
        )
