"""The command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def conceptor(
    *arguments: object, cwd: Path, cache: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it as on a machine without network, data directory or anything cached."""
    clean = {k: v for k, v in os.environ.items() if k not in ("CONCEPTOR_DATA", "COLUMNS")}
    # Nothing listens on the discard port: a connection is refused at once.
    clean |= {"XDG_CACHE_HOME": str(cache), "CONCEPTOR_DATA_URL": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, "-m", "conceptor", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=clean | environment,
        cwd=cwd,
        check=False,
    )
