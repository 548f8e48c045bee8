"""A transformer small enough for tests, and text about a few things."""

from __future__ import annotations

import pytest

from tests.model_folders import PIECES, TOKENS, save_transformer

__all__ = ["PIECES", "TEXTS", "WORDS"]

WORDS = TOKENS


def _word(number):
    return WORDS[number % len(WORDS)]


TEXTS = [
    f"The {_word(i)} {_word(7 * i + 3)} is {_word(11 * i + 5)} in the {_word(13 * i + 2)}, and "
    f"{_word(3 * i)}ing."
    for i in range(300)
]


@pytest.fixture(scope="session")
def transformer(tmp_path_factory):
    """The folder of a BERT with random weights, as transformers writes it."""
    pytest.importorskip("torch", reason="needs the static extra")
    pytest.importorskip("transformers", reason="needs the static extra")
    folder = tmp_path_factory.mktemp("transformer") / "tiny-bert"
    save_transformer(folder)
    return folder


@pytest.fixture(scope="session")
def counts():
    """How often words are used: Zipf's law over the words of the texts."""
    return {word: 1000.0 / (rank + 2.7) for rank, word in enumerate(WORDS)}
