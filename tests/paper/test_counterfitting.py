"""Counter-fitting against the loss it states and a plain loop; other words keep their bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.paper.counterfitting import counterfit
from tests.vectors.whole import read_all


def distance(u: np.ndarray, w: np.ndarray) -> float:
    return 1 - u @ w / np.linalg.norm(u) / np.linalg.norm(w)


def plain_counterfit(words, X, synonyms, antonyms, radius, epochs):
    """The procedure in loops, pair by pair."""
    row = {word: i for i, word in enumerate(words)}
    norms = np.linalg.norm(X, axis=1)
    U = X / norms[:, None]

    def known(pairs):
        both = [p for pair in pairs for p in (pair, pair[::-1])]
        return {(row[a], row[b]) for a, b in both if a in row and b in row and a != b}

    antonyms = known(antonyms)
    synonyms = known(synonyms) - antonyms
    moving = {i for pair in synonyms | antonyms for i in pair}
    near = {
        (i, j): 1 - U[i] @ U[j]
        for i in moving
        for j in range(len(words))
        if i != j and 1 - U[i] @ U[j] <= radius and (i, j) not in antonyms
    }
    for _ in range(epochs):
        total, count = np.zeros_like(U), np.zeros(len(U))
        kinds = [
            *((p, -0.1, None) for p in antonyms),
            *((p, 0.1, 0.0) for p in synonyms),
            *((p, 0.1, d) for p, d in near.items()),
        ]
        for (i, j), weight, threshold in kinds:
            d = 1 - U[i] @ U[j]
            if d < 1 if threshold is None else d > threshold + 1e-12:
                total[i] += weight * (U[i] * (U[i] @ U[j]) - U[j])
                count[i] += 1
        U = U - total / np.maximum(count, 1)[:, None]
        U /= np.linalg.norm(U, axis=1, keepdims=True)
    return U * norms[:, None]


@pytest.fixture
def space(rng) -> tuple[list[str], np.ndarray]:
    """Sixty words in six bundles, so that there are neighbors to keep."""
    centers = np.repeat(rng.standard_normal((6, 8)) * 3, 10, axis=0)
    return [f"w{i}" for i in range(60)], centers + rng.standard_normal((60, 8))


SYNONYMS = [("w0", "w10"), ("w1", "w25"), ("w2", "w3"), ("w0", "w1"), ("w4", "nowhere")]
ANTONYMS = [("w2", "w0"), ("w30", "w31"), ("w3", "w2"), ("w40", "w55")]


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_fitting_follows_a_plain_loop(space, radius):
    words, X = space
    _, fitted = read_all(counterfit(space, SYNONYMS, ANTONYMS, radius=radius, epochs=12))
    expected = plain_counterfit(words, X, SYNONYMS, ANTONYMS, radius, 12)
    np.testing.assert_allclose(fitted, expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(fitted, axis=1), np.linalg.norm(X, axis=1))
    # (w2, w3) is called both, and so an antonym.
    assert distance(fitted[2], fitted[3]) > distance(X[2], X[3])
    assert distance(fitted[0], fitted[10]) < distance(X[0], X[10])


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_words_outside_the_lexicon_keep_their_bits(seed, dtype):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(30)]
    X = rng.standard_normal((30, 4)).astype(dtype)
    X[7] = 0
    before = X.copy()
    pairs = [(f"w{a}", f"w{b}") for a, b in rng.integers(0, 12, size=(8, 2)) if a != b]
    pairs.append(("w0", "w1"))
    _, fitted = read_all(counterfit((words, X), pairs[:4], pairs[4:], radius=0.4))
    assert fitted.dtype == dtype
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(fitted[12:], X[12:])
    assert not fitted[7].any()
    assert np.isfinite(fitted).all()


def test_a_lexicon_that_does_not_fit_is_refused(space):
    for pairs in ([], [("w1", "w1")], [("w1", "nowhere")]):
        with pytest.raises(InvalidInputError, match="no pair of the lexicon has non-zero vectors"):
            counterfit(space, pairs)
