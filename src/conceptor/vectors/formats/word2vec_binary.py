"""word2vec's binary format: a line `count dimension`, then rows `word SPACE float32s [NEWLINE]`.

Text shares the header and how it is written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import name_in_errors, replace_atomically
from conceptor.vectors.formats.format import (
    BLOCK_BYTES,
    Chunks,
    Columns,
    Format,
    Target,
    check_finite,
    refuse_word,
)
from conceptor.vectors.formats.head import BOM, Head, is_number, split_fields
from conceptor.vectors.formats.streams import ByteReader, open_byte_writer
from conceptor.vectors.vectors import Findings, Rows, Vectors

_NAME = "word2vec-binary"
_LONGEST_WORD = 1 << 16
_COUNT_DIGITS = 12
_ROWS_COMPARED = 20


def check_header_count(path: Path, findings: Findings, expected: int | None, rows: int) -> None:
    """Compare the header's count with the rows that the file has.

    Fewer rows mean a truncated file: an error, or a remark with `on_error = "skip"`. If there are
    more, all are read and a remark is added.
    """
    if expected is None or rows == expected:
        return
    message = f"{path}: the header says {expected} rows, but the file has {rows}"
    if rows < expected and findings.on_error == "raise":
        raise InvalidInputError(
            f"{message}; it is probably truncated: fetch it again, or read the existing rows with "
            "--on-error skip"
        )
    findings.remarks.append(f"{message}; all {rows} were read")


def _read(path: Path, header: tuple[int, int], findings: Findings) -> Iterator[Rows]:
    """Read rows with and without the newline after each."""
    header_count, dimension = header
    width, count, rest = 4 * dimension, 0, b""
    size = max(BLOCK_BYTES, 2 * (width + _LONGEST_WORD))
    # A regular expression finds the rows of a block faster than a loop. What follows the last whole
    # row is too short to match, so no row is found in the wrong place.
    row = re.compile(rb"([^ ]*) (.{%d})" % width, re.DOTALL)
    with ByteReader(path) as reader:
        while more := reader.read(size):
            block = rest + more
            if reader.position == len(more):
                block = block[block.index(b"\n") + 1 :]  # without the header
            pairs = row.findall(block)
            words = b" ".join([word for word, _ in pairs])
            values = bytearray().join([value for _, value in pairs])
            rest = block[len(words) + len(values) + bool(pairs) :]
            if len(rest) > width + _LONGEST_WORD:
                raise InvalidInputError(
                    f"{path}, byte {reader.position - len(rest)}: found a word longer than "
                    f"{_LONGEST_WORD} bytes; the file is not word2vec binary, or it is damaged"
                )
            if pairs:
                text = words.decode(errors="surrogateescape")
                labels = [word.lstrip("\n") for word in text.split(" ")]
                rows = np.frombuffer(values, dtype="<f4").reshape(-1, dimension)
                yield Rows(labels, rows, np.arange(count + 1, count + len(labels) + 1))
                count += len(labels)
        rest = rest.lstrip(b"\n")
        if rest:
            message = (
                f"{path}, byte {reader.position - len(rest)}: the file ends within a row "
                f"({len(rest)} bytes left; a row is a word and {width} bytes)"
            )
            if findings.on_error == "raise":
                raise InvalidInputError(
                    f"{message}; fetch it again, or read the complete rows with --on-error skip"
                )
            findings.remarks.append(message)
    check_header_count(path, findings, header_count, count)


def _open(head: Head, findings: Findings, _: Columns) -> Vectors:
    header = head.header or (0, 0)
    return Vectors(
        str(head.path),
        header[1],
        partial(_read, head.path, header, findings),
        estimate=header[0],
        costly=head.compression is not None,
        findings=findings,
    )


def encode(words: Sequence[str], rows: NDArray[np.float32]) -> bytes:
    """Return some rows as bytes; raise for a word that could not be read back."""
    joined = " \n".join(words) + " "
    encoded = joined.encode().split(b"\n")
    if len(encoded) != len(words) or joined.count(" ") != len(words):
        bad = next(word for word in words if " " in word or "\n" in word)
        refuse_word(bad, "a space or newline", _NAME)
    width = 4 * rows.shape[1]
    lines = np.empty((len(rows), width + 1), dtype=np.uint8)
    lines[:, :width] = rows.astype("<f4", copy=False).view(np.uint8)
    lines[:, width] = ord("\n")
    parts: list[bytes] = [b""] * (2 * len(words))
    parts[::2] = encoded
    parts[1::2] = lines.view(f"V{width + 1}").ravel().tolist()
    return b"".join(parts)


@contextmanager
def _open_stream(target: Target) -> Iterator[BinaryIO]:
    if target.path is None:
        with name_in_errors("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    member = target.path.name.removesuffix(".zip")
    with (
        replace_atomically(target.path) as path,
        open_byte_writer(path, target.compression, member) as stream,
    ):
        yield stream


def write_rows(
    target: Target,
    chunks: Chunks,
    encode: Callable[[Sequence[str], NDArray[np.float32]], bytes],
) -> int:
    """Write rows of bytes, after a header if the format has one; return the number of rows.

    If the count is not known before, the header is filled in last and has the same length for any
    count. Binary files get zeros before it, because word2vec's own reader would take a space after
    it as part of the first word; text, where no reader minds, gets spaces after it.
    """
    name, has_header, count = target.format.name, target.format.is_counted, target.count
    dimension = target.dimension
    if dimension == 1 and not has_header:
        raise InvalidInputError(
            f"{name} looks like a list of counts if vectors have one number; write .vec, "
            "which has a header"
        )
    if has_header and count is None and (target.path is None or target.compression):
        raise InvalidInputError(
            f"{name} begins with the number of vectors, which cannot be filled in later in a "
            "compressed file or a pipe; pass count"
        )

    def late_header(count: int) -> bytes:
        if not target.format.is_text:
            return f"{count:0{_COUNT_DIGITS}d} {dimension}\n".encode()
        width = _COUNT_DIGITS + 1 + len(str(dimension))
        return f"{count} {dimension}".ljust(width).encode() + b"\n"

    written = 0
    with _open_stream(target) as stream:
        if has_header:
            stream.write(late_header(0) if count is None else b"%d %d\n" % (count, dimension))
        for words, rows in chunks:
            check_finite(words, rows)
            data = encode(words, np.ascontiguousarray(rows, dtype=np.float32))
            if not has_header and not written and data.startswith(BOM):
                stream.write(BOM)  # readers drop one
            stream.write(data)
            written += len(words)
        if has_header and count is None:
            stream.seek(0)
            stream.write(late_header(written))
        elif has_header and written != count:
            raise InvalidInputError(f"count is {count}, but there were {written} vectors")
    return written


def _recognize(head: Head) -> bool:
    """Check that a header is followed by something other than rows of text.

    In text most lines end in numbers; damaged text has no control characters, and many numbers.
    """
    if head.header is None:
        return False
    dimension = head.header[1]
    lines = [line for line in head.lines[1:_ROWS_COMPARED] if line]
    numbers = [[is_number(field) for field in split_fields(line)] for line in lines]
    rows = sum(len(each) > dimension and all(each[-dimension:]) for each in numbers)
    if 2 * rows > len(lines):
        return False
    has_control = any(byte < 9 for line in lines for byte in line)
    return has_control or 2 * sum(map(sum, numbers)) < max(1, sum(map(len, numbers)))


FORMAT = Format(
    name=_NAME,
    description="with and without a newline after each row",
    recognize=_recognize,
    open=_open,
    write=lambda target, chunks: write_rows(target, chunks, encode),
    suffixes=(".bin", ".w2v"),
    streamed=True,
    is_counted=True,
)
