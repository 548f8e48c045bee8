"""safetensors with one matrix of vectors, as model2vec and static sentence-transformers save it.

This library writes the words into the same file, so that neither is ever without the other: a
tensor of bytes called `words`, one word per line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.npy import ArraySource
from conceptor.vectors.words_file import check_count, split_lines

if TYPE_CHECKING:
    from pathlib import Path

    from conceptor.vectors.words import PackedWords

FORMAT = "safetensors"
NAMES = ("embeddings", "embedding.weight")
WORDS = "words"
# bfloat16 is the upper half of a float32; NumPy has no name for it.
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
_LONGEST_HEADER = 100 << 20
_HEADER_BYTES = 256


class SafetensorsSource(ArraySource):
    """Reads the matrix called `embeddings` or `embedding.weight`, or else the only matrix.

    The words are in the file, or in one beside it, or in `tokenizer.json`; `words_at` tells where
    they begin and end in the file.
    """

    format = FORMAT

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        dtype: np.dtype[np.generic],
        start: int,
        words_at: tuple[int, int] | None,
    ) -> None:
        self._words_at = words_at
        super().__init__(path, shape, dtype, start, tokenizer=True)

    def files(self) -> list[Path]:
        """Return the file, and that of its words if they are apart."""
        return [self.path] if self._words_at else super().files()

    def _read_words(self) -> PackedWords:
        if not self._words_at:
            return super()._read_words()
        begin, end = self._words_at
        with self.path.open("rb") as file:
            file.seek(begin)
            words = split_lines(file.read(end - begin))
        check_count(words, self.rows, self.path, self.path)
        return words


def looks_like_safetensors(head: bytes, size: int) -> bool:
    """Check the first bytes: a little-endian length that fits the file, then a JSON object."""
    return len(head) > 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8


def open_safetensors(path: Path) -> SafetensorsSource:
    """Open the matrix; refuse what the reference library refuses, and names that occur twice."""
    from safetensors import SafetensorError, safe_open

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        raw = file.read(length) if length <= _LONGEST_HEADER else b""
    try:
        tensors: dict[str, Any] = json.loads(raw, object_pairs_hook=_unique)
        tensors.pop("__metadata__", None)
        matrices = {name for name, entry in tensors.items() if len(entry["shape"]) == 2}
        name = next((name for name in NAMES if name in matrices), None)
        if name is None and len(matrices) == 1:
            (name,) = matrices
        if name is None:
            raise InvalidInputError(
                f"{path}: {len(matrices)} matrices, none of them named {' or '.join(NAMES)}"
            )
        rows, dimension = (int(size) for size in tensors[name]["shape"])
        begin, end = (int(offset) for offset in tensors[name]["data_offsets"])
        dtype = np.dtype(_DTYPES[tensors[name]["dtype"]])
        words = tensors.get(WORDS, {})
        words_at = None
        if words.get("dtype") == "U8" and len(words["shape"]) == 1:
            first, last = (8 + length + int(offset) for offset in words["data_offsets"])
            words_at = (first, last)
    except InvalidInputError:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidInputError(f"{path}: not a safetensors file of float vectors") from None
    if min(rows, dimension, begin) < 0 or end - begin != rows * dimension * dtype.itemsize:
        raise InvalidInputError(f"{path}: the offsets of {name} contradict its shape")
    shape = (rows, dimension)
    source = SafetensorsSource(path, shape, dtype, 8 + length + begin, words_at)
    try:
        with safe_open(path, framework="numpy"):
            return source
    except SafetensorError as error:
        said = " ".join(str(error).split())
        raise InvalidInputError(f"{path}: damaged ({said}); fetch it again") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that is given twice, of which the reference library reads the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def make_header(rows: int, dimension: int, dtype: np.dtype[np.generic], words: int = 0) -> bytes:
    """Return a header of fixed length, so that the numbers can be filled in later.

    `words` is how many bytes of words follow the matrix.
    """
    size = rows * dimension * dtype.itemsize
    tensors = {
        NAMES[0]: {
            "dtype": {2: "F16", 4: "F32"}[dtype.itemsize],
            "shape": [rows, dimension],
            "data_offsets": [0, size],
        },
        WORDS: {"dtype": "U8", "shape": [words], "data_offsets": [size, size + words]},
    }
    text = json.dumps(tensors).ljust(_HEADER_BYTES - 8)
    return (_HEADER_BYTES - 8).to_bytes(8, "little") + text.encode()
