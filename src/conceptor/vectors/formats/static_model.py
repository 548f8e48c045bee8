"""Folders of static models, as model2vec and sentence-transformers save and load them.

A folder holds `model.safetensors` (a matrix with a row for each token), `tokenizer.json` and a
configuration; sentence-transformers may keep the first two in a folder `0_StaticEmbedding`. In a
vocabulary-quantized model the vector of token t is `weights[t] * embeddings[mapping[t]]`. The scale
of int8 is not stored: only directions count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import make_folder_atomically, read_json, read_object
from conceptor.base.progress import Progress
from conceptor.vectors.formats.encoding import first_lost
from conceptor.vectors.formats.format import Format, Target, check_finite
from conceptor.vectors.formats.npy import as_float32, read_pieces
from conceptor.vectors.tokenizer import load_tokenizer, token_counts
from conceptor.vectors.vectors import Findings, RowKind, Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MODEL, _TOKENIZER, _CONFIG = "model.safetensors", "tokenizer.json", "config.json"
_NESTED = "0_StaticEmbedding"
_NAMES = ("embeddings", "embedding.weight")  # of the matrix: model2vec, sentence-transformers
OFFSET = "offset"  # a tensor that other loaders ignore: the mean of the vectors of a store
_DTYPES = ("float16", "float32", "float64", "int8")
# The files of model2vec, sentence-transformers and tokenizers in such a folder, cards and licenses.
# An exported network or a pickle is not copied, because it holds the old vectors.
_FILE = re.compile(
    r"model\.safetensors|(config|modules|tokenizer|vocab|config_sentence_transformers"
    r"|sentence_bert_config|tokenizer_config|special_tokens_map|added_tokens)\.json"
    r"|(vocab|merges)\.txt|(tokenizer|sentencepiece\.bpe|spiece)\.model"
    r"|(?i:README|LICEN[CS]E|NOTICE|COPYING|CITATION)[\w.-]*|\.gitattributes"
)
_MODULE = re.compile(r"[0-9]+_[A-Za-z]+")


def find_model(folder: Path) -> Path | None:
    """Return the directory of a static model's matrix and tokenizer; None for other folders."""
    for place in (folder, folder / _NESTED):
        if (place / _MODEL).is_file() and (place / _TOKENIZER).is_file():
            return place
    return None


def _copy_files(source: Path, target: Path) -> None:
    """Copy the files of a static model; other files are not copied.

    Outputs are published, so a link is followed only to files in the same folder, or in the store
    of a Hugging Face cache, whose folders are made of links.
    """
    root = source.resolve()
    allowed = [root]
    if root.parent.name == "snapshots":
        allowed.append(root.parents[1] / "blobs")
    for path in sorted(file for place in (root, *root.iterdir()) for file in place.glob("*")):
        place = path.relative_to(root)
        if not _FILE.fullmatch(path.name) or not all(map(_MODULE.fullmatch, place.parts[:-1])):
            continue
        file = path.resolve()
        if not any(map(file.is_relative_to, allowed)) or not file.is_file():
            raise InvalidInputError(
                f"{source / place}: not a regular file of this folder, so it is not copied; put "
                "the file itself there, or remove it"
            )
        (target / place).parent.mkdir(exist_ok=True)
        (target / place).write_bytes(file.read_bytes())


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """A folder and the tensors of its `model.safetensors`, with a row for each token."""

    folder: Path
    path: Path
    name: str
    matrix: NDArray[Any]
    offset: NDArray[np.float32] | None

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, without padding and truncation."""
        return load_tokenizer(self.path.with_name(_TOKENIZER), len(self.matrix))


def open_static_model(folder: Path, findings: Findings | None = None) -> Vectors:
    """Open the tokens of a static model and their vectors; `extra` is its `ModelFolder`."""
    place = find_model(folder)
    if place is None:
        raise InvalidInputError(
            f"{folder}: not a static model; it has no {_MODEL} with a {_TOKENIZER}"
        )
    path, tokenizer = place / _MODEL, place / _TOKENIZER
    tensors = _load_tensors(path)
    name = next((each for each in _NAMES if each in tensors), _NAMES[0])
    matrix = tensors.get(name, np.zeros(0))
    if matrix.ndim != 2 or matrix.dtype.name not in _DTYPES:
        raise InvalidInputError(f"{path}: {name} is not a matrix of {', '.join(_DTYPES)}")
    mapping, weights, offset = map(tensors.get, ("mapping", "weights", OFFSET))
    places = np.arange(len(matrix)) if mapping is None else mapping
    offset = None if offset is None else as_float32(offset)
    if not (
        (places.ndim == 1 and places.dtype.kind in "iu")
        and (not places.size or (places.min() >= 0 and places.max() < len(matrix)))
        and (weights is None or (weights.shape == places.shape and weights.dtype.kind in "fiu"))
        and (offset is None or offset.shape == matrix.shape[1:])
        and (offset is None or np.isfinite(offset).all())
    ):
        raise InvalidInputError(f"{path}: mapping, weights or {OFFSET} do not fit {name}")
    dtype, rows, dimension = matrix.dtype.name, len(places), int(matrix.shape[1])
    if mapping is not None:
        matrix = matrix[mapping]
    if weights is not None:
        matrix = as_float32(matrix) * weights[:, np.newaxis].astype(np.float32)
    model = ModelFolder(folder, path, name, matrix, offset)

    def read(part: slice) -> NDArray[np.float32]:
        return as_float32(matrix[part])

    return Vectors(
        str(folder),
        dimension,
        partial(read_pieces, rows, dimension, partial(_read_tokenizer, tokenizer, rows), read),
        estimate=rows,
        kind=RowKind.TOKENS,
        token_counts=lambda counts: token_counts(model.tokenizer(), counts),
        ranked=False,
        files=(folder, path, tokenizer),
        dtype=dtype,
        findings=findings or Findings(),
        extra=model,
    )


def _load_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Load the tensors that a static model may have."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names = {*_NAMES, "mapping", "weights", OFFSET} & set(file.keys())
            return {name: file.get_tensor(name) for name in names}
    except (SafetensorError, TypeError) as error:  # NumPy has no bfloat16
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"{path}: damaged ({reason}); fetch it again") from None


def _read_tokenizer(path: Path, rows: int) -> list[str]:
    """Read the tokens of a `tokenizer.json`, in the order of their rows."""
    try:
        content = read_json(path)
        vocabulary = content["model"]["vocab"]
        if isinstance(vocabulary, dict):
            words = {int(index): str(word) for word, index in vocabulary.items()}
        else:
            words = {index: str(entry[0]) for index, entry in enumerate(vocabulary)}
        for token in content.get("added_tokens") or []:
            words[int(token["id"])] = str(token["content"])
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidInputError(f"{path}: not a tokenizer file with a vocabulary") from None
    missing = next((row for row in range(rows) if row not in words), None)
    if missing is not None:
        raise InvalidInputError(f"{path}: no token for row {missing} of {rows}")
    return [words[row] for row in range(rows)]


def _rewrite(vectors: Vectors, target: Target, progress: Progress) -> int:
    """Write the folder with new vectors for the same tokens; its other files are copied."""
    model: ModelFolder = vectors.extra
    has_config = model.name == _NAMES[0] and (model.folder / _CONFIG).is_file()
    config = read_object(model.folder / _CONFIG) if has_config else {}
    parts = []
    for words, rows in vectors.chunks(progress, "writing"):
        parts.append(np.asarray(rows, dtype=np.float32))
        check_finite(words, parts[-1], target.dtype or vectors.dtype)
    count = sum(map(len, parts))
    if count != len(model.matrix):
        raise InvalidInputError(
            f"{model.folder}: only {count} of {len(model.matrix)} rows are valid; a static model "
            "needs all of them"
        )
    matrix = quantize(np.concatenate(parts), target.dtype or vectors.dtype)
    config |= {"hidden_dim": int(matrix.shape[1]), "embedding_dtype": matrix.dtype.name}
    config.pop("vocabulary_quantization", None)
    assert target.path is not None  # it is a folder
    with make_folder_atomically(target.path) as beside:
        _copy_files(model.folder, beside)
        _save(beside / model.path.relative_to(model.folder), {model.name: matrix})
        if has_config:
            (beside / _CONFIG).write_text(json.dumps(config, indent=4), encoding="utf-8")
    return count


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
    """Write a new static model atomically, from the contents of its files and `more` tensors."""
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
    with make_folder_atomically(target) as beside:
        _save(beside / _MODEL, {_NAMES[0]: matrix, **(more or {})})
        (beside / _TOKENIZER).write_text(tokenizer, encoding="utf-8")
        for name, content in ((_CONFIG, settings), ("modules.json", modules)):
            (beside / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (beside / "README.md").write_text(card, encoding="utf-8")


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
