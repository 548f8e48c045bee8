"""Small valid folders and fastText models for the fuzzers, and code that reads and uses them."""

from __future__ import annotations

import logging
import os
import shutil
import struct
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


def fasttext_model(words: list[str], vectors: np.ndarray) -> bytes:
    """Return a model with n-grams, as Facebook's library writes it."""
    buckets = 7
    inputs = np.concatenate([vectors, vectors[:buckets]]).astype("<f4")
    head = struct.pack(
        "<14id", 793712314, 12, vectors.shape[1], 5, 5, 1, 5, 1, 2, 2, buckets, 2, 4, 100, 1e-4
    )
    head += struct.pack("<3i2q", len(words), len(words), 0, 100, -1)
    for i, word in enumerate(words):
        head += word.encode() + b"\0" + struct.pack("<qb", 50 - i, 0)
    for matrix in (inputs, vectors.astype("<f4")):
        head += struct.pack("<?2q", False, *matrix.shape) + matrix.tobytes()
    return head


def write_static(folder: Path, words: list[str], vectors: np.ndarray) -> None:
    from conceptor.static_models import StaticModel

    StaticModel.from_words(words, vectors, {"made": "for the fuzzer"}).save(folder)


def read_static(folder: Path) -> None:
    """Read vectors, count tokens, encode, and rewrite the folder."""
    from conceptor.postprocessing import convert
    from conceptor.static_models import StaticModel
    from conceptor.vectors import open_vectors

    source: Any = open_vectors(folder)
    list(source.chunks())
    source.token_counts({"the": 5.0, "café w7": 2.0})
    StaticModel.load(folder).encode(["the w7", "", "nothing known"])
    out = folder.with_name("out")
    shutil.rmtree(out, ignore_errors=True)
    convert(folder, out)
    left = sorted(os.listdir(folder.parent))
    assert left == sorted([folder.name, "out"]), left


def write_transformer(folder: Path, words: list[str], vectors: np.ndarray) -> None:
    """Write a BERT with random weights, in the format of transformers."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "##b", "the"]
    made = Tokenizer(models.WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(0)
    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
    sizes |= {"intermediate_size": 4, "max_position_embeddings": 16, "vocab_size": len(tokens)}
    transformers.BertModel(transformers.BertConfig(**sizes)).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    (folder / "modules.json").write_text(
        '[{"type": "m.Transformer", "path": ""}, {"type": "m.Pooling", "path": "1_Pooling"}]'
    )
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")


def read_transformer(folder: Path) -> None:
    """Distil it, without the log messages of transformers about the damage."""
    from conceptor.static_models import distill

    _quieten()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        distill(folder, vocabulary=["the", "a b"], weights={"the": 5.0, "ab": 2.0, "b": 1.0})


@cache
def _quieten() -> None:
    logging.disable(logging.CRITICAL)
