from __future__ import annotations

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.explore.table import PageTable
from conceptor.vectors.files import open_vectors
from conceptor.vectors.target import write_vectors
from tests.explore.conftest import toy_table


@pytest.fixture(scope="module")
def table() -> PageTable:
    return PageTable(toy_table())


def test_words_are_completed_in_any_case_common_words_first(table):
    words = list(table.words)
    for prefix in ("b", "BA", "x", "<", "日"):
        expected = [w for w in words if w.casefold().startswith(prefix.casefold())][:6]
        assert [words[row] for row in table.complete(prefix, 6)] == expected
    assert table.complete("bank", 3)[0] == words.index("bank")
    assert table.complete("banks", 1) == [words.index("banks")]
    assert table.complete("nothing begins so", 3) == []


def test_words_are_looked_up_as_typed_and_in_lower_case(table):
    words, [unknown] = table.look_up(["Bank", "bank", "docter", "naïve"])
    assert words == ["bank", "naïve"]
    assert (unknown.word, unknown.suggestions) == ("docter", ["doctor"])


@pytest.mark.parametrize("memory", [None, 0], ids=["in memory", "in a temporary file"])
@pytest.mark.parametrize("name", ["v.npy", "v.txt", "v.bin", "v.safetensors"])
def test_all_formats_give_the_same_table(tmp_path, monkeypatch, name, memory):
    words, rows = toy_table(300)
    if memory is not None:
        monkeypatch.setattr("conceptor.explore.table.memory_bytes", lambda: memory)
    write_vectors(tmp_path / name, [(words, rows)], count=len(words))
    table = PageTable(open_vectors(tmp_path / name))
    assert (table.name, list(table.words)) == (name, words)
    np.testing.assert_array_equal(table.rows, rows)
    assert isinstance(table.rows, np.memmap) == (memory is not None)
    again = np.concatenate([part for _, part in table.vectors.chunks()])
    np.testing.assert_array_equal(again, rows)


def test_rows_with_nan_are_named_or_skipped(tmp_path):
    path = tmp_path / "v.npy"
    write_vectors(path, [(["a", "b"], np.ones((2, 3), np.float32))], count=2)
    np.save(path, np.array([[1, 1, 1], [1, 1, np.nan]], dtype=np.float32))
    with pytest.raises(InvalidInputError, match=r"v\.npy, row 2: the vector of 'b' has NaN"):
        PageTable(open_vectors(path))
    assert list(PageTable(open_vectors(path, on_error="skip")).words) == ["a"]
