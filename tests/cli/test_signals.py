"""SIGINT and SIGTERM end the process soon, whatever it is doing, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.platforms import posix_only
from tests.processes import start, until

# Each would take minutes to hours: much longer than any busy machine needs to end a process.
LOOPS = {
    "n-grams": """
        from conceptor.kernels import add_ngrams
        words = np.full(2_000_000, 97, np.uint8)
        add_ngrams(words, np.array([0, len(words)]), np.ones((1, 8), np.float32), 1, 2**40,
                   np.ones((1, 8), np.float32))
    """,
    "n-grams in threads": """
        from conceptor.base.threads import ordered_map
        from conceptor.kernels import add_ngrams
        words = np.full(2_000_000, 97, np.uint8)
        list(ordered_map(lambda _: add_ngrams(words, np.array([0, len(words)]),
            np.ones((1, 8), np.float32), 1, 2**40, np.ones((1, 8), np.float32)), range(4), 2))
    """,
    "eigenvectors": """
        np.linalg.eigh(np.random.default_rng(0).standard_normal((9000, 9000)))
    """,
}
SCRIPT = """
import os, pathlib, signal, sys, textwrap
import numpy as np
import conceptor.kernels
from conceptor.base.files import replace_atomically, replace_folder_atomically
from conceptor.cli import app as application

def work(**_):
    with replace_atomically("file"), replace_folder_atomically("folder"):
        print("here", flush=True)
        exec(textwrap.dedent(sys.argv[1]), {"np": np})

signal.signal(signal.SIGINT, signal.default_int_handler)
application.app = work
try:
    application.main()
except KeyboardInterrupt:
    sys.exit(130)
"""


@posix_only("sends signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_of_machine_code_end_too(loop, name, tmp_path):
    process = start(
        [sys.executable, "-c", SCRIPT, LOOPS[loop]],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout.readline() == b"here\n", process.stderr.read()
        assert len(os.listdir(tmp_path)) == 2, "both are being written"
        time.sleep(0.5)  # into the loop
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + getattr(signal, name)
    until(lambda: not os.listdir(tmp_path))
