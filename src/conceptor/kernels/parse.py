"""Compiled loops from decimal text to float32, exact.

`digits × 10^q` is computed in float64, whose error is below 4e-16 here, and both ends of that error
are rounded to float32. If they agree, as for all but about one number in 10^8, the result is the
float32 nearest to the text; if not, the caller computes it with exact decimals. So no number
is rounded twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.kernels.jit import jit, jit_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE, TAB, NEWLINE, RETURN = 32, 9, 10, 13
PLUS, MINUS, POINT, ZERO = 43, 45, 46, 48
LOWER = 32  # the bit by which ASCII lower case differs from upper case
E_LETTER = 101

OK, NOT_A_NUMBER, UNSURE = 0, 1, 2
RAGGED, NOT_NUMERIC, BLANK = 1, 2, 3

ORIGIN = 70  # TENS[ORIGIN + q] is 10^q
TENS = np.array([float(f"1e{q}") for q in range(-ORIGIN, ORIGIN + 1)])


@jit_inline
def _is_blank(character: int) -> bool:
    return character in (SPACE, TAB)


@jit
def _special(text: NDArray[np.uint8], start: int, end: int) -> float:
    """Return nan or inf for the spellings C and Python use, -1 for anything else."""
    size = end - start
    if size != 3 and size != 8:
        return -1.0
    spelling = b"nan"
    if text[start] | LOWER == 105:  # i
        spelling = b"inf" if size == 3 else b"infinity"
    if size != len(spelling):
        return -1.0
    for i in range(size):
        if text[start + i] | LOWER != spelling[i]:
            return -1.0
    return np.nan if spelling[0] == 110 else np.inf


@jit
def parse_number(text: NDArray[np.uint8], start: int, end: int) -> tuple[int, np.float32, int]:
    """Read the number at `start`; return a status, the nearest float32, and where it stops."""
    i = start
    negative = False
    if i < end and (text[i] == MINUS or text[i] == PLUS):
        negative = text[i] == MINUS
        i += 1
    body = i
    digits = np.uint64(0)
    used = 0  # significant digits in `digits`; 19 always fit
    exponent = 0
    seen = 0
    while i < end and ZERO <= text[i] <= ZERO + 9:
        seen += 1
        if used < 19:
            digits = digits * np.uint64(10) + np.uint64(text[i] - ZERO)
            used += digits != 0
        else:
            exponent += 1
        i += 1
    if i < end and text[i] == POINT:
        i += 1
        while i < end and ZERO <= text[i] <= ZERO + 9:
            seen += 1
            if used < 19:
                digits = digits * np.uint64(10) + np.uint64(text[i] - ZERO)
                used += digits != 0
                exponent -= 1
            i += 1
    if seen == 0:
        while i < end and not _is_blank(text[i]) and text[i] != NEWLINE and text[i] != RETURN:
            i += 1
        special = _special(text, body, i)
        if special == -1.0:
            return NOT_A_NUMBER, np.float32(0), i
        return OK, np.float32(-special if negative else special), i
    if i < end and text[i] | LOWER == E_LETTER:
        i += 1
        sign = 1
        if i < end and (text[i] == MINUS or text[i] == PLUS):
            sign = -1 if text[i] == MINUS else 1
            i += 1
        if i >= end or not (ZERO <= text[i] <= ZERO + 9):
            return NOT_A_NUMBER, np.float32(0), i
        written = 0
        while i < end and ZERO <= text[i] <= ZERO + 9:
            written = min(written * 10 + (text[i] - ZERO), 1 << 40)
            i += 1
        exponent += sign * written
    if i < end and not _is_blank(text[i]) and text[i] != NEWLINE and text[i] != RETURN:
        return NOT_A_NUMBER, np.float32(0), i
    value = float(digits)
    # value × 10^exponent lies in [10^(used + exponent - 1), 10^(used + exponent)).
    if used == 0 or used + exponent < -46:
        value = 0.0
    elif used + exponent > 40:
        value = np.inf
    else:
        value = value * TENS[ORIGIN + exponent]
    if negative:
        value = -value
    low = np.float32(value * (1 - 1e-15))
    high = np.float32(value * (1 + 1e-15))
    return (OK if low == high else UNSURE), high, i


@jit_inline
def _parse_plain(text: NDArray[np.uint8], i: int) -> tuple[int, np.float32, int]:
    """Read a number of at most 19 digits without an exponent; anything else is not `OK`.

    Needs no end: the newline after the last line stops it.
    """
    negative = text[i] == MINUS
    if negative:
        i += 1
    digits = np.uint64(0)
    first = i
    while ZERO <= text[i] <= ZERO + 9:
        digits = digits * np.uint64(10) + np.uint64(text[i] - ZERO)
        i += 1
    count = i - first
    places = 0
    if text[i] == POINT:
        i += 1
        first = i
        while ZERO <= text[i] <= ZERO + 9:
            digits = digits * np.uint64(10) + np.uint64(text[i] - ZERO)
            i += 1
        places = i - first
        count += places
    status = OK
    if count == 0 or count > 19 or not (text[i] == SPACE or text[i] == NEWLINE or text[i] == TAB):
        status = NOT_A_NUMBER
    value = np.float64(digits) * TENS[np.uint64(ORIGIN - min(places, 19))]
    if negative:
        value = -value
    low = np.float32(value * (1 - 1e-15))
    high = np.float32(value * (1 + 1e-15))
    if low != high:
        status = UNSURE
    return status, high, i


@jit
def _parse_fields(
    text: NDArray[np.uint8],
    i: int,
    end: int,
    values: NDArray[np.float32],
    row: int,
    unsure: NDArray[np.int64],
    n_unsure: int,
) -> tuple[bool, int, int]:
    """Read one row of blank-separated numbers; return success, where it stopped, and `n_unsure`."""
    for column in range(values.shape[1]):
        while _is_blank(text[i]):
            i += 1
        start = i
        status, value, i = _parse_plain(text, i)
        if status != OK:
            status, value, i = parse_number(text, start, end)
        values[row, column] = value
        if status == NOT_A_NUMBER:
            return False, i, n_unsure
        if status == UNSURE:
            unsure[n_unsure, 0] = row
            unsure[n_unsure, 1] = column
            unsure[n_unsure, 2] = start
            unsure[n_unsure, 3] = i
            n_unsure += 1
    return True, i, n_unsure


@jit
def _split_from_right(text: NDArray[np.uint8], start: int, end: int, fields: int) -> int:
    """Return where the last `fields` blank-separated fields begin, or -1 if there are fewer."""
    i = end
    for _ in range(fields):
        while i > start and _is_blank(text[i - 1]):
            i -= 1
        if i == start:
            return -1
        while i > start and not _is_blank(text[i - 1]):
            i -= 1
    return i


@jit
def _end_of_line(text: NDArray[np.uint8], i: int, size: int) -> int:
    """Return the index of the newline if only blanks and a return precede it, else -1."""
    while i < size and _is_blank(text[i]):
        i += 1
    if i < size and text[i] == RETURN:
        i += 1
    return i if i == size or text[i] == NEWLINE else -1


@jit
def parse_rows(
    text: NDArray[np.uint8],
    size: int,
    begin: int,
    values: NDArray[np.float32],
    word_starts: NDArray[np.int64],
    word_ends: NDArray[np.int64],
    lines: NDArray[np.int64],
    unsure: NDArray[np.int64],
    bad: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Read `word number ... number` lines of `text[begin:size]`; blank lines are skipped.

    The text must end in a newline.
    A word is everything before the last n fields, so it may contain blanks; the usual word without
    any is tried first. `lines` gets each row's line number within this call, `unsure` the
    (row, column, start, end) of numbers to compute exactly, `bad` the (line, kind, start, end)
    of lines that are not rows. Stops before a table overflows. `counts` gets the numbers
    of rows, lines, unsure and bad entries, and where it stopped.
    """
    dimension = values.shape[1]
    row = line = n_unsure = n_bad = 0
    start = begin
    while start < size:
        if row == len(values) or n_unsure + dimension > len(unsure) or n_bad == len(bad):
            break
        before = n_unsure
        word_end = start
        while word_end < size and not _is_blank(text[word_end]) and text[word_end] != NEWLINE:
            word_end += 1
        good, i, n_unsure = _parse_fields(text, word_end, size, values, row, unsure, before)
        newline = _end_of_line(text, i, size) if good else -1
        if newline < 0:
            n_unsure = before
            newline = min(i, size)
            while newline > start and text[newline - 1] == NEWLINE:
                newline -= 1
            while newline < size and text[newline] != NEWLINE:
                newline += 1
            kind, word_end, n_unsure = _parse_spaced(
                text, start, newline, values, row, unsure, before
            )
        else:
            kind = OK
        if kind == OK:
            word_starts[row] = start
            word_ends[row] = word_end
            lines[row] = line
            row += 1
        elif kind != BLANK:
            bad[n_bad, 0] = line
            bad[n_bad, 1] = kind
            bad[n_bad, 2] = start
            bad[n_bad, 3] = newline
            n_bad += 1
        line += 1
        start = newline + 1
    counts[0] = row
    counts[1] = line
    counts[2] = n_unsure
    counts[3] = n_bad
    counts[4] = min(start, size)


@jit
def _parse_spaced(
    text: NDArray[np.uint8],
    start: int,
    end: int,
    values: NDArray[np.float32],
    row: int,
    unsure: NDArray[np.int64],
    n_unsure: int,
) -> tuple[int, int, int]:
    """Read a line whose word may contain blanks; return its kind, the word's end and `n_unsure`."""
    if end > start and text[end - 1] == RETURN:
        end -= 1
    while end > start and _is_blank(text[end - 1]):
        end -= 1
    if end == start:
        return BLANK, start, n_unsure
    numbers = _split_from_right(text, start, end, values.shape[1])
    if numbers <= start:
        return RAGGED, start, n_unsure
    good, i, after = _parse_fields(text, numbers, end, values, row, unsure, n_unsure)
    if not good or i != end:
        return NOT_NUMERIC, start, n_unsure
    while numbers > start and _is_blank(text[numbers - 1]):
        numbers -= 1
    return OK, numbers, after
