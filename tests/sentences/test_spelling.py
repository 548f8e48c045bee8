from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from conceptor import InvalidInputError, kernels
from conceptor.sentences.spelling import Spelling

KNOWN = ["slice", "sliced", "bread", "syria", "walking", "ßtraße", "naïve", "x", "日本語"]
spellings = st.lists(st.text(max_size=12), max_size=6)


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(3).standard_normal((len(KNOWN), 7)).astype(np.float32)


@pytest.fixture(scope="module")
def spelling(vectors):
    return Spelling(KNOWN, vectors)


@given(words=spellings)
def test_any_text_but_blanks_has_a_vector_about_as_long_as_a_known_word(spelling, words):
    found = spelling(words)
    assert found.shape == (len(words), 7)
    assert np.isfinite(found).all()
    told = np.linalg.norm(spelling.average_known(words), axis=1)
    own = np.sqrt(np.maximum(spelling.length**2 - told**2, 0))
    for word, length, one, other in zip(
        words, np.linalg.norm(found, axis=1), told, own, strict=True
    ):
        if word.strip():
            assert abs(one - other) - 1e-9 <= length <= one + other + 1e-9
        else:
            assert length == 0


@given(words=spellings)
def test_a_vector_does_not_depend_on_the_words_beside_it(spelling, words):
    together = spelling(words)
    alone = [spelling([word])[0] for word in words]
    np.testing.assert_allclose(together, np.reshape(alone, together.shape), atol=1e-12)


@given(scale=st.floats(1e-3, 1e3))
def test_longer_vectors_give_longer_ones(vectors, scale):
    words = ["slicing", "unheard"]
    scaled = Spelling(KNOWN, scale * vectors.astype(np.float64))(words)
    np.testing.assert_allclose(scaled, scale * Spelling(KNOWN, vectors)(words), rtol=1e-5)


def test_a_stranger_is_as_long_as_known_words_are(vectors):
    typical = np.sqrt(np.mean(np.sum(vectors.astype(np.float64) ** 2, axis=1)))
    assert np.linalg.norm(Spelling(KNOWN, vectors)(["qqq"])) == pytest.approx(typical)


def test_many_words_are_answered_in_their_order(spelling):
    words = [f"q{i}" for i in range(1500)]
    found = spelling(words)
    assert found.shape == (1500, 7)
    np.testing.assert_allclose(found[1200], spelling(["q1200"])[0])


def test_relatives_are_near_and_strangers_are_not(vectors):
    told = Spelling(KNOWN, vectors).average_known(["slices", "qqq"])
    direction = vectors[0] + vectors[1]
    cosine = told[0] @ direction / np.linalg.norm(told[0]) / np.linalg.norm(direction)
    assert cosine > 0.95
    assert not told[1].any()


def test_what_is_told_is_the_average_by_squared_cosine_of_ngrams(vectors):
    """Spelt out with a dictionary of n-grams instead of hashes."""

    def ngrams(word):
        marked = f" {word} "
        sizes = range(3, 9)
        found = {marked[i : i + n] for n in sizes for i in range(len(marked) - n + 1)}
        # A word shorter than an n-gram is one itself.
        return found or {marked}

    known = [ngrams(word) for word in KNOWN[:5]]
    rarity = {
        gram: np.log((1 + len(known)) / (1 + sum(gram in each for each in known))) + 1
        for gram in set().union(*known, ngrams("slicing"))
    }

    def cosine(one, other):
        dot = sum(rarity[gram] ** 2 for gram in one & other)
        return dot / np.sqrt(
            sum(rarity[gram] ** 2 for gram in one) * sum(rarity[gram] ** 2 for gram in other)
        )

    alike = np.array([cosine(ngrams("slicing"), each) ** 2 for each in known])
    expected = alike @ vectors[:5] / alike.sum()
    found = Spelling(KNOWN[:5], vectors[:5]).average_known(["slicing"])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@given(words=spellings, ngrams=st.sampled_from([(3, 8), (1, 2), (2, 6)]))
def test_ngrams_are_those_of_scikit_learn(words, ngrams):
    peer = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=ngrams,
        n_features=2**20,
        alternate_sign=False,
        binary=True,
        norm=None,
    )
    words = [*KNOWN, *(word.encode("utf-8", "replace").decode() for word in words)]
    expected, found = (
        peer.transform(words),
        Spelling(["x"], np.eye(1), ngrams=ngrams)._counts(words),
    )
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)


def test_compiled_sums_are_those_of_scipy_to_the_last_bit():
    rng = np.random.default_rng(0)
    weights = sparse.random(40, 60, density=0.4, format="csr", dtype=np.float32, random_state=rng)
    rows = rng.standard_normal((60, 13)).astype(np.float32)
    sums = np.zeros((40, 13), dtype=np.float32)
    kernels.add_rows(weights.indptr, weights.indices, weights.data, rows, sums)
    np.testing.assert_array_equal(sums, weights @ rows)


def test_directions_keep_the_likeness_of_ngrams():
    """In many dimensions a random projection keeps cosines, here to five standard errors."""
    known = ["qqqq"]
    spelling = Spelling(known, np.eye(1, 4096) * 3.0)
    words = ["slicing", "slices", "unheard"]
    ngrams = spelling._rarity.transform(spelling._counts(words))
    cosines = (ngrams @ ngrams.T).toarray()
    found = spelling(words) / 3.0
    assert not spelling.average_known(words).any()
    np.testing.assert_allclose(found @ found.T, cosines, atol=5 / np.sqrt(4096))
    assert cosines[0, 1] > 0.2 > cosines[0, 2]


def test_directions_are_the_same_on_every_machine():
    """A change of these signs would change what saved encoders make of unknown words."""
    found = Spelling(["known"], np.full((1, 8), 2.0))(["qqq"])
    assert np.sign(found[0]).astype(int).tolist() == [-1, -1, -1, 1, 1, 0, -1, 1]


def test_capitals_and_what_cannot_be_encoded_make_no_difference(spelling):
    same = spelling(["Syrian", "syrian"])
    np.testing.assert_array_equal(same[0], same[1])
    same = spelling(["a\ud800b", "a?b"])
    np.testing.assert_array_equal(same[0], same[1])


def test_nothing_to_spell_from_is_refused(vectors):
    with pytest.raises(InvalidInputError, match="spell"):
        Spelling([], np.zeros((0, 3)))
    with pytest.raises(InvalidInputError, match="spell"):
        Spelling(["one"], vectors)
