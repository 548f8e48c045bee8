"""The application: its commands, and how failures reach the user."""

from __future__ import annotations

import io
import signal
import sys
import threading
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from conceptor.base.errors import ConceptorError, InvalidInputError

# The main job first, then what goes with it; what is not named here comes last.
_ORDER = (
    "postprocess",
    "inspect",
    "compare",
    "neighbors",
    "fit",
    "apply",
    "convert",
    "evaluate",
    "reproduce",
)


class _InOrder(TyperGroup):
    """Commands in the order in which a newcomer meets them."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's or Click's, by version
        """Return the commands' names as `--help` shows them."""
        known = super().list_commands(ctx)
        return [*(name for name in _ORDER if name in known), *(n for n in known if n not in _ORDER)]


app = typer.Typer(
    name="conceptor",
    cls=_InOrder,
    help="Better word vectors without labels or training.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback when something fails.")
    ] = False,
) -> None:
    """Better word vectors without labels or training."""


def main() -> None:
    """Run the command line; every failure is one line on stderr and an exit code.

    0: done; 1: the work failed; 2: the call or the input is wrong. `--debug` shows tracebacks.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a minus sign is not in every encoding
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except (ConceptorError, OSError) as error:
        if "--debug" in sys.argv[1:]:
            raise
        from conceptor.cli.output import with_flags

        typer.echo(f"conceptor: {with_flags(_one_line(error))}", err=True)
        sys.exit(2 if isinstance(error, InvalidInputError) else 1)
    finally:
        # All is done or undone; Python would meet a late Ctrl-C with a traceback while it leaves.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _terminated(number: int, _: object) -> None:
    """Leave as on Ctrl-C, so that nothing half-written stays behind."""
    sys.exit(128 + number)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return " ".join(str(error).split())
