"""Lines `word number ... number`: without a header (GloVe) or with one (word2vec, fastText).

Lines end at a newline, fields at a space or tab, and nowhere else. A word is everything before the
last n numbers, so it may contain spaces. Polars parses the fields of a block as one column; each
number becomes the float32 nearest to the text. It writes the shortest decimals that read back as
the same float32. Mapped vectors of a file with few digits are rounded first, to as many digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from operator import attrgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import ordered_map
from conceptor.vectors.formats.format import (
    BLOCK_BYTES,
    Chunks,
    Columns,
    Format,
    Target,
    refuse_word,
    write_rows,
)
from conceptor.vectors.formats.head import BOM, FIELD, Head, is_number
from conceptor.vectors.formats.streams import ByteReader
from conceptor.vectors.vectors import Findings, Rows, Vectors

# Words, rows, their places among the lines, how many lines, and places and problems of bad ones.
Parsed = tuple[list[str], NDArray[np.float32], NDArray[np.int64], int, list[tuple[int, str]]]

_SPACE = re.compile("[ \t\n]")
_WORD = re.compile(rb"\n([^ ]*)")
_ROWS_COMPARED = 10
# What comes before the first significant digit, and an exponent.
_LEADING = re.compile(rb"^[+-]?0*[.]?0*|[eE].*")
# Numbers with more are not rounded, and with fewer may be exact.
_FEW_DIGITS = range(4, 7)


def _read(
    path: Path, dimension: int, header_count: int | None, findings: Findings
) -> Iterator[Rows]:
    count, line = 0, 1 if header_count is None else 2
    with ByteReader(path) as reader:
        blocks = _whole_lines(reader, header_count is not None)
        parse = partial(parse_lines, dimension=dimension)
        for words, values, places, lines, bad in ordered_map(parse, blocks):
            for place, problem in bad:
                findings.reject(f"{path}, line {line + place}: {problem}")
            count += len(words) + len(bad)
            yield Rows(words, values, line + places)
            line += lines
    findings.check_count(path, header_count, count)


def _whole_lines(reader: ByteReader, has_header: bool) -> Iterator[bytes]:
    """Yield blocks of whole lines, without the byte-order mark and the header."""
    block, rest = reader.read(BLOCK_BYTES).removeprefix(BOM), b""
    if has_header:
        block = block.partition(b"\n")[2]
    while block:
        stop = block.rfind(b"\n") + 1
        if stop:
            yield rest + block[:stop]
            rest = b""
        rest += block[stop:]
        block = reader.read(BLOCK_BYTES)
    if rest:
        yield rest


def parse_lines(block: bytes, dimension: int) -> Parsed:
    """Parse a block of lines: those of most files at once, others one by one."""
    # fastText ends lines in a space.
    if block[: block.find(b"\n")].endswith(b" "):
        block = block.replace(b" \n", b"\n")
    parsed = _parse_table(block, dimension)
    if parsed is None:
        return _parse_carefully(block.removesuffix(b"\n").split(b"\n"), dimension)
    count = len(parsed[0])
    return *parsed, np.arange(count), count, []


def _parse_table(lines: bytes, dimension: int) -> tuple[list[str], NDArray[np.float32]] | None:
    """Parse words and numbers separated by single spaces; None if there is anything else.

    All fields are one column of numbers, and words become null: a newline is at their beginning.
    """
    import polars

    spaced = memoryview(lines.replace(b"\n", b" \n"))
    fields = b"".join([b"\n", spaced[:-2] if lines.endswith(b"\n") else spaced])
    words = _WORD.findall(fields)
    try:
        column = polars.read_csv(
            fields,
            has_header=False,
            schema={"number": polars.Float32},
            separator="\t",  # which would begin another column: an error
            eol_char=" ",
            quote_char=None,
            ignore_errors=True,
        )["number"]
    except polars.exceptions.PolarsError:
        return None
    shape = len(words), 1 + dimension
    if len(column) != shape[0] * shape[1] or column.null_count() != len(words):
        return None
    if not column.is_null().to_numpy().reshape(shape)[:, 0].all():
        return None
    labels = [word.decode(errors="surrogateescape") for word in words]
    return labels, np.ascontiguousarray(column.to_numpy().reshape(shape)[:, 1:])


def _parse_carefully(lines: list[bytes], dimension: int) -> Parsed:
    """Parse lines some of which are ragged or empty, or have words or gaps with several spaces."""
    rows: list[tuple[int, bytes, list[bytes]]] = []
    bad: list[tuple[int, str]] = []
    for place, raw in enumerate(lines):
        line = raw.rstrip(b" \t\r")
        fields = list(FIELD.finditer(line))
        numbers = [each[0] for each in fields[-dimension:]]
        is_wordless = len(fields) == dimension and line[:1] in (b" ", b"\t")
        is_whole = len(fields) > dimension or is_wordless
        wrong = next((field for field in numbers if not is_number(field)), None)
        if is_whole and wrong is None:
            rows.append((place, line[: fields[-dimension].start()].rstrip(b" \t"), numbers))
        elif fields:
            shown = f"{len(fields)} fields"
            if is_whole and wrong is not None:
                shown = repr(wrong[:40].decode(errors="replace"))
            bad.append((place, f"expected a word and {dimension} numbers, found {shown}"))
    values = np.zeros((0, dimension), dtype=np.float32)
    if rows:
        parsed = _parse_table(b"\n".join(b" ".join([b"w", *row[2]]) for row in rows), dimension)
        assert parsed is not None  # all fields are numbers
        values = parsed[1]
    words = [word.decode(errors="surrogateescape") for _, word, _ in rows]
    places = np.array([place for place, _, _ in rows], dtype=np.int64)
    return words, values, places, len(lines), bad


def encode(words: Sequence[str], rows: NDArray[np.float32], digits: int | None = None) -> bytes:
    """Return the lines of some rows; numbers are rounded to `digits` significant digits, if any."""
    import polars

    numbers = polars.Series(rows.ravel())
    if digits is not None:
        numbers = numbers.round_sig_figs(digits)
    # As one column of text, which takes a fifth less time than a column for each dimension.
    texts = numbers.cast(polars.String).reshape(rows.shape).arr.join(" ")
    lines = BytesIO()
    frame = polars.DataFrame([polars.Series("word", words, polars.String), texts])
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
        return encode(words, rows, target.digits)

    return write_rows(target, chunks, encode_checked)


def _open(head: Head, findings: Findings, _: Columns) -> Vectors:
    count, dimension = head.header or (None, head.dimension)
    # A word may end in numbers, but the first words do not all end in the same count of them.
    long = [each for each in head.numbers[1 : _ROWS_COMPARED + 1] if each >= dimension]
    if count is not None and len(long) > 1 and min(long) == max(long) > dimension:
        raise InvalidInputError(
            f"{head.path}: the header says {dimension} numbers per row, but rows have {long[0]}; "
            "correct or remove the first line"
        )
    lines = head.data.count(b"\n")
    fields = [field for line in head.lines[1:_ROWS_COMPARED] for field in line.split()[-dimension:]]
    digits = max((len(_LEADING.sub(b"", field).replace(b".", b"")) for field in fields), default=9)
    return Vectors(
        str(head.path),
        dimension,
        partial(_read, head.path, dimension, count, findings),
        estimate=count or int(lines * head.size / max(len(head.data), 1)) or None,
        digits=max(digits, 5) if digits in _FEW_DIGITS else None,
        costly=True,
        findings=findings,
    )


WORD2VEC = Format(
    name="word2vec-text",
    description="a `count dimension` line, then rows; fastText's `.vec`",
    recognize=attrgetter("header"),
    open=_open,
    write=_write,
    suffixes=(".vec",),
    streamed=True,
    is_text=True,
    is_counted=True,
)
GLOVE = Format(
    name="glove-text",
    description="rows only",
    recognize=attrgetter("dimension"),
    open=_open,
    write=_write,
    suffixes=(".txt", ".glove"),
    streamed=True,
    is_text=True,
)
