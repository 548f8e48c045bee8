"""Compiled loops over text and tokens: find words, number them, count pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.kernels.jit import jit, jit_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A boundary among the numbers of tokens, which no window crosses. Other negative numbers are tokens
# outside the vocabulary, which only take up space in a window.
BOUNDARY = -1

# Where windows end: at the end of every line, or at an empty line (else only with the document).
LINE, PARAGRAPH = 0, 1

_APOSTROPHE = 39
_NEWLINE = 10
_FIBONACCI = np.uint64(0x9E3779B97F4A7C15)


@jit_inline
def _code_point(text: NDArray[np.uint8], i: int) -> tuple[np.int64, int]:
    """Return the character at `i` of valid UTF-8 and how many bytes it takes."""
    first = np.int64(text[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | np.int64(text[i + 1]) & 0x3F, 2
    second = np.int64(text[i + 1]) & 0x3F
    third = np.int64(text[i + 2]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, 3
    return (first & 0x07) << 18 | second << 12 | third << 6 | np.int64(text[i + 3]) & 0x3F, 4


@jit
def find_tokens(
    text: NDArray[np.uint8],
    in_token: NDArray[np.bool_],
    unit: int,
    state: NDArray[np.bool_],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
) -> int:
    """Fill `starts` and `ends` with the tokens of `text`; a boundary has the start `BOUNDARY`.

    A token is a run of characters marked in the table `in_token`; an apostrophe inside one belongs
    to it. `state` is carried from block to block: whether the line is empty so far, and whether
    a token came after the last boundary. Returns how many were found.
    """
    found = 0
    blank, pending = state[0], state[1]
    i = 0
    while i < text.size:
        character, size = _code_point(text, i)
        if in_token[character]:
            start = i
            while True:
                i += size
                if i >= text.size:
                    break
                character, size = _code_point(text, i)
                if character == _APOSTROPHE and i + 1 < text.size:
                    after, _ = _code_point(text, i + 1)
                    if in_token[after]:
                        continue
                if not in_token[character]:
                    break
            starts[found], ends[found] = start, i
            found += 1
            blank, pending = False, True
            continue
        if character == 0 or (
            character == _NEWLINE and (unit == LINE or (unit == PARAGRAPH and blank))
        ):
            if pending:
                starts[found] = BOUNDARY
                found += 1
            pending = False
        if character in (0, _NEWLINE):
            blank = True
        elif character > 32:
            blank = False
        i += size
    state[0], state[1] = blank, pending
    return found


@jit_inline
def _same(
    text: NDArray[np.uint8], start: int, blob: NDArray[np.uint8], begin: int, length: int
) -> bool:
    for k in range(length):  # noqa: SIM110 - compiled
        if text[start + k] != blob[begin + k]:
            return False
    return True


@jit
def number_tokens(
    text: NDArray[np.uint8],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    table: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    known: int,
    numbers: NDArray[np.int32],
) -> int:
    """Write each token's number to `numbers`, new words getting the next; return the word count.

    `table` holds numbers + 1 by hash; the caller must leave room for every token to be new.
    """
    mask = np.uint64(table.size - 1)
    for t in range(starts.size):
        start = starts[t]
        if start == BOUNDARY:
            numbers[t] = BOUNDARY
            continue
        length = ends[t] - start
        h = np.uint64(0xCBF29CE484222325)
        for k in range(start, ends[t]):
            h = (h ^ np.uint64(text[k])) * np.uint64(0x100000001B3)
        h ^= h >> np.uint64(32)
        h *= _FIBONACCI
        h ^= h >> np.uint64(29)
        place = h & mask
        while True:
            word = table[place] - 1
            if word < 0:
                word = known
                known += 1
                table[place] = known
                hashes[word] = h
                begin = offsets[word]
                for k in range(length):
                    blob[begin + k] = text[start + k]
                offsets[word + 1] = begin + length
                counts[word] = 0
                break
            begin = offsets[word]
            if (
                hashes[word] == h
                and offsets[word + 1] - begin == length
                and _same(text, start, blob, begin, length)
            ):
                break
            place = (place + np.uint64(1)) & mask
        counts[word] += 1
        numbers[t] = word
    return known


@jit
def fill_table(table: NDArray[np.int32], hashes: NDArray[np.uint64]) -> None:
    """Enter numbered words into an empty table by their hashes."""
    mask = np.uint64(table.size - 1)
    for word in range(hashes.size):
        place = hashes[word] & mask
        while table[place] != 0:
            place = (place + np.uint64(1)) & mask
        table[place] = word + 1


@jit_inline
def _shift(size: int) -> np.uint64:
    """Return the shift from a hash to a place in a table of `size`, a power of two."""
    shift = np.uint64(64)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    return shift


@jit
def count_pairs(
    tokens: NDArray[np.int32],
    window: int,
    weights: NDArray[np.int64],
    words: int,
    shard: int,
    shards: int,
    table: NDArray[np.uint64],
    limit: int,
    state: NDArray[np.int64],
) -> None:
    """Count the pairs of each token from `state[0]` on with the `window` tokens before it.

    A pair (i ≤ j) has the key ``i · words + j + 1``; a row of the hash table `table` is a key (0:
    free) and the sum of ``weights[distance]``. Only keys of this shard are counted, so that
    threads share the work without sharing a table. Stops before more than `limit` rows are used;
    `state` receives the stopping place and the number of used rows.
    """
    shift = _shift(table.shape[0])
    begin, used = state[0], state[1]
    state[0] = tokens.size
    mask = np.uint64(table.shape[0] - 1)
    for t in range(begin, tokens.size):
        word = tokens[t]
        if word < 0:
            continue
        if used + window > limit:
            state[0] = t
            break
        for distance in range(1, min(window, t) + 1):
            other = tokens[t - distance]
            if other < 0:
                if other == BOUNDARY:
                    break
                continue
            low, high = min(word, other), max(word, other)
            key = np.uint64(low) * np.uint64(words) + np.uint64(high) + np.uint64(1)
            h = key * _FIBONACCI
            if shards > 1 and (h >> np.uint64(16)) % np.uint64(shards) != np.uint64(shard):
                continue
            place = h >> shift
            while table[place, 0] != key and table[place, 0] != 0:
                place = (place + np.uint64(1)) & mask
            if table[place, 0] == 0:
                table[place, 0] = key
                used += 1
            table[place, 1] += np.uint64(weights[distance])
    state[1] = used


@jit
def move_pairs(source: NDArray[np.uint64], target: NDArray[np.uint64]) -> None:
    """Enter the pairs of a hash table into a larger, empty one."""
    shift = _shift(target.shape[0])
    mask = np.uint64(target.shape[0] - 1)
    for row in range(source.shape[0]):
        key = source[row, 0]
        if key == 0:
            continue
        place = (key * _FIBONACCI) >> shift
        while target[place, 0] != 0:
            place = (place + np.uint64(1)) & mask
        target[place, 0] = key
        target[place, 1] = source[row, 1]
