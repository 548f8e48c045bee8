"""Vectors for out-of-vocabulary words, from their spelling."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from conceptor.base.arrays import Float64, unit_rows

# With these lengths of n-grams (a word's start and end count as letters) and this exponent, the
# vectors of known words are predicted best from the others.
_NGRAMS = (3, 8)
_POWER = 2.0
# The number of columns for n-grams, and of random directions that they share.
_HASHED_TO = 2**20
_PROJECTED = 2**15
# Words in one product, which has a column for each known word.
_BATCH = 1_000


class Spelling:
    """Vectors of unknown words: an average of similar words, plus a direction from the spelling.

    The average is over known words, weighted by the squared similarity of the spelling: the cosine
    of character n-grams, with rare n-grams counting more (tf–idf). A random projection of the
    n-grams, which preserves their cosines, brings the vector to the known words' root mean square
    length. So two sentences that share an unknown word, or its plural, have something in common.
    Case is ignored; a blank word becomes 0.
    """

    def __init__(self, words: Sequence[str], vectors: NDArray[Any]) -> None:
        hashing = HashingVectorizer(
            preprocessor=_plain,
            analyzer="char_wb",
            ngram_range=_NGRAMS,
            n_features=_HASHED_TO,
            alternate_sign=False,
            binary=True,
            norm=None,
        )
        self._ngrams = make_pipeline(hashing, TfidfTransformer())
        # In single precision if the vectors are: the product with them dominates the cost.
        self._precision = np.float32 if vectors.dtype.itemsize <= 4 else np.float64
        references = self._ngrams.fit_transform(words)
        self._references = references.T.astype(self._precision).tocsr()
        self._vectors = vectors
        squares = np.einsum("ij,ij->", vectors, vectors, dtype=np.float64)
        self.length = float(np.sqrt(squares / len(words)))
        # A row of signs for each n-gram, eight per byte: the same on every machine.
        size = -(-vectors.shape[1] // 8)
        signs = hashlib.shake_128(b"conceptor").digest(_PROJECTED * size)
        self._signs = np.frombuffer(signs, dtype=np.uint8).reshape(_PROJECTED, size)

    def __call__(self, words: Sequence[str]) -> Float64:
        """Return a vector for each word."""
        averages = self.average_similar(words)
        if not len(words):
            return averages
        ngrams = self._ngrams.transform(words)
        used, columns = np.unique(ngrams.indices % _PROJECTED, return_inverse=True)
        bits = np.unpackbits(self._signs[used], axis=1)[:, : self._vectors.shape[1]]
        folded = sparse.csr_matrix(
            (ngrams.data, columns, ngrams.indptr), shape=(ngrams.shape[0], len(used))
        )
        directions = unit_rows(folded @ (2.0 * bits - 1.0))
        rest = np.sqrt(np.maximum(self.length**2 - (averages**2).sum(axis=1), 0.0))
        return np.asarray(averages + rest[:, np.newaxis] * directions)

    def average_similar(self, words: Sequence[str]) -> Float64:
        """Return averages of known vectors by similar spelling, 0 if no word is similar."""
        parts = [np.zeros((0, self._vectors.shape[1]))]
        for start in range(0, len(words), _BATCH):
            ngrams = self._ngrams.transform(words[start : start + _BATCH])
            similar = (ngrams.astype(self._precision) @ self._references).tocsr()
            similar.data **= _POWER
            total = np.asarray(similar.sum(axis=1))
            parts.append((similar @ self._vectors) / np.where(total > 0, total, 1))
        return np.concatenate(parts, dtype=np.float64)


def _plain(word: str) -> str:
    """Return a word in lower case; a lone surrogate becomes a question mark."""
    return word.lower().encode("utf-8", "replace").decode()
