"""Vectors for out-of-vocabulary words, from their spelling.

An out-of-vocabulary word is often related to a known one (*slicing*, *slice*). Even if it is not,
two sentences that contain it, or its plural, have something in common. So its vector is the
average of words with similar spelling, plus a direction derived from its letters.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import ordered_map, processors
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64

__all__ = ["REFERENCES", "Spelling"]

# At most this many known words are used, the most frequent ones: a bound on time and memory.
REFERENCES = 50_000
_HASHED_TO = 2**20
_PROJECTED = 2**15
_BATCH = 1_000


class Spelling:
    """Vectors of unknown words: an average of similar words, plus a direction from the spelling.

    The average is over known words, weighted by the squared similarity of the spelling: the cosine
    of character n-grams, with rare n-grams counting more (tf–idf). A random projection of the
    n-grams, which preserves their cosines, is added so that the vector has the known words' root
    mean square length. So equal words get equal vectors, similarly spelt words get similar ones,
    and all others are nearly orthogonal; a word's vector does not depend on its context. Case is
    ignored; a blank word becomes 0.

    Parameters
    ----------
    words : sequence of str
        Known words.
    vectors : ndarray of shape (len(words), n)
        Their vectors; not copied.
    ngrams : (int, int)
        The lengths of the shortest and the longest n-grams. A word's start and end count as
        letters.
    power : float
        Exponent of the similarity. Chosen together with `ngrams` by how well the vectors of known
        words are predicted from the others (`benchmarks/spelling.py`).
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
            raise InvalidInputError(
                f"got {len(words)} words and {len(vectors)} vectors for the spelling model; it "
                "needs equally many, at least one"
            )
        self._ngrams = ngrams
        self._rarity = TfidfTransformer()
        # In single precision if the vectors are: the product with them dominates the cost.
        self._precision = np.float32 if vectors.dtype.itemsize <= 4 else np.float64
        known = self._rarity.fit_transform(self._counts(words)).T
        self._known = known.astype(self._precision).tocsr()
        self._vectors = vectors
        self._power = power
        self._signs = _pack_signs(vectors.shape[1])
        self.length = float(np.sqrt(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64)))
        self.length /= np.sqrt(len(words))

    @classmethod
    def from_frequent(
        cls, words: Sequence[str], vectors: NDArray[Any], frequencies: Float64
    ) -> Spelling:
        """Return the spelling model of the most frequent words, or of all if they are few."""
        if len(words) <= REFERENCES:
            return cls(words, vectors)
        rows = np.sort(np.argpartition(-frequencies, REFERENCES)[:REFERENCES])
        return cls([words[row] for row in rows], vectors[rows])

    def __call__(self, words: Sequence[str]) -> Float64:
        """Return a vector for each word."""
        return self._in_batches(words, self._complete)

    def average_known(self, words: Sequence[str]) -> Float64:
        """Return averages of known vectors by similar spelling, 0 if no word is similar."""
        return self._in_batches(words, self._averages)

    def _in_batches(
        self, words: Sequence[str], vectors_of: Callable[[sparse.csr_matrix], Float64]
    ) -> Float64:
        def vectors_of_batch(start: int) -> Float64:
            counts = self._counts(words[start : start + _BATCH])
            return vectors_of(self._rarity.transform(counts))

        empty = np.zeros((0, self._vectors.shape[1]))
        starts = range(0, len(words), _BATCH)
        return np.concatenate([empty, *ordered_map(vectors_of_batch, starts, processors())])

    def _counts(self, words: Sequence[str]) -> sparse.csr_matrix:
        """Return the n-grams of words; a lone surrogate counts as a question mark."""
        from conceptor.kernels import hash_ngrams

        shortest, longest = self._ngrams
        packed = PackedWords.from_words(
            " ".join(["", *word.lower().split(), ""]).encode("utf-8", "replace") for word in words
        )
        columns = np.empty((longest - shortest + 1) * len(packed.blob), dtype=np.int32)
        ends = np.zeros(len(words) + 1, dtype=np.int32)
        found = hash_ngrams(
            packed.blob, packed.offsets, shortest, longest, _HASHED_TO, columns, ends
        )
        counts = sparse.csr_matrix(
            (np.ones(found), columns[:found], ends), shape=(len(words), _HASHED_TO)
        )
        counts.sum_duplicates()
        counts.data[:] = 1.0
        return counts

    def _complete(self, ngrams: sparse.csr_matrix) -> Float64:
        averages = self._averages(ngrams)
        missing = np.sqrt(np.maximum(self.length**2 - (averages**2).sum(axis=1), 0.0))
        found: Float64 = averages + missing[:, None] * self._directions(ngrams)
        return found

    def _averages(self, ngrams: sparse.csr_matrix) -> Float64:
        alike = (ngrams.astype(self._precision) @ self._known).tocsr()
        alike.data **= self._power
        total = np.asarray(alike.sum(axis=1))
        return np.asarray(self._weighted(alike) / np.where(total > 0, total, 1), dtype=np.float64)

    def _weighted(self, alike: sparse.csr_matrix) -> NDArray[Any]:
        """Return the product with the known words' vectors; in single precision it is compiled."""
        from conceptor.kernels import add_rows

        if self._vectors.dtype != np.float32:
            product: NDArray[Any] = alike @ self._vectors
            return product
        sums = np.zeros((alike.shape[0], self._vectors.shape[1]), dtype=np.float32)
        add_rows(alike.indptr, alike.indices, alike.data, self._vectors, sums)
        return sums

    def _directions(self, ngrams: sparse.csr_matrix) -> Float64:
        """Return the n-grams' random projection, normalised; the same on every machine."""
        used, columns = np.unique(ngrams.indices % _PROJECTED, return_inverse=True)
        bits = np.unpackbits(self._signs[used], axis=1)[:, : self._vectors.shape[1]]
        folded = sparse.csr_matrix(
            (ngrams.data, columns, ngrams.indptr), shape=(ngrams.shape[0], len(used))
        )
        projected = folded @ (2.0 * bits - 1.0)
        return unit_rows(projected)


def _pack_signs(dimension: int) -> NDArray[np.uint8]:
    """Return a row of signs for each n-gram, eight per byte, from the hash of a constant."""
    size = -(-dimension // 8)
    signs = hashlib.shake_128(b"conceptor").digest(_PROJECTED * size)
    return np.frombuffer(signs, dtype=np.uint8).reshape(_PROJECTED, size)
