from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor.sentences.spelling import Spelling

KNOWN = ["slice", "sliced", "bread", "syria", "walking", "ßtraße", "naïve", "x", "日本語"]
word_lists = st.lists(st.text(max_size=12), max_size=6)


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(3).standard_normal((len(KNOWN), 7)).astype(np.float32)


@pytest.fixture(scope="module")
def spelling(vectors):
    return Spelling(KNOWN, vectors)


@given(words=word_lists)
def test_any_word_but_blanks_has_a_vector_about_as_long_as_a_known_word(spelling, words):
    result = spelling(words)
    assert result.shape == (len(words), 7)
    assert np.isfinite(result).all()
    average = np.linalg.norm(spelling.average_similar(words), axis=1)
    rest = np.sqrt(np.maximum(spelling.length**2 - average**2, 0))
    lengths = np.linalg.norm(result, axis=1)
    for word, length, one, other in zip(words, lengths, average, rest, strict=True):
        if word.strip():
            assert abs(one - other) - 1e-9 <= length <= one + other + 1e-9
        else:
            assert length == 0


@settings(max_examples=20)
@given(words=word_lists)
def test_a_vector_does_not_depend_on_the_other_words(spelling, words):
    together = spelling(words)
    alone = [spelling([word])[0] for word in words]
    np.testing.assert_allclose(together, np.reshape(alone, together.shape), atol=1e-12)


def test_the_average_is_by_squared_cosine_of_ngrams(vectors):
    """With a dictionary of n-grams instead of hashes."""

    def ngrams(word):
        marked = f" {word} "
        return {marked[i : i + n] for n in range(3, 9) for i in range(len(marked) - n + 1)}

    known = [ngrams(word) for word in KNOWN[:5]]
    rarity = {
        gram: np.log((1 + len(known)) / (1 + sum(gram in each for each in known))) + 1
        for gram in set().union(*known, ngrams("slicing"))
    }

    def cosine(one, other):
        dot = sum(rarity[gram] ** 2 for gram in one & other)
        squares = [sum(rarity[gram] ** 2 for gram in each) for each in (one, other)]
        return dot / np.sqrt(np.prod(squares))

    weights = np.array([cosine(ngrams("slicing"), each) ** 2 for each in known])
    expected = weights @ vectors[:5] / weights.sum()
    result = Spelling(KNOWN[:5], vectors[:5]).average_similar(["slicing"])[0]
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_directions_keep_the_cosines_of_ngrams():
    """In many dimensions a random projection keeps cosines, here to five standard errors."""
    spelling = Spelling(["qqqq"], np.eye(1, 4096) * 3.0)
    words = ["slicing", "slices", "unheard"]
    ngrams = spelling._ngrams.transform(words)
    cosines = (ngrams @ ngrams.T).toarray()
    result = spelling(words) / 3.0
    np.testing.assert_allclose(result @ result.T, cosines, atol=5 / np.sqrt(4096))
    assert cosines[0, 1] > 0.2 > cosines[0, 2]


def test_directions_are_the_same_on_every_machine():
    """A change of these signs would change the vectors of unknown words in saved encoders."""
    result = Spelling(["known"], np.full((1, 8), 2.0))(["qqq"])
    assert np.sign(result[0]).astype(int).tolist() == [-1, -1, -1, 1, 1, 0, -1, 1]


def test_case_lone_surrogates_and_batches_make_no_difference(spelling):
    many = spelling([f"q{i}" for i in range(1500)])
    np.testing.assert_allclose(many[1200], spelling(["q1200"])[0])
    np.testing.assert_array_equal(*spelling(["Syrian", "syrian"]))
    np.testing.assert_array_equal(*spelling(["a\ud800b", "a?b"]))
