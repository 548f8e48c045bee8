"""Shards in, shards out: what stays, what is refused, and how an interrupted run continues."""

from __future__ import annotations

import json
import re

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conceptor import AffineMap, ConceptorError, ConceptorNegation
from conceptor.base.errors import InvalidInputError
from conceptor.distributed import postprocess
from conceptor.distributed.processing import MAP_NAME, RECORD
from conceptor.vectors import open_vectors, write_vectors
from tests.distributed.shards import (
    DIMENSION,
    UNIFORM,
    names,
    read_parquet,
    states,
    table,
    transform,
    vectors,
    write_parquet,
)
from tests.platforms import posix_only
from tests.vectors.test_full_disk import largest_file


def parts(folder):
    return [folder / f"part-{i}.parquet" for i in range(6)]


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("list", "float32"), ("large_list", "float64"), ("fixed", "float16"), ("columns", "float64")],
)
def test_tables_keep_their_schema(kind, dtype, tmp_path):
    X = vectors(70).astype(dtype)
    value = pa.from_numpy_dtype(X.dtype)
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
    schema = pq.read_schema(tmp_path / "in/x.parquet")
    transform(tmp_path / "in", tmp_path / "out")
    after = pq.read_table(tmp_path / "out/x.parquet")
    assert after.schema.equals(schema, check_metadata=True)
    if kind == "columns":
        mapped = np.stack([after[f"d{i}"].to_numpy() for i in range(DIMENSION)], axis=1)
    else:
        mapped = np.stack(after["v"].to_numpy())
    assert mapped.dtype == X.dtype
    expected = ConceptorNegation(aperture=2.0).fit_transform(X.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(mapped, expected, atol=1e-5 if dtype != "float16" else 5e-3)


def test_fewer_dimensions(tmp_path, folder, X):
    method = "cn:lengths=unit:n_components=10"
    columns = pa.table({f"d{i}": X[:, i] for i in range(DIMENSION)} | {"n": np.arange(len(X))})
    pq.write_table(columns, tmp_path / "c.parquet")
    postprocess(tmp_path / "c.parquet", tmp_path / "columns", method, UNIFORM)
    after = pq.read_table(tmp_path / "columns/c.parquet")
    assert after.column_names == [*(f"d{i}" for i in range(10)), "n"]
    report = postprocess(folder / "in", folder / "out", method, UNIFORM)
    assert report.dimension == 10
    expected = ConceptorNegation(n_components=10).fit(X).transform(X)
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), expected, atol=1e-5)


def test_directories_below_and_empty_tables(tmp_path, X, cn):
    write_parquet(tmp_path / "in/lang=en", X, 2)
    (tmp_path / "in/_metadata").write_bytes(b"not a shard")
    transform(tmp_path / "in", tmp_path / "out")
    mapped = [tmp_path / f"out/lang=en/part-{i}.parquet" for i in range(2)]
    np.testing.assert_allclose(read_parquet(mapped), cn.transform(X), atol=1e-6)
    write_parquet(tmp_path / "in/lang=de", X[:0], 1)
    with pytest.raises(InvalidInputError, match="contains no vectors"):
        transform(tmp_path / "in", tmp_path / "more")


@pytest.mark.parametrize("suffix", ["npy", "vec.gz"])
def test_arrays_and_word_files(suffix, tmp_path, X, cn):
    words = [f"w{i}" for i in range(600)]
    (tmp_path / "in").mkdir()
    for i in range(2):
        rows = slice(300 * i, 300 * i + 300)
        write_vectors(tmp_path / f"in/{i}.{suffix}", [(words[rows], X[rows])], count=300)
    transform(tmp_path / f"in/*.{suffix}", tmp_path / "out")
    written = [open_vectors(tmp_path / "out" / f"{i}.{suffix}") for i in range(2)]
    chunks = [chunk for each in written for chunk in each.chunks()]
    assert [word for labels, _ in chunks for word in labels] == words
    assert written[0].format == open_vectors(tmp_path / f"in/0.{suffix}").format
    mapped = np.concatenate([rows for _, rows in chunks])
    np.testing.assert_allclose(mapped, cn.transform(X), atol=1e-6)


def test_other_file_systems(folder, X, cn):
    memory = fsspec.filesystem("memory")
    memory.put(f"{folder}/in/", "/lake/in/", recursive=True)
    report = transform("memory://lake/in", "memory://lake/out")
    assert report.estimated_on == 600
    memory.get("/lake/out/", f"{folder}/out/", recursive=True)
    assert names(folder / "out") == {RECORD, MAP_NAME, *names(folder / "in")}
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), cn.transform(X), atol=1e-6)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "not a readable"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: pq.write_table(table(vectors(5, 9)), path), "9"),
        (
            lambda path: pq.write_table(
                pa.table({"embedding": pa.array([[1.0] * DIMENSION, None])}), path
            ),
            "row 2: expected a vector of 24 numbers, found none",
        ),
    ],
)
def test_damage_is_reported_with_its_place(damage, message, folder):
    damage(folder / "in/part-4.parquet")
    with pytest.raises(InvalidInputError, match=rf"part-4.parquet.*{message}"):
        transform(folder / "in", folder / "out")
    assert len(states(folder / "out")) == 5


@pytest.mark.parametrize(
    ("method", "options", "rows", "message"),
    [
        ("cn:aperture=3", None, None, "method cn:aperture=2, not cn:aperture=3"),
        ("cn:aperture=2", UNIFORM, None, "weights None, not uniform"),
        ("cn:aperture=2", None, "texts", "rows None, not texts"),
    ],
)
def test_another_request_is_not_mixed_in(method, options, rows, message, folder, X):
    postprocess(folder / "in", folder / "out", "cn:aperture=2")
    with pytest.raises(InvalidInputError, match=message):
        postprocess(folder / "in", folder / "out", method, options, rows=rows)
    pq.write_table(table(X[:9]), folder / "in/part-6.parquet")
    with pytest.raises(InvalidInputError, match="shards 6, not 7"):
        postprocess(folder / "in", folder / "out", "cn:aperture=2")


def test_a_repaired_shard_is_written_with_the_same_map(folder, X):
    """Two bad ones: the first is named, the others are done, and the same call does the rest."""
    for number in (2, 4):
        rows = X[100 * number : 100 * number + 100].copy()
        rows[41, 3] = np.nan
        pq.write_table(table(rows, 100 * number), folder / f"in/part-{number}.parquet")
    with pytest.raises(
        InvalidInputError,
        match=r"in/part-2.parquet, row 42: the vector of 'w241' has NaN.*\(and 1 more shards\)"
        r"; the other 4 of 6 shards",
    ):
        transform(folder / "in", folder / "out")
    done = states(folder / "out")
    assert len(done) == 4
    map_ = AffineMap.load(folder / "out" / MAP_NAME)
    write_parquet(folder / "again", X, 6)
    for number in (2, 4):
        (folder / f"again/part-{number}.parquet").replace(folder / f"in/part-{number}.parquet")
    (folder / "out/part-1.parquet").unlink()
    report = transform(folder / "in", folder / "out")
    assert report.remarks == ["3 of 6 shards were already done"]
    after = states(folder / "out")
    assert {name for name in done if done[name] == after[name]} == {
        f"part-{i}.parquet" for i in (0, 3, 5)
    }
    np.testing.assert_allclose(read_parquet(parts(folder / "out")), map_(X), atol=1e-6)


def test_an_input_that_changed_after_the_map_was_estimated_is_refused(folder, X, monkeypatch):
    changed = folder / "in/part-3.parquet"
    transform(folder / "in", folder / "out")
    done = states(folder / "out")
    pq.write_table(table(X[:9]), changed)
    with pytest.raises(InvalidInputError, match=r"part-3\.parquet: changed after the map"):
        transform(folder / "in", folder / "out")
    assert states(folder / "out") == done

    def save(self, path, save=AffineMap.save):
        save(self, path)
        pq.write_table(table(X[:19]), changed)

    monkeypatch.setattr(AffineMap, "save", save)
    with pytest.raises(InvalidInputError, match=r"part-3\.parquet: changed after the map"):
        transform(folder / "in", folder / "new")
    assert not states(folder / "new")

    def change(label, fraction, rows):
        if label == "writing" and fraction < 0.2:  # the first shard is written
            pq.write_table(table(X[:29]), changed)

    monkeypatch.undo()
    for _ in range(2):  # a repeated call does not take it either
        with pytest.raises(InvalidInputError, match=r"part-3\.parquet: changed after the map"):
            transform(folder / "in", folder / "late", progress=change)


@pytest.mark.parametrize("entry", [7, {"state": 1, "words": "2"}])
def test_a_record_with_values_of_other_types_is_refused(entry, folder):
    transform(folder / "in", folder / "out")
    path = folder / "out" / RECORD
    content = json.loads(path.read_text())
    content["done"]["part-1.parquet"] = entry
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="damaged; start over with --force"):
        transform(folder / "in", folder / "out")


@posix_only("limits the size of files")
@pytest.mark.parametrize("kind", ["parquet", "txt"])
def test_a_full_disk_names_the_output(kind, tmp_path, X):
    (tmp_path / "in").mkdir()
    words = [f"w{i}" for i in range(len(X))]
    write_vectors(tmp_path / f"in/part-0.{kind}", [(words, X)])
    target = tmp_path / f"out/part-0.{kind}"
    with (
        largest_file(20_000),
        pytest.raises(ConceptorError, match=f"^{re.escape(str(target))}: File too large"),
    ):
        transform(tmp_path / f"in/part-0.{kind}", tmp_path / "out")
    assert not target.exists()


def test_directories_that_must_not_be_written(folder):
    (folder / "foreign").mkdir()
    (folder / "foreign/part-3.parquet").write_bytes(b"precious")
    (folder / "odd").mkdir()
    (folder / "odd" / RECORD).write_text("[1]")
    for target, message in [
        (folder / "in", "exists and holds other files"),
        (folder / "foreign", "exists and holds other files"),
        (folder / "odd", "damaged"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            transform(folder / "in", target)
    assert (folder / "foreign/part-3.parquet").read_bytes() == b"precious"
    with pytest.raises(InvalidInputError, match="is the input"):
        transform(folder / "in", folder / "in", force=True)
