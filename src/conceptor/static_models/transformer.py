"""Encoders to learn from: a Hugging Face transformer, or any function from texts to vectors."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.base.files import read_json, read_object, replace_atomically
from conceptor.base.progress import Progress, silent
from conceptor.vectors.tokenizer import INNER, tokenizer_errors

Matrix = NDArray[np.float32]
Encoder: TypeAlias = "Transformer | FunctionEncoder"

# Seconds to wait for the hub, once; its own libraries retry many times.
_HUB_SECONDS = 5.0
# Tokens in a batch: on two cores, more gain nothing.
_BATCH_TOKENS = 4096
# Sequences between two saves of a run that may be interrupted.
_BLOCK = 4096
_LONGEST_TEXT = 128
_DECODERS = {"gpt2", "gpt_neo", "gpt_neox", "llama", "mistral", "gemma", "qwen2", "qwen3", "phi"}
_POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
}


def open_encoder(model: object, tokenizer: object = None, keep: Path | None = None) -> Encoder:
    """Return an encoder of texts: from a model's folder or name, a model, or a function."""
    if isinstance(model, Transformer | FunctionEncoder):
        return model
    if isinstance(model, str | os.PathLike):
        return Transformer.load(model, keep)
    if hasattr(model, "parameters"):
        return Transformer(model, tokenizer, keep=keep)
    if callable(model):
        return FunctionEncoder(model, tokenizer)
    raise InvalidInputError(f"cannot distill a {type(model).__name__}; pass a model folder")


class Transformer:
    """A model of transformers with its fast tokenizer, and its pooling: mean, first or last.

    `keep` is a folder for results, from which an interrupted run continues.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        tokenizer: Any,  # noqa: ANN401
        pooling: str = "mean",
        keep: Path | None = None,
    ) -> None:
        self.model = model.eval()
        self.pooling = pooling
        self._keep = keep
        self.dimension = int(model.config.hidden_size)
        architectures = getattr(model.config, "architectures", None) or ()
        self.is_decoder = model.config.model_type in _DECODERS or any(
            name.endswith("ForCausalLM") for name in architectures
        )
        self.tokenizer = getattr(tokenizer, "_tokenizer", tokenizer)
        if not hasattr(self.tokenizer, "encode_batch_fast"):
            raise InvalidInputError("distill needs a fast tokenizer (tokenizers, use_fast=True)")
        self._name = str(getattr(model, "name_or_path", "")) or "the model"
        positions = getattr(model.config, "max_position_embeddings", None) or _LONGEST_TEXT
        with tokenizer_errors(self._name):
            self._tokenizer = type(self.tokenizer).from_str(self.tokenizer.to_str())
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(min(_LONGEST_TEXT, positions))
            special = self._tokenizer.encode("", add_special_tokens=True).ids
        middle = len(special) // 2
        self._before, self._after = special[:middle], special[middle:]

    @classmethod
    def load(cls, name: str | os.PathLike[str], keep: Path | None = None) -> Transformer:
        """Load a model folder, or a model of the hub by name, with the pooling of its files."""
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        try:
            import transformers
        except ImportError:
            raise MissingExtraError("distill", "static") from None
        transformers.utils.logging.disable_progress_bar()
        folder = Path(name)
        # Names on the hub are `model` or `owner/model`; anything else must be a folder.
        is_place = folder.is_absolute() or os.fspath(name).endswith(os.sep) or len(folder.parts) > 2
        if is_place and not folder.exists():
            raise InvalidInputError(f"{name}: no such folder")
        if not folder.exists():
            _check_hub(os.fspath(name))
        elif not (config := folder / "config.json").is_file():
            raise InvalidInputError(f"{folder}: not a model folder; it has no config.json")
        else:
            settings = read_object(config)
            for key in ("attn_implementation", "_attn_implementation"):
                if "/" in str(settings.get(key, "")):
                    raise InvalidInputError(f"{config}: {key} names code to download; remove it")
        pooling = read_pooling(folder)
        # Never run code of the folder, never unpickle, and for a folder never use the network.
        safely = {"trust_remote_code": False, "local_files_only": folder.exists()}
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, use_fast=True, **safely)
            model = transformers.AutoModel.from_pretrained(name, use_safetensors=True, **safely)
            return cls(model, tokenizer, pooling, keep)
        except (ConceptorError, MemoryError):
            raise
        except Exception as error:  # transformers, tokenizers and torch raise any kind
            message = f"{name}: cannot be loaded as a transformer ({_reason(error)})"
            raise (InvalidInputError if folder.exists() else ConceptorError)(message) from None

    def encode_entries(self, entries: Sequence[str | int], progress: Progress = silent) -> Matrix:
        """Return the vectors of tokens, by number, and of texts, each between special tokens."""
        texts = iter(self._tokenize([entry for entry in entries if isinstance(entry, str)]))
        sequences = [
            next(texts) if isinstance(entry, str) else [*self._before, entry, *self._after]
            for entry in entries
        ]
        return self._encode(sequences, progress, "words")

    def __call__(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        """Return the vectors of texts."""
        return self._encode(self._tokenize(texts), progress, "sentences")

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        with tokenizer_errors(self._name):
            return [each.ids for each in self._tokenizer.encode_batch_fast(list(texts))]

    def _encode(self, sequences: list[list[int]], progress: Progress, label: str) -> Matrix:
        """Run block by block; blocks that an interrupted run saved are not computed again."""
        blocks = [np.empty((0, self.dimension), np.float32)]
        weights = next(self.model.parameters()).detach().flatten()[:4096].float().cpu().numpy()
        for start in range(0, len(sequences), _BLOCK):
            block = sequences[start : start + _BLOCK]
            content = weights.tobytes() + json.dumps([self.pooling, block]).encode()
            name = f"{hashlib.sha256(content).hexdigest()[:32]}.npy"
            if self._keep is None:
                blocks.append(self._run(block))
            elif (path := self._keep / name).is_file():
                blocks.append(np.load(path, allow_pickle=False))
            else:
                blocks.append(self._run(block))
                self._keep.mkdir(parents=True, exist_ok=True)
                with replace_atomically(path) as beside, beside.open("wb") as file:
                    np.save(file, blocks[-1])
            done = start + len(block)
            progress(label, done / len(sequences), done)
        return np.concatenate(blocks)

    def _run(self, sequences: list[list[int]]) -> Matrix:
        """Run sequences of equal length together, so that nothing is padded or masked."""
        import torch

        out = np.zeros((len(sequences), self.dimension), dtype=np.float32)
        order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
        with torch.inference_mode():
            for length, group in groupby(order, key=lambda i: len(sequences[i])):
                members = list(group) if length else []
                step = max(1, _BATCH_TOKENS // max(length, 1))
                for start in range(0, len(members), step):
                    rows = members[start : start + step]
                    numbers = torch.tensor([sequences[i] for i in rows], device=self.model.device)
                    try:
                        hidden = self.model(input_ids=numbers).last_hidden_state.float()
                    except IndexError as error:  # beyond the model's tokens or positions
                        raise InvalidInputError(
                            f"{self._name}: its model and its tokenizer do not match ({error})"
                        ) from None
                    if self.pooling == "mean":
                        pooled = hidden.mean(dim=1)
                    else:
                        pooled = hidden[:, 0 if self.pooling == "first" else -1]
                    out[rows] = pooled.cpu().numpy()
        return out


class FunctionEncoder:
    """A function from texts to vectors instead of a transformer."""

    def __init__(self, encode: Callable[[list[str]], Any], tokenizer: object = None) -> None:
        self._encode = encode
        self.tokenizer: Any = getattr(tokenizer, "_tokenizer", tokenizer)
        self.dimension = self(["a"]).shape[1]

    def __call__(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        """Return the vectors of texts."""
        vectors = np.asarray(self._encode(list(texts)), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise InvalidInputError(
                f"the function returned an array of shape {vectors.shape} for {len(texts)} texts; "
                "it must return one finite vector for each"
            )
        return vectors

    def encode_entries(self, entries: Sequence[str | int], progress: Progress = silent) -> Matrix:
        """Return the vectors of texts and of tokens, by their text."""
        decode = self.tokenizer and self.tokenizer.decode
        return self([e if isinstance(e, str) else decode([e]).removeprefix(INNER) for e in entries])


def read_pooling(folder: Path) -> str:
    """Return the pooling of a sentence-transformers folder; `mean` if it has none."""
    path = folder / "modules.json"
    if not path.is_file():
        return "mean"
    modules = read_json(path)
    if not (isinstance(modules, list) and all(isinstance(each, dict) for each in modules)):
        raise InvalidInputError(f"{path}: expected a list of modules; fetch it again")
    places = {
        str(each.get("type", "")).rpartition(".")[2]: str(each.get("path", "")) for each in modules
    }
    for kind in places.keys() - {"Transformer", "Pooling", "Normalize"}:
        raise InvalidInputError(
            f"{folder}: has a {kind} layer; distill it from Python: "
            "distill(SentenceTransformer(...).encode, tokenizer)"
        )
    if "Pooling" not in places:
        return "mean"
    config = folder / places["Pooling"].replace("\0", "") / "config.json"
    if not config.resolve().is_relative_to(folder.resolve()):
        raise InvalidInputError(f"{path}: names a place outside the folder; fetch it again")
    settings = read_object(config)
    poolings = [name for key, name in _POOLING.items() if settings.get(key)]
    if len(poolings) != 1:
        raise InvalidInputError(f"{config}: distill does not support this pooling")
    return poolings[0]


def _check_hub(name: str) -> None:
    """Raise at once if a model is neither in the hub's cache nor on the hub."""
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            HfApi().model_info(name, timeout=_HUB_SECONDS)
    except (HFValidationError, RepositoryNotFoundError):
        raise InvalidInputError(
            f"{name}: no such folder, and no such model on the Hugging Face hub"
        ) from None
    except Exception as error:  # the hub's client and the connection raise any kind
        raise ConceptorError(
            f"{name}: no such folder, and the Hugging Face hub cannot be reached "
            f"({_reason(error)}); download the model elsewhere, and name its folder"
        ) from None


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
