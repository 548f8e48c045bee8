"""NumPy's `.npy` (two dimensions, floats; or records with scales), with a file of words beside it.

Two files cannot be replaced at once, so the array carries a checksum of its words. A `.npy` header
has no room for more than the shape and type, but is padded with blanks, which every reader passes
over: the last 64 of them are the checksum's bits, a space for 0 and a tab for 1. Arrays that others
wrote have spaces only, and no checksum.
"""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.formats.encoding import DTYPES, SCALE, Encoding
from conceptor.vectors.formats.format import Format, starts_with
from conceptor.vectors.formats.words_file import (
    CHECKSUM_BYTES,
    TOKENIZER,
    checksum,
    find_words_file,
    has_words_file,
    open_with_words,
    protect_bom,
    read_first_lines,
    read_words_for,
    to_lines,
    words_path,
)
from conceptor.vectors.source import (
    BLOCK_BYTES,
    Chunk,
    LocatedChunk,
    VectorSource,
    check_finite,
    number_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.target import Target
    from conceptor.vectors.words import PackedWords

    Encoded = tuple[bytes, NDArray[Any], NDArray[np.float32]]

_NAME = "npy"
MAGIC = b"\x93NUMPY"
_HEADER_BYTES = 192
_RECORD_HEADER_BYTES = 256
_CHECKSUM_BITS = 8 * CHECKSUM_BYTES
_LONGEST_HEADER = 10_000  # NumPy's own limit
_TO_BITS, _FROM_BITS = bytes.maketrans(b" \t", b"01"), bytes.maketrans(b"01", b" \t")
_LARGEST_SIZE = np.iinfo(np.int64).max


class Header(NamedTuple):
    """What is known of a matrix inside a file before its rows are read."""

    rows: int
    columns: int
    dtype: np.dtype[Any]
    start: int
    fortran: bool = False
    check: bytes = b""

    @property
    def row_bytes(self) -> int:
        """How many bytes a row takes, with its scale if it is a record."""
        return self.dtype.itemsize * (1 if self.dtype.names else self.columns)

    def check_size(self, where: object, size: int) -> None:
        """Raise for a file that is too short."""
        need, held = self.rows * self.row_bytes, size - self.start
        if held < need:
            raise InvalidInputError(
                f"{where}: {self.rows} × {self.columns} {self.dtype} need {need} bytes after the "
                f"header, the file has {held}; it is truncated, so fetch it again"
            )

    def read_rows(self, file: BinaryIO, start: int, stop: int, where: object) -> NDArray[Any]:
        """Read rows as they are stored; in Fortran order, a piece of each column."""
        if self.fortran:
            columns = np.empty((self.columns, stop - start), dtype=self.dtype)
            for i, column in enumerate(columns):
                file.seek(self.start + (i * self.rows + start) * self.dtype.itemsize)
                read_exactly(file, column, where)
            return columns.T
        shape = (stop - start,) if self.dtype.names else (stop - start, self.columns)
        stored = np.empty(shape, dtype=self.dtype)
        file.seek(self.start + start * self.row_bytes)
        read_exactly(file, stored.reshape(-1), where)
        return stored


class ArraySource(VectorSource):
    """Rows of an array inside a file, in C or Fortran order, read in pieces.

    `dimension` is that of the vectors, if they have not one number for each column.
    """

    format = _NAME

    def __init__(
        self,
        path: Path,
        header: Header,
        *,
        dimension: int | None = None,
        tokenizer: bool = False,
        has_words: bool = True,
    ) -> None:
        self.has_words = has_words
        self.rows = header.rows
        self._header = header
        self._tokenizer = tokenizer
        self._done = 0
        header.check_size(path, path.stat().st_size)
        super().__init__(path, header.columns if dimension is None else dimension, header.dtype)

    @property
    def worth_keeping(self) -> bool:
        """Never: nothing is decoded."""
        return False

    def files(self) -> list[Path]:
        """Return the array's file and that of its words, if it has any."""
        if not self.has_words:
            return [self.path]
        return [self.path, find_words_file(self.path, tokenizer=self._tokenizer)]

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._done / max(self.rows, 1)

    def mapped(self) -> tuple[PackedWords, NDArray[np.float32]] | None:
        """Return words and a memory map of the rows; None where rows are not plain float32."""
        if self.dtype != np.dtype("<f4") or self._header.fortran:
            return None
        shape = (self.rows, self.dimension)
        return self._read_words(), np.memmap(self.path, "<f4", "r", self._header.start, shape)

    def _first_labels(self) -> Sequence[str] | None:
        found = find_words_file(self.path, tokenizer=self._tokenizer)
        return None if found.name == TOKENIZER else read_first_lines(found)

    def _read_words(self) -> PackedWords:
        check = self._header.check
        return read_words_for(self.path, self.rows, tokenizer=self._tokenizer, check=check)

    def _decode(self) -> Iterator[LocatedChunk]:
        words = self._read_words() if self.has_words else None
        step = max(1, BLOCK_BYTES // (4 * self.dimension))
        for start in range(0, self.rows, step):
            self._done = min(start + step, self.rows)
            if words is None:
                piece = number_rows(start, self._done)
            else:
                piece = words[start : self._done].take(np.arange(self._done - start))
            with self.path.open("rb", buffering=0) as file:
                vectors = self._read(cast("BinaryIO", file), start, self._done)
            yield LocatedChunk(Chunk(piece, vectors), np.arange(start + 1, self._done + 1))

    def _read(self, file: BinaryIO, start: int, stop: int) -> NDArray[np.float32]:
        stored = self._header.read_rows(file, start, stop, self.path)
        if self.dtype.names:
            encoding = Encoding.from_record(self.dtype)
            return encoding.decode(stored[encoding.field], stored[SCALE])
        return as_float32(stored)


def read_exactly(file: BinaryIO, flat: NDArray[np.generic], where: object) -> None:
    """Fill a flat array with the next bytes of a file, or raise."""
    view = flat.view(np.uint8).data
    while view:
        count = file.readinto(view)  # type: ignore[attr-defined]
        if not count:
            raise InvalidInputError(f"{where}: became shorter while being read")
        view = view[count:]


def as_float32(stored: NDArray[np.generic]) -> NDArray[np.float32]:
    """Convert to contiguous float32 rows; uint16 holds bfloat16."""
    if stored.dtype == np.uint16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    # Values that do not fit become infinite or NaN, which is reported with the row.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(stored, dtype=np.float32)


def read_header(file: BinaryIO, where: object, *, records: bool = False) -> Header:
    """Read a header; refuse anything but a matrix of floats. Nothing is unpickled or executed.

    With `records`, rows may be records of small numbers and a scale (`Encoding.record`).
    """
    # A damaged length may be gigabytes, so NumPy gets no more than the longest header.
    head = BytesIO(file.read(_LONGEST_HEADER))
    try:
        read = read_array_header_1_0 if read_magic(head) == (1, 0) else read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files of Python 2, which are read all the same
            shape, fortran, dtype = read(head, max_header_size=_LONGEST_HEADER)
        is_record = records and dtype.names is not None
        if is_record:
            shape = (*shape, Encoding.from_record(dtype).dimension)
        rows, columns = shape
        is_float = dtype.kind == "f" and dtype.itemsize <= 8
        if not (is_float or is_record) or min(shape) < 0 or max(shape) > _LARGEST_SIZE:
            raise ValueError
    except Exception:  # about the content only: nothing is read from disk here
        shown = head.getvalue()[10:110].decode("latin-1").strip()
        raise InvalidInputError(
            f"{where}: not a two-dimensional array of float16, float32 or float64 ({shown!r})"
        ) from None
    bits = head.getvalue()[: head.tell()][-_CHECKSUM_BITS - 1 : -1]
    has_check = b"\t" in bits and not bits.strip(b" \t") and len(bits) == _CHECKSUM_BITS
    check = int(bits.translate(_TO_BITS), 2).to_bytes(CHECKSUM_BYTES) if has_check else b""
    return Header(rows, columns, dtype, head.tell(), fortran, check)


def open_npy(path: Path, *, wordless: bool = False) -> ArraySource:
    """Open an array; with `wordless`, it need not have words."""
    with path.open("rb") as file:
        found = read_header(file, path, records=True)
    has_words = not wordless or bool(found.check) or has_words_file(path)
    return ArraySource(path, found, has_words=has_words)


def make_header(
    rows: int, dimension: int, dtype: np.dtype[np.generic], check: bytes = b""
) -> bytes:
    """Return a `.npy` header of fixed length, so that count and checksum can be filled in later."""
    descr: object = dtype.descr if dtype.names else dtype.newbyteorder("<").str
    shape = (rows,) if dtype.names else (rows, dimension)
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    room = (_RECORD_HEADER_BYTES if dtype.names else _HEADER_BYTES) - 10
    bits = f"{int.from_bytes(check):0{_CHECKSUM_BITS}b}".encode().translate(_FROM_BITS)
    filled = text.ljust(room - _CHECKSUM_BITS - 1).encode() + bits + b"\n"
    return MAGIC + b"\x01\x00" + room.to_bytes(2, "little") + filled


class ArrayWriter(ABC):
    """A matrix after a header of fixed length, which is filled in last, and words as lines.

    Lines go to another stream; None for `words` leaves them out.
    """

    def __init__(self, stream: BinaryIO, words: BinaryIO | None, encoding: Encoding) -> None:
        self._stream = stream
        self._words = words
        self._encoding = encoding
        self.finish(0)

    def encode(self, chunk: Chunk) -> Encoded:
        """Return the words as lines, the numbers as they are stored, and their scales."""
        check_finite(chunk, self._encoding.stored)
        lines = b"" if self._words is None else to_lines(chunk.words)
        return lines, *self._encoding.encode(chunk.vectors, chunk.words)

    def write(self, encoded: Encoded) -> None:
        """Append words and rows."""
        lines, vectors, _ = encoded
        if self._words is not None:
            self._words.write(lines)
        self._stream.write(vectors.data)

    @abstractmethod
    def finish(self, count: int) -> None:
        """Fill in the header."""

    def _write_header(self, header: bytes) -> None:
        self._stream.seek(0)
        self._stream.write(header)


class NpyWriter(ArrayWriter):
    """Writes an array, with what ties the words in another file to it."""

    def __init__(self, stream: BinaryIO, words: BinaryIO | None, encoding: Encoding) -> None:
        self._hash = hashlib.sha256()
        self._is_first = True
        super().__init__(stream, words, encoding)

    def encode(self, chunk: Chunk) -> Encoded:
        """Return words and numbers, which have their scales in the same record."""
        lines, codes, scales = super().encode(chunk)
        if self._encoding.has_scales:
            records = np.empty(len(codes), dtype=self._encoding.record)
            records[self._encoding.field], records[SCALE] = codes, scales
            codes = records
        return lines, codes, scales

    def write(self, encoded: Encoded) -> None:
        """Append words and rows."""
        if self._words is not None:
            if self._is_first:
                protect_bom(self._words, encoded[0])
            self._is_first = False
            self._hash.update(encoded[0])
        super().write(encoded)

    def finish(self, count: int) -> None:
        """Fill in the count and the checksum of the words."""
        encoding = self._encoding
        dtype = encoding.record if encoding.has_scales else encoding.stored
        check = b"" if self._words is None else checksum(self._hash)
        self._write_header(make_header(count, encoding.dimension, dtype, check))


@contextmanager
def _open_writer(target: Target, dimension: int, count: int | None) -> Iterator[NpyWriter]:
    with open_with_words(target) as (stream, words):
        yield NpyWriter(stream, words, Encoding(target.dtype, dimension))


def _check_target(target: Target) -> None:
    """Raise if writing the words would replace those of a safetensors file beside the array."""
    from conceptor.vectors.formats.safetensors import open_safetensors

    path, *words_files = target.files
    other, files = path.with_suffix(".safetensors"), []
    if words_files:
        with suppress(InvalidInputError, OSError):
            files = open_safetensors(other).files()
    for words in set(words_files) & set(files):
        raise InvalidInputError(
            f"{words}: holds the words of {other.name} too, which would get those of {path.name}; "
            "write to another name"
        )


FORMAT = Format(
    name=_NAME,
    description="C and Fortran order; words from a file beside it",
    recognise=starts_with(MAGIC),
    open=lambda head, wordless: open_npy(head.path, wordless=wordless),
    open_writer=_open_writer,
    suffixes=(".npy",),
    dtypes=DTYPES,
    read_dtypes=("float64",),
    wordless=True,
    words_path=words_path,
    check_target=_check_target,
)
