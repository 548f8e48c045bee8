"""NumPy's `.npy` (two dimensions, floats; or records with scales), with a file of words beside it.

Two files cannot be replaced in one step, so the array carries a checksum of its words: the last 64
spaces of its header, which every reader ignores, are bits, a space for 0 and a tab for 1.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically
from conceptor.vectors.formats.encoding import DTYPES, SCALE, Encoding
from conceptor.vectors.formats.format import (
    BLOCK_BYTES,
    FLOAT32,
    Chunks,
    Columns,
    Format,
    Target,
    check_finite,
    refuse_word,
    starts_with,
)
from conceptor.vectors.formats.head import BOM, Head
from conceptor.vectors.formats.streams import ByteWriter
from conceptor.vectors.vectors import Findings, Rows, Vectors, number_labels

_MAGIC = b"\x93NUMPY"
_HEADER_BYTES, _CHECKSUM_BYTES = 256, 8
_CHECKSUM_BITS = 8 * _CHECKSUM_BYTES
_TO_BITS, _FROM_BITS = bytes.maketrans(b" \t", b"01"), bytes.maketrans(b"01", b" \t")
# Endings of the file of words beside an array.
_WORDS_SUFFIXES = (".words.txt", ".words", ".vocab.txt", ".vocab", ".txt")


def words_path(array: Path) -> Path:
    """Return the file for the words of `array`: `x.words.txt` for `x.npy`."""
    return array.with_suffix(_WORDS_SUFFIXES[0])


def _read_words(path: Path, array: str, rows: int, check: bytes) -> list[str]:
    """Read the words of an array; they must have the checksum `check`, if there is one."""
    data = normal_lines(path.read_bytes())
    if check and hashlib.sha256(data).digest()[:_CHECKSUM_BYTES] != check:
        raise InvalidInputError(
            f"{path}: not the words that {array} was written with, so the two come from "
            "different runs; write both again (if the words were edited on purpose, save the "
            "array again with numpy.save)"
        )
    words = data.decode(errors="surrogateescape").split("\n")[:-1]
    if len(words) != rows:
        raise InvalidInputError(
            f"{path}: {len(words)} words for the {rows} vectors of {array}; the numbers must agree"
        )
    return words


def normal_lines(data: bytes) -> bytes:
    """Return lines that each end in a newline, as this library writes them."""
    data = data.removeprefix(BOM)
    if b"\r" in data and data.count(b"\r\n") == data.count(b"\n"):
        data = data.replace(b"\r\n", b"\n")
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _to_lines(words: Sequence[str]) -> bytes:
    """Return one line for each word; raise for a word with a line break."""
    lines = "".join(f"{word}\n" for word in words)
    if "\r" in lines or lines.count("\n") != len(words):
        word = next(word for word in words if "\r" in word or "\n" in word)
        refuse_word(word, "a line break", "words file")
    return lines.encode()


def as_float32(stored: NDArray[np.generic]) -> NDArray[np.float32]:
    """Copy to contiguous float32 rows."""
    # Values out of range become infinite or NaN; the check of rows reports them.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(stored, dtype=np.float32, order="C")


def read_pieces(
    rows: int,
    dimension: int,
    read_labels: Callable[[], list[str]] | None,
    read: Callable[[slice], NDArray[np.float32]],
) -> Iterator[Rows]:
    """Yield the rows of a matrix in pieces, with the labels that `read_labels` returns, if any."""
    labels = read_labels() if read_labels else None
    step = max(1, BLOCK_BYTES // (4 * dimension))
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        piece = number_labels(start, stop) if labels is None else labels[start:stop]
        yield Rows(piece, read(slice(start, stop)), np.arange(start + 1, stop + 1))


def _read(
    path: Path,
    array: np.memmap[Any, Any],
    encoding: Encoding | None,
    labels: Callable[[], list[str]] | None,
) -> Iterator[Rows]:
    """Read rows from the file that is mapped to `array`, piece by piece.

    Not from the map: a page that a shortened file lost would end the process.
    """
    dimension = encoding.dimension if encoding else array.shape[1]

    def numbers(start: int, count: int) -> NDArray[Any]:
        file.seek(array.offset + start * array.itemsize)
        read = np.fromfile(file, array.dtype, count)
        if len(read) < count:
            raise InvalidInputError(
                f"{path}: changed while it was being read; repeat the same call"
            )
        return read

    def rows(part: slice) -> NDArray[np.float32]:
        count = part.stop - part.start
        if encoding:
            records = numbers(part.start, count)
            return encoding.decode(records[encoding.field], records[SCALE])
        if array.flags.c_contiguous:
            whole = numbers(part.start * dimension, count * dimension)
            return as_float32(whole.reshape(count, dimension))
        columns = [numbers(i * len(array) + part.start, count) for i in range(dimension)]
        return as_float32(np.stack(columns, axis=1))

    with path.open("rb") as file:
        yield from read_pieces(len(array), dimension, labels, rows)


def _map_array(path: Path) -> tuple[np.memmap[Any, Any], Encoding | None, bytes]:
    """Map an array into memory; return its encoding, if rows are records, and its checksum."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files from Python 2, which are read anyway
            array: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        encoding = Encoding.from_record(array.dtype) if array.dtype.names else None
        is_float = array.dtype.kind == "f" and array.dtype.itemsize <= 8
        if array.ndim != (1 if encoding else 2) or not (encoding or is_float):
            raise ValueError(f"{array.shape} of {array.dtype}")
    except Exception as error:  # only about the content: it is small, or mapped
        raise InvalidInputError(
            f"{path}: not a two-dimensional array of float16, float32 or float64, or truncated "
            f"({str(error)[:100]})"
        ) from None
    with path.open("rb") as file:
        bits = file.read(array.offset)[-_CHECKSUM_BITS - 1 : -1]
    has_check = b"\t" in bits and not bits.strip(b" \t") and len(bits) == _CHECKSUM_BITS
    check = int(bits.translate(_TO_BITS), 2).to_bytes(_CHECKSUM_BYTES) if has_check else b""
    return array, encoding, check


def _open(head: Head, findings: Findings, _: Columns) -> Vectors:
    """Open an array with the words beside it; without such a file, rows are numbered."""
    path = head.path
    array, encoding, check = _map_array(path)
    rows, dimension = len(array), encoding.dimension if encoding else array.shape[1]
    words = next(filter(Path.is_file, map(path.with_suffix, _WORDS_SUFFIXES)), None)
    if words is None and check:
        raise InvalidInputError(
            f"{path}: its words are missing; put {words_path(path).name} (one word per line) "
            "beside it"
        )
    labels = partial(_read_words, words, path.name, rows, check) if words else None
    return Vectors(
        str(path),
        dimension,
        partial(_read, path, array, encoding, labels),
        estimate=rows,
        has_words=words is not None,
        files=(path, words) if words else (path,),
        dtype=str(array.dtype) if encoding else array.dtype.name,
        findings=findings,
    )


def make_header(rows: int, encoding: Encoding, check: bytes = b"") -> bytes:
    """Return a `.npy` header of fixed length, so that count and checksum can be filled in later."""
    descr: object = encoding.record.descr if encoding.has_scales else encoding.stored.str
    shape = (rows,) if encoding.has_scales else (rows, encoding.dimension)
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    room = _HEADER_BYTES - 10
    bits = f"{int.from_bytes(check):0{_CHECKSUM_BITS}b}".encode().translate(_FROM_BITS)
    filled = text.ljust(room - _CHECKSUM_BITS - 1).encode() + bits + b"\n"
    return _MAGIC + b"\x01\x00" + room.to_bytes(2, "little") + filled


def _write(target: Target, chunks: Chunks) -> int:
    """Write an array and its words, which are renamed last: the checksum shows if they are not."""
    path, *words_files = target.files
    encoding = Encoding(target.dtype or FLOAT32, target.dimension)
    lines_hash = hashlib.sha256()
    written = 0
    with ExitStack() as stack:
        besides = [stack.enter_context(replace_atomically(each)) for each in (*words_files, path)]
        *others, stream = [stack.enter_context(ByteWriter(each, "w")) for each in besides]
        stream.write(make_header(0, encoding))
        for words, rows in chunks:
            check_finite(words, rows, encoding.dtype)
            for lines_file in others:
                lines = _to_lines(words)
                if not written and lines.startswith(BOM):
                    lines_file.write(BOM)  # readers drop one
                lines_hash.update(lines)
                lines_file.write(lines)
            codes, scales = encoding.encode(rows, words)
            if encoding.has_scales:
                records = np.empty(len(codes), dtype=encoding.record)
                records[encoding.field], records[SCALE] = codes, scales
                codes = records
            stream.write(codes.data)
            written += len(words)
        stream.seek(0)
        check = lines_hash.digest()[:_CHECKSUM_BYTES] if others else b""
        stream.write(make_header(written, encoding, check))
    return written


FORMAT = Format(
    name="npy",
    description="C and Fortran order, float64 too; words from a file beside it",
    recognize=starts_with(_MAGIC),
    open=_open,
    write=_write,
    suffixes=(".npy",),
    dtypes=DTYPES,
    wordless=True,
    words_path=words_path,
)
