"""What a Hugging Face tokenizer makes of texts, and how often its tokens are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scipy import sparse
    from tokenizers import Tokenizer

    from conceptor.base.arrays import Float64

# How WordPiece marks a piece inside a word.
INNER = "##"


def import_tokenizers() -> Any:  # noqa: ANN401
    """Import tokenizers, or say how to install it."""
    try:
        import tokenizers
    except ImportError:
        raise MissingExtraError("a static model's tokenizer", "static") from None
    return tokenizers


def count_tokens(tokenizer: Tokenizer, texts: Iterable[str]) -> sparse.csr_array:
    """Return how often each token occurs in each text, one row per text."""
    from scipy import sparse

    encoded = [each.ids for each in tokenizer.encode_batch_fast(list(texts), False)]
    ends = np.cumsum([0, *map(len, encoded)])
    columns = np.fromiter((i for ids in encoded for i in ids), dtype=np.int32, count=ends[-1])
    shape = (len(encoded), tokenizer.get_vocab_size())
    counts = sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, ends), shape=shape)
    counts.sum_duplicates()
    return counts


def token_usage(tokenizer: Tokenizer, counts: Mapping[str, float]) -> Float64:
    """Return how often tokens are used, from how often words are: pieces through the words."""
    each = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
    used: Float64 = np.asarray(each @ count_tokens(tokenizer, counts), dtype=np.float64)
    return used


def has_letters(token: str) -> bool:
    """Return whether a token is more than punctuation."""
    return any(map(str.isalnum, token.removeprefix(INNER)))
