"""Compiled loops from float32 to decimal text that reads back as the same float32.

Digits are dropped one at a time, from nine significant ones (always enough) to the fewest that
still lie safely inside the interval of reals that round to the number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.kernels.jit import jit, jit_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE, NEWLINE = 32, 10
PLUS, MINUS, POINT, ZERO, E_LETTER = 43, 45, 46, 48, 101

ORIGIN = 70  # TENS[ORIGIN + q] is 10^q
TENS = np.array([float(f"1e{q}") for q in range(-ORIGIN, ORIGIN + 1)])
PAIRS = np.frombuffer(bytearray("".join(f"{i:02d}" for i in range(100)).encode()), dtype=np.uint8)
HALF_ULP = np.array([2.0 ** (max(e, 1) - 127 - 24) for e in range(256)])


@jit_inline
def _write_digits(digits: int | np.uint64, count: int, out: NDArray[np.uint8], at: int) -> None:
    """Write `count` decimal digits, two at a time from the right."""
    rest = np.uint64(digits)
    i = at + count
    while i > at + 1:
        left = rest // np.uint64(100)
        pair = np.uint64(2) * (rest - left * np.uint64(100))
        rest = left
        i -= 2
        out[i] = PAIRS[pair]
        out[i + 1] = PAIRS[pair + np.uint64(1)]
    if i > at:
        out[at] = ZERO + np.int64(rest)


@jit_inline
def _write_number(value: np.float32, bits: int, out: NDArray[np.uint8], at: int) -> int:
    """Write one finite number at `out[at:]` so that it is never a bare integer; return its end."""
    if bits < 0:
        out[at] = MINUS
        at += 1
    magnitude = abs(np.float64(value))
    biased = (bits >> 23) & 255
    exponent = ((biased - 127) * 77) >> 8  # about log10(2) × the binary exponent
    while magnitude >= TENS[np.uint64(ORIGIN + exponent + 1)]:
        exponent += 1
    while magnitude < TENS[np.uint64(ORIGIN + exponent)] and exponent > -46:
        exponent -= 1
    scale = TENS[np.uint64(ORIGIN + 8 - exponent)]
    scaled = magnitude * scale  # nine digits before the point
    # Below a power of two the neighbours are twice as close. The last factor keeps clear of the
    # boundary, because `scaled` is rounded.
    reach = HALF_ULP[np.uint64(biased)] * scale * (0.5 if bits & 0x7FFFFF == 0 else 1.0) * 0.999999
    count = 9
    digits = int(scaled + 0.5)
    while count > 1:
        scaled *= 0.1
        reach *= 0.1
        shorter = int(scaled + 0.5)
        if abs(np.float64(shorter) - scaled) >= reach:
            break
        digits = shorter
        count -= 1
    if digits >= TENS[np.uint64(ORIGIN + count)]:  # 9.99… rounded up to 10
        digits = int(TENS[np.uint64(ORIGIN + count - 1)])
        exponent += 1
    if magnitude == 0:
        digits, exponent = 0, 0
    if -6 < exponent < 0:
        out[at], out[at + 1] = ZERO, POINT
        for i in range(2, 6):  # as many as there may be; digits follow over the rest
            out[at + i] = ZERO
        at += 1 - exponent
        _write_digits(digits, count, out, at)
        at += count
    elif 0 <= exponent < 9:
        at = _write_above_one(digits, count, exponent, out, at)
    else:
        at = _write_scientific(digits, count, exponent, out, at)
    return at


@jit
def _write_above_one(
    digits: int, count: int, exponent: int, out: NDArray[np.uint8], at: int
) -> int:
    whole = exponent + 1  # digits before the point; at least one comes after it
    if count > whole:
        scale = np.uint64(TENS[ORIGIN + count - whole])
        before = np.uint64(digits) // scale
        _write_digits(before, whole, out, at)
        _write_digits(np.uint64(digits) - before * scale, count - whole, out, at + whole + 1)
        out[at + whole] = POINT
        return at + count + 1
    _write_digits(digits, count, out, at)
    for i in range(1, 9):  # of fixed length, so that it does not become a call
        if count <= i < whole:
            out[at + i] = ZERO
    out[at + whole], out[at + whole + 1] = POINT, ZERO
    return at + whole + 2


@jit
def _write_scientific(
    digits: int, count: int, exponent: int, out: NDArray[np.uint8], at: int
) -> int:
    _write_digits(digits, count, out, at + 1)
    out[at] = out[at + 1]
    at += 1
    if count > 1:
        out[at] = POINT
        at += count
    out[at] = E_LETTER
    out[at + 1] = MINUS if exponent < 0 else PLUS
    _write_digits(abs(exponent), 2, out, at + 2)
    return at + 4


@jit
def format_rows(
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    values: NDArray[np.float32],
    bits: NDArray[np.int32],
    out: NDArray[np.uint8],
) -> int:
    """Write `word number ... number NEWLINE` lines into `out`; return the bytes used.

    `bits` is `values` viewed as int32. `out` must have room for the words, 17 bytes per number and
    one per line.
    """
    rows, dimension = values.shape
    at = 0
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            out[at] = blob[i]
            at += 1
        for column in range(dimension):
            out[at] = SPACE
            at = _write_number(values[row, column], bits[row, column], out, at + 1)
        out[at] = NEWLINE
        at += 1
    return at
