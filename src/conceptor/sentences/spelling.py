"""Vectors for words that have none, from how they are written.

A word outside the vocabulary is often the relative of one inside (*slicing*, *slice*), and even
where it is not, two sentences that share it, or its plural, share something. So it is given the
average of the words that are spelt like it, and for the rest a direction that its letters make.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64

__all__ = ["REFERENCES", "Spelling"]

# So many known words are asked at most, the most frequent ones: a bound on time and memory.
REFERENCES = 50_000
_HASHED_TO = 2**20
_PROJECTED = 2**15
_AT_ONCE = 1_000


class Spelling:
    """Vectors of unknown words: what their spelling tells, and a direction that it makes.

    The first part is the average of the known words, weighed by the square of how alike two words
    are: the cosine of their character n-grams, rare n-grams counting more (tf–idf). What is missing
    to the known words' root mean square length goes to a random projection of the n-grams, which
    keeps their cosines. Equal words are thus equal, words that are spelt alike are alike, and
    others nearly orthogonal; a word's vector does not depend on the words beside it. Capitals and
    small letters are the same; a word of blanks becomes 0.

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
        self._known = self._rarity.fit_transform(self._counts(words)).T.tocsr()
        self._vectors = vectors
        self._power = power
        self._signs = _packed_signs(vectors.shape[1])
        self.length = float(np.sqrt(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64)))
        self.length /= np.sqrt(len(words))

    @classmethod
    def from_frequent(
        cls, words: Sequence[str], vectors: NDArray[Any], frequencies: Float64
    ) -> Spelling:
        """Return the spelling of the most frequent words, or of all where they are not many."""
        if len(words) <= REFERENCES:
            return cls(words, vectors)
        rows = np.sort(np.argpartition(-frequencies, REFERENCES)[:REFERENCES])
        return cls([words[row] for row in rows], vectors[rows])

    def __call__(self, words: Sequence[str]) -> Float64:
        """Return a vector for each word."""
        return self._by_parts(words, self._whole)

    def told(self, words: Sequence[str]) -> Float64:
        """Return what the spelling tells: averages of known vectors, 0 where nothing is alike."""
        return self._by_parts(words, self._averages)

    def _by_parts(
        self, words: Sequence[str], vectors_of: Callable[[sparse.csr_matrix], Float64]
    ) -> Float64:
        parts = [np.zeros((0, self._vectors.shape[1]))]
        for start in range(0, len(words), _AT_ONCE):
            counts = self._counts(words[start : start + _AT_ONCE])
            parts.append(vectors_of(self._rarity.transform(counts)))
        return np.concatenate(parts)

    def _counts(self, words: Sequence[str]) -> sparse.csr_matrix:
        """Return which n-grams words have; what cannot be encoded counts as a question mark."""
        return self._hashing.transform(word.encode("utf-8", "replace").decode() for word in words)

    def _whole(self, ngrams: sparse.csr_matrix) -> Float64:
        told = self._averages(ngrams)
        missing = np.sqrt(np.maximum(self.length**2 - (told**2).sum(axis=1), 0.0))
        found: Float64 = told + missing[:, None] * self._directions(ngrams)
        return found

    def _averages(self, ngrams: sparse.csr_matrix) -> Float64:
        alike = (ngrams @ self._known).tocsr()
        alike.data **= self._power
        return _divided(alike @ self._vectors, np.asarray(alike.sum(axis=1)).ravel())

    def _directions(self, ngrams: sparse.csr_matrix) -> Float64:
        """Return the n-grams' random projection at length 1, the same everywhere and always."""
        used, columns = np.unique(ngrams.indices % _PROJECTED, return_inverse=True)
        bits = np.unpackbits(self._signs[used], axis=1)[:, : self._vectors.shape[1]]
        folded = sparse.csr_matrix(
            (ngrams.data, columns, ngrams.indptr), shape=(ngrams.shape[0], len(used))
        )
        projected = folded @ (2.0 * bits - 1.0)
        return _divided(projected, np.linalg.norm(projected, axis=1))


def _packed_signs(dimension: int) -> NDArray[np.uint8]:
    """Return a row of signs for each n-gram, eight to a byte, from a hash of a constant."""
    size = -(-dimension // 8)
    signs = hashlib.shake_128(b"conceptor").digest(_PROJECTED * size)
    return np.frombuffer(signs, dtype=np.uint8).reshape(_PROJECTED, size)


def _divided(rows: Float64, by: Float64) -> Float64:
    """Return rows divided each by a number, 0 where that is 0."""
    return np.divide(rows, by[:, None], out=np.zeros(rows.shape), where=by[:, None] > 0)
