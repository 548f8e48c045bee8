"""Texts as tokens: what is remembered between spaces is what the tokenizer returns."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.vectors import tokenizer as module
from conceptor.vectors.tokenizer import TokenReader, splits_at_spaces

tokenizers = pytest.importorskip("tokenizers", reason="needs the static extra")

WORDS = ["the", "small", "old", "cat", "sleeps", "on", "mat", "rain", "umbrella", "river", "boat"]
# Spaces of all kinds, accents alone and composed, Chinese, marks, special tokens, words, anything.
PARTS = st.one_of(
    st.sampled_from([" ", "  ", "\t", "\n", "\x1c", "\u00a0", "\u2003", "\u3000", "\u200b"]),
    st.sampled_from(["\u0301", "e\u0301", "É", "ﬁ", "İ", "Σ", "日本", "’", "'s", "n't", ".", "/-"]),
    st.sampled_from(["[UNK]", "[PAD]", "[CLS]", "u.s.", "cannot", "x" * 120, *WORDS]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
)
TEXTS = st.lists(st.lists(PARTS, max_size=12).map("".join), max_size=5)


def wordpiece(added=(), **options):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = [*special, *letters, *".'日", *(f"##{letter}" for letter in letters), *WORDS]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(**options)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.add_special_tokens(special)
    made.add_tokens(list(added))
    return made


KINDS = {
    "WordPiece": (wordpiece(), True),
    "cased": (wordpiece(lowercase=False, strip_accents=False), True),
    "across spaces": (wordpiece(["small old"]), False),
    "inside words": (wordpiece(["ol"]), True),
}


@pytest.mark.parametrize("kind", KINDS)
@given(TEXTS)
def test_the_reader_is_the_tokenizer_without_unknown_tokens(kind, texts):
    """Whether or not it remembers everything."""
    tokenizer, remembers = KINDS[kind]
    assert splits_at_spaces(json.loads(tokenizer.to_str())) is remembers
    unknown = tokenizer.token_to_id("[UNK]")
    expected = [
        [i for i in tokenizer.encode(text, add_special_tokens=False).ids if i != unknown]
        for text in texts
    ]
    reader = TokenReader(tokenizer)
    with pytest.MonkeyPatch.context() as patch:
        for most in (1 << 17, 3):
            patch.setattr(module, "_MOST_RUNS", most)
            rows, ends = reader(texts)
            lists = [rows[a:b].tolist() for a, b in itertools.pairwise(ends)]
            assert lists == expected


def test_tokenizers_that_join_words_are_not_split_at_spaces():
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    assert not splits_at_spaces(json.loads(made.to_str()))
    made = wordpiece()
    made.enable_truncation(3)
    assert not splits_at_spaces(json.loads(made.to_str()))
