"""safetensors with one matrix of vectors, as model2vec and static sentence-transformers save it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.npy import ArraySource

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "safetensors"
NAMES = ("embeddings", "embedding.weight")
# bfloat16 is the upper half of a float32; NumPy has no name for it.
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
_LONGEST_HEADER = 100 << 20
_HEADER_BYTES = 256


class SafetensorsSource(ArraySource):
    """Reads the matrix called `embeddings` or `embedding.weight`, or else the only matrix."""

    format = FORMAT


def looks_like_safetensors(head: bytes, size: int) -> bool:
    """Check the first bytes: a little-endian length that fits the file, then a JSON object."""
    return len(head) > 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8


def open_safetensors(path: Path) -> SafetensorsSource:
    """Open the matrix; the words come from a file beside it or from `tokenizer.json`."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        raw = file.read(length) if length <= _LONGEST_HEADER else b""
    try:
        tensors: dict[str, Any] = json.loads(raw)
        matrices = {
            name: entry
            for name, entry in tensors.items()
            if name != "__metadata__" and len(entry["shape"]) == 2
        }
        name = next((name for name in NAMES if name in matrices), None)
        if name is None and len(matrices) == 1:
            name = next(iter(matrices))
        if name is None:
            raise InvalidInputError(
                f"{path}: {len(matrices)} matrices, none of them named {' or '.join(NAMES)}"
            )
        entry = matrices[name]
        rows, dimension = (int(size) for size in entry["shape"])
        begin, end = (int(offset) for offset in entry["data_offsets"])
        dtype = np.dtype(_DTYPES[entry["dtype"]])
    except InvalidInputError:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidInputError(f"{path}: not a safetensors file of float vectors") from None
    if min(rows, dimension, begin) < 0 or end - begin != rows * dimension * dtype.itemsize:
        raise InvalidInputError(f"{path}: the offsets of {name} contradict its shape")
    start = 8 + length + begin
    return SafetensorsSource(path, (rows, dimension), dtype, start, tokenizer=True)


def make_header(rows: int, dimension: int, dtype: np.dtype[np.generic]) -> bytes:
    """Return a header of fixed length, so that the count can be filled in later."""
    entry = {
        "dtype": {2: "F16", 4: "F32"}[dtype.itemsize],
        "shape": [rows, dimension],
        "data_offsets": [0, rows * dimension * dtype.itemsize],
    }
    text = json.dumps({NAMES[0]: entry}).ljust(_HEADER_BYTES - 8)
    return (_HEADER_BYTES - 8).to_bytes(8, "little") + text.encode()
