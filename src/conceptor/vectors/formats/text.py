"""Lines `word number ... number`: without a header (GloVe) or with one (word2vec, fastText).

Lines end at a newline, fields at a space or tab, and nowhere else. A word is everything before the
last n numbers, so it may contain spaces. Any other character, U+00A0, U+0085 and U+2028 included,
is part of the word.

Polars parses the numbers of a block as one column; each becomes the float32 nearest to the text.
It writes the shortest decimals that read back as the same float32.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.formats.format import (
    BLOCK_BYTES,
    Chunks,
    Columns,
    Format,
    Target,
    refuse_word,
)
from conceptor.vectors.formats.head import BOM, FIELD, Head, is_number
from conceptor.vectors.formats.streams import ByteReader
from conceptor.vectors.formats.word2vec_binary import check_header_count, write_rows
from conceptor.vectors.vectors import Findings, Rows, Vectors

Parsed = tuple[list[bytes], NDArray[np.float32], NDArray[np.int64], list[tuple[int, str]]]

_SPACE = re.compile("[ \t\n]")
_ROWS_COMPARED = 10


def _read(
    path: Path, dimension: int, header_count: int | None, findings: Findings
) -> Iterator[Rows]:
    count, line, has_more = 0, 1, True
    with ByteReader(path) as reader:
        rest = reader.read(len(BOM)).removeprefix(BOM)
        while has_more:
            block = reader.read(BLOCK_BYTES)
            has_more = bool(block)
            lines = (rest + block).split(b"\n")
            if has_more or not lines[-1]:
                rest = lines.pop()  # it goes on in the next block
            if line == 1 and header_count is not None and lines:
                del lines[0]
                line = 2
            words, values, places, bad = parse_lines(lines, dimension)
            for place, problem in bad:
                findings.reject(f"{path}, line {line + place}: {problem}")
            count += len(words) + len(bad)
            labels = [word.decode(errors="surrogateescape") for word in words]
            yield Rows(labels, values, line + places)
            line += len(lines)
    check_header_count(path, findings, header_count, count)


def parse_lines(lines: list[bytes], dimension: int) -> Parsed:
    """Return words, rows and their places among the lines; and places and problems of bad lines."""
    words, numbers = [], []
    for line in lines:
        # Most files end lines in a number, or in a space like fastText.
        word, _, tail = line.rstrip(b" \r").partition(b" ")
        if tail.count(b" ") != dimension - 1 or b"\t" in line:
            break
        words.append(word)
        numbers.append(tail)
    else:
        values = _parse_numbers(numbers, dimension)
        if values is not None:
            return words, values, np.arange(len(lines)), []
    return _parse_carefully(lines, dimension)


def _parse_carefully(lines: list[bytes], dimension: int) -> Parsed:
    """Parse lines some of which are ragged or empty, or have words or gaps with several spaces."""
    rows: list[tuple[int, bytes, list[bytes]]] = []
    bad: list[tuple[int, str]] = []
    for place, raw in enumerate(lines):
        line = raw.rstrip(b" \t\r")
        fields = list(FIELD.finditer(line))
        numbers = [each[0] for each in fields[-dimension:]]
        is_wordless = len(fields) == dimension and line[:1] in (b" ", b"\t")
        if len(fields) > dimension or is_wordless:
            word = line[: fields[-dimension].start()].rstrip(b" \t")
            rows.append((place, word, numbers))
        elif fields:
            problem = f"expected a word and {dimension} numbers, found {len(fields)} fields"
            bad.append((place, problem))
    values = _parse_numbers([b" ".join(numbers) for _, _, numbers in rows], dimension)
    if values is None:
        good = []
        for row in rows:
            wrong = next((field for field in row[2] if not is_number(field)), None)
            if wrong is None:
                good.append(row)
            else:
                shown = wrong[:40].decode(errors="replace")
                problem = f"expected {dimension} numbers after the word, found {shown!r}"
                bad.append((row[0], problem))
        rows = good
        values = _parse_numbers([b" ".join(numbers) for _, _, numbers in rows], dimension)
    places = np.array([place for place, _, _ in rows], dtype=np.int64)
    assert values is not None  # all fields are numbers
    return [word for _, word, _ in rows], values, places, sorted(bad)


def _parse_numbers(rows: list[bytes], dimension: int) -> NDArray[np.float32] | None:
    """Parse rows of numbers, separated by single spaces; None if a field is not a number."""
    if not rows:
        return np.zeros((0, dimension), dtype=np.float32)
    import polars

    try:
        # One column whose lines end in spaces; a tab, which would begin another, is an error.
        column = polars.read_csv(
            b" ".join(rows),
            has_header=False,
            schema={"number": polars.Float32},
            separator="\t",
            eol_char=" ",
            quote_char=None,
        )["number"]
    except polars.exceptions.PolarsError:
        return None
    if column.null_count() or len(column) != len(rows) * dimension:
        return None
    numbers: NDArray[np.float32] = column.to_numpy(writable=True)
    return numbers.reshape(len(rows), dimension)


def encode(words: Sequence[str], rows: NDArray[np.float32]) -> bytes:
    """Return the lines of some rows; each number reads back as the same float32."""
    import polars

    frame = polars.from_numpy(rows, [str(i) for i in range(rows.shape[1])], orient="row")
    frame.insert_column(0, polars.Series("word", words, polars.String))
    lines = BytesIO()
    frame.write_csv(lines, include_header=False, separator=" ", quote_style="never")
    return lines.getvalue()


def _write(target: Target, chunks: Chunks) -> int:
    name = target.format.name

    def encode_checked(words: Sequence[str], rows: NDArray[np.float32]) -> bytes:
        """Raise for a word that would be split in the wrong place when the line is read."""
        spaced = filter(_SPACE.search, words) if _SPACE.search("".join(words)) else ()
        for word in spaced:
            if "\n" in word:
                refuse_word(word, "a line break", name)
            if word.strip(" \t") != word:
                refuse_word(word, "a leading or trailing space", name)
            if name == GLOVE.name and is_number(re.split("[ \t]", word)[-1].encode()):
                refuse_word(word, "a space followed by a number", name)
        return encode(words, rows)

    return write_rows(target, chunks, encode_checked)


def _open(head: Head, findings: Findings, _: Columns) -> Vectors:
    """Open text; raise if the header's dimension is too small, so that words would get numbers.

    A word may end in numbers, but the first words do not all end in the same count of them.
    """
    count, dimension = head.header or (None, head.dimension)
    long = [each for each in head.numbers[1 : _ROWS_COMPARED + 1] if each >= dimension]
    if count is not None and len(long) > 1 and min(long) == max(long) > dimension:
        raise InvalidInputError(
            f"{head.path}: the header says {dimension} numbers per row, but rows have {long[0]}; "
            "correct or remove the first line"
        )
    lines = head.data.count(b"\n")
    return Vectors(
        str(head.path),
        dimension,
        partial(_read, head.path, dimension, count, findings),
        estimate=count or int(lines * head.size / max(len(head.data), 1)) or None,
        costly=True,
        findings=findings,
    )


WORD2VEC = Format(
    name="word2vec-text",
    description="a `count dimension` line, then rows; fastText's `.vec`",
    recognize=lambda head: head.header is not None,
    open=_open,
    write=_write,
    suffixes=(".vec",),
    kept_suffixes=(".txt",),
    streamed=True,
    is_text=True,
    is_counted=True,
)
GLOVE = Format(
    name="glove-text",
    description="rows only",
    recognize=lambda head: head.dimension > 0,
    open=_open,
    write=_write,
    suffixes=(".txt", ".glove"),
    streamed=True,
    is_text=True,
)
