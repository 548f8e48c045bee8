"""Exit soon after a signal, even while a compiled loop runs.

Python runs signal handlers in the main thread, between two bytecode instructions. A compiled loop
has none, and Python waits for its threads. But the system writes the signal's number to a pipe at
once, and compiled loops release Python's lock, so another thread can read it.
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

# Seconds for a normal exit; more if a server or worker processes must stop first.
_GRACE, _LONG_GRACE = 1.5, 10.0
_ENDING = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def end_in_time() -> Iterator[None]:
    """Kill the process a little after SIGINT or SIGTERM, unless it has ended by then."""
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
    except RuntimeError:  # out of memory: reported elsewhere
        os.close(reading)
        os.close(writing)
        yield
        return
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        # After a signal keep watching: at exit, Python waits for threads in compiled loops.
        if not arrived.is_set():
            signal.set_wakeup_fd(before)
            os.close(writing)


def _children() -> list[Any]:
    """Return the worker processes; if their library was not imported, there are none."""
    module = sys.modules.get("multiprocessing")
    return [] if module is None else module.active_children()


def _end(status: int) -> None:
    """Kill the process now; remove half-written files and stop worker processes first."""
    for child in _children():
        child.kill()
    remove_unfinished()
    with suppress(OSError, ValueError):
        if sys.stderr.isatty():  # a progress bar may have hidden it
            os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(status)
