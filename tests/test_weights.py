"""Weights and vocabularies."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from conceptor import weights as module
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.data.word_lists import read_counts, read_words
from conceptor.methods import Words
from conceptor.vectors.files import in_memory
from conceptor.weights import FitOptions, parse_weights, why_unsorted

WORDS = ["the", "of", "and", "rare"]


@pytest.mark.parametrize(
    ("weights", "vocabulary", "before", "rows", "expected"),
    [
        ("uniform", None, 0, None, None),
        ("zipf", None, 0, None, [1 / 2.7, 1 / 3.7, 1 / 4.7, 1 / 5.7]),
        ("zipf", None, 10, None, [1 / 12.7, 1 / 13.7, 1 / 14.7, 1 / 15.7]),
        ("zipf", ["and", "rare", "missing"], 10, [2, 3], [1 / 14.7, 1 / 15.7]),
        ("uniform", ["of"], 0, [1], None),
        ({"of": 2, "rare": 0}, None, 0, [1], [2]),
        ({"the": 1, "and": 2, "rare": 3}, ["and", "rare", "of"], 0, [2, 3], [2, 3]),
        ("zipf", "top:4", 0, None, [1 / 2.7, 1 / 3.7, 1 / 4.7, 1 / 5.7]),
        ("zipf", "top:3", 0, [0, 1, 2], [1 / 2.7, 1 / 3.7, 1 / 4.7]),
        ("zipf", "top:3", 2, [0], [1 / 4.7]),
        ("uniform", "top:3", 50, [], None),
    ],
)
def test_which_words_take_part_and_how_much_each_counts(
    weights, vocabulary, before, rows, expected
):
    which, shares = parse_weights(weights, vocabulary).shares(WORDS, before)
    assert (which if which is None else which.tolist()) == rows
    assert (shares is None) == (expected is None)
    if expected is not None:
        np.testing.assert_allclose(shares, expected)


def test_files_of_words_and_counts(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("the 100\r\nand\t7\nnew york 3\nthe 5\nzero 0\n")
    assert read_counts(file) == {"the": 100, "and": 7, "new york": 3, "zero": 0}
    assert parse_weights(str(file)).counts == read_counts(file)
    file.write_text("the 100\nand 7\n")
    assert parse_weights("uniform", file).vocabulary == {"the", "and"}
    file.write_text("the\nwindows 95\n\u0085\n")
    assert read_words(file) == ["the", "windows 95", "\u0085"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the\n", "line 1: expected a word and a count"),
        (b"the 1\nof -2\n", "line 2"),
        (b"the nan\n", "line 1"),
        (b"the 1_0\n", "line 1"),
        (b"\xff 1\n", "byte 0: not UTF-8"),
        (b"the 0\n", "no word has a positive count"),
    ],
)
def test_counts_files_that_are_wrong(content, message, tmp_path):
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        parse_weights(str(tmp_path / "c"))


@pytest.mark.parametrize("vocabulary", ["top:0", "top:x", "top:-1", "top:", "/nonexistent", 5])
def test_vocabularies_that_are_wrong(vocabulary):
    with pytest.raises(InvalidInputError):
        parse_weights("uniform", vocabulary)


def test_the_paper_s_list_is_read_again_when_it_changes(tmp_path, monkeypatch):
    file = tmp_path / "list.txt"
    monkeypatch.setattr(module, "find_paper_vocabulary", lambda data: file)
    table = in_memory(WORDS, np.zeros((len(WORDS), 1)), ranked=False)
    for counts in ("the 5\nof 3\n", "the 5\nof 3\nand 1\n"):
        file.write_text(counts)
        types = FitOptions().weights_for(Words.TYPES, table)
        usage = FitOptions().weights_for(Words.USAGE, table)
        assert types.vocabulary == set(usage.counts) == set(read_words(file))


def test_wordfreq_has_more_weight_for_frequent_words():
    pytest.importorskip("wordfreq")
    rows, weights = parse_weights("wordfreq:en").shares(["the", "zyxwvu", "house"], 0)
    assert rows.tolist() == [0, 2]
    assert weights[0] > 100 * weights[1] > 0
    for language in ("xx", "", "not a language"):
        with pytest.raises(InvalidInputError, match="wordfreq has no language"):
            parse_weights(f"wordfreq:{language}")


def test_without_wordfreq_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(MissingExtraError, match="wordfreq"):
        parse_weights("wordfreq:en")


def zipf_words(rng, count=4000):
    """Words whose length grows with rank, as in any language, with much noise."""
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
    mixed_case = [f"{'aA'[i % 2]}{i:04d}" for i in range(200)]
    assert "alphabetical" in why_unsorted(mixed_case)


def test_chinese_words_are_sorted_if_particles_come_first(rng, monkeypatch):
    """Their lengths do not rise with rank here, as in published Chinese vectors."""
    han = [chr(code) for code in range(0x5000, 0x5400)]
    lengths = rng.permutation([1, 2, 2, 3] * 1000)
    words = [*"，的。是在了", *("".join(rng.choice(han, n)) for n in lengths)]
    assert why_unsorted(words) is None
    assert "shorter" in why_unsorted(words[6:])
    assert "shorter" in why_unsorted(words[6:] + words[:6])
    monkeypatch.setattr(module, "find_paper_vocabulary", lambda data: None)
    monkeypatch.setattr(module, "_has_wordfreq", lambda: False)
    for kana, language in (("", "zh"), ("の", "ja")):
        rows = in_memory([word + kana for word in words[6:]], np.ones((4000, 2)))
        assert (
            f"better: --weights wordfreq:{language} ("
            in FitOptions().weights_for(Words.USAGE, rows).caution
        )


def test_few_words_are_no_evidence(rng):
    assert why_unsorted(sorted(zipf_words(rng))[:99]) is None
    assert why_unsorted([]) is None
    assert why_unsorted(["b", "a"]) is None
    assert why_unsorted(["same"] * 3000) is not None  # sorted, if in an odd way


@pytest.fixture
def vectors(rng):
    """Vectors in the order of frequency, and in alphabetical order."""
    words = zipf_words(rng, 3000)
    return [in_memory(each, np.ones((3000, 2))) for each in (words, sorted(words))]


def test_usage_weights_come_from_the_first_source_there_is(vectors, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "find_paper_vocabulary", lambda data: None)
    monkeypatch.setattr(module, "_has_wordfreq", lambda: False)
    ranked, alphabetical = vectors
    assert FitOptions().weights_for(Words.USAGE, ranked).kind == "zipf"
    unknown = FitOptions().weights_for(Words.USAGE, alphabetical)
    assert unknown.kind == "uniform"
    assert "alphabetical order" in unknown.caution
    words = alphabetical.first_words
    file = tmp_path / "list.txt"
    file.write_text("".join(f"{word} {i + 1}\n" for i, word in enumerate(dict.fromkeys(words))))
    monkeypatch.setattr(module, "find_paper_vocabulary", lambda data: file)
    listed = FitOptions().weights_for(Words.USAGE, alphabetical)
    assert listed.counts[words[0]] == 1
    assert "Wikipedia" in listed.caution
    counted = in_memory(words, np.ones((len(words), 2)), counts={words[0]: 7.0})
    assert FitOptions().weights_for(Words.USAGE, counted).counts == {words[0]: 7.0}
    assert FitOptions(weights="uniform").weights_for(Words.USAGE, counted).kind == "uniform"
    with pytest.raises(InvalidInputError, match="alphabetical order, so ranks do not reflect"):
        FitOptions(weights="zipf").weights_for(Words.USAGE, alphabetical)


def test_rows_without_words_take_no_settings_for_words():
    rows = in_memory(None, np.ones((5, 2)))
    assert FitOptions(weights="uniform").weights_for(Words.USAGE, rows).kind == "uniform"
    for name in ("weights", "vocabulary"):
        with pytest.raises(InvalidInputError, match=f"have no words, so --{name} does not apply"):
            FitOptions(**{name: "zipf"}).weights_for(Words.USAGE, rows)


def test_counts_of_a_mapping_are_checked():
    for count in (-1, float("nan"), float("inf"), "3", None):
        with pytest.raises(InvalidInputError, match="the count of 'of' must be"):
            parse_weights({"the": 2, "of": count})
