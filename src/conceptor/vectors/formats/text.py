"""Lines `word number ... number`: without a header (GloVe) or with one (word2vec, fastText)."""

from __future__ import annotations

import math
from collections import deque
from contextlib import closing, suppress
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import ordered_map, prefetch, processors
from conceptor.vectors.formats.format import Format
from conceptor.vectors.formats.head import LONGEST_LINE, is_number
from conceptor.vectors.formats.rows import RowLayout, check_header_count
from conceptor.vectors.formats.words_file import BOM, refuse_word
from conceptor.vectors.source import BLOCK_BYTES, Chunk, LocatedChunk, VectorSource
from conceptor.vectors.streams import ByteReader
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.formats.head import Head

_GLOVE = "glove-text"
_WORD2VEC = "word2vec-text"
# The longest number written, "-0.0000123456789", and the separator before it.
_NUMBER_WIDTH = 17
_ROWS_COMPARED = 10
_NEWLINE = 10


class TextSource(VectorSource):
    """Lines end at a newline, fields at a space or tab, and nowhere else.

    A word is everything before the last n numbers, so it may contain blanks. Any other character,
    U+00A0, U+0085 and U+2028 included, is part of the word.
    """

    place = "line"

    def __init__(
        self,
        path: Path,
        dimension: int,
        header_count: int | None,
        newline: bytes = b"\n",
        labels: Sequence[str] | None = None,
    ) -> None:
        self.header_count = header_count
        self._newline = newline  # or a carriage return, as on the first Macintosh
        self.format = _GLOVE if header_count is None else _WORD2VEC
        self._reader: ByteReader | None = None
        self._labels = labels
        super().__init__(path, dimension, np.dtype(np.float32))

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._reader.fraction_read() if self._reader else None

    def _first_labels(self) -> Sequence[str] | None:
        return self._labels

    def _decode(self) -> Iterator[LocatedChunk]:
        has_header = self.header_count is not None
        rows = 0
        line = 2 if has_header else 1
        spare: deque[bytearray] = (
            deque()
        )  # blocks are reused: fresh memory costs as much as reading

        def parse(lines: _Lines) -> _Parsed:
            parsed = parse_block(lines.block, self.dimension, lines.start, lines.stop)
            spare.append(lines.block)
            return parsed

        with (
            ByteReader(self.path) as self._reader,
            closing(prefetch(self._read_lines(self._reader, spare))) as blocks,
            closing(ordered_map(parse, blocks, processors())) as parsed,
        ):
            for part in parsed:
                for bad in part.bad:
                    self._reject(line + bad.line, bad.found)
                rows += len(part.chunk.words) + len(part.bad)
                yield LocatedChunk(part.chunk, line + part.lines)
                line += part.line_count
        check_header_count(self, self.header_count, rows)

    def _read_lines(self, reader: ByteReader, spare: deque[bytearray]) -> Iterator[_Lines]:
        """Yield whole lines in blocks of about `BLOCK_BYTES`, each ending in a newline."""
        rest = reader.read(len(BOM)).removeprefix(BOM)
        skip_first = self.header_count is not None
        at_end = False
        while not at_end:
            stop = len(rest) + BLOCK_BYTES
            block = _take(spare, stop + 1)
            block[: len(rest)] = rest
            with memoryview(block) as view:
                filled = len(rest) + reader.readinto(view[len(rest) : stop])
            at_end = filled < stop
            if self._newline != b"\n":
                block[:filled] = block[:filled].replace(self._newline, b"\n")
            if at_end and filled and block[filled - 1] != _NEWLINE:
                block[filled] = _NEWLINE
                filled += 1
            cut = block.rfind(b"\n", 0, filled) + 1
            rest = bytes(memoryview(block)[cut:filled])
            if len(rest) > LONGEST_LINE:
                raise InvalidInputError(
                    f"{reader.path}, byte {reader.position - len(rest)}: "
                    f"a line longer than {LONGEST_LINE} bytes, so this is not a vectors file"
                )
            start = 0
            if skip_first and cut:
                start = block.index(b"\n") + 1
                skip_first = False
            if start < cut:
                yield _Lines(block, start, cut)
            else:
                spare.append(block)


def _take(spare: deque[bytearray], size: int) -> bytearray:
    """Return a block that was used before and has room for `size` bytes, or a new one."""
    with suppress(IndexError):
        while len(block := spare.popleft()) < size:
            pass
        return block
    return bytearray(size + size // 16)


class _Lines(NamedTuple):
    """Whole lines, at ``block[start:stop]``."""

    block: bytearray
    start: int
    stop: int


class _BadLine(NamedTuple):
    line: int
    found: str


class _Parsed(NamedTuple):
    chunk: Chunk
    lines: NDArray[np.int64]
    line_count: int
    bad: list[_BadLine]


def parse_block(
    block: bytearray, dimension: int, start: int = 0, stop: int | None = None
) -> _Parsed:
    """Parse the complete lines of a part; each number becomes the float32 nearest to the text."""
    from conceptor.kernels import parse_rows

    stop = len(block) if stop is None else stop
    text = np.frombuffer(block, dtype=np.uint8)
    lines_found = int(np.count_nonzero(text[start:stop] == _NEWLINE))
    most = min((stop - start) // (2 * dimension) + 1, lines_found + 1)
    values = np.empty((most, dimension), dtype=np.float32)
    starts, ends, lines = np.empty((3, most), dtype=np.int64)
    unsure = np.empty((dimension + 1024, 4), dtype=np.int64)
    bad_table = np.empty((64, 4), dtype=np.int64)
    counts = np.zeros(5, dtype=np.int64)
    rows = line = 0
    bad: list[_BadLine] = []
    while start < stop:
        tables = (starts[rows:], ends[rows:], lines[rows:], unsure, bad_table, counts)
        parse_rows(text, stop, start, values[rows:], *tables)
        new_rows, new_lines, n_unsure, n_bad, start = counts.tolist()
        for row, column, begin, end in unsure[:n_unsure].tolist():
            values[rows + row, column] = nearest_float32(block[begin:end].decode("ascii"))
        for bad_line, kind, begin, end in bad_table[:n_bad].tolist():
            found = _describe(block[begin:end], kind, dimension)
            bad.append(_BadLine(line + bad_line, found))
        lines[rows : rows + new_rows] += line
        rows += new_rows
        line += new_lines
    words = PackedWords.cut(text, starts[:rows], ends[:rows])
    return _Parsed(Chunk(words, values[:rows]), lines[:rows], line, bad)


def _describe(line: bytearray, kind: int, dimension: int) -> str:
    from conceptor.kernels.parse import RAGGED

    fields = line.split()
    if kind == RAGGED:
        return f"expected a word and {dimension} numbers, found {len(fields)} fields"
    wrong = next((field for field in fields[-dimension:] if not is_number(field)), b"")
    shown = wrong[:40].decode(errors="replace")
    return f"expected {dimension} numbers after the word, found {shown!r}"


def nearest_float32(text: str) -> np.float32:
    """Return the float32 nearest to a decimal number, ties to even, by exact comparison."""
    exact = Decimal(text)
    with np.errstate(over="ignore"):
        guess = np.float32(float(text))
        if (np.isfinite(guess) and Decimal(float(guess)) <= exact) or guess == -np.inf:
            lower, upper = guess, np.nextafter(guess, np.float32(np.inf))
        else:
            lower, upper = np.nextafter(guess, np.float32(-np.inf)), guess
    # float64 holds the midpoint of two float32s exactly; 2^128 stands in for infinity.
    ends = [
        float(end) if np.isfinite(end) else math.copysign(2.0**128, end) for end in (lower, upper)
    ]
    middle = Decimal((ends[0] + ends[1]) / 2)
    if exact == middle:
        return lower if int(lower.view(np.int32)) & 1 == 0 else upper
    return lower if exact < middle else upper


def encoded_size(chunk: Chunk) -> int:
    """Return how many bytes a chunk's lines take at most."""
    rows, dimension = chunk.vectors.shape
    return int(chunk.words.text_bytes + rows * (_NUMBER_WIDTH * dimension + 1))


def encode(chunk: Chunk, buffer: NDArray[np.uint8]) -> int:
    """Write a chunk's lines into `buffer`; each number reads back as the same float32."""
    from conceptor.kernels import format_rows

    words, vectors = chunk
    used: int = format_rows(words.blob, words.offsets, vectors, vectors.view(np.int32), buffer)
    return used


def _check_words(words: PackedWords, name: str) -> None:
    """Raise for a word that would be split in the wrong place when the line is read."""
    if (row := words.first_with(b"\n")) >= 0:
        refuse_word(words[row], "a line break", name)
    rest = words
    while (row := rest.first_with(b" \t")) >= 0:
        word = rest.raw(row)
        if word[:1] in b" \t" or word[-1:] in b" \t":
            refuse_word(rest[row], "a leading or trailing blank", name)
        tail = word.replace(b"\t", b" ").rpartition(b" ")[2]
        if name == _GLOVE and is_number(tail):
            refuse_word(rest[row], "a blank followed by a number", name)
        rest = rest[row + 1 :]


def _open_word2vec(head: Head, wordless: bool) -> TextSource:
    """Open text, unless the header's dimension is too small, which would put numbers into words.

    A word may end in numbers, but the first words do not all end in the same count of them.
    """
    count, dimension = head.lines.header or (0, 0)
    if not head.lines.rest.strip():
        raise InvalidInputError(
            f"{head.path}: the header says {count} vectors, but nothing follows it"
        )
    rows = sum(bool(line.strip()) for line in head.lines.rest.split(b"\n"))
    if dimension == 1 and head.lines.is_whole and count != rows:
        first = head.lines.first.decode(errors="replace")
        raise InvalidInputError(
            f"{head.path}: not a file of vectors, unless the first line, {first!r}, is wrong: it "
            f"would stand for {count} vectors of one number, and {rows} lines follow"
        )
    found = head.lines.numbers[1 : _ROWS_COMPARED + 1]
    long = [numbers for numbers in found if numbers >= dimension]
    if len(long) > 1 and min(long) == max(long) > dimension:
        raise InvalidInputError(
            f"{head.path}: the header says {dimension} numbers per row, but rows have {long[0]}; "
            "correct or remove the first line"
        )
    labels = head.lines.labels(dimension)[1:]
    return TextSource(head.path, dimension, count, head.lines.newline, labels)


def _open_glove(head: Head, wordless: bool) -> TextSource:
    lines = head.lines
    labels = lines.labels(lines.dimension)
    return TextSource(head.path, lines.dimension, None, lines.newline, labels)


def _rows(name: str, *, has_header: bool) -> RowLayout:
    check = partial(_check_words, name=name)
    return RowLayout(name, has_header, check, encoded_size, encode, is_text=True)


WORD2VEC = Format(
    name=_WORD2VEC,
    description="a `count dimension` line, then rows; fastText's `.vec`",
    recognise=lambda head: head.lines.header is not None,
    open=_open_word2vec,
    open_writer=_rows(_WORD2VEC, has_header=True).open_writer,
    suffixes=(".vec",),
    kept_suffixes=(".txt",),
    streamed=True,
    is_text=True,
    is_counted=True,
)
GLOVE = Format(
    name=_GLOVE,
    description="rows only",
    recognise=lambda head: not head.lines.doubt,
    open=_open_glove,
    open_writer=_rows(_GLOVE, has_header=False).open_writer,
    suffixes=(".txt", ".glove"),
    streamed=True,
    is_text=True,
)
