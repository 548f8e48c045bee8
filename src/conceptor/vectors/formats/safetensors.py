"""safetensors with one matrix of vectors, as model2vec and static sentence-transformers save it.

This library writes the words into the same file, so that words and vectors stay together: a tensor
of bytes called `words`, one word per line.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from functools import partial
from math import prod
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_json, replace_atomically
from conceptor.vectors.formats.encoding import DTYPES, Encoding
from conceptor.vectors.formats.format import (
    FLOAT32,
    Chunks,
    Columns,
    Format,
    Target,
    check_finite,
)
from conceptor.vectors.formats.head import Head
from conceptor.vectors.formats.npy import (
    as_float32,
    find_words_file,
    read_pieces,
    read_words,
    split_words,
    to_lines,
    words_path,
)
from conceptor.vectors.formats.streams import open_byte_writer
from conceptor.vectors.vectors import Findings, Vectors

NAMES = ("embeddings", "embedding.weight")
TOKENIZER = "tokenizer.json"
_WORDS, _SCALES, _PADDING = "words", "scales", "padding"
_BITS = "bits"  # the number of bits in a row, in the metadata
# bfloat16 is the upper half of a float32; NumPy has no name for it.
_TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2", "I8": "|i1", "U8": "|u1"}
_TYPES |= {"I32": "<i4", "I64": "<i8"}
_TYPES_OF_DTYPES = {"float32": "F32", "float16": "F16", "int8": "I8", "binary": "U8"}
_HEADER_BYTES, _SCALED_HEADER_BYTES = 256, 512


def _open(head: Head, findings: Findings, _: Columns) -> Vectors:
    """Open the matrix called `embeddings` or `embedding.weight`, or else the only matrix.

    The words are in the file, in a file beside it, or in `tokenizer.json`. Small numbers have
    scales.
    """
    path = head.path
    tensors, metadata = map_tensors(path)
    matrices = [name for name, tensor in tensors.items() if tensor.ndim == 2]
    name = next((name for name in NAMES if name in matrices), matrices[0] if matrices else "")
    if not name or (name not in NAMES and len(matrices) > 1):
        raise InvalidInputError(
            f"{path}: {len(matrices)} matrices, but none is named {' or '.join(NAMES)}"
        )
    matrix, scales, words = tensors[name], tensors.get(_SCALES), tensors.get(_WORDS)
    rows, dimension = matrix.shape
    encoding = None
    if matrix.dtype.kind != "f" and matrix.dtype != np.uint16:
        bits = metadata.get(_BITS, "")
        if matrix.dtype == np.uint8:
            dimension = int(bits) if bits.isdecimal() and len(bits) < 10 else 0
        encoding = Encoding("int8" if matrix.dtype == np.int8 else "binary", dimension)
        has_scales = scales is not None and scales.dtype == np.float32 and scales.shape == (rows,)
        if not has_scales or (encoding.width, encoding.stored) != (matrix.shape[1], matrix.dtype):
            raise InvalidInputError(f"{path}: not a safetensors file of float vectors")

    def read(part: slice) -> NDArray[np.float32]:
        if encoding and scales is not None:
            return encoding.decode(matrix[part], scales[part])
        return as_float32(matrix[part])

    files = [path]
    if words is not None and words.dtype == np.uint8 and words.ndim == 1:
        read_labels = partial(split_words, words.tobytes(), path, path.name, rows)
    else:
        words_file = find_words_file(path) or path.with_name(TOKENIZER)
        if not words_file.is_file():
            raise InvalidInputError(
                f"{path}: its words are missing; put {words_path(path).name} (one word per line) "
                f"or a {TOKENIZER} beside it"
            )
        files.append(words_file)
        if words_file.name == TOKENIZER:
            read_labels = partial(read_tokenizer, words_file, rows)
        else:
            read_labels = partial(read_words, words_file, path.name, rows)
    dtype = encoding.dtype if encoding else matrix.dtype.name
    return Vectors(
        str(path),
        dimension,
        partial(read_pieces, rows, dimension, read_labels, read),
        estimate=rows,
        files=tuple(files),
        dtype="bfloat16" if dtype == "uint16" else dtype,
        findings=findings,
    )


def map_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Map the tensors of a file without damage into memory; return its metadata too."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"{path}: damaged ({reason}); fetch it again") from None
    data = np.memmap(path, "u1", "r")
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start].tobytes())
    metadata = header.pop("__metadata__", None) or {}
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] in _TYPES:
            numbers = data[start + begin : start + end].view(_TYPES[entry["dtype"]])
            tensors[name] = numbers.reshape(entry["shape"])
        else:  # the tensor has a shape, but no numbers that anything here accepts
            tensors[name] = np.broadcast_to(np.void(b"\0"), entry["shape"])
    return tensors, metadata


def read_tokenizer(path: Path, rows: int) -> list[str]:
    """Read the tokens of a `tokenizer.json`, in the order of their rows."""
    try:
        content = read_json(path)
        vocabulary = content["model"]["vocab"]
        if isinstance(vocabulary, dict):
            entries = [(int(index), str(word)) for word, index in vocabulary.items()]
        else:
            entries = [(index, str(entry[0])) for index, entry in enumerate(vocabulary)]
        added = [
            (int(token["id"]), str(token["content"])) for token in content.get("added_tokens") or []
        ]
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidInputError(f"{path}: not a tokenizer file with a vocabulary") from None
    # Only an added token may share a number with another token, as a Unigram's padding does.
    words = _by_number(path, entries) | _by_number(path, added)
    missing = next((row for row in range(rows) if row not in words), None)
    if missing is not None:
        raise InvalidInputError(f"{path}: no token for row {missing} of {rows}")
    return [words[row] for row in range(rows)]


def _by_number(path: Path, entries: Iterable[tuple[int, str]]) -> dict[int, str]:
    tokens: dict[int, str] = {}
    for number, token in entries:
        if tokens.setdefault(number, token) != token:
            raise InvalidInputError(
                f"{path}: the tokens {tokens[number]!r} and {token!r} both have number {number}"
            )
    return tokens


def make_header(rows: int, encoding: Encoding, words: int = 0) -> bytes:
    """Return a header of fixed length, so that the numbers can be filled in later.

    `words` is how many bytes of words follow the matrix. Scales come last, aligned for floats.
    """
    parts = [
        (NAMES[0], _TYPES_OF_DTYPES[encoding.dtype], [rows, encoding.width]),
        (_WORDS, "U8", [words]),
    ]
    if encoding.has_scales:
        padding = -(rows * encoding.width + words) % 4
        parts += [(_PADDING, "U8", [padding]), (_SCALES, "F32", [rows])]
    tensors: dict[str, Any] = {}
    end = 0
    for name, dtype, shape in parts:
        begin, end = end, end + prod(shape) * np.dtype(_TYPES[dtype]).itemsize
        tensors[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    if encoding.dtype == "binary":
        tensors["__metadata__"] = {_BITS: str(encoding.dimension)}
    length = (_SCALED_HEADER_BYTES if encoding.has_scales else _HEADER_BYTES) - 8
    return length.to_bytes(8, "little") + json.dumps(tensors).ljust(length).encode()


def _write(target: Target, chunks: Chunks) -> int:
    """Write the matrix; words wait in another file, scales in memory, until it is complete."""
    path = target.files[0]
    encoding = Encoding(target.dtype or FLOAT32, target.dimension)
    all_scales: list[NDArray[np.float32]] = []
    written = 0
    with (
        replace_atomically(path) as beside,
        open_byte_writer(beside) as stream,
        TemporaryFile(dir=path.parent) as lines,
    ):
        stream.write(make_header(0, encoding))
        for words, rows in chunks:
            check_finite(words, rows, encoding.dtype)
            lines.write(to_lines(words))
            codes, scales = encoding.encode(rows, words)
            stream.write(codes.data)
            all_scales.append(scales)
            written += len(words)
        size = lines.tell()
        lines.seek(0)
        shutil.copyfileobj(lines, stream, 1 << 20)
        if encoding.has_scales:
            stream.write(bytes(-(written * encoding.width + size) % 4))
            stream.write(np.concatenate(all_scales).data)
        stream.seek(0)
        stream.write(make_header(written, encoding, size))
    return written


def _recognize(head: Head) -> bool:
    """Check the first bytes: a little-endian length that fits the file, then a JSON object."""
    length = int.from_bytes(head.data[:8], "little")
    return head.data[8:9] == b"{" and length <= head.size - 8


FORMAT = Format(
    name="safetensors",
    description="the matrix `embeddings` (model2vec), `embedding.weight` (static "
    "sentence-transformers), or the only one",
    recognize=_recognize,
    open=_open,
    write=_write,
    suffixes=(".safetensors",),
    dtypes=DTYPES,
    read_dtypes=("float64", "bfloat16"),
)
