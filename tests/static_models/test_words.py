"""Sentence encoders as static models."""

from __future__ import annotations

import numpy as np
import pytest

from conceptor import InvalidInputError, SentenceEncoder, StaticModel
from tests.static_models.conftest import TEXTS, WORDS

pytest.importorskip("tokenizers", reason="needs the static extra")
SENTENCES = [
    *TEXTS[:40],
    "It\u2019s raining, isn't it? The CAT cannot sleep.",
    "The U.S.-led train, and/or the well-known boat: 2012!",
    "",
    "\u65e5\u672c xyzzy",
]


def make_encoder(**parameters):
    words = [*WORDS, "'s", "n't", "can", "not", "2012", "u.s.-led"]
    vectors = np.random.default_rng(0).normal(size=(len(words), 12)) + 1.0
    return SentenceEncoder((words, vectors), frequencies="zipf", **parameters).fit(TEXTS)


def test_an_exported_encoder_encodes_to_the_same_directions(tmp_path):
    encoder = make_encoder(unknown="skip")
    encoder.export(tmp_path / "out")
    expected = encoder.encode(SENTENCES)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    expected = np.divide(expected, lengths, out=np.zeros_like(expected), where=lengths > 0)
    found = StaticModel.load(tmp_path / "out").encode(SENTENCES)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert not found[-2:].any()


def test_what_no_table_can_do(tmp_path):
    with pytest.raises(InvalidInputError, match="which a table cannot"):
        make_encoder(weights="usif").export(tmp_path / "out")
    assert not (tmp_path / "out").exists()
