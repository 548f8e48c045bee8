"""Folders of static models, as model2vec and sentence-transformers save and load them.

A folder holds `model.safetensors` (a matrix with a row for each token), `tokenizer.json` and a
configuration; sentence-transformers may keep the first two in a folder `0_StaticEmbedding`. In a
vocabulary-quantised model2vec model tokens share rows: the vector of token t is
`weights[t] * embeddings[mapping[t]]`. Numbers are float32, float16, or int8, of which the scale is
not kept: only directions count.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import name_in_errors, read_object, replace_folder_atomically
from conceptor.base.folders import copy_folder, is_for_readers
from conceptor.vectors.formats.encoding import first_lost
from conceptor.vectors.formats.format import Format
from conceptor.vectors.formats.npy import as_float32
from conceptor.vectors.formats.words_file import read_tokenizer
from conceptor.vectors.source import (
    BLOCK_BYTES,
    Chunk,
    LocatedChunk,
    VectorSource,
    check_finite,
)
from conceptor.vectors.tokenizer import load_tokenizer, token_usage
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from conceptor.vectors.target import Target

_NAME = "static-model"
_MODEL, _TOKENIZER, _CONFIG = "model.safetensors", "tokenizer.json", "config.json"
_NESTED = "0_StaticEmbedding"
_MODEL2VEC, _SENTENCE_TRANSFORMERS = "embeddings", "embedding.weight"
# Beside the matrix, where other loaders pass it over: the mean of the vectors of a store.
OFFSET = "offset"
_DTYPES = ("float16", "float32", "float64", "int8")
# What model2vec, sentence-transformers and tokenizers keep in such a folder. An exported network or
# a pickle beside them holds the vectors as they were.
_FILES = frozenset((
    _MODEL, _TOKENIZER, _CONFIG, "modules.json", "config_sentence_transformers.json",
    "sentence_bert_config.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model",
    "sentencepiece.bpe.model", "spiece.model",
))  # fmt: skip
_MODULE = re.compile(r"[0-9]+_[A-Za-z]+")


def find_model(folder: Path) -> Path | None:
    """Return the directory of a static model's matrix and tokenizer; None if it is none."""
    for place in (folder, folder / _NESTED):
        if (place / _MODEL).is_file() and (place / _TOKENIZER).is_file():
            return place
    return None


def parts_of(folder: Path) -> Callable[[Path], bool] | None:
    """Return what belongs to a static model in its folder; None if the folder is none."""
    return None if find_model(folder) is None else _belongs


def _belongs(path: Path) -> bool:
    """Return whether a file or folder inside a static model's folder is part of it."""
    *folders, name = path.parts
    return all(map(_MODULE.fullmatch, folders)) and (
        name in _FILES or is_for_readers(name) or bool(not folders and _MODULE.fullmatch(name))
    )


@dataclass(frozen=True, eq=False)
class _Tensors:
    """What `model.safetensors` holds."""

    name: str
    matrix: NDArray[Any]
    weights: NDArray[Any] | None
    mapping: NDArray[Any] | None
    offset: NDArray[Any] | None = None

    def rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return the vectors of some tokens."""
        if self.mapping is None:
            found = as_float32(self.matrix[start:stop])
        else:
            found = as_float32(self.matrix[self.mapping[start:stop]])
        if self.weights is not None:
            found = found * self.weights[start:stop, np.newaxis].astype(np.float32)
        return found


def count_tokens(tokenizer: Tokenizer, counts: Mapping[str, float]) -> dict[str, float]:
    """Return how often tokens are used, from how often words are.

    Special tokens have no count. The order of a tokenizer is none of frequency.
    """
    special = {each.content for each in tokenizer.get_added_tokens_decoder().values()}
    usage = token_usage(tokenizer, counts)
    tokens = {number: token for token, number in tokenizer.get_vocab().items()}
    return {
        tokens[number]: float(usage[number])
        for number in np.flatnonzero(usage).tolist()
        if tokens[number] not in special
    }


class StaticModelSource(VectorSource):
    """The tokens of a static model and their vectors."""

    format = _NAME
    place = "token"
    kind = RowKind.TOKENS

    def __init__(self, folder: Path) -> None:
        found = find_model(folder)
        if found is None:
            raise InvalidInputError(
                f"{folder}: not a static model; it has no {_MODEL} with a {_TOKENIZER}"
            )
        self.folder, self._model = folder, found / _MODEL
        self._tensors = _read_tensors(self._model)
        matrix, mapping = self._tensors.matrix, self._tensors.mapping
        self.rows = len(matrix) if mapping is None else len(mapping)
        self.tokenizer_path = found / _TOKENIZER
        self._done = 0
        super().__init__(self._model, matrix.shape[1], matrix.dtype)
        self.path = folder

    @property
    def offset(self) -> NDArray[np.float32] | None:
        """The mean of the store that an encoder was attached to, if it was."""
        found = self._tensors.offset
        return None if found is None else as_float32(found)

    @property
    def worth_keeping(self) -> bool:
        """Never: the matrix is in memory as it is stored."""
        return False

    def files(self) -> list[Path]:
        """Return the files that are read."""
        return [self._model, self.tokenizer_path] if hasattr(self, "rows") else [self._model]

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, which neither pads nor cuts texts."""
        return load_tokenizer(self.tokenizer_path, self.rows)

    def token_counts(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Return how often tokens are used, from how often words are."""
        return count_tokens(self.tokenizer(), counts)

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._done / max(self.rows, 1)

    def _decode(self) -> Iterator[LocatedChunk]:
        words = read_tokenizer(self.tokenizer_path, self.rows)
        step = max(1, BLOCK_BYTES // (4 * self.dimension))
        for start in range(0, self.rows, step):
            self._done = min(start + step, self.rows)
            piece = words[start : self._done]
            chunk = Chunk(piece.take(np.arange(len(piece))), self._tensors.rows(start, self._done))
            yield LocatedChunk(chunk, np.arange(start + 1, self._done + 1))

    def write(self, target: Path, vectors: NDArray[np.float32], dtype: str | None = None) -> None:
        """Write the folder with other vectors for the same tokens; all its other files stay.

        `dtype` is by default that of the folder. Tokens that shared a row still do, if their new
        vectors differ by a factor only.
        """
        stored = dtype or np.dtype(self.dtype).name
        tensors = _share_rows(vectors, self._tensors.mapping)
        matrix = quantize(tensors.pop("embeddings"), stored)
        settings = self.check_settings()
        with replace_folder_atomically(target) as beside:
            copy_folder(self.folder, beside, _belongs, target)
            place = beside / self._model.parent.relative_to(self.folder)
            with name_in_errors(target):
                _save(place / _MODEL, {self._tensors.name: matrix} | tensors)
                if settings:
                    _update(beside / _CONFIG, settings, matrix, quantised="mapping" in tensors)

    def check_settings(self) -> dict[str, Any]:
        """Return the configuration of a model2vec folder; raise if it cannot be read."""
        config = self.folder / _CONFIG
        if self._tensors.name != _MODEL2VEC or not config.is_file():
            return {}
        return read_object(config)


class FolderWriter:
    """Takes chunks as other writers do; the folder appears at the end."""

    def __init__(self, source: StaticModelSource, target: Path, dtype: str) -> None:
        self._source, self._target, self._dtype = source, target, dtype
        self._parts: list[NDArray[np.float32]] = []

    def encode(self, chunk: Chunk) -> NDArray[np.float32]:
        """Check the numbers."""
        check_finite(chunk, np.dtype(np.float16 if self._dtype == "float16" else np.float32))
        return chunk.vectors

    def write(self, encoded: NDArray[np.float32]) -> None:
        """Keep the rows."""
        self._parts.append(encoded)

    def finish(self, count: int) -> None:
        """Write the folder."""
        if count != self._source.rows:
            raise InvalidInputError(
                f"{self._source.path}: {count} of {self._source.rows} rows are good; a static "
                "model needs all of them"
            )
        self._source.write(self._target, np.concatenate(self._parts), self._dtype)


def quantize(vectors: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return vectors as numbers of a type; int8 is relative to the largest number."""
    if dtype not in _DTYPES:
        raise InvalidInputError(f"dtype must be one of {', '.join(_DTYPES)}, not {dtype}")
    largest = np.abs(vectors).max(initial=0.0)
    if dtype == "int8":
        stored = np.rint(vectors / (largest / 127 or 1.0)).astype(np.int8)
    elif largest > np.finfo(dtype).max:
        raise InvalidInputError(f"a vector has a number too large for {dtype} ({largest:.3g})")
    else:
        stored = np.ascontiguousarray(vectors, dtype=dtype)
    lost = first_lost(vectors, np.asarray(stored.any(axis=1)))
    if lost >= 0:
        # Libraries that load the folder know one scale for all rows: there is no room for more.
        size = np.abs(vectors[lost]).max()
        raise InvalidInputError(
            f"the vector of token {lost} is too small for {dtype} and would become 0 (its largest "
            f"number is {size:.3g}, that of all vectors {largest:.3g}); use float32"
        )
    return stored


def write_folder(
    target: Path,
    vectors: NDArray[Any],
    tokenizer: str,
    config: Mapping[str, Any],
    card: str,
    dtype: str = "float32",
    more: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write a new static model: whole or not at all.

    Parameters
    ----------
    vectors : ndarray of shape (tokens, n)
    tokenizer : str
        The content of `tokenizer.json`.
    config
        More entries of `config.json`.
    card
        The content of `README.md`.
    more
        Further tensors, by name.
    """
    matrix = quantize(vectors, dtype)
    static = "sentence_transformers.models.StaticEmbedding"
    normalize = "sentence_transformers.models.Normalize"
    modules = [
        {"idx": 0, "name": "0", "path": ".", "type": static},
        {"idx": 1, "name": "1", "path": "1_Normalize", "type": normalize},
    ]
    settings = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": int(matrix.shape[1]),
        "normalize": True,
        "max_length": None,  # as sentence-transformers: texts are not cut
        "embedding_dtype": dtype,
    } | dict(config)
    with replace_folder_atomically(target) as beside, name_in_errors(target):
        _save(beside / _MODEL, {_MODEL2VEC: matrix, **(more or {})})
        (beside / _TOKENIZER).write_text(tokenizer, encoding="utf-8")
        for name, content in ((_CONFIG, settings), ("modules.json", modules)):
            (beside / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (beside / "README.md").write_text(card, encoding="utf-8")


def _read_tensors(path: Path) -> _Tensors:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            name = next(
                (each for each in (_MODEL2VEC, _SENTENCE_TRANSFORMERS) if each in names), ""
            )
            if not name:
                raise InvalidInputError(
                    f"{path}: no {_MODEL2VEC} and no {_SENTENCE_TRANSFORMERS}; not a static model"
                )
            found = {
                each: file.get_tensor(each)
                for each in (name, "weights", "mapping", OFFSET)
                if each in names
            }
    except (SafetensorError, AttributeError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        said = " ".join(str(error).split())
        raise InvalidInputError(f"{path}: cannot be read ({said}); fetch it again") from None
    tensors = _Tensors(
        name, found[name], found.get("weights"), found.get("mapping"), found.get(OFFSET)
    )
    matrix, mapping, weights = tensors.matrix, tensors.mapping, tensors.weights
    if matrix.ndim != 2 or matrix.dtype.name not in _DTYPES:
        raise InvalidInputError(f"{path}: {name} is no matrix of {', '.join(_DTYPES)}")
    if mapping is not None and not (
        mapping.ndim == 1
        and mapping.dtype.kind in "iu"
        and (not mapping.size or (mapping.min() >= 0 and mapping.max() < len(matrix)))
    ):
        raise InvalidInputError(f"{path}: mapping names rows that {name} does not have")
    offset = tensors.offset
    if offset is not None and not (
        offset.shape == matrix.shape[1:] and offset.dtype.kind == "f" and np.isfinite(offset).all()
    ):
        raise InvalidInputError(f"{path}: {OFFSET} is not a vector of {matrix.shape[1]} numbers")
    rows = len(matrix) if mapping is None else len(mapping)
    if weights is not None and not (weights.shape == (rows,) and weights.dtype.kind in "fiu"):
        shape = " × ".join(map(str, weights.shape)) or "one number"
        raise InvalidInputError(f"{path}: weights of shape {shape} for {rows} tokens")
    return tensors


def _share_rows(vectors: NDArray[np.float32], mapping: NDArray[Any] | None) -> dict[str, Any]:
    """Return the matrix, with a mapping and weights where tokens shared rows and still can."""
    if mapping is None:
        return {"embeddings": vectors}
    _, mapped = np.unique(mapping, return_inverse=True)
    lengths = np.linalg.norm(vectors, axis=1)
    # The longest vector of each cluster stands for it: a zero has no direction.
    order = np.lexsort((-lengths, mapped))
    members = order[np.unique(mapped[order], return_index=True)[1]]
    shared = vectors[members] / np.maximum(lengths[members], np.finfo(np.float32).tiny)[:, None]
    weights = np.einsum("ij,ij->i", vectors, shared[mapped])
    rest = np.linalg.norm(vectors - weights[:, None] * shared[mapped], axis=1)
    if (rest > 1e-4 * lengths.max(initial=0.0)).any():
        return {"embeddings": vectors}
    return {
        "embeddings": shared,
        "mapping": mapped.astype(np.int64),
        "weights": weights.astype(np.float32),
    }


def _save(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(each) for name, each in tensors.items()}
    path.write_bytes(save(contiguous))


def _update(
    config: Path, settings: dict[str, Any], matrix: NDArray[Any], *, quantised: bool
) -> None:
    """Write what a model2vec configuration says, with what is true of the matrix now."""
    settings = settings | {
        "hidden_dim": int(matrix.shape[1]),
        "embedding_dtype": matrix.dtype.name,
    }
    settings.pop("vocabulary_quantization", None)
    if quantised:
        settings["vocabulary_quantization"] = len(matrix)
    config.write_text(json.dumps(settings, indent=4), encoding="utf-8")


@contextmanager
def _open_writer(target: Target, dimension: int, count: int | None) -> Iterator[FolderWriter]:
    yield FolderWriter(cast("StaticModelSource", target.source), target.files[0], target.dtype)


def _check_source(source: VectorSource | None) -> None:
    cast("StaticModelSource", source).check_settings()


FORMAT = Format(
    name=_NAME,
    description="folders of model2vec and static sentence-transformers; tokens with their vectors",
    recognise=lambda head: find_model(head.path) is not None,
    open=lambda head, wordless: StaticModelSource(head.path),
    open_writer=_open_writer,
    dtypes=_DTYPES,
    check_source=_check_source,
    is_folder=True,
)
