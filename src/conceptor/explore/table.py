"""All vectors of a file in memory, with lookup and completion of their labels."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import memory_bytes
from conceptor.concepts.lookup import Unknown, look_up, shorten, suggest
from conceptor.vectors.files import as_vectors, in_memory
from conceptor.vectors.search import search
from conceptor.vectors.table import MISSING, WordVectors
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress
    from conceptor.explore.session import Settings
    from conceptor.vectors.search import Search
    from conceptor.vectors.vectors import Vectors

__all__ = ["PageTable", "Side"]

# The length of a text's label on the page.
_LABEL = 100


class PageTable:
    """All vectors of a file, ready for any number of questions.

    Attributes
    ----------
    name : str
        Its name on the page.
    vectors : Vectors
        The vectors with all that is known about them; they are read from memory.
    words : sequence of str
        The label of each row: the word, or the beginning of the text.
    rows : array
        All vectors; vectors of more than a quarter of the memory are in a temporary file.
    """

    def __init__(self, source: object, progress: Progress = silent) -> None:
        opened = as_vectors(source)
        labels, self.rows = _read(opened, progress)
        if not self.rows.any():
            raise InvalidInputError(
                f"{opened.name}: all vectors are zero, so there is nothing to explore"
            )
        self.name = Path(opened.name).name or opened.name
        self.is_texts = opened.kind is RowKind.TEXTS
        read = in_memory(labels, self.rows, kind=opened.kind).read
        self.vectors: Vectors = replace(opened, read=read, count=len(labels), costly=False)
        self.words: Sequence[str] = _shorten_texts(labels) if self.is_texts else labels
        self._folded = [word.casefold() for word in self.words]
        self._index = WordVectors(self.words, self.rows)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def places(self, words: Iterable[str]) -> NDArray[np.intp]:
        """Return the row of each label, `MISSING` for an unknown one."""
        return self._index.rows(words)

    def complete(self, prefix: str, n: int) -> list[int]:
        """Return the first n rows whose label has a prefix, ignoring case.

        The exact label comes first. For texts, those that contain the prefix come last.
        """
        wanted = prefix.casefold()
        exact = self._index.row(prefix)
        matches = [exact] if exact != MISSING else []
        starts = (row for row, word in enumerate(self._folded) if word.startswith(wanted))
        matches += islice((row for row in starts if row != exact), n)
        if self.is_texts and len(matches) < n:
            matches += self._containing(wanted, n)
        return list(dict.fromkeys(matches))[:n]

    def _containing(self, part: str, n: int) -> list[int]:
        rows = (row for row, text in enumerate(self._folded) if part in text)
        return list(islice(rows, n))

    def look_up(self, queries: Iterable[str]) -> tuple[list[str], list[Unknown]]:
        """Return the labels for queries, and suggestions for those without a vector.

        A query is a word as typed or in lower case. For texts, it is a label, a whole text, or the
        number of a row.
        """
        if not self.is_texts:
            words, missing = look_up(queries, self._index)
            suggested = (suggest(word, self.words) for word in missing)
            return words, [
                Unknown(word, self.name, words)
                for word, words in zip(missing, suggested, strict=True)
            ]
        labels, unknown = [], []
        for query in dict.fromkeys(queries):
            row = self._find_text(query)
            if row == MISSING:
                containing = [self.words[each] for each in self._containing(query.casefold(), 3)]
                unknown.append(Unknown(query, self.name, containing, "text or row"))
            else:
                labels.append(self.words[row])
        return list(dict.fromkeys(labels)), unknown

    def _find_text(self, query: str) -> int:
        for label in (query, shorten(query, _LABEL)):
            if label in self._index:
                return self._index.row(label)
        number = int(query) if query.isascii() and query.isdigit() and len(query) < 16 else 0
        return number - 1 if 1 <= number <= len(self) else MISSING


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the page: a table before or after a map, and the settings of the after side.

    Lengths by usage are left out. They do not change a cosine, and on a plane they would only show
    which words are frequent.
    """

    table: PageTable
    map: AffineMap | None = None
    settings: Settings | None = None

    def rows(self, places: NDArray[np.intp] | slice) -> NDArray[Any]:
        """Return rows of the table on this side."""
        return self((), self.table.rows[places])

    def __call__(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows after the map."""
        return rows if self.map is None else self.map(rows)

    def search(self, query: Search) -> None:
        """Run a search over all rows of this side."""
        search(self.table.vectors, {"": [query]}, {"": self})


def _shorten_texts(texts: Sequence[str]) -> list[str]:
    """Return the beginnings of texts, with the row number where two begin alike."""
    labels: dict[str, None] = {}
    for row, text in enumerate(texts, start=1):
        label = shorten(text, _LABEL)
        labels[f"{label} ({row})" if label in labels else label] = None
    return list(labels)


def _read(vectors: Vectors, progress: Progress) -> tuple[list[str], NDArray[Any]]:
    """Read all vectors into memory, or into a temporary file that is mapped.

    The original file is never mapped: truncating it would crash this process.
    """
    words: list[str] = []
    if vectors.size <= memory_bytes() // 4:
        parts = []
        for labels, rows in vectors.chunks(progress):
            words.extend(labels)
            parts.append(rows)
        return words, np.concatenate(parts)
    with tempfile.TemporaryFile(prefix="conceptor-") as file:
        for labels, rows in vectors.chunks(progress):
            words.extend(labels)
            rows.astype(np.float32, copy=False).tofile(file)
        file.flush()
        return words, np.memmap(file, np.float32, "r", shape=(len(words), vectors.dimension))
