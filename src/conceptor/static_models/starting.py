"""The initial table of a fit to stored vectors: from a model, from a static model, or zero."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.static_models.attaching import SIZES, SIZES_FROM_ZERO
from conceptor.static_models.distilling import distill, read_vocabulary
from conceptor.static_models.model import StaticModel
from conceptor.static_models.vocabulary import make_vocabulary
from conceptor.vectors.tokenizer import INNER, TokenReader, import_tokenizers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from conceptor.base.progress import Progress
    from conceptor.static_models.distilling import Encoder

# The number of the store's words that get their own rows, most frequent first.
MOST_WORDS = 60_000
VOCABULARY = "wordfreq:en:30000"
# Sentences of words sampled by frequency: as good a start as general text, and always available.
SENTENCES = "drawn:8192"


@dataclass(frozen=True, eq=False)
class Start:
    """A tokenizer, and the initial table, if it is not zero.

    `mapped` is true if the table is in another space than the stored vectors; texts are cut into
    pieces of `sizes` tokens.
    """

    tokenizer: Tokenizer
    table: NDArray[Any] | None
    rows: int
    mapped: bool = True
    sizes: tuple[int, ...] = SIZES
    provenance: dict[str, Any] = field(default_factory=dict)


def start_from_model(
    encoder: Encoder,
    words: Iterable[str],
    *,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = VOCABULARY,
    sentences: str | os.PathLike[str] | Iterable[str] | None = SENTENCES,
    keep: Path | None,
    progress: Progress,
) -> Start:
    """Start from the model distilled by `distill`, with the store's words as rows."""
    general, _ = read_vocabulary(vocabulary)
    every = list(dict.fromkeys([*islice(words, MOST_WORDS), *general]))
    made = distill(encoder, vocabulary=every, sentences=sentences, keep=keep, progress=progress)
    kept = {key: made.provenance[key] for key in _KEPT if key in made.provenance}
    start = {"start": "the model's own words", "start_sentences": made.provenance["sentences"]}
    return Start(
        made.tokenizer, made.vectors, len(made.vectors), mapped=False, provenance=kept | start
    )


_KEPT = ("model", "pooling", "license", "language")


def start_from_static(base: StaticModel | str | os.PathLike[str], words: Iterable[str]) -> Start:
    """Start from another static model; its table will be mapped into the store's space."""
    name = "a static model"
    if not isinstance(base, StaticModel):
        name = os.path.basename(os.path.normpath(base))
        base = StaticModel.load(base)
    kept = {key: base.provenance[key] for key in ("license", "language") if key in base.provenance}
    tokenizer, table = _with_words(base, list(islice(words, MOST_WORDS)))
    return Start(tokenizer, table, len(table), provenance=kept | {"start": name})


def start_from_zero(words: Iterable[str]) -> Start:
    """Start without any model: the words of the store, with rows of zero."""
    words = list(islice(words, MOST_WORDS))
    # If a script has no blanks, the tokenizer treats each character as a word.
    characters = {c for word in words if not word.isascii() for c in word}
    made = make_vocabulary(None, [*words, *sorted(characters)])
    return Start(
        made.tokenizer,
        None,
        len(made.tokens),
        sizes=SIZES_FROM_ZERO,
        provenance={"start": "zero"},
    )


def _with_words(base: StaticModel, words: list[str]) -> tuple[Tokenizer, NDArray[np.float32]]:
    """Return a tokenizer and a table with rows for words that would be split into pieces.

    A word starts as the sum of its pieces, so texts have the same vectors as before. Tokenizers
    other than WordPiece do not change.
    """
    table = np.asarray(base.vectors, dtype=np.float32)
    said = json.loads(base.tokenizer.to_str())
    model = said["model"]
    if model["type"] != "WordPiece" or model.get("continuing_subword_prefix", INNER) != INNER:
        return base.tokenizer, table
    normalise = base.tokenizer.normalizer
    split = base.tokenizer.pre_tokenizer
    new = [
        word
        for word in words
        if word not in model["vocab"]
        and (normalise is None or normalise.normalize_str(word) == word)
        and (split is None or len(split.pre_tokenize_str(word)) == 1)
        and len(word) <= model["max_input_chars_per_word"]
    ]
    if not new:
        return base.tokenizer, table
    pieces = TokenReader(base.tokenizer).split(new)
    sums = np.zeros((len(new), table.shape[1]), dtype=np.float32)
    np.add.at(sums, np.repeat(np.arange(len(new)), np.diff(pieces.ends)), table[pieces.rows])
    model["vocab"] |= {word: len(table) + i for i, word in enumerate(new)}
    return import_tokenizers().Tokenizer.from_str(json.dumps(said)), np.concatenate([table, sums])
