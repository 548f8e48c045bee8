"""Processes that signals end, whatever this one ignores."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any


def start(command: list[Any], **options: Any) -> subprocess.Popen[Any]:
    """Start a process as in the foreground of a shell.

    What runs in the background of a script, or under nohup, ignores some signals, and so does all
    that it starts.
    """
    if os.name == "posix":
        options["preexec_fn"] = _restore_signals
    return subprocess.Popen(command, **options)


def _restore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
