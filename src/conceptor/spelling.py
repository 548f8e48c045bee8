"""Vectors for words that have none, from how they are written.

A word outside the vocabulary is often the relative of one inside (*slicing*, *slice*), and even
where it is not, two sentences that share it share something. So it is given the average of the
words that are spelt like it, and for the rest a direction of its own.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from conceptor.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.arrays import Float64

__all__ = ["REFERENCES", "Spelling"]

# More words than these tell no more about spelling, and are rarer and worse known themselves.
REFERENCES = 50_000
_HASHED_TO = 2**20
_AT_ONCE = 1_000


class Spelling:
    """Vectors of unknown words: what their spelling tells, and a direction of their own.

    The first part is the average of the known words, weighed by the square of how alike two words
    are: the cosine of their character n-grams, rare n-grams counting more (tf–idf). What is missing
    to the known words' root mean square length points in a direction drawn from the word's own
    letters. Equal words are thus equal, words that are spelt alike are alike, and others nearly
    orthogonal; a word's vector does not depend on the words beside it.

    Parameters
    ----------
    words : sequence of str
        Known words.
    vectors : ndarray of shape (len(words), n)
        Their vectors; not copied.
    ngrams : (int, int)
        The shortest and the longest n-grams. A word's beginning and end are letters, too.
    power : float
        Of the likeness. Chosen with `ngrams` by how well words that are known are told from the
        others (`benchmarks/spelling.py`).
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[Any],
        *,
        ngrams: tuple[int, int] = (3, 8),
        power: float = 2.0,
    ) -> None:
        if not len(words) or len(words) != len(vectors):
            raise InvalidInputError(f"{len(words)} words and {len(vectors)} vectors to spell from")
        self._hashing = HashingVectorizer(
            analyzer="char_wb",
            ngram_range=ngrams,
            n_features=_HASHED_TO,
            alternate_sign=False,
            binary=True,
            norm=None,
        )
        self._rarity = TfidfTransformer()
        counts = self._hashing.transform(map(_encodable, words))
        self._known = self._rarity.fit_transform(counts).T.tocsr()
        self._vectors = vectors
        self._power = power
        self.length = float(np.sqrt(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64)))
        self.length /= np.sqrt(len(words))

    def __call__(self, words: Sequence[str]) -> Float64:
        """Return a vector for each word."""
        told = self.told(words)
        missing = np.sqrt(np.maximum(self.length**2 - (told**2).sum(axis=1), 0.0))
        found: Float64 = told + missing[:, None] * _directions(words, told.shape[1])
        return found

    def told(self, words: Sequence[str]) -> Float64:
        """Return what the spelling tells: averages of known vectors, 0 where nothing is alike."""
        parts = [
            self._averages(words[start : start + _AT_ONCE])
            for start in range(0, len(words), _AT_ONCE)
        ]
        return np.concatenate([np.zeros((0, self._vectors.shape[1])), *parts])

    def _averages(self, words: Sequence[str]) -> Float64:
        counts = self._hashing.transform(map(_encodable, words))
        alike = (self._rarity.transform(counts) @ self._known).tocsr()
        alike.data **= self._power
        totals = np.asarray(alike.sum(axis=1)).reshape(-1, 1)
        sums: Float64 = alike @ self._vectors
        averages: Float64 = np.divide(sums, totals, out=np.zeros(sums.shape), where=totals > 0)
        return averages


def _directions(words: Sequence[str], dimension: int) -> Float64:
    """Return a direction for each word, the same everywhere and always: signs from its hash."""
    size = -(-dimension // 8)
    digests = b"".join(
        hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(size) for word in words
    )
    bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8).reshape(len(words), size), axis=1)
    directions: Float64 = (2.0 * bits[:, :dimension] - 1.0) / np.sqrt(dimension)
    return directions


def _encodable(word: str) -> str:
    return word.encode("utf-8", "replace").decode()
