"""Compiled loops over the spelling of words: hashes of n-grams, and sums of many vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.kernels.jit import jit, jit_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPACE = 32
_CONTINUED, _CONTINUES = 0xC0, 0x80  # the bytes of a character after its first
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)


@jit_inline
def _times(x: np.uint32, y: np.uint32) -> np.uint32:
    """Return the lower half of a product: Numba's own has 64 bits."""
    return np.uint32(x * y)


@jit_inline
def _rotate(x: np.uint32, bits: int) -> np.uint32:
    return np.uint32(x << np.uint32(bits)) | np.uint32(x >> np.uint32(32 - bits))


@jit_inline
def _murmur(text: NDArray[np.uint8], start: int, end: int) -> np.uint32:
    """Return MurmurHash3 of some bytes (Appleby; x86, 32 bits, seed 0)."""
    h = np.uint32(0)
    for i in range(start, end, 4):
        block = np.uint32(0)
        for k in range(min(4, end - i)):
            block |= np.uint32(np.uint32(text[i + k]) << np.uint32(8 * k))
        h ^= _times(_rotate(_times(block, _C1), 15), _C2)
        if i + 4 <= end:
            h = np.uint32(_times(_rotate(h, 13), np.uint32(5)) + np.uint32(0xE6546B64))
    h ^= np.uint32(end - start)
    h = _times(h ^ (h >> np.uint32(16)), np.uint32(0x85EBCA6B))
    h = _times(h ^ (h >> np.uint32(13)), np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@jit_inline
def _next(text: NDArray[np.uint8], i: int) -> int:
    """Return where the character after the one at `i` begins."""
    i += 1
    while i < text.size and text[i] & _CONTINUED == _CONTINUES:
        i += 1
    return i


@jit
def hash_ngrams(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    shortest: int,
    longest: int,
    features: int,
    columns: NDArray[np.int32],
    ends: NDArray[np.int32],
) -> int:
    """Write the numbers of each word's n-grams to `columns`; return how many there are.

    A word is UTF-8 between two blanks that count as letters, or several words with one blank
    between them. A word shorter than an n-gram is itself one n-gram. The numbers are those of
    scikit-learn's `HashingVectorizer` (`char_wb`); repeated n-grams repeat their number.
    """
    found = 0
    for row in range(offsets.size - 1):
        begin = offsets[row]
        while begin + 1 < offsets[row + 1]:
            end = begin + 1
            while text[end] != _SPACE:
                end += 1
            for n in range(shortest, longest + 1):
                start, stop = begin, begin
                for _ in range(n):
                    if stop <= end:
                        stop = _next(text, stop)
                while True:
                    h = np.int64(np.int32(_murmur(text, start, stop)))
                    columns[found] = np.int32(abs(h) % features)
                    found += 1
                    if stop > end:
                        break
                    start, stop = _next(text, start), _next(text, stop)
                if start == begin:
                    break
            begin = end
        ends[row + 1] = found
    return found


@jit
def add_rows(
    ends: NDArray[np.int32],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    rows: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Add the product of a sparse matrix in CSR form with `rows`, term by term in its order.

    It reads eight rows at a time: rows are scattered, and memory access is the bottleneck.
    """
    width = rows.shape[1]
    for i in range(sums.shape[0]):
        total = sums[i]
        k = ends[i]
        while k + 8 <= ends[i + 1]:
            a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            e, f, g, h = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
            row_a, row_b = rows[columns[k]], rows[columns[k + 1]]
            row_c, row_d = rows[columns[k + 2]], rows[columns[k + 3]]
            row_e, row_f = rows[columns[k + 4]], rows[columns[k + 5]]
            row_g, row_h = rows[columns[k + 6]], rows[columns[k + 7]]
            for j in range(width):
                half = total[j] + a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
                total[j] = half + e * row_e[j] + f * row_f[j] + g * row_g[j] + h * row_h[j]
            k += 8
        while k < ends[i + 1]:
            for j in range(width):
                total[j] += weights[k] * rows[columns[k], j]
            k += 1
