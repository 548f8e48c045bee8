"""All vectors of a file, in memory or mapped from disk, with words to look up and to complete."""

from __future__ import annotations

import tempfile
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import row_lengths
from conceptor.base.errors import ConceptorError
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
        self.suggestions = list(suggestions)


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

    @classmethod
    def open(
        cls, source: object, name: str, command: str = "", progress: Progress = silent
    ) -> Table:
        """Take vectors as they are, map them from disk, or decode them into memory.

        What is larger than a quarter of the memory when decoded goes to a temporary file.
        """
        if isinstance(source, ArraySource) and (found := source.mapped()) is not None:
            words, rows = found
            vectors = WordVectors(words, rows)
            if vectors.all_distinct:  # else the first of each must be picked out
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
    def _text(self) -> tuple[str, NDArray[np.int64]]:
        """All words in one lower-cased text, each after a line end, and where each begins."""
        folded = [word.casefold().replace("\n", " ") for word in self.words]
        starts = np.zeros(len(folded), dtype=np.int64)
        np.cumsum([len(word) + 1 for word in folded[:-1]], out=starts[1:])
        return "\n" + "\n".join(folded), starts

    def complete(self, prefix: str, n: int) -> list[tuple[str, int]]:
        """Return the first n words that begin so, in any case, with their rows.

        One search through a text of all words: in the order of the file, so common words come
        first where it is sorted by frequency. An exact match comes before all others.
        """
        text, starts = self._text
        wanted = "\n" + prefix.casefold().replace("\n", " ")
        found: list[int] = []
        exact = self.vectors.rows([prefix])[0]
        if exact != MISSING:
            found.append(int(exact))
        place = text.find(wanted)
        while place >= 0 and len(found) < n:
            row = int(np.searchsorted(starts, place))
            if row != exact:
                found.append(row)
            place = text.find(wanted, place + 1)
        return [(self.words[row], row) for row in found]

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
