from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from distributed import Client, LocalCluster

from conceptor import ConceptorNegation
from tests.distributed.shards import vectors, write_parquet
from tests.processes import WAIT, start, until

if TYPE_CHECKING:
    import numpy as np


@pytest.fixture(scope="session")
def X() -> np.ndarray:  # noqa: N802 - the letter of scikit-learn
    return vectors(600)


@pytest.fixture(scope="session")
def cn(X: np.ndarray) -> ConceptorNegation:
    return ConceptorNegation(aperture=2.0).fit(X)


@pytest.fixture
def folder(tmp_path, X):
    """A directory with six Parquet shards in `in`."""
    write_parquet(tmp_path / "in", X, 6, row_group_size=40)
    return tmp_path


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster of two threads, which starts at once."""
    options = {"processes": False, "dashboard_address": ":0", "protocol": "tcp"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="session")
def processes(tmp_path_factory):
    """`dask scheduler` and `dask worker` as processes of their own; yields the address."""
    file = tmp_path_factory.mktemp("scheduler") / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    shared = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with ExitStack() as stack:
        for arguments in (
            ["scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0"],
            ["worker", "--nworkers", "2", "--nthreads", "1", "--dashboard-address", ":0"],
        ):
            process = start([*dask, *arguments, "--scheduler-file", file], **shared)
            stack.callback(process.wait, WAIT)
            stack.callback(process.terminate)
            until(file.exists)
        address = until(lambda: file.read_text() and json.loads(file.read_text())["address"])
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=WAIT)
        yield address
