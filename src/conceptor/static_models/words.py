"""A static model with whole words as tokens; it splits sentences like this library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.tokens import APOSTROPHES, PATTERN
from conceptor.static_models.model import StaticModel
from conceptor.static_models.vocabulary import PAD, UNKNOWN
from conceptor.vectors.tokenizer import import_tokenizers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def word_model(
    words: Sequence[str], vectors: NDArray[Any], provenance: dict[str, Any]
) -> StaticModel:
    """Return the static model of these words; it skips all others."""
    tokenizers = import_tokenizers()
    numbers = {word: i for i, word in enumerate(dict.fromkeys([PAD, UNKNOWN, *words]))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token=UNKNOWN))
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [
            tokenizers.normalizers.Lowercase(),
            tokenizers.normalizers.Replace(tokenizers.Regex(f"[{APOSTROPHES}]"), "'"),
        ]
    )
    # Matches of the pattern are tokens; the rest is removed.
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(
        tokenizers.Regex(PATTERN), behavior="removed", invert=True
    )
    tokenizer.add_special_tokens([PAD, UNKNOWN])
    special = np.zeros((2, vectors.shape[1]), dtype=np.float32)
    table = np.concatenate([special, np.asarray(vectors, dtype=np.float32)])
    return StaticModel(table, tokenizer, provenance)
