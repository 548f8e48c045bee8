from __future__ import annotations

import pytest

WORDS = [f"w{i}" for i in range(60)]


@pytest.fixture
def counts():
    return {word: 1000.0 / (i + 1) for i, word in enumerate(WORDS)}


@pytest.fixture
def table(rng):
    return WORDS, rng.standard_normal((60, 6)) + 1


@pytest.fixture
def sentences(rng):
    lengths = rng.integers(1, 12, size=300)
    return [[WORDS[i] for i in rng.integers(0, 60, size=n)] for n in lengths]
