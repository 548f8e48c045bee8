"""Texts as tokens of a Hugging Face tokenizer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.vectors.tokenizer import TokenReader, token_usage

tokenizers = pytest.importorskip("tokenizers", reason="needs the static extra")

WORDS = ["the", "small", "cat", "river", "boat"]
TEXTS = st.lists(
    st.lists(st.sampled_from([*WORDS, " ", "[UNK]", "[CLS]", "x" * 120, "日本"])).map("".join)
)


def make_tokenizer():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokens = [*special, "s", "##s", "##cat", *WORDS]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(special)
    return tokenizer


@given(TEXTS)
def test_the_reader_is_the_tokenizer_without_unknown_tokens(texts):
    tokenizer = make_tokenizer()
    expected = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    rows, ends = TokenReader(tokenizer).split(texts)
    assert [rows[a:b].tolist() for a, b in itertools.pairwise(ends)] == expected
    rows, ends = TokenReader(tokenizer)(texts)
    known = [[i for i in ids if i != tokenizer.token_to_id("[UNK]")] for ids in expected]
    assert [rows[a:b].tolist() for a, b in itertools.pairwise(ends)] == known


def test_usage_adds_up_the_counts_of_words():
    tokenizer = make_tokenizer()
    usage = token_usage(tokenizer, {"the": 5.0, "thecats": 2.0, "boat": 0.5})
    assert {tokenizer.id_to_token(i): n for i, n in enumerate(usage.tolist()) if n} == {
        "the": 7.0, "##cat": 2.0, "##s": 2.0, "boat": 0.5
    }  # fmt: skip
