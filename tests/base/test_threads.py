"""What the machine has, and one BLAS thread at a time."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from conceptor import Moments
from conceptor.base import arrays
from conceptor.base.errors import ConceptorError
from conceptor.base.threads import memory_bytes, one_blas_thread, release_blas
from tests.processes import start


def blas_threads() -> set[int]:
    # OpenMP has a number for each thread; faiss, which other tests import, brings such a library.
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool["threading_layer"] != "openmp"}


@pytest.fixture
def before():
    """Give BLAS three threads, but not in a `with` block, whose thread would own their number."""
    limits = threadpool_limits(3)
    release_blas()
    yield blas_threads()
    limits.restore_original_limits()
    release_blas()


def test_blocks_side_by_side_give_the_threads_back(before):
    """The first to come is the first to leave, as two calls in two threads may be."""
    entered, leave = threading.Event(), threading.Event()

    def first():
        with one_blas_thread():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait()
    with one_blas_thread():
        leave.set()
        thread.join()
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_matrices_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    assert memory_bytes() > 1 << 28
    monkeypatch.setattr(arrays, "memory_bytes", lambda: 1 << 30)
    with pytest.raises(ConceptorError, match=r"100000 numbers need 320 GB .* has 1 GB; reduce"):
        Moments.from_vectors(np.zeros((1, 100_000), dtype=np.float32))
    Moments.from_vectors(np.ones((1, 100), dtype=np.float32))


def test_ctrl_c_does_not_wait_for_an_eigendecomposition():
    code = (
        "import numpy as np\n"
        "from conceptor.algebra.spectrum import Spectrum\n"
        "from conceptor.base.threads import one_blas_thread\n"
        "matrix = np.diag(np.arange(6000.0)) + 1\n"
        "with one_blas_thread():\n"
        "    print('ready', flush=True)\n"
        "    Spectrum.from_matrix(matrix)\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=15)  # the decomposition takes longer
        finally:
            process.kill()
        assert "KeyboardInterrupt" in process.stderr.read()
