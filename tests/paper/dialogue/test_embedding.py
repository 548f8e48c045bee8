"""A vector for every word, the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor import InvalidInputError
from conceptor.evaluation import WordVectors
from conceptor.paper.dialogue.embedding import Embedding
from tests.dialogues import MADE_CORPUS

PRINT = """
from conceptor.paper.dialogue.embedding import Embedding
print(Embedding.random(3, 5).vector("thai").tobytes().hex())
"""


@pytest.fixture
def known(rng) -> Embedding:
    words = ["price", "range", "dont", "care", "zero", "huge"]
    vectors = rng.standard_normal((6, 8))
    vectors[4] = 0
    vectors[5] *= 1e300
    return Embedding.from_vectors(WordVectors(words, vectors), [*words, "unheard"])


def test_vectors_are_units_and_keep_their_direction(known) -> None:
    raw = np.random.default_rng(20190127).standard_normal((6, 8))
    for row, word in ((0, "price"), (5, "huge")):
        np.testing.assert_allclose(
            known.vector(word), raw[row] / np.linalg.norm(raw[row]), rtol=1e-6
        )


def test_names_are_plain_sums(known) -> None:
    np.testing.assert_array_equal(
        known.phrase_vector("price range"), known.vector("price") + known.vector("range")
    )
    np.testing.assert_array_equal(
        known.phrase_vector("dontcare"), known.vector("dont") + known.vector("care")
    )


@given(st.text())
def test_unknown_words_get_units_too(word) -> None:
    one, other = Embedding.random(7, 0), Embedding.random(7, 1)
    assert np.linalg.norm(one.vector(word)) == pytest.approx(1, abs=1e-6)
    np.testing.assert_array_equal(one.vector(word), Embedding.random(7, 0).vector(word))
    assert (one.vector(word) != other.vector(word)).any()


def test_a_word_without_direction_is_unknown(known) -> None:
    assert "zero" not in known
    assert np.linalg.norm(known.vector("zero")) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("salt", ["0", "1"])
def test_random_vectors_do_not_depend_on_the_process(salt) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", PRINT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": salt},
    )
    assert shown.stdout.strip() == Embedding.random(3, 5).vector("thai").tobytes().hex()


def test_coverage() -> None:
    vectors = WordVectors(["cheap", "the", "unsaid"], np.eye(3))
    found = Embedding.from_vectors(vectors, MADE_CORPUS.words).coverage(MADE_CORPUS)
    assert found.types == 2
    assert found.types_total == len(MADE_CORPUS.words)
    # 4 dialogues in 3 parts: cheap in 2 of them, "the" twice in each, of 2 + 3 + 3 + 4 words.
    assert (found.spoken, found.spoken_total) == (3 * (2 + 8), 3 * 4 * 12)
    assert "20.8%" in str(found)


def test_vectors_that_hold_no_word_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="none of the dialogues' words"):
        Embedding.from_vectors(WordVectors(["Thai"], np.ones((1, 3))), MADE_CORPUS.words)
