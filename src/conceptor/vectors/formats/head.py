"""The beginning of a file, by which its format is recognized."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from conceptor.vectors.formats.streams import ByteReader

BOM = b"\xef\xbb\xbf"
# It is read in pieces until it has a header and two rows of text, or this many bytes.
_PIECE_BYTES, _MOST_BYTES, _FEWEST_LINES = 1 << 20, 32 << 20, 3
_SAMPLE_LINES = 100
# Of this many lines, this share must end in the same count of numbers; of fewer, more than half.
_MANY_LINES, _AGREE = 20, 0.75
_ROWS_COMPARED = 20
FIELD = re.compile(rb"[^ \t]+")
# What the parser reads as a number: what Python's float takes, without underscores.
_NUMBER = re.compile(
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))"
)


def is_number(field: bytes) -> bool:
    """Return whether a field is a decimal number, NaN or infinity."""
    return _NUMBER.fullmatch(field) is not None


def split_fields(line: bytes) -> list[bytes]:
    """Split at spaces and tabs; a leading one makes an empty word."""
    fields = FIELD.findall(line.rstrip(b" \t\r"))
    return [b"", *fields] if fields and line[:1] in (b" ", b"\t") else fields


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, decompressed; a folder has none."""

    path: Path
    data: bytes = b""
    size: int = 0  # about how large the whole file is, decompressed
    is_whole: bool = True  # whether `data` is the whole file
    compression: str | None = None

    @classmethod
    def read(cls, path: Path) -> Head:
        """Read the beginning of a file."""
        with ByteReader(path) as reader:
            data = more = reader.read(_PIECE_BYTES)
            while more and data.count(b"\n") < _FEWEST_LINES and len(data) < _MOST_BYTES:
                more = reader.read(_PIECE_BYTES)
                data += more
            is_whole = not reader.read(1)
            expansion = reader.position / max(reader.file.tell(), 1)
            size = int(path.stat().st_size * expansion)
            return cls(path, data, size, is_whole, reader.compression)

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines that are complete, without a byte-order mark."""
        lines = self.data.removeprefix(BOM).split(b"\n", _SAMPLE_LINES)
        return lines if self.is_whole and len(lines) <= _SAMPLE_LINES else lines[:-1]

    @cached_property
    def header(self) -> tuple[int, int] | None:
        """The count and dimension that the first line of a word2vec file gives."""
        fields = self.lines[0].split() if self.lines else []
        is_header = len(fields) == 2 and all(each.isdigit() and len(each) < 19 for each in fields)
        is_line = b"\n" in self.data and self.lines[0][:1] not in (b" ", b"\t")
        if not is_header or not is_line or not int(fields[1]):
            return None
        return int(fields[0]), int(fields[1])

    @property
    def is_binary(self) -> bool:
        """Whether a header is followed by something other than rows of text.

        In text most lines end in numbers; damaged text has no control characters, and many numbers.
        """
        if self.header is None:
            return False
        dimension = self.header[1]
        lines = [line for line in self.lines[1:_ROWS_COMPARED] if line]
        numbers = [[is_number(field) for field in split_fields(line)] for line in lines]
        rows = sum(len(each) > dimension and all(each[-dimension:]) for each in numbers)
        if 2 * rows > len(lines):
            return False
        has_control = any(byte < 9 for line in lines for byte in line)
        return has_control or 2 * sum(map(sum, numbers)) < max(1, sum(map(len, numbers)))

    @cached_property
    def numbers(self) -> list[int]:
        """How many numbers end each of the lines that are not empty, after the word."""
        numbers = []
        for fields in filter(None, map(split_fields, self.lines)):
            count = 0
            while count < len(fields) - 1 and is_number(fields[-1 - count]):
                count += 1
            numbers.append(count)
        return numbers

    @cached_property
    def dimension(self) -> int:
        """How many numbers end the lines of text; 0 if these are not rows of vectors.

        It is the most common count. Lines with one number are counts or scored pairs, lines with
        only numbers a matrix, and lines with several columns before the numbers a table.
        """
        counts, total = Counter(self.numbers), len(self.numbers)
        dimension = max(sorted(counts), key=counts.__getitem__, default=0)
        share = _AGREE if total >= _MANY_LINES else 0.5
        if dimension < 2 or (total > 1 and counts[dimension] <= share * total):
            return 0
        rows = [line.rsplit(None, dimension) for line in self.lines]
        labels = [row[0] for row in rows if len(row) > dimension]
        is_matrix = all(is_number(each) and not each.lstrip(b"+-").isdigit() for each in labels)
        is_table = all(b"\t" in each for each in labels)
        return 0 if len(labels) > 2 and (is_matrix or is_table) else dimension
