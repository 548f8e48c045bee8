"""NumPy's `.npy` (two dimensions, floats; or records with scales), with a file of words beside it.

Two files cannot be replaced at once, so the array carries a checksum of its words. A `.npy` header
has no room for more than the shape and type, but is padded with blanks, which every reader passes
over: the last 64 of them are the checksum's bits, a space for 0 and a tab for 1. Arrays that others
wrote have spaces only, and no checksum.
"""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.encoding import SCALE, Encoding
from conceptor.vectors.source import (
    BLOCK_BYTES,
    Chunk,
    LocatedChunk,
    VectorSource,
    number_rows,
)
from conceptor.vectors.words_file import (
    CHECKSUM_BYTES,
    find_words_file,
    has_words_file,
    read_words_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.words import PackedWords

FORMAT = "npy"
MAGIC = b"\x93NUMPY"
_HEADER_BYTES = 192
_RECORD_HEADER_BYTES = 256
_CHECKSUM_BITS = 8 * CHECKSUM_BYTES
_LONGEST_HEADER = 10_000  # NumPy's own limit
_TO_BITS, _FROM_BITS = bytes.maketrans(b" \t", b"01"), bytes.maketrans(b"01", b" \t")
_LARGEST_SIZE = np.iinfo(np.int64).max


class ArraySource(VectorSource):
    """Rows of an array inside a file, in C or Fortran order, read in pieces."""

    format = FORMAT

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        dtype: np.dtype[np.generic],
        start: int,
        *,
        fortran: bool = False,
        tokenizer: bool = False,
        check: bytes = b"",
        has_words: bool = True,
        row_bytes: int | None = None,
    ) -> None:
        self.has_words = has_words
        self.rows, dimension = shape
        self._start = start
        self._fortran = fortran
        self._tokenizer = tokenizer
        self._check = check
        self._done = 0
        need = self.rows * (row_bytes or dimension * dtype.itemsize)
        held = path.stat().st_size - start
        if held < need:
            raise InvalidInputError(
                f"{path}: {self.rows} × {dimension} {dtype} need {need} bytes after the header, "
                f"the file has {held}; it is truncated, so fetch it again"
            )
        super().__init__(path, dimension, dtype)

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
        if self.dtype != np.dtype("<f4") or self._fortran:
            return None
        shape = (self.rows, self.dimension)
        return self._read_words(), np.memmap(self.path, "<f4", "r", self._start, shape)

    def _read_words(self) -> PackedWords:
        return read_words_for(self.path, self.rows, tokenizer=self._tokenizer, check=self._check)

    def _decode(self) -> Iterator[LocatedChunk]:
        words = self._read_words() if self.has_words else None
        step = max(1, BLOCK_BYTES // (4 * self.dimension))
        for start in range(0, self.rows, step):
            self._done = min(start + step, self.rows)
            if words is None:
                piece = number_rows(start, self._done)
            else:
                piece = words[start : self._done].take(np.arange(self._done - start))
            chunk = Chunk(piece, self._read(start, self._done))
            yield LocatedChunk(chunk, np.arange(start + 1, self._done + 1))

    def _read(self, start: int, stop: int) -> NDArray[np.float32]:
        """Read rows; in Fortran order, a piece of each column."""
        size = self.dtype.itemsize
        if self.dtype.names:
            records = np.empty(stop - start, dtype=self.dtype)
            self._fill(records, self._start + start * size)
            encoding = Encoding.from_record(self.dtype)
            return encoding.decode(records[encoding.field], records[SCALE])
        if self._fortran:
            stored = np.empty((self.dimension, stop - start), dtype=self.dtype)
            with self.path.open("rb", buffering=0) as file:
                for column in range(self.dimension):
                    file.seek(self._start + (column * self.rows + start) * size)
                    read_exactly(file.readinto, stored[column], self.path)
            return as_float32(stored.T)
        stored = np.empty((stop - start, self.dimension), dtype=self.dtype)
        self._fill(stored.reshape(-1), self._start + start * self.dimension * size)
        return as_float32(stored)

    def _fill(self, flat: NDArray[Any], place: int) -> None:
        """Fill a flat array with the bytes at a place in the file."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(place)
            read_exactly(file.readinto, flat, self.path)


def read_exactly(
    readinto: Callable[[memoryview], int | None], flat: NDArray[np.generic], path: object
) -> None:
    """Fill a flat array with the next bytes of a file, or raise."""
    view = flat.view(np.uint8).data
    while view:
        count = readinto(view)
        if not count:
            raise InvalidInputError(f"{path}: became shorter while being read")
        view = view[count:]


def as_float32(stored: NDArray[np.generic]) -> NDArray[np.float32]:
    """Convert to contiguous float32 rows; uint16 holds bfloat16."""
    if stored.dtype == np.uint16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    # Values that do not fit become infinite or NaN, which is reported with the row.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(stored, dtype=np.float32)


class Header(NamedTuple):
    """What the beginning of a `.npy` file says about the rest."""

    rows: int
    columns: int
    dtype: np.dtype[Any]
    start: int
    fortran: bool
    check: bytes


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
    return ArraySource(
        path,
        (found.rows, found.columns),
        found.dtype,
        found.start,
        fortran=found.fortran,
        check=found.check,
        has_words=has_words,
        row_bytes=found.dtype.itemsize if found.dtype.names else None,
    )


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
