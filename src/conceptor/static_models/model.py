"""A static model: a tokenizer and a table; a text is the average of its tokens' rows."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor import __version__
from conceptor.base.arrays import row_lengths
from conceptor.base.errors import InvalidInputError, plain_markdown
from conceptor.base.files import read_object
from conceptor.static_models.vocabulary import PAD, UNKNOWN
from conceptor.vectors.formats.static_model import OFFSET, open_static_model, write_folder
from conceptor.vectors.tokenizer import APOSTROPHES, PATTERN, TokenReader, import_tokenizers

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BATCH = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class StaticModel:
    """A tokenizer and one vector for each token.

    Attributes
    ----------
    vectors : ndarray of shape (tokens, n)
    tokenizer : tokenizers.Tokenizer
    provenance : dict
        How the model was made, for the model card.
    offset : ndarray of shape (n,), optional
        The mean of the stored vectors that an encoder was attached to. Rankings do not need it; for
        scores that can be compared between queries, subtract `encode(texts) @ offset`.
    """

    vectors: NDArray[Any]
    tokenizer: Tokenizer
    provenance: dict[str, Any] = field(default_factory=dict)
    offset: NDArray[np.float32] | None = None

    @classmethod
    def from_words(
        cls, words: Sequence[str], vectors: NDArray[Any], provenance: dict[str, Any] | None = None
    ) -> Self:
        """Return a model of whole words; it splits texts as `SentenceEncoder` does."""
        tokenizers = import_tokenizers()
        numbers = {word: i for i, word in enumerate(dict.fromkeys([PAD, UNKNOWN, *words]))}
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token=UNKNOWN))
        apostrophes = tokenizers.normalizers.Replace(tokenizers.Regex(f"[{APOSTROPHES}]"), "'")
        steps = [tokenizers.normalizers.Lowercase(), apostrophes]
        tokenizer.normalizer = tokenizers.normalizers.Sequence(steps)
        # Matches of the pattern are tokens; the rest is removed.
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(
            tokenizers.Regex(PATTERN), behavior="removed", invert=True
        )
        tokenizer.add_special_tokens([PAD, UNKNOWN])
        special = np.zeros((2, vectors.shape[1]), dtype=np.float32)
        table = np.concatenate([special, np.asarray(vectors, dtype=np.float32)])
        return cls(table, tokenizer, provenance or {})

    @property
    def tokens(self) -> list[str]:
        """The tokens, in the order of the rows."""
        vocabulary = self.tokenizer.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    @property
    def dimension(self) -> int:
        """The number of dimensions."""
        return int(self.vectors.shape[1])

    @cached_property
    def _reader(self) -> TokenReader:
        return TokenReader(self.tokenizer)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text; 0 for a text without a known token."""
        if isinstance(texts, str):
            raise InvalidInputError("got a single string; put it into a list of texts")
        texts = list(texts)
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            tokens = self._reader(texts[start : start + _BATCH])
            # Only the rows in use become float32: the table may be int8 or float16.
            distinct, columns = tokens.distinct()
            counts = sparse.csr_array(
                (np.ones(len(columns), dtype=np.float32), columns, tokens.ends),
                shape=(len(tokens.ends) - 1, len(distinct)),
            )
            sums = counts @ self.vectors[distinct].astype(np.float32, copy=False)
            out[start : start + _BATCH] = sums / row_lengths(sums)[:, np.newaxis]
        return out

    def save(self, folder: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write a new folder, atomically, that model2vec and sentence-transformers load.

        `dtype` is float32, float16 or int8.
        """
        folder = Path(folder)
        config = {"apply_pca": None, "conceptor": self.provenance}
        card = _write_card(folder.resolve().name, self)
        more = {} if self.offset is None else {OFFSET: self.offset}
        write_folder(folder, self.vectors, self.tokenizer.to_str(), config, card, dtype, more)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Load the folder of a static model, made by any library."""
        opened = open_static_model(Path(folder))
        tokenizer = opened.extra.tokenizer()
        vectors = np.concatenate([rows for _, rows in opened.chunks()])
        if not np.isfinite(vectors).all():
            raise InvalidInputError(
                f"{folder}: its vectors contain NaN or infinity; fetch it again"
            )
        config = Path(folder) / "config.json"
        provenance = read_object(config).get("conceptor") if config.is_file() else None
        provenance = provenance if isinstance(provenance, dict) else {}
        return cls(vectors, tokenizer, provenance, opened.extra.offset)

    def __repr__(self) -> str:
        count, dimension = self.vectors.shape
        return f"StaticModel({count} tokens × {dimension})"


def _write_card(name: str, model: StaticModel) -> str:
    """Return the content of README.md, with the metadata that the Hugging Face hub reads."""
    name = plain_markdown(name)
    facts: dict[str, Any] = {
        key: plain_markdown(value) if isinstance(value, str) else value
        for key, value in model.provenance.items()
    }
    count, dimension = model.vectors.shape
    header = {"library_name": "model2vec", "base_model": facts.get("model")}
    header |= {key: facts.get(key) for key in ("license", "language")}
    source = f"from {facts['model']} " if facts.get("model") else ""
    lines = [
        "---",
        # Every JSON string is a valid YAML string.
        *(f"{key}: {json.dumps(value)}" for key, value in header.items() if value),
        "tags:\n- embeddings\n- static-embeddings\n- conceptor\n---",
        f"\n# {name}\n",
        f"A static embedding model, made {source}by conceptor {__version__}: {count:,} tokens, "
        f"{dimension} dimensions. The vector of a text is the normalized average of its tokens' "
        "rows.",
        "\n```python\nfrom model2vec import StaticModel\n",
        f'model = StaticModel.from_pretrained("{name}")',
        'vectors = model.encode(["It is raining.", "Take an umbrella."])\n```',
        f'\n`SentenceTransformer("{name}")` of sentence-transformers loads it as well.',
        "\n## How it was made\n",
    ]
    lines += [
        f"- {key}: {value}"
        for key, value in facts.items()
        if key not in header and not isinstance(value, dict | list)
    ]
    if model.offset is not None:
        lines += [
            "\n## Use\n",
            "It encodes queries for stored vectors: search them by inner product. Do not encode "
            "documents with it. For scores that can be compared between queries, subtract "
            "`vectors @ offset` (a tensor of `model.safetensors`).",
        ]
    if not facts.get("license"):
        lines += ["", "The license of the source model was not found; it applies to this one too."]
    return "\n".join(lines) + "\n"
