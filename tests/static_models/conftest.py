"""A transformer small enough for tests, and text about a few things."""

from __future__ import annotations

import pytest

_SENTENCE = """
the a of and to is in it on at rain umbrella coat wet dry cat dog sleeps runs eats fish bone river
boat bank money loan interest deep wide small old new city street train station late morning evening
sun moon star sky cloud wind cold warm summer winter snow ice fire
"""
WORDS = _SENTENCE.split()
PIECES = [f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"] + ["##ing", "##ed"]


def _word(number):
    return WORDS[number % len(WORDS)]


TEXTS = [
    f"The {_word(i)} {_word(7 * i + 3)} is {_word(11 * i + 5)} in the {_word(13 * i + 2)}, and "
    f"{_word(3 * i)}ing."
    for i in range(300)
]


@pytest.fixture(scope="session")
def transformer(tmp_path_factory):
    """The folder of a BERT with random weights, as transformers writes it."""
    pytest.importorskip("torch", reason="needs the static extra")
    transformers = pytest.importorskip("transformers", reason="needs the static extra")
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("transformer") / "tiny-bert"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]"]
    characters = "abcdefghijklmnopqrstuvwxyz.,!'0123456789"
    tokens = [*special, *dict.fromkeys([*characters, *PIECES, *WORDS[:30]])]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokens),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    transformers.BertModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\nlanguage: en\n---\n# tiny\n")
    return folder


@pytest.fixture(scope="session")
def counts():
    """How often words are used: Zipf's law over the words of the texts."""
    return {word: 1000.0 / (rank + 2.7) for rank, word in enumerate(WORDS)}
