"""Parquet and Feather: no column, row or gigabyte comes or goes unnoticed."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.target import plan_target
from conceptor.vectors.target import write as write_copy
from tests.vectors.whole import read_all

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

FLOATS = pa.array([1.0, 2.0], pa.float32())


@pytest.fixture(params=["x.parquet", "x.feather"])
def write(request, tmp_path):
    """Write a table as either format."""
    path = tmp_path / request.param

    def save(table, **options):
        if path.suffix == ".parquet":
            parquet.write_table(table, path, **options)
        else:
            with pa.ipc.new_file(str(path), table.schema) as file:
                file.write_table(table)
        return path

    return save


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.decimal128(22, 1)])
def test_columns_of_integers_do_not_vanish(kind, write):
    numbers = pa.array([1, 2]).cast(kind)
    path = write(pa.table({"word": ["a", "b"], "x1": FLOATS, "x2": numbers, "x3": FLOATS}))
    with pytest.raises(InvalidInputError, match="x2 is a column of integers"):
        open_vectors(path)


@pytest.mark.parametrize(
    "words",
    [
        pa.array(["a", "bé"]).dictionary_encode(),
        pa.array(["a", "bé"]).cast(getattr(pa, "string_view", pa.string)()),
        pa.array(["a", "bé"], pa.large_string()),
    ],
    ids=lambda words: str(words.type),
)
@pytest.mark.parametrize("kind", ["list_view", "large_list_view", "list_", "large_list"])
def test_every_kind_of_column(words, kind, write):
    if not hasattr(pa, kind):
        pytest.skip("this version of Arrow does not have it")
    lists = pa.array([[1.0, 2.0], [3.0, 4.0]], getattr(pa, kind)(pa.float32()))
    path = write(pa.table({"word": words, "vector": lists}))
    found, vectors = read_all(open_vectors(path))
    assert found == ["a", "bé"]
    assert vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("size", [2**20 + 1, 2**31 - 1])
def test_dimensions_have_a_limit_before_anything_is_read(size, tmp_path):
    kind = pa.list_(pa.float32(), size)
    table = pa.table({"word": pa.array([], pa.string()), "vector": pa.array([], kind)})
    feather.write_feather(table, tmp_path / "x.feather")
    with pytest.raises(InvalidInputError, match=f"vectors of {size} numbers; expected 1 to"):
        open_vectors(tmp_path / "x.feather")


@pytest.mark.parametrize(("dtype", "share"), [("int8", 0.32), ("binary", 0.1)])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_small_numbers_make_small_files(dtype, share, suffix, tmp_path):
    rows = np.random.default_rng(0).standard_normal((2000, 50))
    words = [f"w{i}" for i in range(2000)]
    floats, direct, copy = (tmp_path / f"{name}{suffix}" for name in ("floats", "direct", "copy"))
    write_vectors(floats, [(words, rows)])
    write_vectors(direct, [(words, rows)], dtype=dtype)
    vectors = open_vectors(floats)
    write_copy(vectors, plan_target(copy, vectors, dtype=dtype))
    for path in (direct, copy):
        assert path.stat().st_size < share * floats.stat().st_size
