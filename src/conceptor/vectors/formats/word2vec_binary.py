"""word2vec's binary format: a line `count dimension`, then rows `word SPACE float32s [NEWLINE]`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.threads import prefetch
from conceptor.vectors.chunks import chunk_rows
from conceptor.vectors.formats.format import Format
from conceptor.vectors.formats.rows import RowLayout, check_header_count
from conceptor.vectors.formats.words_file import refuse_word
from conceptor.vectors.source import Chunk, LocatedChunk, VectorSource
from conceptor.vectors.streams import ByteReader, detect_compression
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.formats.head import Head

_NAME = "word2vec-binary"
_LONGEST_WORD = 1 << 16
# Bytes of most words, the space and the newline: a buffer for so many holds a whole chunk.
_USUAL_WORD = 32


class Word2VecBinarySource(VectorSource):
    """Reads files with and without the newline after each row."""

    format = _NAME

    def __init__(self, path: Path, header: tuple[int, int], header_bytes: int) -> None:
        self.header_count, dimension = header
        self._header_bytes = header_bytes
        self._reader: ByteReader | None = None
        super().__init__(path, dimension, np.dtype("<f4"))

    @property
    def worth_keeping(self) -> bool:
        """Only if it would have to be decompressed again."""
        return detect_compression(self.path) is not None

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._reader.fraction_read() if self._reader else None

    def _decode(self) -> Iterator[LocatedChunk]:
        row = 0
        with (
            ByteReader(self.path) as self._reader,
            closing(prefetch(self._rows(self._reader))) as chunks,
        ):
            for chunk in chunks:
                rows = len(chunk.words)
                yield LocatedChunk(chunk, np.arange(row + 1, row + rows + 1))
                row += rows
        check_header_count(self, self.header_count, row)

    def _rows(self, reader: ByteReader) -> Iterator[Chunk]:
        reader.read(self._header_bytes)
        width, most = 4 * self.dimension, chunk_rows(self.dimension)
        size = max(most * (width + _USUAL_WORD), 2 * (width + _LONGEST_WORD))
        buffer = np.empty(size, dtype=np.uint8)
        filled = 0
        while True:
            filled += reader.readinto(buffer[filled:].data)
            chunk, used = _scan(buffer[:filled], self.dimension, most)
            if len(chunk.words):
                yield chunk
            elif filled == len(buffer):
                raise InvalidInputError(
                    f"{self.path}, byte {reader.position - filled}: found a word longer than "
                    f"{_LONGEST_WORD} bytes; not word2vec binary, or damaged"
                )
            elif filled - used == 0 or not buffer[used:filled].tobytes().strip(b"\n"):
                return
            else:
                self._report_truncation(reader.position - (filled - used), filled - used)
                return
            buffer[: filled - used] = buffer[used:filled]
            filled -= used

    def _report_truncation(self, byte: int, left: int) -> None:
        message = (
            f"{self.path}, byte {byte}: the file ends within a row "
            f"({left} bytes left; a row is a word and {4 * self.dimension} bytes)"
        )
        if self.on_error == "raise":
            raise InvalidInputError(
                f"{message}; fetch it again, or read the complete rows with ",
                Setting("on_error", "skip"),
            )
        self.findings.remarks.append(message)


def _scan(buffer: NDArray[np.uint8], dimension: int, most: int) -> tuple[Chunk, int]:
    """Return the first rows, at most so many, and the bytes that they take."""
    from conceptor.kernels import scan_binary

    most = min(most, len(buffer) // (4 * dimension + 1))
    vectors = np.empty((most, 4 * dimension), dtype=np.uint8)
    starts = np.empty(most, dtype=np.int64)
    ends = np.empty(most, dtype=np.int64)
    taken = np.empty(2, dtype=np.int64)
    scan_binary(buffer, vectors, starts, ends, taken)
    rows, used = taken.tolist()
    words = PackedWords.cut(buffer, starts[:rows], ends[:rows])
    return Chunk(words, vectors[:rows].view("<f4")), used


def encoded_size(chunk: Chunk) -> int:
    """Return how many bytes a chunk's rows take."""
    rows, dimension = chunk.vectors.shape
    return int(chunk.words.text_bytes + rows * (4 * dimension + 2))


def encode(chunk: Chunk, buffer: NDArray[np.uint8]) -> int:
    """Write a chunk's rows into `buffer`; return the bytes used."""
    from conceptor.kernels import join_binary

    words, vectors = chunk
    little = np.ascontiguousarray(vectors, dtype="<f4").view(np.uint8)
    join_binary(words.blob, words.offsets, little, buffer)
    return encoded_size(chunk)


def _check_words(words: PackedWords) -> None:
    if (row := words.first_with(b" \n")) >= 0:
        refuse_word(words[row], "a space or newline", _NAME)


def _recognise(head: Head) -> bool:
    header = head.lines.header
    return header is not None and not head.lines.has_row(header[1]) and head.lines.is_binary


def _open(head: Head, wordless: bool) -> Word2VecBinarySource:
    return Word2VecBinarySource(head.path, head.lines.header or (0, 0), head.lines.rest_at)


FORMAT = Format(
    name=_NAME,
    description="with and without a newline after each row",
    recognise=_recognise,
    open=_open,
    open_writer=RowLayout(_NAME, True, _check_words, encoded_size, encode).open_writer,
    suffixes=(".bin", ".w2v"),
    streamed=True,
    is_counted=True,
)
