"""What all shard formats have in common: rows in, mapped rows out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.arrays import Array

# Rows are read in batches of about this many bytes; a task holds a few at a time.
BATCH_BYTES = 16 << 20


class Layout(NamedTuple):
    """The shape of a shard; `cuts` are the row numbers, from 0 to `rows`, where it splits cheaply.

    `rows` is None if only a full read can tell, `dimension` if there are no rows.
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
    """What to read besides the vectors."""

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


def map_rows(map_: AffineMap, vectors: Array, where: object, start: int) -> Array:
    """Map rows, keeping their dtype; raise for NaN, infinity or overflow, naming the row."""
    native = vectors.astype(vectors.dtype.newbyteorder("="), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        result = map_(native).astype(native.dtype, copy=False)
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
