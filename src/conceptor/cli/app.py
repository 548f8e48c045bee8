"""The application: its commands, and how errors are shown."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.cli import COMMANDS
from conceptor.cli.options import MORE
from conceptor.cli.output import note


class Group(TyperGroup):
    """Commands whose `--help` leaves out the options that only `--help-all` shows."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's or Click's, by version
        """Return the names of the commands in the order in which a newcomer needs them."""
        names = super().list_commands(ctx)
        return [name for name in COMMANDS if name in names] or names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401
        """Return a command, with its rare options hidden from `--help`."""
        command = super().get_command(ctx, cmd_name)
        if command is None:
            return None
        is_short = not {"-h", "--help"}.isdisjoint(sys.argv)
        rare = [each for each in command.params if getattr(each, "rich_help_panel", None) == MORE]
        for each in rare:
            each.hidden = is_short  # type: ignore[attr-defined]
        if rare and is_short:
            number = f"{len(rare)} more option{'s' * (len(rare) > 1)}"
            command.epilog = f"{number}: {ctx.command_path} {cmd_name} --help-all"
        return command


app = typer.Typer(
    name="conceptor",
    cls=Group,
    help="Better word vectors without labels or training.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help wraps paragraphs and keeps metavars whole
    context_settings={
        "help_option_names": ["-h", "--help", "--help-all"],
        "max_content_width": 100,
    },
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from conceptor import __version__

        typer.echo(f"conceptor {__version__}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
)


@app.callback()
def _options(
    version: Annotated[bool, _VERSION] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")] = False,
) -> None:
    """Better word vectors without labels or training."""


def main() -> None:
    """Run the command line; every error is one line on stderr and an exit code.

    0: success; 1: the work failed; 2: the call or the input is wrong. `--debug` shows tracebacks.
    If the command is known, only its module is imported: Typer reads the signature of every
    registered command, which takes longer than converting a small file.
    """
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    module = COMMANDS.get(words[0]) if words else None
    for name in [module] if module else dict.fromkeys(COMMANDS.values()):
        import_module(f"conceptor.cli.{name}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not every encoding has a minus sign
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        # Exit as on Ctrl-C, which cleans up half-written files.
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        try:
            app(prog_name="conceptor")  # also as python -m conceptor
        finally:
            # Write the rest of the output while an error can still be shown.
            try:
                sys.stdout.flush()
            except OSError as error:
                with suppress(OSError):  # Python would try again at exit, and show a traceback
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise OSError(error.errno, error.strerror, "standard output") from error
    except (ConceptorError, OSError, MemoryError, RuntimeError) as error:
        # Of RuntimeErrors, only lack of memory is meant for users.
        is_bug = isinstance(error, RuntimeError) and "start new thread" not in str(error)
        if "--debug" in sys.argv[1:] or is_bug:
            raise
        note(_one_line(error))
        sys.exit(2 if isinstance(error, InvalidInputError) else 1)
    finally:
        # The work is over; a Ctrl-C while Python shuts down would only show a traceback.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one_line(error: Exception) -> str:
    text = str(error)
    if isinstance(error, MemoryError | RuntimeError):
        return f"out of memory{f' ({text})' if text else ''}; free some memory, or use less data"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(text.split())
