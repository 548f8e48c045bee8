"""Frequencies of words: wordfreq, and files whose order says nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from conceptor import InvalidInputError, MissingExtraError
from conceptor.vectors.table import as_word_vectors
from conceptor.weights import is_alphabetical, parse_weights, why_unsorted


def test_wordfreq_knows_that_some_words_are_used_more():
    pytest.importorskip("wordfreq")
    rows, weights = parse_weights("wordfreq:en").shares(["the", "zyxwvu", "house"], 0)
    assert rows.tolist() == [0, 2]
    assert weights[0] > 100 * weights[1] > 0


@pytest.mark.parametrize("language", ["xx", "", "not a language"])
def test_languages_that_wordfreq_does_not_know(language):
    pytest.importorskip("wordfreq")
    with pytest.raises(InvalidInputError, match="wordfreq has no language"):
        parse_weights(f"wordfreq:{language}")


def test_without_wordfreq_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(MissingExtraError, match="wordfreq"):
        parse_weights("wordfreq:en")


def zipf_words(rng, count=4000):
    """Words whose length grows with rank, as languages have them, with much noise."""
    lengths = 3 + np.log1p(np.arange(count)) / 2 + rng.normal(0, 2, count)
    letters = rng.choice(list("abcdefgh"), size=(count, 20))
    cut = np.clip(lengths, 1, 20).astype(int)
    return ["".join(row[:n]) for row, n in zip(letters, cut, strict=True)]


def test_an_order_by_frequency_is_accepted_and_others_are_noticed(rng):
    words = zipf_words(rng)
    assert why_unsorted(words) is None
    assert "alphabetical" in why_unsorted(sorted(words))
    for _ in range(20):
        assert "shorter" in why_unsorted([words[i] for i in rng.permutation(len(words))])
    assert "shorter" in why_unsorted(words[::-1])


def test_few_words_are_no_evidence(rng):
    assert why_unsorted(sorted(zipf_words(rng))[:99]) is None
    assert why_unsorted([]) is None
    assert why_unsorted(["same"] * 3000) is not None  # sorted, if in an odd way
    assert not is_alphabetical(["b", "a"])


def test_the_first_words_are_gathered_from_several_chunks(rng, monkeypatch):
    monkeypatch.setattr("conceptor.vectors.table.BLOCK_BYTES", 300 * 4)
    words = zipf_words(rng)
    assert as_word_vectors((words, np.zeros((len(words), 1)))).first_words() == words[:2000]
    assert as_word_vectors((words[:500], np.zeros((500, 1)))).first_words() == words[:500]


def test_a_missing_file_is_said_with_what_else_it_could_be(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no such file \(and not uniform, zipf"):
        parse_weights(str(tmp_path / "nothing"))
    with pytest.raises(InvalidInputError, match=r"no such file \(and not top:N"):
        parse_weights(vocabulary=str(tmp_path / "nothing"))


def test_case_does_not_hide_the_alphabet():
    words = [f"{'aA'[i % 2]}{i:04d}" for i in range(200)]
    assert is_alphabetical(words)
