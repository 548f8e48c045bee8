"""The nearest words, in Python and on the command line."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import most_similar
from conceptor.base.errors import InvalidInputError
from conceptor.fit import fit_methods

WORDS = [f"w{i:03d}" for i in range(300)]


@pytest.fixture
def table(rng):
    return WORDS, (rng.standard_normal((300, 8)) + 1).astype(np.float32)


@pytest.mark.parametrize("method", ["original", "cn", "abtt"])
def test_neighbors_are_those_of_the_post_processed_vectors(table, method):
    fitted = fit_methods(table, [method], wanted=set(WORDS)).rows[method].vectors.astype(float)
    unit = fitted / np.linalg.norm(fitted, axis=1, keepdims=True)
    neighbors = most_similar(table, ["w003", "w100"], [method], n=5)[method]
    for word, near in neighbors.items():
        cosines = unit @ unit[WORDS.index(word)]
        expected = [i for i in np.argsort(-cosines) if WORDS[i] != word][:5]
        assert [one.rank - 1 for one in near] == expected
        assert [one.word for one in near] == [WORDS[i] for i in expected]
        np.testing.assert_allclose([one.score for one in near], cosines[expected], atol=1e-6)


def test_candidates_and_prior(table):
    near = most_similar(table, "w250", among=20)["original"]["w250"]
    assert len(near) == 10
    assert all(1 <= one.rank <= 20 for one in near)
    with pytest.raises(InvalidInputError, match="at least one word"):
        most_similar(table, [])
    with pytest.raises(InvalidInputError, match="--prior must be a finite number"):
        most_similar(table, "w250", prior=float("nan"))
    strong = most_similar(table, "w250", prior=1e6)["original"]["w250"]
    assert [one.rank for one in strong] == list(range(1, 11))


def test_common_words_are_preferred_where_the_file_is_sorted(table):
    """Long words come late, as in a file sorted by frequency."""
    sorted_words = [f"{'w' * (i // 300 + 1)}{i}" for i in range(3000)]
    rng = np.random.default_rng(1)
    vectors = (sorted_words, rng.standard_normal((3000, 8)).astype(np.float32))
    usual, plain, mild = (
        most_similar(vectors, sorted_words[5], **options)["original"][sorted_words[5]]
        for options in ({}, {"prior": 0.0}, {"prior": 0.02})
    )
    assert usual == mild != plain
    alphabetical = most_similar(table, "w003")["original"]["w003"]
    assert alphabetical == most_similar(table, "w003", prior=0.0)["original"]["w003"]
