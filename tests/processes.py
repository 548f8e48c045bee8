"""The command line as a process of its own, or as a call within this one."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAIT = 300  # seconds until a condition counts as never met, also on a busy machine
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# By application and how many commands it had: each module of `conceptor.cli` adds some.
_COMMANDS: dict[tuple[int, int, int], Any] = {}


def until(condition: Callable[[], Any]) -> Any:
    """Wait until a condition holds; return what it gave."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise TimeoutError


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Put the handlers of signals back at the end."""
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def start(command: list[object], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that signals end, as in the foreground of a shell.

    What runs in the background of a script, or under nohup, is told to ignore some of them, and so
    is all that it starts. A handler is not inherited: where there is one, the new process begins
    with the signal's default.
    """
    with _signals_kept():
        for number in _SIGNALS:
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, signal.default_int_handler)
        return subprocess.Popen([str(part) for part in command], **options)


def execute(command: list[object], said: Any = None, **options: Any) -> subprocess.CompletedProcess:
    """Run a command to its end, with its output as text."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    with start(command, stdin=subprocess.PIPE, **options) as process:
        output, errors = process.communicate(said)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def command(*arguments: object) -> list[object]:
    """Return the command that runs `conceptor` with these arguments."""
    return [sys.executable, "-m", "conceptor", *arguments]


def conceptor(*arguments: object, **options: Any) -> subprocess.CompletedProcess:
    """Run `conceptor` as a process of its own."""
    return execute(command(*arguments), **options)


def call(
    *arguments: object, said: str = "", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `conceptor` within this process, from its entry point on.

    A process of its own imports everything anew, which takes longer than most calls do: this is
    for the many calls where that would prove no more.
    """
    from conceptor.__main__ import main

    build, built = typer.main.get_command, _COMMANDS

    def get_command(app: typer.Typer) -> Any:
        """Read the signatures of commands once, not in each call, where it is half of the work."""
        known = (id(app), len(app.registered_commands), len(app.registered_groups))
        if known not in built:
            built[known] = build(app)
        return built[known]

    streams = {
        name: io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
        for name, content in [("stdin", said.encode()), ("stdout", b""), ("stderr", b"")]
    }
    with pytest.MonkeyPatch.context() as patch, _signals_kept():
        patch.setattr(typer.main, "get_command", get_command)
        patch.setattr(sys, "argv", ["conceptor", *map(str, arguments)])
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        for name in os.environ.keys() - (os.environ if env is None else env).keys():
            patch.delenv(name)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        try:
            main()
            status = 0
        except SystemExit as stopped:
            status = stopped.code or 0
    written = []
    for name in ("stdout", "stderr"):
        streams[name].flush()
        written.append(streams[name].buffer.getvalue().decode())
    return subprocess.CompletedProcess(list(arguments), status, *written)


def assert_one_line(run: subprocess.CompletedProcess, message: str, code: int = 2) -> None:
    """Assert that a command ended with this code, and with one line that has this message."""
    assert run.returncode == code, run.stderr
    assert message in run.stderr
    assert run.stderr.startswith("conceptor: ")
    assert run.stderr.count("\n") == 1


def bare_machine(cache: Path, **environment: str) -> dict[str, str]:
    """Return the environment of a machine without network, data directory or anything cached."""
    clean = {k: v for k, v in os.environ.items() if k not in ("CONCEPTOR_DATA", "COLUMNS")}
    # Nothing listens on the discard port: a connection is refused at once.
    clean |= {"XDG_CACHE_HOME": str(cache), "CONCEPTOR_DATA_URL": "http://127.0.0.1:9"}
    return clean | environment
