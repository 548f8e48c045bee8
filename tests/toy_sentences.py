"""Sentences of words that mean nothing, and vectors for them."""

from __future__ import annotations

WORDS = [f"w{i}" for i in range(60)]
COUNTS = {word: 1000.0 / (i + 1) for i, word in enumerate(WORDS)}


def toy_table(rng):
    return WORDS, rng.standard_normal((60, 6)) + 1


def toy_sentences(rng):
    lengths = rng.integers(1, 12, size=300)
    return [[WORDS[i] for i in rng.integers(0, 60, size=n)] for n in lengths]
