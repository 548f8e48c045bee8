"""What text and word2vec binary share: one row after the other, perhaps after `count dimension`."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.files import replace_atomically
from conceptor.vectors.formats.words_file import protect_bom
from conceptor.vectors.source import check_finite
from conceptor.vectors.streams import open_byte_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from conceptor.vectors.source import Chunk, VectorSource
    from conceptor.vectors.target import Target
    from conceptor.vectors.words import PackedWords

_COUNT_DIGITS = 12


def check_header_count(source: VectorSource, expected: int | None, found: int) -> None:
    """Compare the header's count with the rows found.

    Fewer rows mean a truncated file: an error, or a remark with `on_error = "skip"`. If there are
    more, all are read and a remark says so.
    """
    if expected is None or found == expected:
        return
    message = f"{source.path}: the header says {expected} rows, the file has {found}"
    if found < expected and source.on_error == "raise":
        raise InvalidInputError(
            f"{message}; it is probably truncated: fetch it again, or read what is there with ",
            Setting("on_error", "skip"),
        )
    source.findings.remarks.append(f"{message}; all {found} were read")


@dataclass(frozen=True)
class RowLayout:
    """How rows become bytes, of which a chunk has at most `encoded_size`.

    `check_words` raises for a word that could not be read back; `encode` fills a buffer and returns
    how many bytes it used.
    """

    name: str
    has_header: bool
    check_words: Callable[[PackedWords], None]
    encoded_size: Callable[[Chunk], int]
    encode: Callable[[Chunk, NDArray[np.uint8]], int]
    is_text: bool = False

    def late_header(self, count: int, dimension: int) -> str:
        """Return a header that is as long for any count, since it is filled in last.

        A blank at its end is the first word's in word2vec's own reader of binary files; zeros are
        safe there, and in text, where no reader minds it, the blank looks better.
        """
        if not self.is_text:
            return f"{count:0{_COUNT_DIGITS}d} {dimension}\n"
        width = _COUNT_DIGITS + 1 + len(str(dimension))
        return f"{count} {dimension}".ljust(width) + "\n"

    @contextmanager
    def open_writer(self, target: Target, dimension: int, count: int | None) -> Iterator[RowWriter]:
        """Yield a writer to a file, perhaps compressed, or to standard output."""
        if dimension == 1 and not self.has_header:
            raise InvalidInputError(
                f"{self.name} cannot be told from counts if vectors have one number; write .vec, "
                "which has a header"
            )
        if target.path is None:
            yield RowWriter(sys.stdout.buffer, self, dimension, count, seekable=False)
            sys.stdout.buffer.flush()
            return
        seekable = target.compression is None
        member = target.path.name.removesuffix(".zip")
        with (
            replace_atomically(target.path) as path,
            open_byte_writer(path, target.compression, member) as stream,
        ):
            yield RowWriter(stream, self, dimension, count, seekable=seekable)


class RowWriter:
    """Writes rows of bytes; the count is filled in at the end if it is not known before."""

    def __init__(
        self,
        stream: BinaryIO,
        layout: RowLayout,
        dimension: int,
        count: int | None,
        *,
        seekable: bool,
    ) -> None:
        self._stream = stream
        self._layout = layout
        # Buffers are reused once written: fresh memory costs as much as the writing.
        self._spare: deque[NDArray[np.uint8]] = deque()
        self._expected = count
        self._is_first = not layout.has_header
        if not layout.has_header:
            return
        if count is None and not seekable:
            raise InvalidInputError(
                f"{layout.name} begins with the number of vectors, which cannot be filled in later "
                "in a compressed file or a pipe; pass count"
            )
        self._dimension = dimension
        header = layout.late_header(0, dimension) if count is None else f"{count} {dimension}\n"
        stream.write(header.encode())

    def encode(self, chunk: Chunk) -> NDArray[np.uint8]:
        """Check that the format can store the rows; return them as bytes."""
        check_finite(chunk, np.dtype(np.float32))
        self._layout.check_words(chunk.words)
        buffer = self._buffer(self._layout.encoded_size(chunk))
        return buffer[: self._layout.encode(chunk, buffer)]

    def _buffer(self, size: int) -> NDArray[np.uint8]:
        with suppress(IndexError):
            while len(spare := self._spare.pop()) < size:
                pass
            return spare
        return np.empty(size + size // 16, dtype=np.uint8)

    def write(self, encoded: NDArray[np.uint8]) -> None:
        """Append the bytes and take their buffer back."""
        if self._is_first:
            protect_bom(self._stream, encoded[:3].tobytes())
            self._is_first = False
        self._stream.write(encoded.data)
        if isinstance(encoded.base, np.ndarray):
            self._spare.append(encoded.base)

    def finish(self, count: int) -> None:
        """Fill in the count, or check the one given at the start."""
        if not self._layout.has_header:
            return
        if self._expected is None:
            self._stream.seek(0)
            self._stream.write(self._layout.late_header(count, self._dimension).encode())
        elif self._expected != count:
            raise InvalidInputError(f"count is {self._expected}, but there were {count} vectors")
