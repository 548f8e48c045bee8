"""What the formats of shards have in common: rows in, mapped rows out."""

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

# Rows are held in batches of about this many bytes: a task needs a few of them.
BATCH_BYTES = 16 << 20


class Layout(NamedTuple):
    """What a shard holds; `cuts` are the row numbers, from 0 to `rows`, where it is cut cheaply.

    `rows` is None where only reading it all would tell, `dimension` where there is no row.
    """

    rows: int | None
    dimension: int | None
    row_bytes: int
    cuts: tuple[int, ...]


class Rows(NamedTuple):
    """Consecutive rows; words are empty and weights None where they were not asked for."""

    vectors: Array
    words: Sequence[str]
    weights: Array | None = None


class Need(NamedTuple):
    """What is wanted besides the vectors."""

    words: bool = False
    weights: str | None = None


class Content(Protocol):
    """A shard opened by its format."""

    def layout(self) -> Layout:
        """Look at the shard without reading its rows."""

    def read(self, start: int, stop: int | None, need: Need) -> Iterator[Rows]:
        """Yield the rows between two cuts in batches, in order."""

    def rewrite(self, map_: AffineMap, path: Path, told: Callable[[int], None]) -> int:
        """Write the shard, mapped, to `path`; tell the rows done on the way, return them all."""


def wordless(count: int) -> Sequence[str]:
    """Return `count` empty words."""
    return PackedWords(np.empty(0, np.uint8), np.zeros(count + 1, np.int64))


def batch_rows(row_bytes: int) -> int:
    """Return how many rows make a batch."""
    return max(1, BATCH_BYTES // max(1, row_bytes))


def mapped(map_: AffineMap, vectors: Array, where: object, start: int) -> Array:
    """Map rows, in the type they came in; NaN, infinity or overflow raise, naming the row."""
    native = vectors.astype(vectors.dtype.newbyteorder("="), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        result = map_(native).astype(native.dtype, copy=False)
        flat = result.reshape(-1)
        # One quick pass: the squares add up to a number only if all are numbers.
        if not np.isfinite(np.vdot(flat, flat)):
            check_finite(native, where, start)
            check_finite(result, where, start, f"its image does not fit {result.dtype}")
    return result


def check_finite(
    vectors: Array, where: object, start: int, found: str = "the vector has NaN or Inf"
) -> None:
    """Raise, naming the row, where a number is none."""
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise InvalidInputError(f"{where}, row {start + int(bad[0]) + 1}: {found}; repair it")
