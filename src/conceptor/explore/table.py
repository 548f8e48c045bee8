"""All vectors of a file, in memory or mapped from disk, with words to look up and to complete."""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import row_lengths
from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import memory_bytes
from conceptor.fitting import first_words
from conceptor.neighbours import PRIOR, close_words
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.npy import ArraySource
from conceptor.vectors.source import VectorSource
from conceptor.vectors.table import MISSING, WordVectors, as_word_vectors
from conceptor.weights import why_unsorted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress

# Spelling is compared with the commonest words only; with all of them it takes a second.
_SUGGESTED_AMONG = 100_000
_BLOCK = 1 << 16


class UnknownWordError(ConceptorError):
    """A word without a vector, and words that are spelt like it."""

    def __init__(self, word: str, where: str, suggestions: Sequence[str]) -> None:
        super().__init__(f"{where} has no word {word!r}")
        self.word, self.suggestions = word, list(suggestions)


class Table:
    """Every vector of a file, at hand for any number of questions.

    Attributes
    ----------
    name : str
        What it is called on the page.
    command : str
        How the command line names it.
    vectors : WordVectors
        Words and rows; the rows may be a memory map.
    lengths : array of float32
        The length of each row, and 1 for a row of zeros.
    """

    def __init__(self, name: str, vectors: WordVectors, command: str = "") -> None:
        self.name, self.command, self.vectors = name, command or name, vectors
        self.lengths = np.empty(len(vectors), dtype=np.float32)
        self.empty = np.empty(len(vectors), dtype=np.bool_)
        for start in range(0, len(vectors), _BLOCK):
            part = slice(start, start + _BLOCK)
            self.lengths[part] = row_lengths(self.rows[part])
            self.empty[part] = ~self.rows[part].any(axis=1)
        if self.empty.all():
            raise InvalidInputError(f"{name}: all vectors are zero, so there is nothing to look at")

    @classmethod
    def open(
        cls, source: object, name: str, command: str = "", progress: Progress = silent
    ) -> Table:
        """Take vectors as they are, map them from disk, or decode them into memory.

        What is larger than a quarter of the memory when decoded goes to a temporary file.
        """
        if isinstance(source, ArraySource) and (found := source.mapped()) is not None:
            # What has two vectors for a word, or NaN, is read row by row, which deals with it.
            with suppress(InvalidInputError):
                vectors = WordVectors(*found)
                if vectors.all_distinct:
                    return cls(name, vectors, command)
        if isinstance(source, VectorSource):
            return cls(name, _decode(source, progress), command)
        return cls(name, as_word_vectors(source), command)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def words(self) -> Sequence[str]:
        """All words, by row."""
        return self.vectors.words

    @property
    def rows(self) -> NDArray[np.float32]:
        """All vectors."""
        return self.vectors.vectors

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.vectors.dimension

    @cached_property
    def inverse(self) -> NDArray[np.float32]:
        """``1 / length`` of each row."""
        return np.asarray(1 / self.lengths, dtype=np.float32)

    @cached_property
    def penalties(self) -> NDArray[np.float32]:
        """What is taken off each row's cosine to prefer common words; ∞ for rows of zeros."""
        prior = PRIOR if why_unsorted(first_words(self.vectors)) is None else 0.0
        found = prior * np.log1p(np.arange(len(self)) / 1000.0)
        found[self.empty] = np.inf
        return found.astype(np.float32)

    @cached_property
    def _alphabetic(self) -> NDArray[np.int32]:
        """All rows by word, in any case."""
        folded = [word.casefold() for word in self.words]
        return np.array(sorted(range(len(folded)), key=folded.__getitem__), dtype=np.int32)

    def complete(self, prefix: str, n: int) -> list[tuple[str, int]]:
        """Return the first n words that begin so, in any case, with their rows.

        In the order of the file, so common words come first where it is sorted by frequency. An
        exact match comes before all others.
        """
        wanted = prefix.casefold()

        def beginning(row: int) -> str:
            return self.words[row].casefold()[: len(wanted)]

        first = bisect_left(self._alphabetic, wanted, key=beginning)
        last = bisect_right(self._alphabetic, wanted, lo=first, key=beginning)
        rows = self._alphabetic[first:last]
        rows = np.sort(np.partition(rows, n)[: n + 1] if len(rows) > n else rows)
        exact = int(self.vectors.rows([prefix])[0])
        found = [] if exact == MISSING else [exact]
        found += [row for row in rows.tolist() if row != exact]
        return [(self.words[row], row) for row in found[:n]]

    def find(self, words: Iterable[str]) -> NDArray[np.intp]:
        """Return the rows of words, in lower case if need be; raise for one that is not there."""
        asked = list(words)
        rows = self.vectors.rows(asked, lowercase=True)
        for word, row in zip(asked, rows, strict=True):
            if row == MISSING:
                among = islice(self.words, _SUGGESTED_AMONG)
                raise UnknownWordError(word, self.name, close_words(word, among))
        return rows


def _decode(source: VectorSource, progress: Progress) -> WordVectors:
    """Read a file once, into memory or into a temporary file that is mapped."""
    words: list[str] = []
    if source.size <= memory_bytes() // 4:
        parts = []
        for some, rows in read_chunks(source, progress):
            words.extend(some)
            parts.append(rows)
        return WordVectors(words, np.concatenate(parts))
    with tempfile.TemporaryFile(prefix="conceptor-") as file:
        for some, rows in read_chunks(source, progress):
            words.extend(some)
            rows.tofile(file)
        file.flush()
        mapped = np.memmap(file, np.float32, "r", shape=(len(words), source.dimension))
        return WordVectors(words, mapped)
