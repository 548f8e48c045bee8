"""A Hugging Face transformer as a function from token numbers or texts to vectors."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.base.files import read_json, read_object, replace_atomically
from conceptor.base.progress import silent
from conceptor.vectors.tokenizer import check_tokenizer, tokenizer_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from conceptor.base.progress import Progress

    Vectors = NDArray[np.float32]

# Seconds to wait for the hub, once; its own libraries retry many times.
_HUB_SECONDS = 5.0
# Tokens in a batch: measured on two cores, more tokens gain nothing and take memory.
_BATCH_TOKENS = 4096
# Sequences between two saves of a run that may be interrupted.
_BLOCK = 4096
_LONGEST_TEXT = 128
_POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
}
_HARMLESS = ("Transformer", "Pooling", "Normalize")


class Transformer:
    """Pooled vectors of token sequences.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    tokenizer : transformers.PreTrainedTokenizerFast or tokenizers.Tokenizer
    pooling : {"mean", "first", "last"}
        How the vectors of a sequence's tokens become one.
    """

    def __init__(self, model: Any, tokenizer: Any, pooling: str = "mean") -> None:  # noqa: ANN401
        if pooling not in _POOLING.values():
            raise InvalidInputError(f"pooling is {pooling!r}; it must be mean, first or last")
        self.model = model.eval()
        self.tokenizer: Tokenizer = getattr(tokenizer, "_tokenizer", tokenizer)
        if not hasattr(self.tokenizer, "encode_batch_fast"):
            raise InvalidInputError("distill needs a fast tokenizer (tokenizers, use_fast=True)")
        self._name = str(getattr(model, "name_or_path", "")) or "the model"
        check_tokenizer(self.tokenizer, self._name)
        self.pooling = pooling
        with tokenizer_errors(self._name):
            self._tokenizer = type(self.tokenizer).from_str(self.tokenizer.to_str())
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(_LONGEST_TEXT)
            alone = self._tokenizer.encode("", add_special_tokens=True)
        middle = len(alone.ids) // 2
        self._before, self._after = alone.ids[:middle], alone.ids[middle:]

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> Transformer:
        """Load a model folder, or a model of the hub by name, with the pooling of its files."""
        try:
            with _quiet():
                import transformers
        except ImportError:
            raise MissingExtraError("distill", "static") from None
        folder = Path(name)
        # Names on the hub are `model` or `owner/model`; anything else must be a folder.
        is_place = folder.is_absolute() or os.fspath(name).endswith(os.sep) or len(folder.parts) > 2
        if is_place and not folder.exists():
            raise InvalidInputError(f"{name}: no such folder")
        if folder.exists():
            _check_folder(folder)
        else:
            _check_hub(os.fspath(name))
        pooling = read_pooling(folder)
        # Never run code of the folder, never unpickle, and for a folder never use the network.
        safely = {"trust_remote_code": False, "local_files_only": folder.exists()}
        try:
            with _quiet():
                tokenizer = transformers.AutoTokenizer.from_pretrained(
                    name, use_fast=True, **safely
                )
                model = transformers.AutoModel.from_pretrained(name, use_safetensors=True, **safely)
            return cls(model, tokenizer, pooling)
        except (ConceptorError, MemoryError):
            raise
        except Exception as error:  # transformers, tokenizers and torch raise any kind
            why = " ".join(str(error).split()) or type(error).__name__
            message = f"{name}: cannot be loaded as a transformer ({why})"
            raise (InvalidInputError if folder.exists() else ConceptorError)(message) from None

    @property
    def dimension(self) -> int:
        """The number of dimensions."""
        return int(self.model.config.hidden_size)

    def encode_entries(
        self, entries: Sequence[str | int], progress: Progress = silent, keep: Path | None = None
    ) -> Vectors:
        """Return the vectors of tokens, by number, and of texts, each between special tokens."""
        texts = [entry for entry in entries if isinstance(entry, str)]
        with tokenizer_errors(self._name):
            read = iter(self._tokenizer.encode_batch_fast(texts))
        sequences = [
            next(read).ids if isinstance(entry, str) else [*self._before, entry, *self._after]
            for entry in entries
        ]
        return self._encode(sequences, progress, "words", keep)

    def __call__(
        self, texts: Sequence[str], progress: Progress = silent, keep: Path | None = None
    ) -> Vectors:
        """Return the vectors of texts."""
        with tokenizer_errors(self._name):
            encoded = self._tokenizer.encode_batch_fast(list(texts))
        return self._encode([each.ids for each in encoded], progress, "sentences", keep)

    def _encode(
        self, sequences: list[list[int]], progress: Progress, label: str, keep: Path | None
    ) -> Vectors:
        """Run block by block, so that an interrupted run can resume."""
        blocks = []
        for start in range(0, len(sequences), _BLOCK):
            block = sequences[start : start + _BLOCK]

            def compute(block: list[list[int]] = block, before: int = start) -> Vectors:
                def told(done: int) -> None:
                    progress(label, (before + done) / len(sequences), before + done)

                return self._run(block, told)

            blocks.append(compute() if keep is None else self._kept(block, keep, compute))
        return np.concatenate(blocks) if blocks else np.empty((0, self.dimension), np.float32)

    def _kept(
        self, sequences: list[list[int]], folder: Path, compute: Callable[[], Vectors]
    ) -> Vectors:
        """Return vectors that an interrupted run saved in a folder, or compute and save them.

        The file name is a fingerprint of the model's input and of its first weights.
        """
        weights = next(self.model.parameters()).detach().flatten()[:4096].float().numpy()
        said = json.dumps([self.pooling, sequences]).encode()
        name = hashlib.sha256(weights.tobytes() + said).hexdigest()[:32]
        path = folder / f"{name}.npy"
        if path.is_file():
            found: Vectors = np.load(path, allow_pickle=False)
            return found
        made = compute()
        folder.mkdir(parents=True, exist_ok=True)
        with replace_atomically(path) as beside, beside.open("wb") as file:
            np.save(file, made)
        return made

    def _run(self, sequences: list[list[int]], told: Callable[[int], None]) -> Vectors:
        """Run sequences of equal length together, so that nothing is padded or masked."""
        import torch

        out = np.zeros((len(sequences), self.dimension), dtype=np.float32)
        order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
        done = 0
        with torch.inference_mode():
            for length, group in groupby(order, key=lambda i: len(sequences[i])):
                alike = list(group) if length else []
                step = max(1, _BATCH_TOKENS // max(length, 1))
                for start in range(0, len(alike), step):
                    rows = alike[start : start + step]
                    numbers = torch.tensor([sequences[i] for i in rows], device=self.model.device)
                    try:
                        hidden = self.model(input_ids=numbers).last_hidden_state.float()
                    except IndexError as error:  # beyond the model's tokens or positions
                        raise InvalidInputError(
                            f"{self._name}: its model and its tokenizer do not match ({error})"
                        ) from None
                    out[rows] = self._pool(hidden).cpu().numpy()
                    done += len(rows)
                    told(done)
        return out

    def _pool(self, hidden: Any) -> Any:  # noqa: ANN401
        if self.pooling == "mean":
            return hidden.mean(dim=1)
        return hidden[:, 0 if self.pooling == "first" else -1]


def read_pooling(folder: Path) -> str:
    """Return the pooling of a sentence-transformers folder; `mean` if it has none."""
    modules = folder / "modules.json"
    if not modules.is_file():
        return "mean"
    listed = read_json(modules)
    if not (isinstance(listed, list) and all(isinstance(each, dict) for each in listed)):
        raise InvalidInputError(f"{modules}: expected a list of modules; fetch it again")
    kinds = {
        str(each.get("type", "")).rpartition(".")[2]: str(each.get("path", "")) for each in listed
    }
    strange = [kind for kind in kinds if kind not in _HARMLESS]
    if strange:
        raise InvalidInputError(
            f"{folder}: has a {strange[0]} layer; distill it from Python: "
            "distill(SentenceTransformer(...).encode, tokenizer)"
        )
    config = folder / kinds.get("Pooling", "").replace("\0", "") / "config.json"
    if not config.resolve().is_relative_to(folder.resolve()):
        raise InvalidInputError(f"{modules}: names a place outside the folder; fetch it again")
    chosen = read_object(config) if "Pooling" in kinds else {}
    named = [name for key, name in _POOLING.items() if chosen.get(key)]
    if "Pooling" in kinds and len(named) != 1:
        raise InvalidInputError(f"{config}: distill does not support this pooling")
    return named[0] if named else "mean"


def _check_hub(name: str) -> None:
    """Raise at once if a model is neither in the hub's cache nor on the hub."""
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return
        HfApi().model_info(name, timeout=_HUB_SECONDS)
    except (HFValidationError, RepositoryNotFoundError):
        raise InvalidInputError(
            f"{name}: no such folder, and no such model on the Hugging Face hub"
        ) from None
    except Exception as error:  # the hub's client and the connection raise any kind
        why = " ".join(str(error).split()) or type(error).__name__
        raise ConceptorError(
            f"{name}: no such folder, and the Hugging Face hub cannot be reached ({why}); "
            "download the model on a machine with a network, and name its folder"
        ) from None


def _check_folder(folder: Path) -> None:
    """Raise if a folder is not a model, or if its configuration names code to download."""
    config = folder / "config.json"
    if not config.is_file():
        raise InvalidInputError(f"{folder}: not a model folder; it has no config.json")
    settings = read_object(config)
    for key in ("attn_implementation", "_attn_implementation"):
        if "/" in str(settings.get(key, "")):
            raise InvalidInputError(
                f"{config}: {key} names a kernel to download; code named in a folder is never "
                "run; remove it"
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide progress bars and advice of the Hugging Face libraries."""
    before = os.environ.get("HF_HUB_DISABLE_PROGRESS_BARS")
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        import transformers

        transformers.utils.logging.disable_progress_bar()
        yield
    finally:
        if before is None:
            del os.environ["HF_HUB_DISABLE_PROGRESS_BARS"]
