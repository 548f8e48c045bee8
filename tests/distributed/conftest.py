from __future__ import annotations

from typing import TYPE_CHECKING

import dask
import pytest

from conceptor import ConceptorNegation
from tests.distributed.shards import vectors, write_parquet

if TYPE_CHECKING:
    import numpy as np


@pytest.fixture
def without_a_cluster():
    """Tasks run one after another in this process."""
    with dask.config.set(scheduler="synchronous"):
        yield


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
