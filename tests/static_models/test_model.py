"""Static models as encoders: one text as among others, every number type, exported encoders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor import SentenceEncoder, StaticModel
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.tokenizer import TokenReader
from tests.static_models.conftest import PIECES, TEXTS, WORDS

tokenizers = pytest.importorskip("tokenizers", reason="needs the static extra")
# Spaces, marks, special tokens, words, anything.
PARTS = st.one_of(
    st.sampled_from([" ", "  ", "\t", "\n", "\x1c", "\u00a0", "\u2003", "\u3000", "\u200b"]),
    st.sampled_from(["\u0301", "e\u0301", "É", "ﬁ", "İ", "Σ", "日本", "’", "'s", "n't", ".", "/-"]),
    st.sampled_from(["[UNK]", "[PAD]", "[CLS]", "u.s.", "cannot", "x" * 120, *WORDS]),
    st.text(max_size=4),
)


def wordpiece(*more, **options):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokens = [*special, *dict.fromkeys([*"abcdefghijklmnopqrstuvwxyz.'日", *PIECES, *WORDS])]
    model = tokenizers.models.WordPiece(
        {token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens(list(more))
    return tokenizer


def word_tokenizer():
    words = [*WORDS, "u.s.", "can", "not"]
    return StaticModel.from_words(words, np.ones((len(words), 2))).tokenizer


# Most tokenizers split at spaces first; two of these have tokens that cross them.
KINDS = {
    "WordPiece": wordpiece(),
    "cased": wordpiece(lowercase=False, strip_accents=False),
    "words": word_tokenizer(),
    "across spaces": wordpiece("small old"),
    "inside words": wordpiece("ol"),
    "byte pairs": tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={"a": 0, " ": 1, "a ": 2}, merges=[("a", " ")])
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.lists(PARTS, max_size=12).map("".join), max_size=5))
def test_the_reader_is_the_tokenizer_without_unknown_tokens(kind, texts):
    tokenizer = KINDS[kind]
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    unknown = tokenizer.token_to_id("[UNK]")
    expected = [
        [i for i in tokenizer.encode(text, add_special_tokens=False).ids if i != unknown]
        for text in texts
    ]
    reader = TokenReader(tokenizer)
    for _ in range(2):  # the second time from memory
        tokens = reader(texts)
        lists = [part.tolist() for part in np.split(tokens.rows, tokens.ends[1:-1])]
        assert lists == (expected or [[]])


@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 100.0])
def test_one_text_is_encoded_as_among_others_in_every_type(dtype, scale):
    table = np.random.default_rng(0).normal(size=(len(WORDS), 5))
    model = StaticModel.from_words(WORDS, table * scale * (30 if dtype == "int8" else 1))
    model = StaticModel(model.vectors.astype(dtype), model.tokenizer)
    texts = [*TEXTS[:50], "", "unknown xyzzy"]
    alone = np.concatenate([model.encode([text]) for text in texts])
    assert alone.dtype == np.float32
    np.testing.assert_allclose(alone, model.encode(texts), atol=1e-6)
    assert not alone[-2:].any()
    with pytest.raises(InvalidInputError, match="single string"):
        model.encode("a text")


def test_extreme_vectors_are_normalized():
    model = StaticModel.from_words(["tiny", "huge"], np.array([[1e-30, 0], [0, 1e30]]))
    np.testing.assert_array_equal(model.encode(["tiny"]), [[1, 0]])
    np.testing.assert_array_equal(model.encode(["huge tiny"]), [[0, 1]])


def test_an_exported_sentence_encoder_encodes_to_the_same_directions(tmp_path):
    sentences = [
        *TEXTS[:40],
        "It\u2019s raining, isn't it? The CAT cannot sleep.",
        "The U.S.-led train, and/or the well-known boat: 2012!",
        "",
        "\u65e5\u672c xyzzy",
    ]
    words = [*WORDS, "'s", "n't", "can", "not", "2012", "u.s.-led"]
    table = words, np.random.default_rng(0).normal(size=(len(words), 12)) + 1.0
    encoder = SentenceEncoder(table, frequencies="zipf", unknown="skip").fit(TEXTS)
    encoder.export(tmp_path / "out")
    expected = encoder.encode(sentences)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    expected = np.divide(expected, lengths, out=np.zeros_like(expected), where=lengths > 0)
    vectors = StaticModel.load(tmp_path / "out").encode(sentences)
    np.testing.assert_allclose(vectors, expected, atol=2e-6)
    assert not vectors[-2:].any()
