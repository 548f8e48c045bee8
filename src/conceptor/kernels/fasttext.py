"""Compiled loops over fastText models: their dictionary, and vectors made of character n-grams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.kernels.jit import jit, jit_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

# After each word and its zero byte: a count of eight bytes, and a kind of one.
_AFTER_WORD = 9
_FNV_START, _FNV_FACTOR = np.uint32(2166136261), np.uint32(16777619)
_BEGIN, _END = 60, 62  # <word>


@jit
def scan_dictionary(
    data: NDArray[np.uint8],
    start: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Note where each word of a dictionary begins and ends.

    Returns where the last entry ends, or -1 if the data ends before it.
    """
    position = start
    for row in range(starts.size):
        starts[row] = position
        while position < data.size and data[position] != 0:
            position += 1
        ends[row] = position
        position += 1 + _AFTER_WORD
        if position > data.size:
            return -1
    return position


@jit_inline
def _letter(blob: NDArray[np.uint8], start: int, end: int, i: int) -> int:
    """Return byte i of `<word>`."""
    if i == 0:
        return _BEGIN
    return _END if start + i - 1 >= end else int(blob[start + i - 1])


@jit
def add_ngrams(
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    buckets: NDArray[np.float32],
    shortest: int,
    longest: int,
    vectors: NDArray[np.float32],
) -> None:
    """Turn the row of each word into the mean of it and the rows of the word's n-grams.

    An n-gram of letters (UTF-8 characters) of `<word>` has the row that the FNV-1a hash of its
    bytes gives; bytes are taken as signed, as fastText does. `</s>`, the end of a line, has none.
    """
    rows, columns = vectors.shape
    for row in range(rows):
        start, end = offsets[row], offsets[row + 1]
        if (
            end - start == 4
            and blob[start] == 60
            and blob[start + 1] == 47
            and blob[start + 2] == 115
            and blob[start + 3] == 62
        ):
            continue
        size = end - start + 2
        parts = 1
        for i in range(size):
            if _letter(blob, start, end, i) & 0xC0 == 0x80:
                continue
            hashed = _FNV_START
            j, length = i, 0
            while j < size and length < longest:
                length += 1
                while True:
                    byte = np.uint32(_letter(blob, start, end, j))
                    if byte >= 128:
                        byte |= np.uint32(0xFFFFFF00)
                    hashed = np.uint32((hashed ^ byte) * _FNV_FACTOR)
                    j += 1
                    if j >= size or _letter(blob, start, end, j) & 0xC0 != 0x80:
                        break
                if length >= shortest and not (length == 1 and (i == 0 or j == size)):
                    bucket = int(hashed) % buckets.shape[0]
                    for column in range(columns):
                        vectors[row, column] += buckets[bucket, column]
                    parts += 1
        scale = np.float32(1.0 / parts)
        for column in range(columns):
            vectors[row, column] *= scale
