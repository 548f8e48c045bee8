"""Make the n-th call of something fail: files, the disk, memory, the user.

Every place where this package opens, writes, syncs or renames a file goes through functions of
Python's standard library, and every large array is made by NumPy. `Faults` wraps these. A call
counts only if it comes from this package's code or from what that calls; one of them fails.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from conceptor.vectors.formats import streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KINDS: dict[str, tuple[Callable[[], BaseException], ...]] = {
    "open": (lambda: OSError(errno.ENOSPC, "No space left"), lambda: OSError(errno.EIO, "I/O")),
    "write": (lambda: OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt),
    "sync": (lambda: OSError(errno.EIO, "Input/output error"), KeyboardInterrupt),
    "rename": (lambda: OSError(errno.EACCES, "Permission denied"), KeyboardInterrupt),
    "allocate": (lambda: MemoryError("Unable to allocate"), KeyboardInterrupt),
}


class Faults:
    """Counts calls by kind; `fail_at` makes one of them raise."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(KINDS, 0)
        self._kind, self._number, self._error = "", 0, None

    def fail_at(self, kind: str, number: int, error: Callable[[], BaseException]) -> None:
        """Let the call with this number, from 1, raise."""
        self._kind, self._number, self._error = kind, number, error

    def count(self, kind: str) -> None:
        """Count a call, and raise if it is the one."""
        self.counts[kind] += 1
        if kind == self._kind and self.counts[kind] == self._number and self._error:
            raise self._error()

    def wrap(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, counted."""

        def counted(*arguments: Any, **options: Any) -> Any:
            self.count(kind)
            return function(*arguments, **options)

        return counted


@contextmanager
def faults_in(folder: Path) -> Iterator[Faults]:
    """Count what happens to files in a folder, and the arrays that are made."""
    faults = Faults()
    open_path, open_number = io.open, os.open

    def opened(path: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if isinstance(path, int) or not str(path).startswith(str(folder)):
            return open_path(path, mode, *rest, **options)
        faults.count("open")
        file = open_path(path, mode, *rest, **options)
        if "w" in mode or "x" in mode:
            file.write = faults.wrap("write", file.write)
        return file

    def opened_number(path: Any, *rest: Any, **options: Any) -> int:
        if str(path).startswith(str(folder)):
            faults.count("open")
        return open_number(path, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        patch.setattr(os, "open", opened_number)
        patch.setattr(os, "fsync", faults.wrap("sync", os.fsync))
        patch.setattr(Path, "replace", faults.wrap("rename", Path.replace))
        patch.setattr(Path, "rename", faults.wrap("rename", Path.rename))
        patch.setattr(streams.ByteWriter, "write", faults.wrap("write", streams.ByteWriter.write))
        patch.setattr(np, "empty", faults.wrap("allocate", np.empty))
        patch.setattr(np, "zeros", faults.wrap("allocate", np.zeros))
        yield faults
