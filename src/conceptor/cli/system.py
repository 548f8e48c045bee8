"""`doctor` and `man`: check the installation, and print the manual."""

from __future__ import annotations

from dataclasses import asdict

import typer

from conceptor.base.errors import ConceptorError, printable
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.output import write_json, write_output


@command()
def doctor(data: opt.Data = None, as_json: opt.Json = False) -> None:
    """Check the installation: versions, BLAS, extras, caches, and the data found.

    Exit code 1 if there is a problem.

    [bold]Example[/bold]

      conceptor doctor
    """
    from conceptor.data.installation import examine

    found = examine(data)
    if as_json:
        write_json(asdict(found))
    else:
        for label, value in {**found.system, **found.caches}.items():
            typer.echo(printable(f"{label:<17} {value}"))
        versions = (f"{name} {version or 'missing'}" for name, version in found.packages.items())
        typer.echo(f"{'packages':<17} {', '.join(versions)}")
        for extra, missing in found.extras.items():
            said = f"without {', '.join(missing)}: pip install 'conceptor[{extra}]'"
            typer.echo(f"{f'extra {extra}':<17} {said if missing else 'installed'}")
        for kind, (here, total) in found.data.items():
            typer.echo(f"{f'data {kind}':<24} {here} of {total} files")
    if found.problems:
        raise ConceptorError("; ".join(found.problems))
    if not as_json:
        typer.echo("No problems found.")


@command()
def man() -> None:
    """Print the manual page of all commands, for man(1).

    [bold]Examples[/bold]

      conceptor man > conceptor.1

      man ./conceptor.1
    """
    from conceptor.cli.manual import describe_commands, man_page

    write_output(man_page(describe_commands()), None)
