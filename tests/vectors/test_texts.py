"""Rows of texts: as they are opened, and some of them read in one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors
from conceptor.vectors.files import in_memory
from conceptor.vectors.table import MISSING
from conceptor.vectors.texts import as_texts, read_some
from conceptor.vectors.vectors import RowKind, Rows

TEXTS = [f"text number {i} of them" for i in range(300)]


def pieces(texts, rows, size=7):
    """Return vectors that are read in pieces of this size."""

    def read():
        for start in range(0, len(texts), size):
            yield Rows(texts[start : start + size], rows[start : start + size])

    return replace(in_memory(texts, rows), read=read)


@pytest.fixture
def rows(rng) -> np.ndarray:
    return rng.standard_normal((300, 5)).astype(np.float32)


def test_rows_of_an_array_have_their_texts_or_numbers(tmp_path, rows) -> None:
    (tmp_path / "t.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    np.save(tmp_path / "x.npy", rows)
    for vectors in (rows, tmp_path / "x.npy", open_vectors(tmp_path / "x.npy")):
        for texts in (TEXTS, iter(TEXTS), tmp_path / "t.txt"):
            opened = as_texts(vectors, texts)
            assert opened.kind is RowKind.TEXTS
            assert opened.has_words
            assert [text for some, _ in opened.chunks() for text in some] == TEXTS
            np.testing.assert_array_equal(np.concatenate([r for _, r in opened.chunks()]), rows)
        bare = as_texts(vectors)
        assert bare.kind is RowKind.TEXTS
        assert not bare.has_words
        assert bare.first_words[:3] == ["1", "2", "3"]


@pytest.mark.parametrize("number", [0, 1, 299, 301, 700])
def test_another_number_of_texts_is_refused_with_both_numbers(tmp_path, rows, number) -> None:
    (tmp_path / "t.txt").write_text("x\n" * number)
    with pytest.raises(InvalidInputError, match=rf"t\.txt: {number} texts for the 300 rows"):
        list(as_texts(rows, tmp_path / "t.txt").chunks())


def test_lines_are_texts_however_they_end(tmp_path, rows) -> None:
    lines = ["first", "", "with \u2028 inside", "dernière ligne"]
    for end in ("\n", "\r\n"):
        (tmp_path / "t.txt").write_bytes(("\ufeff" + end.join(lines)).encode())
        opened = as_texts(rows[:4], tmp_path / "t.txt")
        assert [text for some, _ in opened.chunks() for text in some] == lines


def test_files_of_texts_that_cannot_be_read(tmp_path, rows) -> None:
    (tmp_path / "bad.txt").write_bytes(b"fine\n\xff\xfe\n")
    for name, what in {
        "bad.txt": "byte 5: not UTF-8",
        "no.txt": "no such file",
        ".": "no such file",
    }.items():
        with pytest.raises(InvalidInputError, match=what):
            as_texts(rows, tmp_path / name)
    with pytest.raises(InvalidInputError, match="must be strings; one is a int"):
        as_texts(rows, [1, 2, 3])


def test_a_sample_is_whole_or_the_same_however_rows_are_cut(rows) -> None:
    whole = read_some(pieces(TEXTS, rows), 1000)
    assert sorted(whole.sample.tolist()) == list(range(300))
    np.testing.assert_array_equal(whole.vectors, rows)
    first, second = (read_some(pieces(TEXTS, rows, size), 40, seed=3) for size in (7, 90))
    np.testing.assert_array_equal(first.places[first.sample], second.places[second.sample])
    np.testing.assert_array_equal(first.vectors, rows[first.places])
    assert first.texts == [TEXTS[i] for i in first.places]


@given(st.lists(st.integers(0, 299), max_size=12), st.integers(0, 30))
def test_rows_are_found_by_text_number_and_index(asked, size) -> None:
    rows = np.arange(600, dtype=np.float64).reshape(300, 2)
    names = [[TEXTS[i], str(i + 1), i][i % 3] for i in asked]
    sample = read_some(pieces(TEXTS, rows), size, names)
    for place, name in zip(asked, names, strict=True):
        np.testing.assert_array_equal(sample.vectors[sample.find(name)], rows[place])
    assert len(sample.sample) == size
    assert len(sample.places) <= size + len(asked)


def test_what_is_not_there_is_missing(rows) -> None:
    asked = ["no such text", "301", "0", -1, 300, 10**20, "9" * 40, ""]
    sample = read_some(pieces(TEXTS, rows), 5, asked)
    assert [sample.find(each) for each in asked] == [MISSING] * len(asked)


def test_a_text_comes_before_a_number_and_the_first_of_equal_ones() -> None:
    table = in_memory(["7", "same", "same  ", "other"], np.eye(4), kind=RowKind.TEXTS)
    sample = read_some(table, 0, ["7", "same", " same", "2"])
    places = [int(sample.places[sample.find(each)]) for each in ("7", "same", " same", "2")]
    assert places == [0, 1, 1, 1]
