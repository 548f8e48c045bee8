"""Word vectors in memory: a matrix with one word per row."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.rows import LABELS, LabelledVectors, RowDecision
from conceptor.vectors.source import BLOCK_BYTES
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors

__all__ = ["MISSING", "WordVectors", "as_word_vectors"]

MISSING = -1


class WordVectors(LabelledVectors):
    """A matrix with one word per row.

    Words keep their case. If a word occurs twice, its vector is the first row (in files sorted by
    frequency, the more frequent one).

    Parameters
    ----------
    words : sequence of str
    vectors : array of shape (len(words), n)
        Kept without a copy in half, single or double precision.
    places : array of int, optional
        The place of each row in its file; by default the table has all rows of the file.
    counts : mapping of words to numbers, optional
        How often words occur in text, if that is known.
    has_words : bool
        Whether rows have labels; otherwise labels are empty, and all rows count the same.
    kind : RowKind, optional
        What a row is; by default decided by the labels (`decide_rows`).
    origin : Vectors, optional
        The source of the rows; it has the name, the kind of rows and their usage.
    """

    has_words: bool = True

    def __init__(
        self,
        words: Iterable[str],
        vectors: NDArray[Any],
        places: NDArray[np.int64] | None = None,
        counts: Mapping[str, float] | None = None,
        *,
        has_words: bool = True,
        kind: RowKind | None = None,
        origin: Vectors | None = None,
    ) -> None:
        # A list, because a data frame column is indexed by its labels.
        words = list(words)
        matrix = np.asarray(vectors)
        if matrix.ndim != 2:
            raise InvalidInputError(f"vectors must form a matrix, not {matrix.ndim} dimension(s)")
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
        self.has_words = has_words and (origin is None or origin.has_words)
        self._counts, self._origin = counts, origin
        # Rows with counts are words.
        self.rows_are = RowKind.WORDS if kind is None and counts is not None else kind
        # Filled backwards, so that the first of two equal words wins.
        last = len(words) - 1
        self._rows = {word: last - i for i, word in enumerate(reversed(words))}

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    @property
    def name(self) -> str:
        """The name of the source of the rows."""
        return "vectors" if self._origin is None else self._origin.name

    @property
    def _decision(self) -> RowDecision:
        if self._origin is None:
            return super()._decision
        return RowDecision(self._origin.kind, self._origin.kind_evidence)

    def _first_labels(self) -> Sequence[str]:
        return self.words[:LABELS]

    @property
    def counts(self) -> Mapping[str, float] | None:
        """How often words occur in text, if that is known."""
        return self._counts if self._origin is None else self._origin.counts

    def token_counts(self, counts: Mapping[str, float]) -> Mapping[str, float]:
        """Return counts of labels from counts of words."""
        return counts if self._origin is None else self._origin.token_counts(counts)

    @property
    def ranked(self) -> bool:
        """Whether rows may be sorted by frequency."""
        return self._origin is None or self._origin.ranked

    @property
    def language(self) -> str:
        """The language of the words, if known."""
        return "" if self._origin is None else self._origin.language

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.words)

    def chunks(self) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield words and rows in order, in the chunks in which an array is read from a file.

        The last bit of a result may depend on the sizes of the chunks.
        """
        step = max(1, BLOCK_BYTES // (4 * max(self.dimension, 1)))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            yield self.words[part], self.vectors[part]

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __repr__(self) -> str:
        count, dimension = self.vectors.shape
        return f"WordVectors({count} words × {dimension})"

    def row(self, word: str) -> int:
        """Return the row of a word, `MISSING` for an unknown word."""
        return self._rows.get(word, MISSING)

    def rows(self, words: Iterable[str], *, lowercase: bool = False) -> NDArray[np.intp]:
        """Return the row of each word, `MISSING` for an unknown word.

        With `lowercase`, a word that is not found is looked up again in lower case.
        """
        find = self._rows.get
        if lowercase:
            found = [find(word, find(word.lower(), MISSING)) for word in words]
        else:
            found = [find(word, MISSING) for word in words]
        return np.array(found, dtype=np.intp)

    def with_vectors(self, vectors: NDArray[Any]) -> WordVectors:
        """Return the same words with new vectors; the index is shared."""
        if len(vectors) != len(self.words):
            raise InvalidInputError(f"{len(self.words)} words but {len(vectors)} vectors")
        other = copy(self)
        other.vectors = vectors
        return other


def as_word_vectors(vectors: Any) -> WordVectors:  # noqa: ANN401
    """Accept `WordVectors`, `(words, array)`, a mapping of words to vectors, KeyedVectors."""
    match vectors:
        case WordVectors():
            return vectors
        case (words, matrix):
            return WordVectors(words, matrix)
        case Mapping() if vectors:
            return WordVectors(list(vectors), np.stack([np.asarray(v) for v in vectors.values()]))
        case object(index_to_key=words, vectors=matrix, expandos={"count": counts}):
            known = _usable_counts(words, counts)
            return WordVectors(words, matrix, counts=known, kind=RowKind.WORDS)
        case object(index_to_key=words, vectors=matrix):
            return WordVectors(words, matrix, kind=RowKind.WORDS)
    raise InvalidInputError(
        f"vectors cannot be read from a {type(vectors).__name__}; pass a file, (words, array), a "
        "mapping of words to vectors, or gensim KeyedVectors"
    )


def _usable_counts(words: Iterable[str], counts: Iterable[float]) -> dict[str, float] | None:
    """Return gensim's counts by word; None if they tell nothing: invented, all equal or invalid.

    `load_word2vec_format` sets n, n − 1, … for n words without counts.
    """
    found = dict(zip(words, map(float, counts), strict=True))
    numbers = np.fromiter(found.values(), dtype=np.float64)
    if np.array_equal(numbers, np.arange(len(numbers), 0, -1)):
        return None
    tells = np.isfinite(numbers).all() and (numbers >= 0).all() and len(np.unique(numbers)) > 1
    return found if tells else None
