"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `target`; rename it onto `target` once the block succeeds.

    The bytes reach the disk before the new name does, so neither an exception, a killed process
    nor a power cut leaves half a file under the target's name. What was there stays until then.
    The caller opens the path itself, so permissions follow the umask.
    """
    target = Path(target)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        yield beside
        publish(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def publish(path: Path, target: str | os.PathLike[str]) -> None:
    """Rename a finished file on the same disk onto `target`, its bytes first."""
    target = Path(target)
    _sync(path)
    path.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
