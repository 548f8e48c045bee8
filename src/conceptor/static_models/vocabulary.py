"""The vocabulary of a static model: a transformer's own tokens, and whole words on top.

The tokenizer is WordPiece, which takes the longest entry first: a word of the vocabulary is one
token, and any other word is split into pieces. A WordPiece tokenizer keeps its normalisation; the
tokens of other kinds (BPE, Unigram) become pieces of a lower-case WordPiece tokenizer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.tokenizer import (
    INNER,
    count_tokens,
    has_letters,
    import_tokenizers,
    token_usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy import sparse
    from tokenizers import Tokenizer

    from conceptor.base.arrays import Float64

PAD, UNKNOWN = "[PAD]", "[UNK]"
# Longer words are not looked up piece by piece.
_LONGEST_WORD = 100
_UNUSED = "[unused"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens in the order of their rows, and their tokenizer.

    Attributes
    ----------
    tokens : list of str
        `[PAD]` and `[UNK]`, then words and pieces (`##ing`).
    tokenizer : tokenizers.Tokenizer
    sources : list of str or int
        The transformer's input for each token after the first two: the number of one of its own
        tokens, or a text.
    """

    tokens: list[str]
    tokenizer: Tokenizer
    sources: list[str | int]

    def count(self, texts: Iterable[str]) -> sparse.csr_array:
        """Return how often each token occurs in each text."""
        return count_tokens(self.tokenizer, texts)

    def usage(self, counts: Mapping[str, float]) -> Float64:
        """Return token frequencies, derived from word frequencies; pieces count by their words."""
        return token_usage(self.tokenizer, counts)

    def ordered(self, usage: Float64) -> tuple[Vocabulary, Float64, NDArray[np.intp]]:
        """Return the vocabulary with its most frequent tokens first, their usage and old rows."""
        order = np.concatenate([[0, 1], 2 + np.argsort(-usage[2:], kind="stable")])
        tokens = [self.tokens[i] for i in order]
        sources = [self.sources[i - 2] for i in order[2:]]
        tokenizer = _with_tokens(json.loads(self.tokenizer.to_str()), tokens)
        return Vocabulary(tokens, tokenizer, sources), usage[order], order


def make_vocabulary(tokenizer: Tokenizer | None, words: Iterable[str] = ()) -> Vocabulary:
    """Return the vocabulary of a transformer's tokenizer with some words on top.

    Without a tokenizer, it has the words, and their characters as pieces.
    """
    description = _describe(tokenizer)
    normalise, split = _preparation(description)
    pieces = list(_own_pieces(tokenizer, normalise, split))
    found: dict[str, str | int] = dict(pieces)
    given: dict[str, str] = {}
    for word in words:
        parts = split(normalise(word))
        if len(parts) == 1 and len(parts[0]) <= _LONGEST_WORD:
            given.setdefault(parts[0], word)
    if not pieces:
        found = {
            prefix + character: character
            for word in given
            for character in word
            for prefix in ("", INNER)
        }
    for word, text in given.items():
        found.setdefault(word, text)
    if not found:
        raise InvalidInputError("the vocabulary is empty; pass words or a tokenizer")
    tokens = [PAD, UNKNOWN, *found]
    return Vocabulary(tokens, _with_tokens(description, tokens), list(found.values()))


def _describe(tokenizer: Tokenizer | None) -> dict[str, Any]:
    """Return the description of a WordPiece tokenizer that prepares texts like this one."""
    described = {} if tokenizer is None else json.loads(tokenizer.to_str())
    model = described.get("model") or {}
    if model.get("type") == "WordPiece" and described.get("pre_tokenizer"):
        inner = model.get("continuing_subword_prefix", INNER)
        if inner == INNER and described.get("normalizer"):
            return described
    return {
        "version": "1.0",
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": INNER, "cleanup": True},
        "model": {"type": "WordPiece"},
    }


def _with_tokens(description: Mapping[str, Any], tokens: Sequence[str]) -> Tokenizer:
    """Return the tokenizer of a description with these tokens; two of them are special."""
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    changed = dict(description) | {
        "truncation": None,
        "padding": None,
        "post_processor": None,
        "added_tokens": [
            {"id": number, "content": tokens[number], "special": True} | special
            for number in range(2)
        ],
        "model": {
            "type": "WordPiece",
            "unk_token": UNKNOWN,
            "continuing_subword_prefix": INNER,
            "max_input_chars_per_word": _LONGEST_WORD,
            "vocab": {token: number for number, token in enumerate(tokens)},
        },
    }
    made: Tokenizer = import_tokenizers().Tokenizer.from_str(json.dumps(changed))
    return made


def _preparation(description: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return how texts are normalised, and how they are split into words."""
    made = _with_tokens(description, [PAD, UNKNOWN])
    pre = made.pre_tokenizer
    return made.normalizer.normalize_str, lambda text: [
        part for part, _ in pre.pre_tokenize_str(text)
    ]


def _own_pieces(
    tokenizer: Tokenizer | None,
    normalise: Any,  # noqa: ANN401
    split: Any,  # noqa: ANN401
) -> Iterator[tuple[str, int]]:
    """Yield a transformer's own tokens as words and pieces, with their numbers."""
    if tokenizer is None:
        return
    special = {each.content for each in tokenizer.get_added_tokens_decoder().values()}
    is_word_piece = json.loads(tokenizer.to_str())["model"]["type"] == "WordPiece"
    seen = set()
    byte_level = import_tokenizers().decoders.ByteLevel()
    vocabulary = tokenizer.get_vocab()
    starts = "Ġ" if any(token.startswith("Ġ") for token in vocabulary) else "▁"
    for token in sorted(vocabulary, key=vocabulary.__getitem__):
        if token in special or token.startswith(_UNUSED):
            continue
        piece = token
        if not is_word_piece:
            text = byte_level.decode([token]) if starts == "Ġ" else token.replace("▁", " ")
            parts = split(normalise(text))
            if len(parts) != 1 or "\ufffd" in text:
                continue
            inner = not text.startswith(" ") and has_letters(text)
            piece = INNER + parts[0] if inner else parts[0]
        if piece not in seen:
            seen.add(piece)
            yield piece, vocabulary[token]
