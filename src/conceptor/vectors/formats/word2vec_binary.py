"""word2vec's binary format: a line `count dimension`, then rows `word SPACE float32s [NEWLINE]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.formats.format import (
    BLOCK_BYTES,
    Columns,
    Format,
    refuse_word,
    write_rows,
)
from conceptor.vectors.formats.head import Head
from conceptor.vectors.formats.streams import ByteReader
from conceptor.vectors.vectors import Findings, Rows, Vectors, chunk_rows

_NAME = "word2vec-binary"
_LONGEST_WORD, _MEAN_WORD = 1 << 16, 16


def _read(path: Path, header: tuple[int, int], findings: Findings) -> Iterator[Rows]:
    """Read rows with and without the newline after each."""
    header_count, dimension = header
    width, most = 4 * dimension, chunk_rows(dimension)
    # `size` bytes of the buffer are filled; what is left of the last block is at its beginning. It
    # holds one chunk of the size that is processed, so that rows need not be copied once more.
    chunk = min(most * (width + _MEAN_WORD), 2 * BLOCK_BYTES)
    buffer = bytearray(max(chunk, 2 * (width + _LONGEST_WORD)))
    count = size = 0
    # It matches at any place, so the time is linear in the size even of a damaged file.
    row = re.compile(rb"([^ ]*)(?: .{,%d})?" % width, re.DOTALL)
    with ByteReader(path) as reader:
        while True:
            size += reader.fill(buffer, size)
            start = 0 if count else buffer.index(b"\n") + 1  # after the header
            words = row.findall(buffer, start, size)
            sizes = np.fromiter(map(len, words), np.int64, len(words))
            ends = start + np.cumsum(sizes + 1 + width)
            whole = min(int(np.searchsorted(ends, size, "right")), most)
            if not whole:
                break
            text = b" ".join(words[:whole]).decode(errors="surrogateescape")
            text = text.removeprefix("\n").replace(" \n", " ")  # the newline after each row
            labels = text.split(" ")
            if "\n" in text:
                labels = [word.lstrip("\n") for word in labels]
            # All pieces of the width of a row, overlapping, some of which are copied.
            pieces = np.ndarray(size - width + 1, f"V{width}", buffer, strides=(1,))
            rows = pieces[ends[:whole] - width].view("<f4").reshape(-1, dimension)
            yield Rows(labels, rows, np.arange(count + 1, count + whole + 1))
            count += whole
            size -= int(ends[whole - 1])
            buffer[:size] = buffer[ends[whole - 1] : ends[whole - 1] + size]
        rest = buffer[start:size].lstrip(b"\n")
        place = f"{path}, byte {reader.position - len(rest)}"
        if len(rest) > width + _LONGEST_WORD:
            raise InvalidInputError(
                f"{place}: found a word longer than {_LONGEST_WORD} bytes; the file is not "
                "word2vec binary, or it is damaged"
            )
        if rest:
            findings.cut_short(
                f"{place}: the file ends within a row ({len(rest)} bytes left; a row is a word and "
                f"{width} bytes)"
            )
    findings.check_count(path, header_count, count)


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


FORMAT = Format(
    name=_NAME,
    description="with and without a newline after each row",
    recognize=attrgetter("is_binary"),
    open=_open,
    write=lambda target, chunks: write_rows(target, chunks, encode),
    suffixes=(".bin", ".w2v"),
    streamed=True,
    is_counted=True,
)
