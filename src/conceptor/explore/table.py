"""All vectors of a file, in memory or mapped from disk, with lookup and completion of words."""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import memory_bytes
from conceptor.concepts.found import Unknown, suggest
from conceptor.concepts.neighbours import choose_prior
from conceptor.concepts.text_neighbours import shorten
from conceptor.explore.cache import Cache
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.search import rank_penalties
from conceptor.vectors.source import VectorSource
from conceptor.vectors.table import MISSING, WordVectors, as_word_vectors
from conceptor.vectors.vectors import RowKind, Vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_BLOCK = 1 << 16
_KEPT_SUGGESTIONS = 1000
# The length of a text's label on the page.
_LABEL = 100


class PageTable:
    """All vectors of a file, ready for any number of questions.

    Attributes
    ----------
    name : str
        Its name on the page.
    command : str
        Its name on the command line.
    vectors : WordVectors
        Words and rows; the rows may be a memory map.
    flags : sequence of str
        The command-line options that the vectors were opened with.
    lengths : array of float32
        The length of each row, and 1 for a row of zeros.
    """

    def __init__(
        self, name: str, vectors: WordVectors, command: str = "", flags: Sequence[str] = ()
    ) -> None:
        self.name, self.command, self.vectors, self.flags = name, command or name, vectors, flags
        self._suggestions: Cache[list[str]] = Cache(_KEPT_SUGGESTIONS)
        self.lengths = np.empty(len(vectors), dtype=np.float32)
        self.empty = np.empty(len(vectors), dtype=np.bool_)
        for start in range(0, len(vectors), _BLOCK):
            part = slice(start, start + _BLOCK)
            self.lengths[part] = row_lengths(self.rows[part])
            self.empty[part] = ~self.rows[part].any(axis=1)
        if self.empty.all():
            raise InvalidInputError(f"{name}: all vectors are zero, so there is nothing to explore")

    @classmethod
    def open(
        cls, source: object, name: str, command: str = "", progress: Progress = silent
    ) -> PageTable:
        """Use vectors that are in memory, or decode them into memory.

        Vectors larger than a quarter of the memory when decoded go to a temporary file. The
        original file is never mapped: truncating it would crash this process. Texts are
        labelled by their first characters.
        """
        skips = isinstance(source, VectorSource) and source.on_error == "skip"
        if isinstance(source, Vectors) and not isinstance(source, WordVectors):
            table = _decode(source, progress)
        else:
            table = as_word_vectors(source)
        if table.kind is RowKind.TEXTS:
            table = WordVectors(_short_labels(table.words), table.vectors, origin=table)
        return cls(name, table, command, ("--on-error", "skip") if skips else ())

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def of_texts(self) -> bool:
        """Whether rows are texts."""
        return self.vectors.kind is RowKind.TEXTS

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
        """The number of dimensions."""
        return self.vectors.dimension

    @cached_property
    def inverse(self) -> NDArray[np.float32]:
        """``1 / length`` of each row."""
        return np.asarray(1 / self.lengths, dtype=np.float32)

    @cached_property
    def penalties(self) -> NDArray[np.float32]:
        """The penalty on each row's cosine that prefers common words; ∞ for rows of zeros."""
        found = rank_penalties(np.arange(len(self)), choose_prior(None, self.vectors))
        found[self.empty] = np.inf
        return found

    @cached_property
    def _alphabetic(self) -> NDArray[np.int32]:
        """All rows by word, ignoring case."""
        folded = self._folded
        return np.array(sorted(range(len(folded)), key=folded.__getitem__), dtype=np.int32)

    @cached_property
    def _folded(self) -> list[str]:
        return [word.casefold() for word in self.words]

    def complete(self, prefix: str, n: int) -> list[tuple[str, int]]:
        """Return the first n words with a prefix, ignoring case, with their rows.

        They are in file order, so common words come first if it is sorted by frequency. An exact
        match comes before all others. For texts, those that contain the prefix come last.
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
        if self.of_texts and len(found) < n:
            found += [row for row in self._containing(wanted, n) if row not in found]
        return [(self.words[row], row) for row in found[:n]]

    def _containing(self, wanted: str, n: int) -> list[int]:
        """Return the first rows whose text contains a string."""
        rows = (row for row, text in enumerate(self._folded) if wanted in text)
        return list(islice(rows, n))

    def label(self, asked: str) -> str:
        """Return the label for a query: a word; for texts also a longer text, or a row number."""
        if not self.of_texts or asked in self.vectors:
            return asked
        short = shorten(asked, _LABEL)
        if short not in self.vectors and asked.isascii() and asked.isdigit():
            row = int(asked[:15]) - 1
            return self.words[row] if 0 <= row < len(self) else asked
        return short

    def unknown(self, word: str) -> Unknown:
        """Return the answer for an unknown word, with suggestions."""
        if self.of_texts:
            rows = self._containing(word.casefold(), 3)
            return Unknown(word, self.name, [self.words[row] for row in rows], "text or row")
        found = self._suggestions.get(word, lambda: suggest(word, self.words))
        return Unknown(word, self.name, found)


def _short_labels(texts: Sequence[str]) -> list[str]:
    """Return the beginnings of texts, with the row number where two begin alike."""
    labels: list[str] = []
    seen: set[str] = set()
    for row, text in enumerate(texts, start=1):
        label = shorten(text, _LABEL)
        labels.append(f"{label} ({row})" if label in seen else label)
        seen.add(label)
    return labels


def _decode(source: Vectors, progress: Progress) -> WordVectors:
    """Read a file once, into memory or into a temporary file that is mapped."""
    words: list[str] = []
    if sum(path.stat().st_size for path in source.files()) <= memory_bytes() // 4:
        parts = []
        for some, rows in read_chunks(source, progress):
            words.extend(some)
            parts.append(rows)
        return WordVectors(words, np.concatenate(parts), origin=source)
    with tempfile.TemporaryFile(prefix="conceptor-") as file:
        for some, rows in read_chunks(source, progress):
            words.extend(some)
            rows.tofile(file)
        file.flush()
        mapped = np.memmap(file, np.float32, "r", shape=(len(words), source.dimension))
        return WordVectors(words, mapped, origin=source)
