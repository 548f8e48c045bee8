from __future__ import annotations

import numpy as np
import pytest

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


@pytest.mark.parametrize("memory", [None, 0], ids=["in memory", "in a temporary file"])
def test_large_vectors_are_read_into_a_temporary_file(tmp_path, monkeypatch, memory):
    name, (words, rows) = "v.bin", toy_table(300)
    if memory is not None:
        monkeypatch.setattr("conceptor.explore.table.memory_bytes", lambda: memory)
    write_vectors(tmp_path / name, [(words, rows)], count=len(words))
    table = PageTable(open_vectors(tmp_path / name))
    assert (table.name, list(table.words)) == (name, words)
    np.testing.assert_array_equal(table.rows, rows)
    assert isinstance(table.rows, np.memmap) == (memory is not None)
    again = np.concatenate([part for _, part in table.vectors.chunks()])
    np.testing.assert_array_equal(again, rows)
