"""Shards to work on, and ways to look at the results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from conceptor.distributed import postprocess
from conceptor.distributed.processing import gather_shards
from conceptor.distributed.shards import find_shards, open_shards
from conceptor.fit import FitOptions
from conceptor.weights import parse_weights

if TYPE_CHECKING:
    from pathlib import Path

    from conceptor import Moments
    from conceptor.postprocessing import Report

DIMENSION = 24
UNIFORM = FitOptions(weights="uniform")


def moments(source, weights="uniform", vocabulary=None, column=None) -> Moments:
    """The moments that a map of shards is solved from."""
    shards = find_shards(source, column)
    chosen = replace(parse_weights(weights, vocabulary), unit=False)
    failures = {}
    gathered = gather_shards(shards, failures, open_shards(shards), [chosen])
    assert not failures
    return gathered.of(chosen)


def transform(source, target, **options) -> Report:
    """Post-process shards as the fixture `cn` does vectors."""
    return postprocess(source, target, "cn:aperture=2:lengths=unit", UNIFORM, **options)


def vectors(rows: int, dimension: int = DIMENSION) -> np.ndarray:
    """float32 vectors with a mean and a decaying spectrum."""
    rng = np.random.default_rng(rows)
    scales = np.geomspace(3, 0.1, dimension)
    return (rng.standard_normal((rows, dimension)) * scales + 0.5).astype(np.float32)


def table(X: np.ndarray, first: int = 0) -> pa.Table:
    """Words, vectors and other columns."""
    numbers = np.arange(first, first + len(X))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), X.shape[1])
    return pa.table(
        {
            "word": [f"w{i}" for i in numbers],
            "embedding": lists,
            "tags": pa.array([["a"], [], ["b", "c"]]).take(pa.array(numbers % 3)),
        }
    ).replace_schema_metadata({"owner": "someone"})


def write_parquet(folder: Path, X: np.ndarray, parts: int, **options: object) -> list[Path]:
    """Write rows to this many tables of about the same length."""
    folder.mkdir(parents=True, exist_ok=True)
    paths, first = [], 0
    for i, rows in enumerate(np.array_split(X, parts)):
        paths.append(folder / f"part-{i}.parquet")
        pq.write_table(table(rows, first), paths[-1], **options)
        first += len(rows)
    return paths


def read_parquet(paths: list[Path], column: str = "embedding") -> np.ndarray:
    """Return the vectors of tables one after another."""
    lists = [pq.read_table(path)[column].combine_chunks() for path in paths]
    return np.concatenate(
        [each.flatten().to_numpy().reshape(len(each), -1) for each in lists if len(each)]
    )


def names(folder: Path) -> set[str]:
    """Everything in a directory, leftovers included."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def states(folder: Path) -> dict[str, tuple[int, int]]:
    """What would change for every file that is written again."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.glob("part-*")
    }


def assert_close(moments, expected) -> None:
    """Moments agree to 1e-10 of their size."""
    assert moments.count == expected.count
    for name in ("weight", "mean", "scatter"):
        one, two = (np.asarray(getattr(each, name)) for each in (moments, expected))
        assert np.abs(one - two).max() <= 1e-10 * np.abs(two).max(), name
