"""Run the command line, also with ``python -m conceptor``."""

from __future__ import annotations

import os
import signal
import sys
import threading


def main() -> None:
    """Import and run the command line; Ctrl-C ends it quietly."""
    # Reopen closed streams so that use raises. Otherwise the next opened files would get their
    # numbers, and messages would go into those files.
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_WRONLY)
            if descriptor != number:
                os.dup2(descriptor, number)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    # An exception during an import may surface anywhere; there is nothing to clean up yet.
    here = threading.current_thread() is threading.main_thread()
    interrupts = here and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if interrupts:
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))
        # Idle threads of BLAS wait by spinning for 2²⁰ cycles, not for 2²⁶.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
        from conceptor.cli.app import main as run

        if interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
