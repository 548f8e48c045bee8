"""Commands run on a terminal of their own."""

from __future__ import annotations

import os
from typing import Any

from tests.processes import start


def on_a_terminal(command: list[object], columns: int = 200, **options: Any) -> tuple[int, str]:
    """Run a command; return its exit code and all that was shown."""
    reader, terminal = os.openpty()
    process = start(
        command,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns)},
        **options,
    )
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(reader, 65536):
            shown += part
    except OSError:  # Linux raises it when the terminal is closed
        pass
    finally:
        os.close(reader)
    return process.wait(), shown.decode()
