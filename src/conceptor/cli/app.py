"""The application: its commands, and how errors are shown."""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from conceptor.base.errors import ConceptorError, InvalidInputError, printable
from conceptor.cli import COMMANDS
from conceptor.cli.signals import end_in_time

if TYPE_CHECKING:
    from collections.abc import Callable


class _OrderedGroup(TyperGroup):
    """Lists commands in the order in which a newcomer needs them."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's or Click's, by version
        """Return the names of the commands in the order of `--help`."""
        return sorted(super().list_commands(ctx), key=list(COMMANDS).index)


app = typer.Typer(
    name="conceptor",
    cls=_OrderedGroup,
    help="Better word vectors without labels or training.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(
    name: str | None = None, to: typer.Typer = app
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command.

    A parameter whose type is a group of options (a data class of `conceptor.cli.groups`) becomes
    the options of that group; the function gets them as one object.
    """
    return lambda function: to.command(name)(_flatten(function))


def _flatten(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function with options instead of groups in the signature that Typer reads."""
    kinds: dict[str, Any] = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    members = {name: list(_parameters(kind)) for name, kind in groups.items()}
    flat: list[inspect.Parameter] = []
    for parameter in _parameters(function):
        flat += members.get(parameter.name, [parameter])

    @wraps(function)
    def run(**given: Any) -> None:  # noqa: ANN401 - each option has its own type
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in members[name]})
        function(**given)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in flat}
    return run


def _parameters(of: Any) -> list[inspect.Parameter]:  # noqa: ANN401 - a function or a class
    """Return keyword-only parameters, since a group may list defaults before required ones."""
    kinds = get_type_hints(of, include_extras=True)
    for each in fields(of) if is_dataclass(of) else ():
        if each.metadata:
            kinds[each.name] = Annotated[kinds[each.name], each.metadata["option"]]
    return [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kinds[each.name])
        for each in inspect.signature(of).parameters.values()
    ]


def _print_version(wanted: bool) -> None:
    if wanted:
        from conceptor import __version__

        typer.echo(f"conceptor {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")] = False,
) -> None:
    """Better word vectors without labels or training."""


def main() -> None:
    """Run the command line; every error is one line on stderr and an exit code.

    0: success; 1: the work failed; 2: the call or the input is wrong. `--debug` shows tracebacks.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not every encoding has a minus sign
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        # Exit as on Ctrl-C, which cleans up half-written files.
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        try:
            with end_in_time():
                app(prog_name="conceptor")  # also as python -m conceptor
        finally:
            _flush_output()
    except (ConceptorError, OSError, MemoryError, RuntimeError) as error:
        if "--debug" in sys.argv[1:] or not _is_expected(error):
            raise
        from conceptor.cli.output import with_flags

        text = with_flags(error.message) if isinstance(error, ConceptorError) else str(error)
        typer.echo(f"conceptor: {printable(_one_line(error, text))}", err=True)
        sys.exit(2 if isinstance(error, InvalidInputError) else 1)
    finally:
        # The work is over; a Ctrl-C while Python shuts down would only show a traceback.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _flush_output() -> None:
    """Write the rest of the output while an error can still be shown and set the exit code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):  # Python would try again at exit, and show a traceback
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, "standard output") from error


def _is_expected(error: Exception) -> bool:
    """Return whether the message is meant for users; of RuntimeErrors, only lack of memory is."""
    return not isinstance(error, RuntimeError) or "start new thread" in str(error)


def _one_line(error: Exception, text: str) -> str:
    if isinstance(error, MemoryError | RuntimeError):
        return f"out of memory{f' ({text})' if text else ''}; free some memory, or use less data"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(text.split())
