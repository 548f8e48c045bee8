"""Words that mean nothing, and how often each is used."""

from __future__ import annotations

WORDS = [f"w{i}" for i in range(60)]
COUNTS = {word: 1000.0 / (i + 1) for i, word in enumerate(WORDS)}
