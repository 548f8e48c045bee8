"""End soon after a signal, also while a compiled loop runs.

Python runs handlers in the main thread, between two of its own instructions. Inside a loop of
machine code there are none, and threads are waited for. The system, however, writes the signal's
number to a pipe at once; compiled loops run without Python's lock, so a thread can read it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from conceptor.base.files import remove_unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator

# Seconds that the usual way out may take; longer where a server or worker processes end in order.
_GRACE, _LONG_GRACE = 1.5, 10.0
_ENDING = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def end_in_time() -> Iterator[None]:
    """End the process a little after SIGINT or SIGTERM, if by then it has not ended by itself."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in _ENDING}
    arrived = threading.Event()

    def watch() -> None:
        with open(reading, "rb", buffering=0) as signals:
            while received := signals.read(1):
                number = received[0]
                if number in handlers:
                    arrived.set()
                    in_order = signal.getsignal(number) is not handlers[number] or _children()
                    time.sleep(_LONG_GRACE if in_order else _GRACE)
                    _end(128 + number)

    try:
        threading.Thread(target=watch, daemon=True).start()
    except RuntimeError:  # out of memory: others will say so
        os.close(reading)
        os.close(writing)
        yield
        return
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        # After a signal the watch goes on: at its end, Python waits for threads in compiled loops.
        if not arrived.is_set():
            signal.set_wakeup_fd(before)
            os.close(writing)


def _children() -> list[Any]:
    """Return the worker processes; without any, their library was not even imported."""
    module = sys.modules.get("multiprocessing")
    return [] if module is None else module.active_children()


def _end(status: int) -> None:
    """End the process here and now, without half-written files and worker processes."""
    for child in _children():
        child.kill()
    remove_unfinished()
    with suppress(OSError, ValueError):
        if sys.stderr.isatty():  # where a progress bar may have hidden it
            os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(status)
