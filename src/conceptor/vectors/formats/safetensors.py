"""safetensors with one matrix of vectors, as model2vec and static sentence-transformers save it.

This library writes the words into the same file, so that neither is ever without the other: a
tensor of bytes called `words`, one word per line.
"""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from math import prod
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.formats.encoding import DTYPES, Encoding
from conceptor.vectors.formats.format import Format
from conceptor.vectors.formats.npy import ArraySource, ArrayWriter, Header, read_exactly
from conceptor.vectors.formats.words_file import (
    check_count,
    open_with_words,
    read_first_lines,
    split_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.formats.head import Head
    from conceptor.vectors.formats.npy import Encoded
    from conceptor.vectors.target import Target
    from conceptor.vectors.words import PackedWords

_NAME = "safetensors"
NAMES = ("embeddings", "embedding.weight")
WORDS = "words"
SCALES = "scales"
PADDING = "padding"
_BITS = "bits"  # how many of the bytes' bits are a row, in the metadata
# bfloat16 is the upper half of a float32; NumPy has no name for it.
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
_LONGEST_HEADER = 100 << 20
_HEADER_BYTES = 256
_SCALED_HEADER_BYTES = 512
_COPIED_AT_ONCE = 1 << 20
_NAMES_OF_DTYPES = {"float32": "F32", "float16": "F16", "int8": "I8", "binary": "U8"}


class SafetensorsSource(ArraySource):
    """Reads the matrix called `embeddings` or `embedding.weight`, or else the only matrix.

    The words are in the file, or in one beside it, or in `tokenizer.json`; `words_at` tells where
    they begin and end in the file. Small numbers have an encoding, with scales at `scales_at`.
    """

    format = _NAME

    def __init__(
        self,
        path: Path,
        header: Header,
        words_at: tuple[int, int] | None,
        encoding: Encoding | None = None,
        scales_at: int = 0,
    ) -> None:
        self._words_at = words_at
        self._encoding = encoding
        self._scales_at = scales_at
        dimension = encoding.dimension if encoding else None
        super().__init__(path, header, dimension=dimension, tokenizer=True)

    def files(self) -> list[Path]:
        """Return the file, and that of its words if they are apart."""
        return [self.path] if self._words_at else super().files()

    def _read(self, file: BinaryIO, start: int, stop: int) -> NDArray[np.float32]:
        """Read rows; small numbers with their scales."""
        if self._encoding is None:
            return super()._read(file, start, stop)
        codes = self._header.read_rows(file, start, stop, self.path)
        scales = np.empty(stop - start, dtype="<f4")
        file.seek(self._scales_at + 4 * start)
        read_exactly(file, scales, self.path)
        return self._encoding.decode(codes, scales)

    def _first_labels(self) -> Sequence[str] | None:
        if not self._words_at:
            return super()._first_labels()
        return read_first_lines(self.path, *self._words_at)

    def _read_words(self) -> PackedWords:
        if not self._words_at:
            return super()._read_words()
        begin, end = self._words_at
        with self.path.open("rb") as file:
            file.seek(begin)
            words = split_lines(file.read(end - begin))
        check_count(words, self.rows, self.path, self.path.name)
        return words


def open_safetensors(path: Path) -> SafetensorsSource:
    """Open the matrix; refuse what the reference library refuses, and names that occur twice."""
    from safetensors import SafetensorError, safe_open

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        raw = file.read(length) if length <= _LONGEST_HEADER else b""
    try:
        tensors: dict[str, Any] = json.loads(raw, object_pairs_hook=_unique)
        metadata = tensors.pop("__metadata__", {})
        matrices = {name for name, entry in tensors.items() if len(entry["shape"]) == 2}
        name = next((name for name in NAMES if name in matrices), None)
        if name is None and len(matrices) == 1:
            (name,) = matrices
        if name is None:
            raise InvalidInputError(
                f"{path}: {len(matrices)} matrices, none of them named {' or '.join(NAMES)}"
            )
        rows, width = (int(size) for size in tensors[name]["shape"])
        begin, end = (int(offset) for offset in tensors[name]["data_offsets"])
        encoding = _find_encoding(tensors, name, metadata)
        scales_at = 8 + length + tensors[SCALES]["data_offsets"][0] if encoding else 0
        dtype = encoding.stored if encoding else np.dtype(_DTYPES[tensors[name]["dtype"]])
        words = tensors.get(WORDS, {})
        words_at = None
        if words.get("dtype") == "U8" and len(words["shape"]) == 1:
            first, last = (8 + length + int(offset) for offset in words["data_offsets"])
            words_at = (first, last)
    except InvalidInputError:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidInputError(f"{path}: not a safetensors file of float vectors") from None
    header = Header(rows, width, dtype, 8 + length + begin)
    if min(rows, width, begin) < 0 or end - begin != rows * header.row_bytes:
        raise InvalidInputError(f"{path}: the offsets of {name} contradict its shape")
    source = SafetensorsSource(path, header, words_at, encoding, scales_at)
    try:
        with safe_open(path, framework="numpy"):
            return source
    except SafetensorError as error:
        said = " ".join(str(error).split())
        raise InvalidInputError(f"{path}: damaged ({said}); fetch it again") from None


def _find_encoding(tensors: dict[str, Any], name: str, metadata: dict[str, str]) -> Encoding | None:
    """Return how small numbers with scales are stored; raise if they contradict each other."""
    (rows, width), dtype = tensors[name]["shape"], tensors[name]["dtype"]
    scales = tensors.get(SCALES)
    if scales is None or dtype not in ("I8", "U8"):
        return None
    is_binary = dtype == "U8"
    found = Encoding("binary", int(metadata[_BITS])) if is_binary else Encoding("int8", width)
    if found.width != width or (scales["dtype"], scales["shape"]) != ("F32", [rows]):
        raise ValueError(f"{SCALES} do not belong to {name}")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that is given twice, of which the reference library reads the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def make_header(rows: int, encoding: Encoding, words: int = 0) -> bytes:
    """Return a header of fixed length, so that the numbers can be filled in later.

    `words` is how many bytes of words follow the matrix. Scales come last, where floats may begin.
    """
    stored = _NAMES_OF_DTYPES[encoding.dtype]
    parts = [
        (NAMES[0], stored, [rows, encoding.width], encoding.stored.itemsize),
        (WORDS, "U8", [words], 1),
    ]
    if encoding.has_scales:
        parts += [
            (PADDING, "U8", [_padding(rows * encoding.width + words)], 1),
            (SCALES, "F32", [rows], 4),
        ]
    tensors: dict[str, Any] = {}
    end = 0
    for name, dtype, shape, itemsize in parts:
        begin, end = end, end + prod(shape) * itemsize
        tensors[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    if encoding.dtype == "binary":
        tensors["__metadata__"] = {_BITS: str(encoding.dimension)}
    length = _SCALED_HEADER_BYTES if encoding.has_scales else _HEADER_BYTES
    text = json.dumps(tensors).ljust(length - 8)
    return (length - 8).to_bytes(8, "little") + text.encode()


def _padding(size: int) -> int:
    """Return how many bytes make a multiple of four, where floats may begin."""
    return -size % 4


class SafetensorsWriter(ArrayWriter):
    """Collects words in another file and scales in memory, and moves both to the end."""

    def __init__(self, stream: BinaryIO, words: BinaryIO, encoding: Encoding) -> None:
        self._lines = words
        self._scales: list[NDArray[np.float32]] = []
        super().__init__(stream, words, encoding)

    def write(self, encoded: Encoded) -> None:
        """Append words and rows."""
        if self._encoding.has_scales:
            self._scales.append(encoded[2])
        super().write(encoded)

    def finish(self, count: int) -> None:
        """Append words and scales, and fill in the header."""
        size = self._lines.tell()
        self._lines.seek(0)
        shutil.copyfileobj(self._lines, self._stream, _COPIED_AT_ONCE)
        if self._scales:
            self._stream.write(bytes(_padding(count * self._encoding.width + size)))
            self._stream.write(np.concatenate(self._scales).data)
        self._write_header(make_header(count, self._encoding, size))


@contextmanager
def _open_writer(target: Target, dimension: int, count: int | None) -> Iterator[SafetensorsWriter]:
    path = target.files[0]
    with (
        open_with_words(target) as (stream, _),
        TemporaryFile(dir=path.parent) as words,
    ):
        lines = cast("BinaryIO", words)
        yield SafetensorsWriter(stream, lines, Encoding(target.dtype, dimension))


def _recognise(head: Head) -> bool:
    """Check the first bytes: a little-endian length that fits the file, then a JSON object."""
    data = head.data
    length = int.from_bytes(data[:8], "little")
    return len(data) > 9 and data[8:9] == b"{" and length <= head.size - 8


FORMAT = Format(
    name=_NAME,
    description="the matrix `embeddings` (model2vec), `embedding.weight` (static "
    "sentence-transformers), or the only one",
    recognise=_recognise,
    open=lambda head, wordless: open_safetensors(head.path),
    open_writer=_open_writer,
    suffixes=(".safetensors",),
    dtypes=DTYPES,
    read_dtypes=("float64", "bfloat16"),
)
