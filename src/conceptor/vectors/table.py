"""Word vectors in memory: a matrix with one word per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError

MISSING = -1


class WordVectors:
    """A matrix with one word per row, and an index of the words.

    If a word occurs twice, its vector is the first row.

    Parameters
    ----------
    words : sequence of str
    vectors : array of shape (len(words), n)
        Stays without a copy in half, single or double precision.
    places : array of int, optional
        The place of each row in its file; by default the table has all rows of the file.
    """

    def __init__(
        self,
        words: Iterable[str],
        vectors: NDArray[Any],
        places: NDArray[np.int64] | None = None,
    ) -> None:
        # A list, because a data frame column is indexed by its labels.
        words = list(words)
        matrix = as_matrix(vectors, "vectors", empty=True)
        if len(words) != matrix.shape[0]:
            raise InvalidInputError(f"{len(words)} words but {matrix.shape[0]} vectors")
        if matrix.dtype not in (np.float16, np.float32, np.float64):
            matrix = matrix.astype(np.float64)
        with np.errstate(all="ignore"):
            # If the sum is finite so are its terms, and no second matrix is needed.
            suspect = not np.isfinite(matrix.sum(dtype=np.float64))
        if suspect and not np.isfinite(matrix).all():
            raise InvalidInputError("the vectors contain NaN or infinity; remove or repair them")
        self.words: Sequence[str] = words
        self.vectors: NDArray[Any] = matrix
        self.places = np.arange(len(words)) if places is None else places
        # Filled backwards, so that the first of two equal words wins.
        last = len(words) - 1
        self._rows = {word: last - i for i, word in enumerate(reversed(words))}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __repr__(self) -> str:
        count, dimension = self.vectors.shape
        return f"WordVectors({count} words × {dimension})"

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    def row(self, word: str) -> int:
        """Return the row of a word, or `MISSING`."""
        return self._rows.get(word, MISSING)

    def rows(self, words: Iterable[str], *, lowercase: bool = False) -> NDArray[np.intp]:
        """Return the row of each word, perhaps looked up again in lower case, or `MISSING`."""
        find = self._rows.get
        if lowercase:
            rows = [find(word, find(word.lower(), MISSING)) for word in words]
        else:
            rows = [find(word, MISSING) for word in words]
        return np.array(rows, dtype=np.intp)

    def with_vectors(self, vectors: NDArray[Any]) -> WordVectors:
        """Return the same words with new vectors; the index is shared."""
        other = copy(self)
        other.vectors = vectors
        return other
