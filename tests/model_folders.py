"""Small folders of every kind that is read and written, for tests of what happens to folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [f"mot{i}" for i in range(120)]
# They share a direction, so that there is no doubt about it and one line is one failure.
VECTORS = (np.random.default_rng(0).standard_normal((120, 8)) + 3).astype(np.float32)


def make_static(folder: Path, vectors: Any = VECTORS) -> None:
    """Write a static model whose tokens are whole words."""
    from conceptor.static_models import StaticModel

    StaticModel.from_words(WORDS, vectors).save(folder)


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder and what is in them.

    Of maps only the size: safetensors writes what it says about them in any order.
    """
    return {
        str(file.relative_to(folder)): (
            bytes(file.stat().st_size) if file.name == "map.safetensors" else file.read_bytes()
        )
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


_SENTENCE = """
the a of and to is in it on at rain umbrella coat wet dry cat dog sleeps runs eats fish bone river
boat bank money loan interest deep wide small old new city street train station late morning evening
sun moon star sky cloud wind cold warm summer winter snow ice fire
"""
TOKENS = _SENTENCE.split()
PIECES = [f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"] + ["##ing", "##ed"]


def save_transformer(folder: Path) -> None:
    """Write a BERT with random weights, as transformers writes it."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]"]
    characters = "abcdefghijklmnopqrstuvwxyz.,!'0123456789"
    tokens = [*special, *dict.fromkeys([*characters, *PIECES, *TOKENS[:30]])]
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
