"""Texts as tokens: what is remembered between blanks is what the tokenizer says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor import StaticModel
from conceptor.static_models.words import word_model
from conceptor.vectors import memory
from conceptor.vectors.tokenizer import TokenReader, passes_letters, splits_at_blanks
from tests.static_models.conftest import PIECES, WORDS

tokenizers = pytest.importorskip("tokenizers", reason="needs the static extra")

# Blanks of all kinds, accents alone and composed, Chinese, marks, special tokens, words, anything.
PARTS = st.one_of(
    st.sampled_from([" ", "  ", "\t", "\n", "\x1c", "\u00a0", "\u2003", "\u3000", "\u200b"]),
    st.sampled_from(["\u0301", "e\u0301", "É", "ﬁ", "İ", "Σ", "日本", "’", "'s", "n't", ".", "/-"]),
    st.sampled_from(["[UNK]", "[PAD]", "[CLS]", "u.s.", "cannot", "x" * 120, *WORDS]),
    st.text(max_size=4),
)
TEXTS = st.lists(st.lists(PARTS, max_size=12).map("".join), max_size=5)


def wordpiece(**options):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokens = [*special, *dict.fromkeys([*"abcdefghijklmnopqrstuvwxyz.'日", *PIECES, *WORDS])]
    model = tokenizers.models.WordPiece(
        {token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"
    )
    made = tokenizers.Tokenizer(model)
    made.normalizer = tokenizers.normalizers.BertNormalizer(**options)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.add_special_tokens(special)
    return made


def whole_words():
    return word_model([*WORDS, "u.s.", "can", "not"], np.ones((len(WORDS) + 3, 2)), {}).tokenizer


def across_blanks():
    """A tokenizer with a token that contains a blank."""
    made = wordpiece()
    made.add_tokens(["small old"])
    return made


def inside_words():
    """A tokenizer with a token that is found inside of words."""
    made = wordpiece()
    made.add_tokens(["ol"])
    return made


KINDS = {
    "WordPiece": (wordpiece(), True),
    "cased": (wordpiece(lowercase=False, strip_accents=False), True),
    "words": (whole_words(), True),
    "across blanks": (across_blanks(), False),
    "inside words": (inside_words(), True),
}


@pytest.mark.parametrize("kind", KINDS)
@given(TEXTS)
def test_the_reader_is_the_tokenizer_without_what_is_unknown(kind, texts):
    tokenizer, remembers = KINDS[kind]
    assert splits_at_blanks(json.loads(tokenizer.to_str())) is remembers
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    unknown = tokenizer.token_to_id("[UNK]")
    expected = [
        [i for i in tokenizer.encode(text, add_special_tokens=False).ids if i != unknown]
        for text in texts
    ]
    found = TokenReader(tokenizer)(texts)
    assert [part.tolist() for part in np.split(found.rows, found.ends[1:-1])] == (expected or [[]])


def test_plain_words_are_given_to_the_model_where_nothing_comes_before_it():
    passing = {
        name for name, (made, _) in KINDS.items() if passes_letters(json.loads(made.to_str()))
    }
    assert passing == {"WordPiece", "cased"}


def test_a_tokenizer_that_joins_words_is_not_split_at_blanks():
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    assert not splits_at_blanks(json.loads(made.to_str()))
    made = wordpiece()
    made.enable_truncation(3)
    assert not splits_at_blanks(json.loads(made.to_str()))


def test_nothing_depends_on_what_was_read_before(monkeypatch):
    """Nor on how much is remembered."""
    tokenizer = wordpiece()
    vectors = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 5))
    texts = [f"{a} {b}s, {c}" for a, b, c in zip(WORDS, WORDS[3:], WORDS[9:], strict=False)]
    expected = [StaticModel(vectors, tokenizer).encode([text])[0] for text in texts]
    monkeypatch.setattr(memory, "_MOST", 3)
    model = StaticModel(vectors, tokenizer)
    for _ in range(2):
        np.testing.assert_allclose([model.encode([text])[0] for text in texts], expected, atol=1e-6)
        np.testing.assert_allclose(model.encode(texts), expected, atol=1e-6)
