"""Moments over shards equal those of one matrix, however it is cut; no cluster is needed here."""

from __future__ import annotations

import shutil
from itertools import pairwise

import dask.array as da
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor import ConceptorNegation, InvalidInputError, Moments
from conceptor.distributed import moments, survey
from conceptor.vectors import write_vectors
from conceptor.weights import rank_weights
from tests.distributed.shards import assert_close, table, vectors, write_parquet

WORDS = {f"w{i}": float(i % 5) for i in range(0, 300, 3)}


pytestmark = pytest.mark.usefixtures("without_a_cluster")


def expected(X, weights):
    """The same by one machine, from the definition of each weighting."""
    rows = np.arange(len(X))
    if weights == "zipf":
        return Moments.from_vectors(X, 1 / (rows + 2.7))
    if weights == "column:mass":
        return Moments.from_vectors(X, (rows * 7 % 11).astype(float))
    if weights == "counts":
        mass = np.array([WORDS.get(f"w{i}", 0.0) for i in rows])
        return Moments.from_vectors(X[mass > 0], mass[mass > 0])
    return Moments.from_vectors(X)


@settings(max_examples=25)
@given(
    cuts=st.lists(st.integers(0, 200), max_size=5),
    group=st.integers(8, 80),
    task_bytes=st.sampled_from([1, 2000, 1 << 27]),
    weights=st.sampled_from(["uniform", "zipf", "column:mass", "counts"]),
)
def test_any_partition_of_parquet_shards(cuts, group, task_bytes, weights, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut")
    X = vectors(200)
    bounds = [0, *sorted(cuts), 200]
    for i, (start, stop) in enumerate(pairwise(bounds)):
        part = table(X, 0).slice(start, stop - start)
        pq.write_table(part, folder / f"part-{i}.parquet", row_group_size=group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "TASK_BYTES", task_bytes)
        given_weights = WORDS if weights == "counts" else weights
        found = moments(folder / "*.parquet", given_weights)
    assert_close(found, expected(X, weights))


@given(
    rows=st.lists(st.integers(0, 60), min_size=1, max_size=8).filter(any),
    columns=st.integers(1, 24),
    weights=st.sampled_from(["uniform", "zipf", "array"]),
)
def test_any_blocks_of_a_dask_array(rows, columns, weights):
    X = vectors(sum(rows))
    pieces = (tuple(rows), (columns, 24 - columns) if columns < 24 else (24,))
    mass = np.arange(len(X)) % 4 + 0.5
    found = moments(da.from_array(X, chunks=pieces), mass if weights == "array" else weights)
    assert_close(
        found, Moments.from_vectors(X, mass) if weights == "array" else expected(X, weights)
    )


def test_the_estimators_are_the_very_same(tmp_path):
    """Fitted through shards or on the matrix, the map agrees."""
    X = vectors(900)
    write_parquet(tmp_path, X, 4)
    fitted = ConceptorNegation(aperture=2.0).fit_moments(moments(tmp_path, "zipf", unit=True))
    alone = ConceptorNegation(aperture=2.0).fit(X, sample_weight=rank_weights(0, len(X)))
    np.testing.assert_allclose(fitted.transform(X), alone.transform(X), atol=1e-6)


def test_a_vocabulary_goes_by_words_or_global_rank(tmp_path):
    X = vectors(300)
    write_parquet(tmp_path, X, 4, row_group_size=20)
    assert_close(moments(tmp_path, vocabulary="top:130"), Moments.from_vectors(X[:130]))
    found = moments(tmp_path, "column:mass", vocabulary={"w5", "w250"})
    assert_close(found, Moments.from_vectors(X[[5, 250]], [35 % 11, 1750 % 11]))


def test_columns_one_for_each_dimension(tmp_path):
    X = vectors(50, 3)
    columns = {"id": np.arange(50), "score": np.ones(50)}
    pq.write_table(pa.table(columns | {f"d{i}": X[:, i] for i in range(3)}), tmp_path / "x.parquet")
    assert_close(moments(tmp_path / "x.parquet", column="d*"), Moments.from_vectors(X))
    # The score is a float, too, but its name does not say that it is a dimension.
    assert_close(moments(tmp_path / "x.parquet"), Moments.from_vectors(X))
    assert_close(moments(tmp_path, "column:score"), Moments.from_vectors(X))


def test_arrays_and_word_files(tmp_path):
    X = vectors(400)
    for i, rows in enumerate(np.split(X, 4)):
        np.save(tmp_path / f"{i}.npy", rows if i else rows.astype(">f8"))
        words = [f"w{100 * i + j}" for j in range(100)]
        write_vectors(tmp_path / f"{i}.vec.gz", [(words, rows)], count=100)
        write_vectors(tmp_path / f"{i}.bin", [(words, rows)])
    for pattern in ("*.npy", "*.vec.gz", "*.bin"):
        assert_close(moments(tmp_path / pattern), Moments.from_vectors(X))
        assert_close(moments(tmp_path / pattern, "zipf"), expected(X, "zipf"))
    assert_close(moments(tmp_path / "*.bin", WORDS), expected(X, "counts"))
    listed = [tmp_path / f"{i}.bin" for i in (3, 0)]
    assert_close(
        moments(listed, vocabulary="top:150"),
        Moments.from_vectors(np.concatenate([X[300:], X[:50]])),
    )


def test_numbers_in_names_are_sorted_by_value(tmp_path):
    X = vectors(240)
    write_parquet(tmp_path, X, 12)
    assert_close(moments(tmp_path, "zipf"), expected(X, "zipf"))


def test_archives_and_other_file_systems(tmp_path):
    X = vectors(100)
    write_parquet(tmp_path / "in", X, 3)
    archive = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    assert_close(moments(f"zip://*.parquet::file://{archive}", "zipf"), expected(X, "zipf"))
    assert_close(moments(f"file://{tmp_path}/in"), Moments.from_vectors(X))
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "in") + "/", "/moments/", recursive=True)
    assert_close(moments("memory://moments/*.parquet"), Moments.from_vectors(X))


def test_lazy_rows_of_unknown_number():
    X = da.from_array(vectors(60), chunks=(20, 24))
    some = X[X[:, 0] > 0]
    assert_close(moments(some), Moments.from_vectors(some.compute()))
    with pytest.raises(InvalidInputError, match="compute_chunk_sizes"):
        moments(some, "zipf")
    assert_close(moments(some.compute_chunk_sizes(), "zipf"), expected(some.compute(), "zipf"))


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("nowhere/*.parquet", {}, "no file matches"),
        ("nowhere", {}, "no such file"),
        ("in", {"column": "emb"}, "no columns of vectors matching 'emb'"),
        ("in", {"weights": "column:size"}, "no column 'size'"),
        ("in", {"weights": "column:bad"}, "row 2: the weight is -1.0"),
        ("in/part-0.parquet", {"vocabulary": {"no such word"}}, "no rows were selected"),
        ("mixed", {}, "contains npy and parquet files"),
        ("mixed/*.npy", {"column": "x"}, "only Parquet shards have columns"),
        ("mixed/*.npy", {"weights": "column:x"}, "has no column x"),
        ("mixed/*.npy", {"weights": WORDS}, "has no words"),
        ("noproto://x", {}, "noproto"),
        ("fortran.npy", {}, "Fortran order"),
        ("short.npy", {}, "truncated, so fetch it again"),
    ],
)
def test_what_is_refused(source, options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = vectors(40)
    (tmp_path / "mixed").mkdir()
    (tmp_path / "in").mkdir()
    bad = table(X).append_column("bad", pa.array(1.0 - np.arange(40) * 2))
    pq.write_table(bad, "in/part-0.parquet")
    pq.write_table(table(X), "mixed/a.parquet")
    np.save("mixed/a.npy", X)
    np.save("fortran.npy", np.asfortranarray(X))
    (tmp_path / "short.npy").write_bytes((tmp_path / "mixed/a.npy").read_bytes()[:-5])
    with pytest.raises(InvalidInputError, match=said):
        moments(source, **options)


def test_arrays_that_cannot_be_used():
    X = da.from_array(vectors(60), chunks=(20, 24))
    for array, weights, said in [
        (X[:, 0], "uniform", "1 dimensions"),
        (X, "by mood", "'uniform', 'zipf' or an array"),
        (X, np.ones(3), "do not match 60 rows"),
        (X + np.inf, "uniform", "block at row 0: X contains NaN or infinity"),
    ]:
        with pytest.raises(InvalidInputError, match=said):
            moments(array, weights)


def test_every_bad_shard_is_counted_and_the_first_named(tmp_path):
    X = vectors(100)
    X[[20, 70]] = np.nan
    write_parquet(tmp_path, X, 4)
    with pytest.raises(InvalidInputError, match=r"part-0.parquet, row 21: .*\(and 1 more shard"):
        moments(tmp_path)
