"""Folders of static models, as model2vec and sentence-transformers save and load them.

A folder holds `model.safetensors` (a matrix with a row for each token), `tokenizer.json` and a
configuration; sentence-transformers may keep the first two in a folder `0_StaticEmbedding`. In a
vocabulary-quantized model2vec model tokens share rows: the vector of token t is
`weights[t] * embeddings[mapping[t]]`. Numbers are float32, float16 or int8. The scale of int8 is
not stored: only directions count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_object, replace_folder_atomically
from conceptor.base.folders import copy_folder, is_for_readers
from conceptor.base.progress import Progress
from conceptor.vectors.formats.encoding import first_lost
from conceptor.vectors.formats.format import Format, Target, check_finite
from conceptor.vectors.formats.npy import as_float32, read_pieces
from conceptor.vectors.formats.safetensors import NAMES, map_tensors, read_tokenizer
from conceptor.vectors.vectors import Findings, RowKind, Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MODEL, _TOKENIZER, _CONFIG = "model.safetensors", "tokenizer.json", "config.json"
_NESTED = "0_StaticEmbedding"
_MODEL2VEC = NAMES[0]
# A tensor beside the matrix, which other loaders ignore: the mean of the vectors of a store.
OFFSET = "offset"
_DTYPES = ("float16", "float32", "float64", "int8")
# The files of model2vec, sentence-transformers and tokenizers in such a folder. An exported network
# or a pickle is not copied, because it holds the old vectors.
_FILES = frozenset((
    _MODEL, _TOKENIZER, _CONFIG, "modules.json", "config_sentence_transformers.json",
    "sentence_bert_config.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model",
    "sentencepiece.bpe.model", "spiece.model",
))  # fmt: skip
_MODULE = re.compile(r"[0-9]+_[A-Za-z]+")


def find_model(folder: Path) -> Path | None:
    """Return the directory of a static model's matrix and tokenizer; None for other folders."""
    for place in (folder, folder / _NESTED):
        if (place / _MODEL).is_file() and (place / _TOKENIZER).is_file():
            return place
    return None


def parts_of(folder: Path) -> Callable[[Path], bool] | None:
    """Return the test for files of a static model in its folder; None for other folders."""
    return None if find_model(folder) is None else _belongs


def _belongs(path: Path) -> bool:
    """Return whether a file or folder inside a static model's folder is part of it."""
    *folders, name = path.parts
    return all(map(_MODULE.fullmatch, folders)) and (
        name in _FILES or is_for_readers(name) or bool(not folders and _MODULE.fullmatch(name))
    )


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """A folder and the tensors of its `model.safetensors`."""

    folder: Path
    path: Path
    name: str
    matrix: NDArray[Any]
    weights: NDArray[Any] | None
    mapping: NDArray[Any] | None
    offset: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.matrix if self.mapping is None else self.mapping)

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, without padding and truncation."""
        from conceptor.vectors.tokenizer import load_tokenizer

        return load_tokenizer(self.path.with_name(_TOKENIZER), len(self))

    def rows(self, part: slice) -> NDArray[np.float32]:
        """Return the vectors of some tokens."""
        rows = as_float32(self.matrix[part if self.mapping is None else self.mapping[part]])
        if self.weights is not None:
            rows = rows * self.weights[part, np.newaxis].astype(np.float32)
        return rows


def open_static_model(folder: Path, findings: Findings | None = None) -> Vectors:
    """Open the tokens of a static model and their vectors; `extra` is its `ModelFolder`."""
    place = find_model(folder)
    if place is None:
        raise InvalidInputError(
            f"{folder}: not a static model; it has no {_MODEL} with a {_TOKENIZER}"
        )
    model = _read_model(folder, place / _MODEL)
    rows, dimension = len(model), int(model.matrix.shape[1])
    tokenizer = place / _TOKENIZER
    labels = partial(read_tokenizer, tokenizer, rows)
    return Vectors(
        str(folder),
        dimension,
        partial(read_pieces, rows, dimension, labels, model.rows),
        estimate=rows,
        kind=RowKind.TOKENS,
        token_counts=lambda counts: count_tokens(model.tokenizer(), counts),
        ranked=False,
        files=(folder, model.path, tokenizer),
        dtype=model.matrix.dtype.name,
        findings=findings or Findings(),
        extra=model,
    )


def _rewrite(vectors: Vectors, target: Target, map_: AffineMap | None, progress: Progress) -> int:
    """Write the folder with new vectors for the same tokens; all its other files stay.

    Tokens that shared a row still do, if their new vectors differ only by a factor.
    """
    model: ModelFolder = vectors.extra
    dtype = target.dtype or vectors.dtype
    has_config = model.name == _MODEL2VEC and (model.folder / _CONFIG).is_file()
    config = read_object(model.folder / _CONFIG) if has_config else {}
    parts = []
    for words, rows in vectors.chunks(progress, "writing"):
        mapped = rows if map_ is None else map_.map_words(words, rows)
        parts.append(np.asarray(mapped, dtype=np.float32))
        check_finite(words, parts[-1], dtype)
    count = sum(map(len, parts))
    if count != len(model):
        raise InvalidInputError(
            f"{model.folder}: only {count} of {len(model)} rows are valid; a static model needs "
            "all of them"
        )
    tensors = _share_rows(np.concatenate(parts), model.mapping)
    matrix = quantize(tensors.pop(_MODEL2VEC), dtype)
    config |= {"hidden_dim": int(matrix.shape[1]), "embedding_dtype": matrix.dtype.name}
    config.pop("vocabulary_quantization", None)
    if "mapping" in tensors:
        config["vocabulary_quantization"] = len(matrix)
    assert target.path is not None  # it is a folder
    with replace_folder_atomically(target.path) as beside:
        copy_folder(model.folder, beside, _belongs, target.path)
        path = beside / model.path.relative_to(model.folder)
        _save(path, {model.name: matrix} | tensors)
        if has_config:
            (beside / _CONFIG).write_text(json.dumps(config, indent=4), encoding="utf-8")
    return count


def count_tokens(tokenizer: Tokenizer, counts: Mapping[str, float]) -> dict[str, float]:
    """Return how often tokens are used, from how often words are.

    Special tokens have no count. A tokenizer's order is not by frequency.
    """
    from conceptor.vectors.tokenizer import token_usage

    special = {each.content for each in tokenizer.get_added_tokens_decoder().values()}
    usage = token_usage(tokenizer, counts)
    tokens = {number: token for token, number in tokenizer.get_vocab().items()}
    return {
        tokens[number]: float(usage[number])
        for number in np.flatnonzero(usage).tolist()
        if tokens[number] not in special
    }


def quantize(vectors: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return vectors in a number type; int8 is relative to the largest number."""
    if dtype not in _DTYPES:
        raise InvalidInputError(f"dtype must be one of {', '.join(_DTYPES)}, not {dtype}")
    largest = np.abs(vectors).max(initial=0.0)
    if dtype == "int8":
        stored = np.rint(vectors / (largest / 127 or 1.0)).astype(np.int8)
    elif largest > np.finfo(dtype).max:
        raise InvalidInputError(f"a vector has a number too large for {dtype} ({largest:.3g})")
    else:
        stored = np.ascontiguousarray(vectors, dtype=dtype)
    lost = first_lost(vectors, np.asarray(~stored.any(axis=1)))
    if lost >= 0:
        # Libraries that load the folder use one scale for all rows; there is no room for more.
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
    """Write a new static model atomically.

    `tokenizer` is the content of `tokenizer.json`, `config` has more entries of `config.json`,
    `card` is the content of `README.md`, and `more` has further tensors, by name.
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
        "max_length": None,  # as in sentence-transformers: texts are not truncated
        "embedding_dtype": dtype,
    } | dict(config)
    with replace_folder_atomically(target) as beside:
        _save(beside / _MODEL, {_MODEL2VEC: matrix, **(more or {})})
        (beside / _TOKENIZER).write_text(tokenizer, encoding="utf-8")
        for name, content in ((_CONFIG, settings), ("modules.json", modules)):
            (beside / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (beside / "README.md").write_text(card, encoding="utf-8")


def _read_model(folder: Path, path: Path) -> ModelFolder:
    tensors, _ = map_tensors(path)
    name = next((each for each in NAMES if each in tensors), "")
    if not name:
        raise InvalidInputError(f"{path}: no {' and no '.join(NAMES)}; not a static model")
    matrix, mapping, weights = tensors[name], tensors.get("mapping"), tensors.get("weights")
    offset = tensors.get(OFFSET)
    if matrix.ndim != 2 or matrix.dtype.name not in _DTYPES:
        raise InvalidInputError(f"{path}: {name} is not a matrix of {', '.join(_DTYPES)}")
    if mapping is not None and not (
        mapping.ndim == 1
        and mapping.dtype.kind in "iu"
        and (not mapping.size or (mapping.min() >= 0 and mapping.max() < len(matrix)))
    ):
        raise InvalidInputError(f"{path}: mapping refers to rows that {name} does not have")
    model = ModelFolder(folder, path, name, matrix, weights, mapping, offset)
    if weights is not None and not (weights.shape == (len(model),) and weights.dtype.kind in "fiu"):
        shape = " × ".join(map(str, weights.shape)) or "one number"
        raise InvalidInputError(f"{path}: weights of shape {shape} for {len(model)} tokens")
    if offset is None:
        return model
    if offset.shape != matrix.shape[1:] or not np.isfinite(as_float32(offset)).all():
        raise InvalidInputError(f"{path}: {OFFSET} is not a vector of {matrix.shape[1]} numbers")
    return replace(model, offset=as_float32(offset))


def _share_rows(vectors: NDArray[np.float32], mapping: NDArray[Any] | None) -> dict[str, Any]:
    """Return the matrix, with a mapping and weights if tokens shared rows and still can."""
    if mapping is None:
        return {_MODEL2VEC: vectors}
    _, mapped = np.unique(mapping, return_inverse=True)
    lengths = np.linalg.norm(vectors, axis=1)
    # The longest vector represents its cluster, because a zero vector has no direction.
    order = np.lexsort((-lengths, mapped))
    members = order[np.unique(mapped[order], return_index=True)[1]]
    shared = vectors[members] / np.maximum(lengths[members], np.finfo(np.float32).tiny)[:, None]
    weights = np.einsum("ij,ij->i", vectors, shared[mapped])
    rest = np.linalg.norm(vectors - weights[:, None] * shared[mapped], axis=1)
    if (rest > 1e-4 * lengths.max(initial=0.0)).any():
        return {_MODEL2VEC: vectors}
    return {
        _MODEL2VEC: shared,
        "mapping": mapped.astype(np.int64),
        "weights": weights.astype(np.float32),
    }


def _save(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(each) for name, each in tensors.items()}
    path.write_bytes(save(contiguous))


FORMAT = Format(
    name="static-model",
    description="folders of model2vec and static sentence-transformers; tokens with their vectors",
    recognize=lambda head: find_model(head.path) is not None,
    open=lambda head, findings, _: open_static_model(head.path, findings),
    rewrite=_rewrite,
    dtypes=_DTYPES,
    is_folder=True,
)
