"""The beginning of a file, by which its format is recognised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from conceptor.vectors.formats.words_file import BOM
from conceptor.vectors.source import LARGEST_DIMENSION
from conceptor.vectors.streams import ByteReader

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_LINE = 64 << 20
_HEAD_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 16
_WHOLE_LINES = 3  # a header and two rows
_SAMPLE_LINES = 100
# In this many lines, this share must end in the same count of numbers; in fewer, more than half.
_MANY_LINES, _AGREE = 20, 0.75
# This many lines of numbers only are a matrix, and with several columns before them a table.
_FEW_LINES = 3
_SHOWN = 5


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, decompressed; a folder has none.

    `size` is that of the file on disk, and `is_whole` whether there is nothing more in it.
    """

    path: Path
    data: bytes = b""
    size: int = 0
    is_whole: bool = True

    @classmethod
    def read(cls, path: Path) -> Head:
        """Read the beginning of a file."""
        with ByteReader(path) as reader:
            data = reader.read(_HEAD_BYTES)
            return cls(path, data, path.stat().st_size, not reader.read(1))

    @cached_property
    def lines(self) -> Lines:
        """The same as lines of text; more is read if there are too few."""
        data, is_whole = self.data, self.is_whole
        if not is_whole and _has_few_lines(data):
            with ByteReader(self.path) as reader:
                data = reader.read(len(data))
                while _has_few_lines(data) and (more := reader.read(len(data))):
                    data += more
                is_whole = not reader.read(1)
        newline = _newline(data)
        start = len(BOM) if data.startswith(BOM) else 0
        return Lines(data[start:].replace(newline, b"\n"), newline, is_whole, start)


def _newline(data: bytes) -> bytes:
    return b"\r" if b"\r" in data and b"\n" not in data else b"\n"


def _has_few_lines(data: bytes) -> bool:
    few = data.count(_newline(data)) < _WHOLE_LINES
    return few and len(data) <= _WHOLE_LINES * LONGEST_LINE


@dataclass(frozen=True)
class Lines:
    r"""The first lines of a file.

    `content` has neither byte-order mark nor other newlines than `\n`; `newline` is the one that
    the file has, and `start` where the content begins in it.
    """

    content: bytes
    newline: bytes
    is_whole: bool
    start: int

    @cached_property
    def first(self) -> bytes:
        """The first line."""
        return self.content.partition(b"\n")[0]

    @cached_property
    def rest(self) -> bytes:
        """What follows the first line."""
        return self.content[len(self.first) + 1 :]

    @property
    def rest_at(self) -> int:
        """Where that begins in the file."""
        return self.start + len(self.content) - len(self.rest)

    @cached_property
    def header(self) -> tuple[int, int] | None:
        """The count and dimension that the first line of a word2vec file gives."""
        has_more = len(self.first) < len(self.content)
        found = _parse_header(self.first) if has_more or self.is_whole else None
        if found is None or self.has_row(found[1]):
            return found
        # A file of one-dimensional vectors may begin like a header; `1 300`, then `a 2`.
        is_row = (
            has_more and self.has_row(1) and _is_row(self.first, 1) and not has_control(self.rest)
        )
        return found if 0 < found[1] <= LARGEST_DIMENSION and not is_row else None

    def has_row(self, dimension: int) -> bool:
        """Return whether the second line is a word and as many numbers."""
        return _is_row(self.rest.partition(b"\n")[0], dimension)

    @property
    def is_binary(self) -> bool:
        """Whether something other than rows of text follows the first line.

        Text has no control characters, and damaged text is still mostly numbers.
        """
        sample = self.rest[:_SAMPLE_BYTES]
        return bool(self.rest.strip()) and (has_control(sample) or not _is_mostly_numbers(sample))

    @cached_property
    def numbers(self) -> list[int]:
        """How many numbers end each of the first lines, without those that are empty."""
        return [_count_trailing_numbers(line) for line in self._whole_lines if _split_fields(line)]

    @cached_property
    def _whole_lines(self) -> list[bytes]:
        lines = self.content.split(b"\n", _SAMPLE_LINES)
        is_whole = self.is_whole or len(lines) > _SAMPLE_LINES
        return lines[:_SAMPLE_LINES] if is_whole else lines[:-1]

    def labels(self, dimension: int) -> list[str]:
        """Return what stands before the numbers of the first lines."""
        found = (line.rsplit(None, dimension) for line in self._whole_lines)
        return [fields[0].decode(errors="replace") for fields in found if len(fields) > dimension]

    @property
    def dimension(self) -> int:
        """The most common count of trailing numbers, 0 if there are no rows.

        So neither a word with blanks nor a damaged line decides for the whole file.
        """
        counts = Counter(self.numbers)
        most = max(counts.values(), default=0)
        return min((number for number, times in counts.items() if times == most), default=0)

    @property
    def doubt(self) -> str:
        """Why lines without a header are no rows of vectors; empty if they may be."""
        counts, dimension = Counter(self.numbers), self.dimension
        lines, agree = len(self.numbers), counts[dimension]
        if not dimension or lines == counts[0]:
            return "no line ends in numbers"
        if lines > 1 and agree <= (_AGREE if lines >= _MANY_LINES else 0.5) * lines:
            some = ", ".join(str(number) for number in sorted(counts)[:_SHOWN])
            more = ", …" if len(counts) > _SHOWN else ""
            return (
                f"the first {lines} lines end in different counts of numbers ({some}{more}), and "
                "all vectors have the same"
            )
        if dimension == 1:
            return (
                "the lines end in a single number, as counts and scored pairs do; vectors of one "
                "number need a first line with their count and a 1"
            )
        return self._doubt_labels(dimension)

    def _doubt_labels(self, dimension: int) -> str:
        """Return why what stands before the numbers is neither a word nor a text."""
        labels = [label for label in self.labels(dimension) if label]
        if len(labels) >= _FEW_LINES and all(map(_is_fraction, labels)):
            return "the lines hold numbers only, without words; save such a matrix as .npy"
        if len(labels) >= _FEW_LINES and all("\t" in label for label in labels):
            return (
                "the lines have several columns, separated by tabs, before the numbers, as tables "
                "of pairs have; vectors have one word there"
            )
        return ""


def _is_fraction(label: str) -> bool:
    return is_number(label.encode()) and not label.lstrip("+-").isdigit()


def is_number(field: bytes | bytearray) -> bool:
    """Return whether the parser takes a field for a number."""
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def has_control(content: bytes) -> bool:
    """Return whether there are control characters near the beginning, which no text has."""
    return any(byte < 9 for byte in content[:_SAMPLE_BYTES])


def _is_mostly_numbers(sample: bytes) -> bool:
    """Return whether most fields after the first are numbers."""
    fields = sample.replace(b"\n", b" ").split(b" ")[1:-1]
    return 2 * sum(map(is_number, fields)) > len(fields)


def _parse_header(line: bytes) -> tuple[int, int] | None:
    fields = line.split()
    if (
        len(fields) != 2
        or line[:1] in (b" ", b"\t")
        or not all(field.isdigit() and len(field) < 19 for field in fields)
    ):
        return None
    return int(fields[0]), int(fields[1])


def _is_row(line: bytes, dimension: int) -> bool:
    fields = _split_fields(line)
    return len(fields) > dimension > 0 and all(map(is_number, fields[-dimension:]))


def _split_fields(line: bytes) -> list[bytes]:
    """Split at spaces and tabs; a leading blank makes an empty word."""
    line = line.removesuffix(b"\r").rstrip(b" \t")
    fields = [field for field in line.replace(b"\t", b" ").split(b" ") if field]
    return [b"", *fields] if line[:1] in (b" ", b"\t") else fields


def _count_trailing_numbers(line: bytes) -> int:
    """Return how many numbers end a line; the first field never counts."""
    return sum(1 for _ in takewhile(is_number, reversed(_split_fields(line)[1:])))
