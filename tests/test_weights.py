"""Weights and vocabularies."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import weights as module
from conceptor.algebra.recipes import Words
from conceptor.base.errors import InvalidInputError
from conceptor.data import word_lists
from conceptor.data.word_lists import read_counts, read_words
from conceptor.vectors.table import WordVectors
from conceptor.weights import choose_weights, parse_weights

WORDS = ["the", "of", "and", "rare"]


class Unranked(WordVectors):
    ranked = False


def test_uniform_takes_everything():
    assert parse_weights().shares(WORDS, 0) == (None, None)


def test_zipf_counts_ranks_from_zero_through_the_file():
    rows, weights = parse_weights("zipf").shares(WORDS, 0)
    assert rows is None
    np.testing.assert_allclose(weights, [1 / 2.7, 1 / 3.7, 1 / 4.7, 1 / 5.7])
    np.testing.assert_allclose(parse_weights("zipf").shares(WORDS[2:], 2)[1], weights[2:])


def test_counts_leave_out_unknown_words(tmp_path):
    file = tmp_path / "counts.txt"
    file.write_text("the 100\r\nand\t7\nnew york 3\nthe 5\nzero 0\n")
    assert read_counts(file) == {"the": 100, "and": 7, "new york": 3, "zero": 0}
    rows, weights = parse_weights(str(file)).shares([*WORDS, "zero"], 0)
    assert (rows.tolist(), weights.tolist()) == ([0, 2], [100, 7])
    assert parse_weights({"of": 2}).shares(WORDS, 0)[0].tolist() == [1]


def test_vocabulary_with_and_without_counts(tmp_path):
    file = tmp_path / "v.txt"
    file.write_text("the 100\nand 7\n")
    assert read_words(file) == ["the", "and"]
    file.write_text("the\nwindows 95\n\u0085\n")
    assert read_words(file) == ["the", "windows 95", "\u0085"]
    file.write_text("and\nrare\nmissing\n")
    rows, weights = parse_weights("zipf", file).shares(WORDS, 10)
    assert rows.tolist() == [2, 3]
    np.testing.assert_allclose(weights, [1 / 14.7, 1 / 15.7])
    assert parse_weights("uniform", ["of"]).shares(WORDS, 0)[0].tolist() == [1]


@pytest.mark.parametrize(("before", "taken"), [(0, 3), (1, 2), (2, 1), (3, 0), (50, 0)])
def test_top_is_counted_from_the_front_of_the_file(before, taken):
    rows, weights = parse_weights("zipf", "top:3").shares(WORDS, before)
    assert rows.tolist() == list(range(taken))
    assert len(weights) == taken


def test_top_vocabulary_and_counts_together():
    rows, weights = parse_weights({"the": 1, "and": 2, "rare": 3}, ["and", "rare", "of"]).shares(
        WORDS, 0
    )
    assert (rows.tolist(), weights.tolist()) == ([2, 3], [2, 3])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"the\n", "line 1: expected a word and a count"),
        (b"the 1\nof -2\n", "line 2"),
        (b"the nan\n", "line 1"),
        (b"the inf\n", "line 1"),
        (b"the 1_0\n", "line 1"),
        (b"\xff 1\n", "byte 0: not UTF-8"),
        (b"", "no word has a positive count"),
        (b"the 0\n", "no word has a positive count"),
    ],
)
def test_counts_files_that_are_wrong(content, said, tmp_path):
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(InvalidInputError, match=said):
        parse_weights(str(tmp_path / "c"))


@pytest.mark.parametrize("vocabulary", ["top:0", "top:x", "top:-1", "top:", "/nonexistent", 5])
def test_vocabularies_that_are_wrong(vocabulary):
    with pytest.raises(InvalidInputError):
        parse_weights("uniform", vocabulary)


def test_a_directory_is_no_vocabulary(tmp_path):
    with pytest.raises(InvalidInputError, match="is a directory"):
        parse_weights("uniform", tmp_path)


def test_the_papers_list_is_read_once_and_again_when_it_changes(tmp_path, monkeypatch):
    file = tmp_path / "list.txt"
    monkeypatch.setattr(module, "find_paper_vocabulary", lambda data: file)
    readings = []
    read = word_lists.read_lines
    monkeypatch.setattr(word_lists, "read_lines", lambda *a: readings.append(a) or read(*a))
    table = Unranked(WORDS, np.zeros((len(WORDS), 1)))
    for counts in ("the 5\nof 3\n", "the 5\nof 3\nand 1\n"):
        file.write_text(counts)
        readings.clear()
        for _ in range(2):
            types = choose_weights(Words.TYPES, table)
            usage = choose_weights(Words.USAGE, table)
            assert types.vocabulary == set(read_counts(file)) == set(usage.counts)
            assert usage.counts == read_counts(file)
        # By each of the two kinds of weights, and four times above.
        assert len(readings) == 2 + 4
