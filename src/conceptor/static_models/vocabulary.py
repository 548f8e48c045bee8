"""The vocabulary of a static model: a transformer's own tokens, and whole words on top.

The tokenizer is WordPiece, which takes the longest entry first: a word of the vocabulary is one
token, and any other word is split into pieces. A WordPiece tokenizer keeps its normalization; the
tokens of other kinds (BPE, Unigram) become pieces of a lower-case WordPiece tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.tokenizer import INNER, has_letters, import_tokenizers

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PAD, UNKNOWN = "[PAD]", "[UNK]"
# Longer words are not looked up piece by piece.
_LONGEST_WORD = 100


class Vocabulary(NamedTuple):
    """Tokens in the order of their rows: `[PAD]`, `[UNK]`, then words and pieces (`##ing`).

    `sources` are the transformer's input for each token after the first two: the number of one of
    its own tokens, or a text.
    """

    tokens: list[str]
    tokenizer: Tokenizer
    sources: list[str | int]

    def ordered(self, usage: Float64) -> tuple[Vocabulary, NDArray[np.intp]]:
        """Return the vocabulary with its most frequent tokens first, and their old rows."""
        order = np.concatenate([[0, 1], 2 + np.argsort(-usage[2:], kind="stable")])
        tokens = [self.tokens[i] for i in order]
        tokenizer = _with_tokens(json.loads(self.tokenizer.to_str()), tokens)
        return Vocabulary(tokens, tokenizer, [self.sources[i - 2] for i in order[2:]]), order


def make_vocabulary(tokenizer: Tokenizer | None, words: Iterable[str] = ()) -> Vocabulary:
    """Return a tokenizer's vocabulary with more words; without one, words and their characters."""
    tokenizers = import_tokenizers()
    description = {} if tokenizer is None else json.loads(tokenizer.to_str())
    model = description.get("model") or {}
    is_wordpiece = model.get("type") == "WordPiece"
    if not (
        is_wordpiece
        and model.get("continuing_subword_prefix", INNER) == INNER
        and description.get("pre_tokenizer")
        and description.get("normalizer")
    ):
        lower_case = tokenizers.Tokenizer(tokenizers.models.WordPiece())
        lower_case.normalizer = tokenizers.normalizers.BertNormalizer()
        lower_case.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        lower_case.decoder = tokenizers.decoders.WordPiece()
        description = json.loads(lower_case.to_str())
    empty = _with_tokens(description, [PAD, UNKNOWN])

    def split(text: str) -> list[str]:
        normal = empty.normalizer.normalize_str(text)
        return [part for part, _ in empty.pre_tokenizer.pre_tokenize_str(normal)]

    sources: dict[str, str | int] = {}
    numbers = {} if tokenizer is None else tokenizer.get_vocab()
    added = {} if tokenizer is None else tokenizer.get_added_tokens_decoder()
    special = {token.content for token in added.values()}
    byte_level = tokenizers.decoders.ByteLevel()
    is_byte_level = any(token.startswith("Ġ") for token in numbers)
    for token in sorted(numbers, key=numbers.__getitem__):
        if token in special or token.startswith("[unused"):
            continue
        piece = token
        if not is_wordpiece:
            text = byte_level.decode([token]) if is_byte_level else token.replace("▁", " ")
            parts = split(text)
            if len(parts) != 1 or "\ufffd" in text:
                continue
            is_inner = not text.startswith(" ") and has_letters(text)
            piece = INNER + parts[0] if is_inner else parts[0]
        sources.setdefault(piece, numbers[token])
    spellings: dict[str, str] = {}
    for word in words:
        parts = split(word)
        if len(parts) == 1 and len(parts[0]) <= _LONGEST_WORD:
            spellings.setdefault(parts[0], word)
    if not sources:
        for character in (character for word in spellings for character in word):
            sources |= {character: character, INNER + character: character}
    for word, text in spellings.items():
        sources.setdefault(word, text)
    if not sources:
        raise InvalidInputError("the vocabulary is empty; pass words or a tokenizer")
    tokens = [PAD, UNKNOWN, *sources]
    return Vocabulary(tokens, _with_tokens(description, tokens), list(sources.values()))


def _with_tokens(description: Mapping[str, Any], tokens: Sequence[str]) -> Tokenizer:
    """Return the tokenizer of a description with these tokens; the first two are special."""
    model = {
        "type": "WordPiece",
        "unk_token": UNKNOWN,
        "continuing_subword_prefix": INNER,
        "max_input_chars_per_word": _LONGEST_WORD,
        "vocab": {token: number for number, token in enumerate(tokens)},
    }
    unset = dict.fromkeys(("truncation", "padding", "post_processor"))
    content = json.dumps({**description, **unset, "added_tokens": [], "model": model})
    tokenizer: Tokenizer = import_tokenizers().Tokenizer.from_str(content)
    tokenizer.add_special_tokens(list(tokens[:2]))
    return tokenizer
