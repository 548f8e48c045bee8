"""Shards of each format: rows in, mapped rows out.

Parquet, which needs PyArrow, is in `parquet`.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.conversion import convert
from conceptor.vectors.files import open_vectors
from conceptor.vectors.formats.npy import make_header, read_header
from conceptor.vectors.formats.registry import find_format
from conceptor.vectors.formats.words_file import (
    check_count,
    normal_lines,
    split_lines,
    words_path,
)
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.arrays import Array
    from conceptor.distributed.storage import Place
    from conceptor.vectors.formats.npy import Header
    from conceptor.vectors.source import VectorSource

# Rows are read in batches of about this many bytes; a task holds a few at a time.
BATCH_BYTES = 16 << 20


class Layout(NamedTuple):
    """The shape of a shard; `cuts` are the row numbers, from 0 to `rows`, where it splits cheaply.

    `rows` is None if only a full read can count them, `dimension` if there are no rows.
    """

    rows: int | None
    dimension: int | None
    row_bytes: int
    cuts: tuple[int, ...]


class Rows(NamedTuple):
    """Consecutive rows; words are empty and weights None unless requested."""

    vectors: Array
    words: Sequence[str]
    weights: Array | None = None


class Need(NamedTuple):
    """The data to read besides the vectors."""

    words: bool = False
    weights: str | None = None


class Content(Protocol):
    """A shard opened in its format."""

    def layout(self) -> Layout:
        """Return the shard's shape without reading its rows."""

    def read(self, start: int, stop: int | None, need: Need) -> Iterator[Rows]:
        """Yield the rows between two cuts in batches, in order."""

    def rewrite(self, map_: AffineMap, path: Path, report: Callable[[int], None]) -> int:
        """Write the mapped shard to `path`, reporting rows on the way; return their number."""


def empty_words(count: int) -> Sequence[str]:
    """Return `count` empty words."""
    return PackedWords(np.empty(0, np.uint8), np.zeros(count + 1, np.int64))


def batch_rows(row_bytes: int) -> int:
    """Return the number of rows in a batch."""
    return max(1, BATCH_BYTES // max(1, row_bytes))


def map_rows(
    map_: AffineMap, vectors: Array, where: object, start: int, words: Sequence[str] | None = None
) -> Array:
    """Map rows, keeping their dtype; raise for NaN, infinity or overflow, naming the row."""
    native = vectors.astype(vectors.dtype.newbyteorder("="), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = map_(native) if words is None else map_.map_words(words, native)
        result = mapped.astype(native.dtype, copy=False)
        flat = result.reshape(-1)
        # One quick pass: the sum of squares is finite only if every number is.
        if not np.isfinite(np.vdot(flat, flat)):
            check_finite(native, where, start)
            check_finite(result, where, start, f"the mapped vector overflows {result.dtype}")
    return result


def check_finite(
    vectors: Array, where: object, start: int, found: str = "the vector has NaN or Inf"
) -> None:
    """Raise, naming the row, if a number is not finite."""
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise InvalidInputError(f"{where}, row {start + int(bad[0]) + 1}: {found}; fix the row")


# A `.npy` shard is split at multiples of about this many bytes.
_CUT_BYTES = 32 << 20


class NpyContent:
    """A bare matrix in C order, with direct access to rows; a words file beside it is copied."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def _header(self) -> Header:
        with self._place.open() as file:
            found = read_header(file, self._place)
        if found.fortran:
            raise InvalidInputError(
                f"{self._place}: stored in Fortran order, so single rows cannot be read; "
                "save np.ascontiguousarray of it instead"
            )
        if not found.columns:
            raise InvalidInputError(f"{self._place}: vectors of 0 numbers; expected 1 or more")
        found.check_size(self._place, self._place.state()[0])
        return found

    def layout(self) -> Layout:
        """Read the header."""
        found = self._header()
        step = max(1, _CUT_BYTES // found.row_bytes)
        cuts = (*range(0, found.rows, step), found.rows)
        return Layout(found.rows, found.columns, found.row_bytes, cuts)

    def read(self, start: int, stop: int | None, need: Need) -> Iterator[Rows]:
        """Yield rows; words come from the file beside the array."""
        if need.weights is not None:
            raise InvalidInputError(
                f"{self._place}: a .npy array has no column {need.weights}; use Parquet"
            )
        found = self._header()
        words = self._words(found) if need.words else None
        stop = found.rows if stop is None else stop
        step = batch_rows(found.row_bytes)
        with self._place.open() as file:
            for first in range(start, stop, step):
                rows = found.read_rows(file, first, min(first + step, stop), self._place)
                native = rows.astype(found.dtype.newbyteorder("="), copy=False)
                text = empty_words(len(rows)) if words is None else words[first : first + len(rows)]
                yield Rows(native, text)

    def _words(self, header: Header) -> PackedWords:
        beside = words_beside(self._place)
        if beside is None:
            raise InvalidInputError(f"{self._place}: a .npy array has no words; use Parquet")
        with beside.open() as file:
            words = split_lines(normal_lines(file.read()))
        check_count(words, header.rows, beside, self._place.name)
        return words

    def rewrite(self, map_: AffineMap, path: Path, report: Callable[[int], None]) -> int:
        """Write a header, then rows of the same dtype."""
        found = self._header()
        done = 0
        with path.open("wb") as file:
            file.write(make_header(found.rows, map_.n_out, found.dtype, found.check))
            for rows in self.read(0, None, Need()):
                image = map_rows(map_, rows.vectors, self._place, done)
                file.write(image.astype(found.dtype.newbyteorder("<"), copy=False).data)
                done += len(image)
                report(done)
        return done


def words_beside(place: Place) -> Place | None:
    """Return the words file of an array, if there is one."""
    if not place.name.endswith(".npy"):
        return None
    words = place.parent / words_path(Path(place.name)).name
    return words if words.exists() else None


class WordFileContent:
    """A word2vec or GloVe file, text or binary, read from start to end."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @contextmanager
    def _open(self) -> Iterator[VectorSource]:
        with self._place.local_copy() as path:
            try:
                source = open_vectors(path)
                kind = find_format(source.format)
                if kind is None or not kind.streamed:
                    raise InvalidInputError(
                        f"{path}: {source.format} files cannot be shards; convert them to .parquet "
                        "or .npy"
                    )
                yield source
            except InvalidInputError as error:
                if self._place.is_local:
                    raise
                raise InvalidInputError(str(error).replace(str(path), str(self._place))) from None

    def layout(self) -> Layout:
        """Read the first row; counting them would take a full pass."""
        with self._open() as source:
            return Layout(None, source.dimension, 4 * source.dimension, (0,))

    def read(self, start: int, stop: int | None, need: Need) -> Iterator[Rows]:
        """Yield all rows."""
        if need.weights is not None:
            raise InvalidInputError(
                f"{self._place}: no column {need.weights}, only words and vectors; use Parquet"
            )
        with self._open() as source:
            for chunk in source.chunks():
                yield Rows(chunk.vectors, chunk.words)

    def rewrite(self, map_: AffineMap, path: Path, report: Callable[[int], None]) -> int:
        """Write the same format and compression."""

        def report_words(label: str, fraction: float | None, words: int) -> None:
            report(words)

        with self._open() as source:
            return convert(source, path, map_, format=source.format, progress=report_words).words
