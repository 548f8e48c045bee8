"""Lengths of rows by word: frequent words become short, all others stay.

Cosines ignore the length of a row; averages do not. So lengths are separate from the map, which
sets directions. One table then serves both single words and averages of words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from conceptor.base.arrays import Array, Float64

__all__ = ["LengthTable", "Lengths"]

_WORDS, _FACTORS = "length_words", "length_factors"


class Lengths(StrEnum):
    """How the lengths of vectors are treated."""

    KEPT = "kept"  # the map is fitted to vectors as they are
    UNIT = "unit"  # vectors are brought to length 1 first
    USAGE = "usage"  # the same, and then rows of frequent words are shortened


@dataclass(frozen=True, eq=False, repr=False)
class LengthTable:
    """The factors for the rows of frequent words; all other rows stay.

    Attributes
    ----------
    words : sequence of str
    factors : ndarray of shape (n_words,)
        Positive numbers.
    """

    words: Sequence[str]
    factors: Float64

    def __post_init__(self) -> None:
        factors = np.asarray(self.factors, dtype=np.float64)
        if factors.shape != (len(self.words),):
            raise InvalidInputError(
                f"{len(self.words)} words need that many lengths; their shape is {factors.shape}"
            )
        if not (np.isfinite(factors).all() and (factors > 0).all()):
            raise InvalidInputError("the lengths of words must be positive and finite")
        object.__setattr__(self, "factors", factors)

    @cached_property
    def _by_word(self) -> Mapping[str, float]:
        return dict(zip(self.words, self.factors.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"LengthTable({len(self):,} words)"

    def scale(self, words: Sequence[str], rows: Array) -> Array:
        """Multiply the rows of known words, in place; return the rows."""
        known = self._by_word
        each = np.array([known.get(word, 1.0) for word in words], dtype=np.float64)
        found = np.flatnonzero(each != 1.0)
        if len(found) == len(rows):
            rows *= each.astype(rows.dtype)[:, np.newaxis]
        elif len(found):
            rows[found] *= each[found].astype(rows.dtype)[:, np.newaxis]
        return rows

    @property
    def tensors(self) -> dict[str, Array]:
        """The table as named arrays; words as UTF-8 JSON."""
        text = json.dumps(list(self.words)).encode()
        return {_WORDS: np.frombuffer(text, dtype=np.uint8), _FACTORS: self.factors}

    @classmethod
    def from_tensors(cls, parts: Mapping[str, Array]) -> Self | None:
        """Return the table stored in some arrays; None if they hold no table."""
        if _WORDS not in parts:
            return None
        words = json.loads(parts[_WORDS].astype(np.uint8).tobytes())
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InvalidInputError("its lengths do not contain a list of words")
        return cls(words, parts[_FACTORS])
