"""All vectors of a file in memory, with lookup and completion of their labels."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import block_slices, row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import memory_bytes
from conceptor.concepts.neighbors import Unknown, look_up, shorten, suggest
from conceptor.vectors.files import as_vectors, in_memory
from conceptor.vectors.formats.tables import Table
from conceptor.vectors.table import MISSING, WordVectors
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress
    from conceptor.explore.session import Settings
    from conceptor.vectors.vectors import Vectors

__all__ = ["PageTable", "Side"]

# The length of a text's label on the page.
_LABEL = 100


class PageTable:
    """All vectors of a file, ready for any number of questions.

    `texts` are whole, and `words` are the labels of rows: words, or the beginnings of texts.
    `columns` are the other columns of a table of texts, by name.
    """

    def __init__(self, source: object, progress: Progress = silent) -> None:
        opened = as_vectors(source)
        self.texts, self.rows = _read(opened, progress)
        if not self.rows.any():
            raise InvalidInputError(
                f"{opened.name}: all vectors are zero, so there is nothing to explore"
            )
        self.name = Path(opened.name).name or opened.name
        self.is_texts = opened.kind is RowKind.TEXTS
        read = in_memory(self.texts, self.rows, kind=opened.kind).read
        count = len(self.texts)
        self.vectors: Vectors = replace(opened, read=read, count=count, costly=False)
        self.columns = _read_columns(opened, count) if self.is_texts else {}
        self.words: Sequence[str] = _shorten_texts(self.texts) if self.is_texts else self.texts
        self._folded = [text.casefold() for text in self.texts]
        self._index = WordVectors(self.words, self.rows)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    @cached_property
    def lengths(self) -> NDArray[Any]:
        """The length of each row, or 1 for a row of zeros."""
        return np.concatenate([row_lengths(self.rows[each]) for each in self.blocks])

    @property
    def blocks(self) -> list[slice]:
        """Slices of all rows that fit into little memory."""
        return list(block_slices(len(self), self.rows.shape[1]))

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
            matches += islice(self.containing(prefix), n)
        return list(dict.fromkeys(matches))[:n]

    def containing(self, words: str) -> Iterable[int]:
        """Return the rows of the texts that contain all of some words, ignoring case."""
        parts = words.casefold().split()
        return (i for i, text in enumerate(self._folded) if all(part in text for part in parts))

    def look_up(self, queries: Iterable[str]) -> tuple[list[str], list[Unknown]]:
        """Return the labels for queries, and suggestions for those without a vector.

        A query is a word as typed or in lower case. For texts, it is a label, a whole text, or the
        number of a row.
        """
        if not self.is_texts:
            words, missing = look_up(queries, self._index)
            return words, [Unknown(each, self.name, suggest(each, self.words)) for each in missing]
        labels, unknown = [], []
        for query in dict.fromkeys(queries):
            row = self._find_text(query)
            if row == MISSING:
                containing = [self.words[each] for each in islice(self.containing(query), 3)]
                unknown.append(Unknown(query, self.name, containing, "text or row"))
            else:
                labels.append(self.words[row])
        return list(dict.fromkeys(labels)), unknown

    def _find_text(self, query: str) -> int:
        for row in self.places([query, shorten(query, _LABEL)]):
            if row != MISSING:
                return int(row)
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

    def enter(self, places: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows as they enter the matrix of the map."""
        assert self.map is not None
        rows = self.table.rows[places].astype(np.float64)
        if self.map.unit:
            rows = rows / row_lengths(rows)[:, np.newaxis]
        return np.asarray(rows - self.map.offset)

    def __call__(self, words: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows after the map."""
        return rows if self.map is None else self.map(rows)

    def lengths(self) -> NDArray[Any]:
        """Return the length of each row after the map, infinite for a row of zeros."""
        table, map_ = self.table, self.map
        lengths = table.lengths.copy()
        for block in table.blocks:
            rows = table.rows[block]
            if map_ is not None:
                matrix = map_.matrix.astype(rows.dtype)
                rows = rows @ matrix
                rows /= table.lengths[block, np.newaxis] if map_.unit else 1
                rows -= map_.offset @ matrix
                lengths[block] = row_lengths(rows)
            lengths[block][~rows.any(axis=1)] = np.inf
        return lengths

    def cosines(self, direction: NDArray[Any], lengths: NDArray[Any]) -> NDArray[Any]:
        """Return the cosine of each row after the map with a unit direction.

        With ``y = (x − o) A``, the product ``y d`` is ``x (A d) − o A d``. So it costs one product
        with the rows as they are, if the lengths after the map are known.
        """
        rows = self.table.rows
        if self.map is None:
            return np.asarray(rows @ direction.astype(rows.dtype) / lengths)
        inner = self.map.matrix @ direction
        products = rows @ inner.astype(rows.dtype)
        if self.map.unit:
            products /= self.table.lengths
        return np.asarray((products - float(self.map.offset @ inner)) / lengths)


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


def _read_columns(vectors: Vectors, count: int) -> dict[str, list[Any]]:
    """Return the columns besides vectors and labels; none if rows were skipped."""
    table = vectors.extra
    if not isinstance(table, Table):
        return {}
    names = [each for each in table.schema.names if each not in (*table.vectors, table.label)]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for batch in table.read(names, 1 << 14) if names else ():
        for name in names:
            columns[name] += batch.column(name).to_pylist()
    return {name: values for name, values in columns.items() if len(values) == count}
