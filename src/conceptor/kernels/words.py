"""Compiled loops over packed words: hashes to find duplicates, and word2vec's binary rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.kernels.jit import jit, jit_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE = 32
NEWLINE = 10


@jit_inline
def _rotate(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@jit_inline
def _sip_rounds(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, rounds: int
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    for _ in range(rounds):
        a, c = a + b, c + d
        b, d = _rotate(b, 13) ^ a, _rotate(d, 16) ^ c
        a = _rotate(a, 32) + d
        c += b
        d, b = _rotate(d, 21) ^ a, _rotate(b, 17) ^ c
        c = _rotate(c, 32)
    return a, b, c, d


@jit
def hash_words(
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    key: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    more: NDArray[np.uint32],
) -> None:
    """Hash each word with SipHash-2-4-128 (Aumasson & Bernstein 2012) under a key of two numbers.

    `hashes` gets its first 64 bits, but never 0, which marks a free slot in the set; `more` gets
    32 of the others. Without the key nobody can make words that collide.
    """
    for row in range(hashes.size):
        a = key[0] ^ np.uint64(0x736F6D6570736575)
        b = key[1] ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
        c = key[0] ^ np.uint64(0x6C7967656E657261)
        d = key[1] ^ np.uint64(0x7465646279746573)
        i, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        length = end - i
        while i + np.uint64(8) <= end:
            block = np.uint64(0)
            for k in range(8):
                block |= np.uint64(blob[i + np.uint64(k)]) << np.uint64(8 * k)
            a, b, c, d = _sip_rounds(a, b, c, d ^ block, 2)
            a ^= block
            i += np.uint64(8)
        block = length << np.uint64(56)
        for k in range(end - i):
            block |= np.uint64(blob[i + np.uint64(k)]) << np.uint64(8 * k)
        a, b, c, d = _sip_rounds(a, b, c, d ^ block, 2)
        a, b, c, d = _sip_rounds(a ^ block, b, c ^ np.uint64(0xEE), d, 4)
        hashes[row] = max(a ^ b ^ c ^ d, np.uint64(1))
        a, b, c, d = _sip_rounds(a, b ^ np.uint64(0xDD), c, d, 4)
        more[row] = np.uint32(a ^ b ^ c ^ d)


@jit
def insert_hashes(
    table: NDArray[np.uint64],
    table_more: NDArray[np.uint32],
    hashes: NDArray[np.uint64],
    more: NDArray[np.uint32],
    is_new: NDArray[np.bool_],
) -> int:
    """Put hashes into an open-addressing table (size a power of two); mark the new ones.

    The leading bits give a hash's place, so a table is ordered except for collisions. Returns how
    many were new. The caller keeps the table from filling up.
    """
    shift = np.uint64(64)
    size = table.size
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    mask = np.uint64(table.size - 1)
    inserted = 0
    for row in range(hashes.size):
        place = hashes[row] >> shift
        while table[place] != 0 and (table[place] != hashes[row] or table_more[place] != more[row]):
            place = (place + np.uint64(1)) & mask
        is_new[row] = table[place] == 0
        if is_new[row]:
            table[place] = hashes[row]
            table_more[place] = more[row]
            inserted += 1
    return inserted


@jit_inline
def _copy(
    source: NDArray[np.uint8], start: int, target: NDArray[np.uint8], at: int, count: int
) -> None:
    """Copy bytes; unsigned indices need no sign check, so the loop becomes wide moves."""
    for i in range(count):
        target[np.uint64(at) + np.uint64(i)] = source[np.uint64(start) + np.uint64(i)]


@jit
def scan_binary(
    buffer: NDArray[np.uint8],
    vectors: NDArray[np.uint8],
    word_starts: NDArray[np.int64],
    word_ends: NDArray[np.int64],
    taken: NDArray[np.int64],
) -> None:
    """Take whole `word SPACE floats [NEWLINE]` rows from the front of `buffer`.

    Copies each row's bytes to `vectors` and notes where its word is. Puts the number of rows and
    of bytes into `taken`; the rest is the beginning of a row that the buffer cuts off.
    """
    rows, width = vectors.shape
    position = 0
    for row in range(rows):
        start = position
        while start < buffer.size and buffer[start] == NEWLINE:
            start += 1
        end = start
        while end < buffer.size and buffer[end] != SPACE:
            end += 1
        if end + 1 + width > buffer.size:
            rows = row
            break
        word_starts[row] = start
        word_ends[row] = end
        _copy(buffer, end + 1, vectors[row], 0, width)
        position = end + 1 + width
    taken[0] = rows
    taken[1] = position


@jit
def join_binary(
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    vectors: NDArray[np.uint8],
    buffer: NDArray[np.uint8],
) -> None:
    """Write `word SPACE floats NEWLINE` rows: the inverse of `scan_binary`."""
    rows, width = vectors.shape
    position = 0
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            buffer[position] = blob[i]
            position += 1
        buffer[position] = SPACE
        position += 1
        _copy(vectors[row], 0, buffer, position, width)
        position += width
        buffer[position] = NEWLINE
        position += 1


@jit
def gather_words(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> None:
    """Copy the words at `buffer[starts:ends]` one after another into `blob`; fill `offsets`."""
    position = 0
    for row in range(starts.size):
        offsets[row] = position
        for i in range(starts[row], ends[row]):
            blob[position] = buffer[i]
            position += 1
    offsets[starts.size] = position


@jit
def first_beyond(values: NDArray[np.float32], limit: np.float32) -> int:
    """Return the first row with NaN or a magnitude above `limit`, or -1."""
    rows, columns = values.shape
    for row in range(rows):
        within = True
        for column in range(columns):  # no early exit, so that it vectorises
            within &= abs(values[row, column]) <= limit
        if not within:
            return row
    return -1
