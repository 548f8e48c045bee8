"""Packed words and the set of words seen."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor.kernels.jit import jit
from conceptor.vectors.words import PackedWords, SeenWords


@given(st.lists(st.text(max_size=6)), st.slices(8))
@settings(deadline=None)
def test_packed_words_are_a_sequence_of_strings(words, part):
    packed = PackedWords.from_words(words)
    assert list(packed) == words
    assert [packed[i] for i in range(-len(words), len(words))] == words + words
    assert list(packed[part]) == words[part]
    assert list(packed[part][1:]) == words[part][1:]
    assert list(PackedWords.concatenate([packed, packed[part]])) == words + words[part]
    assert packed.first_not_utf8() == -1
    with pytest.raises(IndexError):
        packed[len(words)]


@given(st.lists(st.binary(max_size=4), min_size=1))
@settings(deadline=None)
def test_the_first_word_that_is_not_utf8(words):
    def decodes(word: bytes) -> bool:
        try:
            word.decode()
        except UnicodeDecodeError:
            return False
        return True

    expected = next((i for i, word in enumerate(words) if not decodes(word)), -1)
    assert PackedWords.from_words(words).first_not_utf8() == expected


@given(st.lists(st.text(alphabet="ab \n\t", max_size=4), min_size=1), st.integers(0, 3))
@settings(deadline=None)
def test_the_first_word_with_a_character(words, skip):
    packed = PackedWords.from_words(words)[skip:]
    expected = next((i for i, word in enumerate(words[skip:]) if set(word) & set(" \n")), -1)
    assert packed.first_with(b" \n") == expected


@given(st.lists(st.lists(st.text(alphabet="abc", max_size=4))))
@settings(deadline=None)
def test_seen_words_are_a_set(batches):
    seen, reference = SeenWords(), set()
    for batch in batches:
        expected = []
        for word in batch:
            expected.append(word not in reference)
            reference.add(word)
        assert seen.add(PackedWords.from_words(batch)).tolist() == expected


def test_a_million_words_are_told_apart_while_the_set_grows():
    seen = SeenWords()
    for start in range(0, 1_000_000, 100_000):
        words = PackedWords.from_words(f"word{i}" for i in range(start, start + 100_000))
        assert seen.add(words).all()
    assert not seen.add(PackedWords.from_words(f"word{i}" for i in range(0, 1_000_000, 997))).any()


def test_compiling_without_a_place_for_the_cache(monkeypatch):
    """As Numba does where neither the package nor the user's cache can be written."""
    real = numba.njit

    def no_cache(*functions, **options):  # as Numba calls it too, in what it imports late
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*functions, **options)

    monkeypatch.setattr(numba, "njit", no_cache)

    @jit
    def twice(values):
        return values * 2

    assert twice(np.arange(3)).tolist() == [0, 2, 4]
