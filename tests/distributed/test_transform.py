"""Shards in, shards out: what is kept, what is refused, and how work goes on."""

from __future__ import annotations

import hashlib
import json
import os
import re

import dask.array as da
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conceptor import (
    AffineMap,
    AllButTheTop,
    ConceptorError,
    ConceptorNegation,
    InvalidInputError,
    Moments,
)
from conceptor.distributed import postprocess, transform
from conceptor.distributed.cluster import Tally
from conceptor.distributed.content import BATCH_BYTES, Need
from conceptor.distributed.manifest import NAME as MANIFEST
from conceptor.distributed.parquet import ParquetContent
from conceptor.distributed.shards import find_shards
from conceptor.distributed.storage import Place
from conceptor.distributed.transform import _rewrite
from conceptor.vectors import open_vectors, write_vectors
from tests.distributed.shards import (
    DIMENSION,
    names,
    read_parquet,
    states,
    table,
    vectors,
    write_parquet,
)
from tests.platforms import posix_only
from tests.vectors.test_full_disk import largest_file

pytestmark = pytest.mark.usefixtures("without_a_cluster")


def parts(folder):
    return [folder / f"part-{i}.parquet" for i in range(6)]


def spoil(path, row):
    """Put NaN into a row of a table, as it might lie in a data lake."""
    X = read_parquet([path])
    X[row, 3] = np.nan
    position = int(path.stem.split("-")[1])
    pq.write_table(table(X, 100 * position), path)


def test_vectors_are_mapped_and_all_else_is_kept(folder, X, cn):
    report = transform(cn.map_, folder / "in", folder / "out", column="embedding")
    assert (report.words, report.dimension, report.remarks) == (600, DIMENSION, [])
    assert names(folder / "out") == {MANIFEST, *(path.name for path in parts(folder))}
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), cn.transform(X), atol=1e-6)
    for before, after in zip(parts(folder / "in"), parts(folder / "out"), strict=True):
        one, two = pq.read_table(before), pq.read_table(after)
        assert one.schema.equals(two.schema, check_metadata=True)
        assert one.drop_columns("embedding").equals(two.drop_columns("embedding"))


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed", "columns"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_every_way_to_keep_vectors_in_a_table(kind, dtype, tmp_path, cn):
    X = vectors(70).astype(dtype)
    value = pa.field("element", pa.from_numpy_dtype(X.dtype), nullable=kind == "list")
    types = {
        "list": pa.list_(value),
        "large_list": pa.large_list(value),
        "fixed": pa.list_(value, DIMENSION),
    }
    if kind == "columns":
        columns = {f"d{i}": X[:, i] for i in range(DIMENSION)}
    else:
        columns = {"v": pa.array(list(X), types[kind])}
    (tmp_path / "in").mkdir()
    whole = pa.table({"n": np.arange(70)} | columns)
    pq.write_table(whole, tmp_path / "in/x.parquet", compression="zstd", row_group_size=33)
    transform(cn.map_, tmp_path / "in", tmp_path / "out")
    after = pq.read_table(tmp_path / "out/x.parquet")
    assert after.schema.equals(whole.schema, check_metadata=True)
    compressions = {
        pq.read_metadata(tmp_path / "out/x.parquet").row_group(0).column(i).compression
        for i in range(2)
    }
    assert compressions == {"ZSTD"}
    if kind == "columns":
        found = np.stack([after[f"d{i}"].to_numpy() for i in range(DIMENSION)], axis=1)
    else:
        found = np.stack(after["v"].to_numpy())
    assert found.dtype == X.dtype
    expected = cn.map_(X.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(found, expected, atol=1e-5 if dtype != "float16" else 5e-3)


def test_a_large_row_group_is_read_in_small_pieces(tmp_path):
    path = tmp_path / "x.parquet"
    X = np.zeros((500_000, 48), np.float32)
    lists = pa.FixedSizeListArray.from_arrays(X.reshape(-1), 48)
    pq.write_table(pa.table({"v": lists}), path, row_group_size=len(X), use_dictionary=False)
    before = pa.total_allocated_bytes()
    content = ParquetContent(Place.from_path(str(path)))
    held = [pa.total_allocated_bytes() - before for _ in content.read(0, None, Need())]
    assert len(held) == -(-X.nbytes // BATCH_BYTES)
    assert max(held) < 4 * BATCH_BYTES < X.nbytes


def test_a_map_to_fewer_dimensions(tmp_path):
    half = AffineMap(np.eye(DIMENSION)[:, :10])
    X = vectors(30)
    write_parquet(tmp_path / "in", X, 1)
    transform(half, tmp_path / "in", tmp_path / "out")
    np.testing.assert_array_equal(read_parquet([tmp_path / "out/part-0.parquet"]), X[:, :10])
    columns = pa.table({f"d{i}": X[:, i] for i in range(DIMENSION)} | {"n": np.arange(30)})
    pq.write_table(columns, tmp_path / "c.parquet")
    transform(half, tmp_path / "c.parquet", tmp_path / "columns")
    kept = pq.read_table(tmp_path / "columns/c.parquet").column_names
    assert kept == [*(f"d{i}" for i in range(10)), "n"]


def test_fewer_dimensions_are_those_of_words_counting_once(folder, X):
    method = "cn:lengths=unit:n_components=10"
    report = postprocess(folder / "in", folder / "out", method, weights="column:mass")
    assert report.dimension == 10
    mass = np.arange(len(X)) * 7 % 11
    moments = Moments.from_vectors(X, mass, unit=True), Moments.from_vectors(X, unit=True)
    expected = ConceptorNegation(n_components=10).fit_moments(*moments).transform(X)
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), expected, atol=1e-5)


def test_directories_below_and_empty_tables(tmp_path, X, cn):
    write_parquet(tmp_path / "in/lang=en", X, 2)
    write_parquet(tmp_path / "in/lang=de", X[:0], 1)
    (tmp_path / "in/_metadata").write_bytes(b"not a shard")
    transform(cn.map_, tmp_path / "in", tmp_path / "out")
    np.testing.assert_allclose(
        read_parquet([tmp_path / f"out/lang=en/part-{i}.parquet" for i in range(2)]),
        cn.transform(X),
        atol=1e-6,
    )
    assert pq.read_table(tmp_path / "out/lang=de/part-0.parquet").num_rows == 0


def test_arrays_and_word_files(tmp_path, X, cn):
    words = [f"w{i}" for i in range(600)]
    for suffix in ("npy", "bin", "vec.gz", "txt.zip"):
        source = tmp_path / suffix
        source.mkdir()
        for i in range(2):
            rows = slice(300 * i, 300 * i + 300)
            write_vectors(source / f"{i}.{suffix}", [(words[rows], X[rows])], count=300)
        transform(cn.map_, source / f"*.{suffix}", tmp_path / "out")
        found = [open_vectors(tmp_path / "out" / f"{i}.{suffix}") for i in range(2)]
        assert [word for each in found for word in each.words] == words
        assert found[0].format == open_vectors(source / f"0.{suffix}").format
        mapped = np.concatenate([each.to_array() for each in found])
        np.testing.assert_allclose(mapped, cn.transform(X), atol=1e-6)
        (tmp_path / "out" / MANIFEST).unlink()


def test_dask_arrays(X, cn):
    mapped = transform(cn.map_, da.from_array(X, chunks=((0, 250, 350), (20, 4))))
    assert (mapped.dtype, mapped.shape) == (np.float32, X.shape)
    np.testing.assert_allclose(mapped.compute(), cn.transform(X), atol=1e-6)
    with pytest.raises(InvalidInputError, match="rows of 24 dimensions"):
        transform(cn.map_, da.from_array(X[:, :5]))


def test_stores_without_a_rename(folder, X, cn):
    memory = fsspec.filesystem("memory")
    memory.put(f"{folder}/in/", "/lake/in/", recursive=True)
    lake = "memory://lake"
    report = postprocess(f"{lake}/in", f"{lake}/out", "cn:aperture=2", weights="uniform")
    assert report.estimated_on == 600
    memory.get("/lake/out/", f"{folder}/out/", recursive=True)
    assert names(folder / "out") == {MANIFEST, "map.safetensors", *names(folder / "in")}
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), cn.transform(X), atol=1e-6)
    assert transform(cn.map_, "memory://lake/in", f"{folder}/local").words == 600


def test_a_bad_row_is_named_the_others_are_done_and_the_rest_follows(folder, X, cn):
    spoil(folder / "in/part-2.parquet", 41)
    with pytest.raises(
        InvalidInputError,
        match=r"in/part-2.parquet, row 42: the vector has NaN or Inf.* other 5 of 6 shards",
    ):
        transform(cn.map_, folder / "in", folder / "out")
    done = states(folder / "out")
    assert len(done) == 5
    record = json.loads((folder / "out" / MANIFEST).read_text())["shards"]
    assert "row 42" in record["part-2.parquet"]["failed"]
    pq.write_table(table(X[200:300], 200), folder / "in/part-2.parquet")
    report = transform(cn.map_, folder / "in", folder / "out")
    assert report.remarks == ["5 of 6 shards were already done"]
    after = states(folder / "out")
    assert {name: after[name] for name in done} == done
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), cn.transform(X), atol=1e-6)
    record = json.loads((folder / "out" / MANIFEST).read_text())["shards"]
    assert all("done" in shard and "failed" not in shard for shard in record.values())


def test_fitting_leaves_bad_rows_out_and_says_so(folder, X):
    spoil(folder / "in/part-2.parquet", 41)
    with pytest.raises(InvalidInputError, match=r"part-2.parquet, row 42"):
        postprocess(folder / "in", folder / "out", "cn:aperture=2:lengths=unit")
    done = states(folder / "out")
    map_ = AffineMap.load(folder / "out/map.safetensors")
    record = json.loads((folder / "out" / MANIFEST).read_text())
    assert "row 42" in record["estimated_without"][0]
    pq.write_table(table(X[200:300], 200), folder / "in/part-2.parquet")
    report = postprocess(folder / "in", folder / "out", "cn:aperture=2:lengths=unit")
    assert "row 42" in report.remarks[-1]
    assert {name: states(folder / "out")[name] for name in done} == done
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), map_(X), atol=1e-6)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "not a readable"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (
            lambda path: pq.write_table(table(vectors(5, 9)), path),
            "length 9, expected 24",
        ),
        (
            lambda path: pq.write_table(
                pa.table({"embedding": pa.array([[1.0] * DIMENSION, None])}), path
            ),
            "row 2: the first of 1 missing vectors",
        ),
        (
            lambda path: pq.write_table(
                pa.table({"embedding": pa.array([[1.0] * DIMENSION, [1.0]])}), path
            ),
            "row 2: expected a vector of .* numbers, found 1",
        ),
        (
            lambda path: pq.write_table(table(np.full((2, DIMENSION), 3e38, "f4")), path),
            "row 1: the mapped vector overflows float32",
        ),
    ],
)
def test_damage_is_told_with_its_place(damage, said, folder):
    damage(folder / "in/part-4.parquet")
    twice = AffineMap(2 * np.eye(DIMENSION))
    with pytest.raises(InvalidInputError, match=rf"part-4.parquet.*{said}"):
        transform(twice, folder / "in", folder / "out")
    assert len(states(folder / "out")) == 5


def test_another_map_or_input_is_not_mixed_in(folder, X, cn):
    other = AllButTheTop(n_directions=1).fit(X).map_
    transform(cn.map_, folder / "in", folder / "out")
    done = states(folder / "out")
    with pytest.raises(InvalidInputError, match="written with another map"):
        transform(other, folder / "in", folder / "out")
    with pytest.raises(InvalidInputError, match=r"part-5.parquet is missing"):
        transform(cn.map_, parts(folder / "in")[:5], folder / "out")
    pq.write_table(table(X[:9]), folder / "in/part-6.parquet")
    with pytest.raises(InvalidInputError, match=r"part-6.parquet is new"):
        transform(cn.map_, folder / "in", folder / "out")
    (folder / "in/part-6.parquet").unlink()
    pq.write_table(table(X[:9]), folder / "in/part-3.parquet")
    with pytest.raises(InvalidInputError, match=r"part-3.parquet was modified after"):
        transform(cn.map_, folder / "in", folder / "out")
    assert states(folder / "out") == done
    transform(other, folder / "in", folder / "out", force=True)
    assert not set(states(folder / "out").items()) & set(done.items())
    np.testing.assert_allclose(
        read_parquet(parts(folder / "out")), other(read_parquet(parts(folder / "in"))), atol=1e-5
    )


def test_another_request_is_not_mixed_in(folder):
    postprocess(folder / "in", folder / "out", "cn:aperture=2")
    for method, options, said in [
        ("cn:aperture=3", {}, "started with aperture 2.0, not aperture 3.0"),
        ("abtt", {}, "method cn"),
        ("cn:aperture=2", {"weights": "zipf"}, "weights auto"),
    ]:
        with pytest.raises(InvalidInputError, match=said):
            postprocess(folder / "in", folder / "out", method, **options)
    (folder / "out/map.safetensors").unlink()
    with pytest.raises(InvalidInputError, match=r"map.safetensors: not the map"):
        postprocess(folder / "in", folder / "out", "cn:aperture=2")


def test_a_lost_or_cut_output_is_written_again(folder, X, cn):
    transform(cn.map_, folder / "in", folder / "out")
    (folder / "out/part-1.parquet").unlink()
    (folder / "out/part-2.parquet").write_bytes(b"cut")
    leftover = folder / "out/.part-1.parquet.abcd.partial"
    leftover.mkdir()
    (leftover / "part-1.parquet").write_bytes(b"half")
    assert transform(cn.map_, folder / "in", folder / "out").remarks == [
        "4 of 6 shards were already done"
    ]
    assert not leftover.exists()
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), cn.transform(X), atol=1e-6)


def test_a_damaged_output_of_the_same_size_is_written_again(folder, X, cn):
    transform(cn.map_, folder / "in", folder / "out")
    path = folder / "out/part-3.parquet"
    whole, before = path.read_bytes(), path.stat()
    damaged = bytearray(whole)
    damaged[len(whole) // 3] ^= 1
    path.write_bytes(damaged)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert transform(cn.map_, folder / "in", folder / "out").remarks == [
        "5 of 6 shards were already done",
        "1 shards were damaged since they were written, and were written again: part-3.parquet",
    ]
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), cn.transform(X), atol=1e-6)
    record = json.loads((folder / "out" / MANIFEST).read_text())["shards"]
    for name, shard in record.items():
        assert shard["sha256"] == hashlib.sha256((folder / "out" / name).read_bytes()).hexdigest()
    assert transform(cn.map_, folder / "in", folder / "out").remarks == [
        "6 of 6 shards were already done"
    ]


@posix_only("limits the size of files")
@pytest.mark.parametrize("kind", ["parquet", "npy", "txt"])
def test_a_full_disk_names_the_output(kind, tmp_path, X, cn):
    (tmp_path / "in").mkdir()
    if kind == "parquet":
        write_parquet(tmp_path / "in", X, 1)
    else:
        words = [f"w{i}" for i in range(len(X))]
        write_vectors(tmp_path / f"in/part-0.{kind}", [(words, X)])
    target = tmp_path / f"out/part-0.{kind}"
    with (
        largest_file(20_000),
        pytest.raises(ConceptorError, match=f"^{re.escape(str(target))}: File too large"),
    ):
        transform(cn.map_, tmp_path / f"in/part-0.{kind}", tmp_path / "out")
    assert not target.exists()


def test_places_that_must_not_be_written(folder, cn):
    for target, said in [
        (folder / "in", "contains the input"),
        (folder / "in/part-0.parquet", "is a file"),
        (folder / "foreign", "exists without a manifest.json"),
        (folder / "odd", "not a conceptor manifest"),
        (folder / "newer", "unsupported manifest version"),
    ]:
        (folder / "foreign").mkdir(exist_ok=True)
        (folder / "foreign/part-3.parquet").write_bytes(b"precious")
        for name, text in [("odd", "[1]"), ("newer", '{"format": "conceptor.shards/9"}')]:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / MANIFEST).write_text(text)
        with pytest.raises(InvalidInputError, match=said):
            transform(cn.map_, folder / "in", target)
    assert (folder / "foreign/part-3.parquet").read_bytes() == b"precious"
    with pytest.raises(InvalidInputError, match="pass one as `target`"):
        transform(cn.map_, folder / "in")
    with pytest.raises(InvalidInputError, match="length 24, expected 3"):
        transform(AffineMap(np.eye(3)), folder / "in", folder / "out")
    assert not (folder / "out").exists()


def test_a_straggler_of_another_run_cannot_slip_in(folder, cn):
    """A task still running when another run starts the directory over publishes nothing."""
    transform(cn.map_, folder / "in", folder / "out")
    (shard,) = find_shards(folder / "in/part-0.parquet")
    (folder / "out/part-0.parquet").unlink()
    reporter = Tally("", [None], lambda *_: None).reporter(0)
    (result,) = _rewrite([shard], cn.map_, Place.from_path(f"{folder}/out"), "0" * 64, reporter)
    assert "started over with a different map" in result.message
    assert not (folder / "out/part-0.parquet").exists()


def test_rows_that_are_something_else_are_another_request(tmp_path):
    X = vectors(60)
    write_parquet(tmp_path / "in", X, 2)
    postprocess(tmp_path / "in", tmp_path / "out", "gentle", rows="texts")
    with pytest.raises(InvalidInputError, match="rows"):
        postprocess(tmp_path / "in", tmp_path / "out", "gentle", rows="words")
