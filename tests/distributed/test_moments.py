"""Moments over shards equal those of one matrix, however it is cut; no cluster is needed here."""

from __future__ import annotations

import shutil
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor import Moments
from conceptor.base.errors import InvalidInputError
from tests.distributed.shards import assert_close, moments, table, vectors, write_parquet

COUNTS = {f"w{i}": float(i % 5) for i in range(0, 300, 3)}


def expected(X, weights):
    """The same on one machine, from the definition of each weighting."""
    rows = np.arange(len(X))
    if weights == "zipf":
        return Moments.from_vectors(X, 1 / (rows + 2.7))
    if weights == "counts":
        mass = np.array([COUNTS.get(f"w{i}", 0.0) for i in rows])
        return Moments.from_vectors(X[mass > 0], mass[mass > 0])
    return Moments.from_vectors(X)


@settings(max_examples=15)
@given(
    cuts=st.lists(st.integers(0, 200), max_size=5),
    group=st.integers(8, 80),
    weights=st.sampled_from(["uniform", "zipf", "counts"]),
)
def test_any_partition_of_parquet_shards(cuts, group, weights, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut")
    X = vectors(200)
    bounds = [0, *sorted({*cuts} - {0, 200}), 200]
    for i, (start, stop) in enumerate(pairwise(bounds)):
        part = table(X).slice(start, stop - start)
        pq.write_table(part, folder / f"part-{i}.parquet", row_group_size=group)
    by = COUNTS if weights == "counts" else weights
    assert_close(moments(folder / "*.parquet", weights=by), expected(X, weights))


def test_a_vocabulary_goes_by_words_or_global_rank(tmp_path):
    X = vectors(300)
    paths = write_parquet(tmp_path, X, 12, row_group_size=20)  # names are sorted by their numbers
    assert_close(moments(tmp_path, vocabulary="top:130"), Moments.from_vectors(X[:130]))
    both = moments([paths[3], paths[0]], vocabulary="top:40")  # in the order of the call
    assert_close(both, Moments.from_vectors(np.concatenate([X[75:100], X[:15]])))
    chosen = moments(tmp_path, weights=COUNTS, vocabulary={"w3", "w5", "w252"})
    assert_close(chosen, Moments.from_vectors(X[[3, 252]], [3.0, 2.0]))


def test_archives_and_addresses(tmp_path):
    X = vectors(100)
    write_parquet(tmp_path / "in", X, 3)
    archive = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    inside = f"zip://*.parquet::file://{archive}"
    assert_close(moments(inside, weights="zipf"), expected(X, "zipf"))
    assert_close(moments(f"file://{tmp_path}/in"), Moments.from_vectors(X))


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("nowhere/*.parquet", {}, "no file matches"),
        ("nowhere", {}, "no such file"),
        ("in", {"column": "emb"}, "emb"),
        ("in/part-0.parquet", {"vocabulary": {"no such word"}}, "none of the words to fit on"),
        ("mixed", {}, r"contains .npy and .parquet files"),
        ("mixed/*.npy", {"column": "x"}, "no columns"),
        ("mixed/*.npy", {"weights": COUNTS}, "none of the words to fit on"),
        ("noproto://x", {}, "noproto"),
        ("short.npy", {}, "truncated"),
    ],
)
def test_wrong_calls(source, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = vectors(40)
    write_parquet(tmp_path / "in", X, 1)
    (tmp_path / "mixed").mkdir()
    pq.write_table(table(X), "mixed/a.parquet")
    np.save("mixed/a.npy", X)
    (tmp_path / "short.npy").write_bytes((tmp_path / "mixed/a.npy").read_bytes()[:-5])
    with pytest.raises(InvalidInputError, match=message):
        moments(source, **options)
