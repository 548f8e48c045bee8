"""word2vec's binary format: a `count dimension` line, then `word SPACE float32s [NEWLINE]` rows."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import prefetch
from conceptor.vectors.source import BLOCK_BYTES, Chunk, Located, VectorSource
from conceptor.vectors.streams import ByteReader, compression_of
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

FORMAT = "word2vec-binary"
_LONGEST_WORD = 1 << 16


class Word2VecBinarySource(VectorSource):
    """Reads files with and without the newline after each row."""

    format = FORMAT

    def __init__(self, path: Path, header: tuple[int, int], header_bytes: int) -> None:
        self.header_count, dimension = header
        self._header_bytes = header_bytes
        self._reader: ByteReader | None = None
        super().__init__(path, dimension, np.dtype("<f4"))

    @property
    def worth_keeping(self) -> bool:
        """Only where it must be decompressed again."""
        return compression_of(self.path) is not None

    def fraction_read(self) -> float | None:
        """Return how far the running pass is."""
        return self._reader.fraction_read() if self._reader else None

    def _decoded(self) -> Iterator[Located]:
        row = 0
        with (
            ByteReader(self.path) as self._reader,
            closing(prefetch(self._rows(self._reader))) as chunks,
        ):
            for chunk in chunks:
                rows = len(chunk.words)
                yield Located(chunk, np.arange(row + 1, row + rows + 1))
                row += rows
        check_header_count(self, row)

    def _rows(self, reader: ByteReader) -> Iterator[Chunk]:
        reader.read(self._header_bytes)
        width = 4 * self.dimension
        buffer = np.empty(max(BLOCK_BYTES, 2 * (width + _LONGEST_WORD)), dtype=np.uint8)
        filled = 0
        while True:
            filled += reader.readinto(buffer[filled:].data)
            chunk, used = _scan(buffer[:filled], self.dimension)
            if len(chunk.words):
                yield chunk
            elif filled == len(buffer):
                raise InvalidInputError(
                    f"{self.path}, byte {reader.position - filled}: no word of less than "
                    f"{_LONGEST_WORD} bytes here; not word2vec binary, or damaged"
                )
            elif filled - used == 0 or not buffer[used:filled].tobytes().strip(b"\n"):
                return
            else:
                self._truncated(reader.position - (filled - used), filled - used)
                return
            buffer[: filled - used] = buffer[used:filled]
            filled -= used

    def _truncated(self, byte: int, left: int) -> None:
        message = (
            f"{self.path}, byte {byte}: the file ends within a row "
            f"({left} bytes are left, a row has a word and {4 * self.dimension} bytes)"
        )
        if self.on_error == "raise":
            raise InvalidInputError(
                f'{message}; fetch it again, or read what is there with on_error="skip"'
            )
        self.findings.remarks.append(message)


def _scan(buffer: NDArray[np.uint8], dimension: int) -> tuple[Chunk, int]:
    from conceptor.kernels import scan_binary

    most = len(buffer) // (4 * dimension + 1)
    vectors = np.empty((most, 4 * dimension), dtype=np.uint8)
    starts = np.empty(most, dtype=np.int64)
    ends = np.empty(most, dtype=np.int64)
    taken = np.empty(2, dtype=np.int64)
    scan_binary(buffer, vectors, starts, ends, taken)
    rows, used = taken.tolist()
    words = PackedWords.cut(buffer, starts[:rows], ends[:rows])
    return Chunk(words, vectors[:rows].view("<f4")), used


def check_header_count(source: VectorSource, found: int) -> None:
    """Compare a header's promise with what the file held.

    Fewer rows than promised is a truncated file: an error, or a remark with `on_error = "skip"`.
    More rows are read all the same and remarked.
    """
    promised = source.header_count  # type: ignore[attr-defined]
    if promised is None or found == promised:
        return
    message = f"{source.path}: the header promises {promised} rows, the file holds {found}"
    if found < promised and source.on_error == "raise":
        raise InvalidInputError(
            f"{message}; it is probably cut short: fetch it again, or read what is there with "
            'on_error="skip"'
        )
    source.findings.remarks.append(f"{message}; all {found} were read")


def encoded_size(chunk: Chunk) -> int:
    """Return how many bytes a chunk's rows take."""
    rows, dimension = chunk.vectors.shape
    return int(chunk.words.letters + rows * (4 * dimension + 2))


def encode(chunk: Chunk, buffer: NDArray[np.uint8]) -> int:
    """Write a chunk's rows into `buffer`; return the bytes used."""
    from conceptor.kernels import join_binary

    words, vectors = chunk
    little = np.ascontiguousarray(vectors, dtype="<f4").view(np.uint8)
    join_binary(words.blob, words.offsets, little, buffer)
    return encoded_size(chunk)
