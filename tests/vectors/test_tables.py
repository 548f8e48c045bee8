"""Parquet and Feather: no column, row or gigabyte comes or goes unnoticed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.platforms import linux_only
from tests.processes import execute

pytest.importorskip("distributed", reason="needs the dask extra")
from conceptor.distributed.parquet import ParquetContent
from conceptor.distributed.storage import Place

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


def test_columns_beside_a_list_column_are_another_matter(write):
    lists = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    path = write(pa.table({"word": ["a", "b"], "vector": lists, "count": [7, 8]}))
    assert open_vectors(path).read()[1].tolist() == [[1, 2], [3, 4]]


def test_shards_name_their_columns(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"id": [1, 2], "d0": FLOATS, "d1": [1, 2]}), path)
    with pytest.raises(InvalidInputError, match="d1 is a column of integers"):
        ParquetContent(Place.from_path(str(path))).layout()
    assert ParquetContent(Place.from_path(str(path)), "d0").layout().dimension == 1
    with pytest.raises(InvalidInputError, match=r"d1 matches 'd\*' but is a column of integers"):
        ParquetContent(Place.from_path(str(path)), "d*").layout()


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
    found, vectors = open_vectors(path).read()
    assert found == ["a", "bé"]
    assert vectors.tolist() == [[1, 2], [3, 4]]


def test_rows_that_are_missing_at_the_end_of_a_pass(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    write_vectors(path, [(["a", "b", "c"], np.ones((3, 2)))])
    source = open_vectors(path)
    batches = parquet.ParquetFile.iter_batches

    def cut(self, *arguments, **options):
        for batch in batches(self, *arguments, **options):
            yield batch.slice(0, 2)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", cut)
    with pytest.raises(InvalidInputError, match="2 of 3 rows could be read"):
        source.read()


@pytest.mark.parametrize("size", [2**20 + 1, 2**31 - 1])
def test_dimensions_have_a_limit_before_anything_is_read(size, tmp_path):
    kind = pa.list_(pa.float32(), size)
    table = pa.table({"word": pa.array([], pa.string()), "vector": pa.array([], kind)})
    feather.write_feather(table, tmp_path / "x.feather")
    with pytest.raises(InvalidInputError, match=f"vectors of {size} numbers; expected 1 to"):
        open_vectors(tmp_path / "x.feather")


def test_a_dictionary_unpacks_too(tmp_path):
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a" * 300_000_000, "b"]))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(4, np.float32)), 2)
    table = pa.table({"word": words, "vector": vectors})
    feather.write_feather(table, tmp_path / "x", compression="zstd")
    with pytest.raises(InvalidInputError, match="unpacks to 3000"):
        open_vectors(tmp_path / "x")


def test_text_has_the_same_limit(tmp_path):
    (tmp_path / "x.txt").write_text("a" + " 1" * (2**20 + 1) + "\n")
    with pytest.raises(InvalidInputError, match="expected 1 to 1048576"):
        open_vectors(tmp_path / "x.txt")


MEASURE = """
import resource, sys
from conceptor.base.errors import ConceptorError
from conceptor.vectors import open_vectors
import conceptor.vectors.formats.arrow as arrow
arrow.import_pyarrow()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    open_vectors(sys.argv[1]).read()
except ConceptorError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@linux_only("measures memory in kilobytes")
@pytest.mark.parametrize("hidden", [False, True])
def test_a_small_feather_file_does_not_take_a_gigabyte(hidden, tmp_path):
    """Nor if the messages end before the first batch, as a stream, which Arrow does not mind."""
    zeros = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(80_000_000, np.float32)), 1000)
    table = pa.table({"word": pa.array(["w"] * 80_000), "vector": zeros})
    feather.write_feather(table, tmp_path / "x", compression="zstd", chunksize=80_000)
    assert (tmp_path / "x").stat().st_size < 1 << 20
    if hidden:
        whole = (tmp_path / "x").read_bytes()
        (tmp_path / "x").write_bytes(whole[:8] + b"\xff\xff\xff\xff\0\0\0\0" + whole[16:])
        assert feather.read_table(tmp_path / "x").num_rows == 80_000  # the control
    said, used = execute([sys.executable, "-c", MEASURE, tmp_path / "x"]).stdout.splitlines()
    assert "unpacks to 32" in said
    assert int(used) < 300


@linux_only("measures memory in kilobytes")
def test_a_damaged_parquet_page_does_not_take_two_gigabytes(tmp_path):
    """The length of a page, in its header, is made as large as it can be."""
    write_vectors(tmp_path / "x", [(["a", "b"], np.ones((2, 2)))], format="parquet")
    whole = (tmp_path / "x").read_bytes()
    # Thrift's compact protocol: field 3, an i32, zigzag.
    at = whole.index(b"\x15\x00\x15", 4) + 4
    end = at + 2
    assert whole[at] == 0x15
    (tmp_path / "x").write_bytes(whole[: at + 1] + b"\xfe\xff\xff\xff\x0f" + whole[end:])
    said, used = execute([sys.executable, "-c", MEASURE, tmp_path / "x"]).stdout.splitlines()
    assert "not a readable Arrow or Parquet table" in said
    assert int(used) < 300
