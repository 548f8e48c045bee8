"""Fit a static model to stored vectors, so that queries need no other model.

    texts ──▶ pieces of 24 tokens ──▶ B, tokens per piece ┐
    vectors of the whole texts, less their mean ──▶ BᵀF ──┴─▶ argmin ‖B T − F‖² + ridge ‖T − T₀‖²

A query is about as long as a piece, and its vector should be near those of the texts with similar
pieces. T₀ is the table of another static model under the linear map that fits best, or zero.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.static_models.distilling import distill, read_vocabulary
from conceptor.static_models.model import StaticModel
from conceptor.static_models.ridge import Table, best_map, solve_ridge
from conceptor.static_models.transformer import Encoder
from conceptor.static_models.vocabulary import make_vocabulary
from conceptor.vectors.tokenizer import INNER, TokenReader, import_tokenizers
from conceptor.vectors.vectors import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Tokens per piece, and the strength of the ridge; chosen on two collections
# (docs/studies/attach.md). When starting from zero, pieces of several lengths are better than one.
SIZES = (24,)
SIZES_FROM_ZERO = (8, 24, 64)
RIDGE = 3.0
# Steps of the solver: more do not change the scores. Fewer are needed when starting from a table
# fitted to nine tenths of the same texts.
_STEPS, _STEPS_NEAR = 8, 4
# Rows of B whose averages are computed at a time.
_BLOCK = 8192
# The number of the store's words that get their own rows, most frequent first.
MOST_WORDS = 60_000
VOCABULARY = "wordfreq:en:30000"
# Sentences of words sampled by frequency: as good a start as general text, and always available.
SENTENCES = "drawn:8192"
_WORD = re.compile(r"\w+")
# A bound on the distinct words and texts in memory: rare words are dropped.
_MOST_DISTINCT = 1_000_000
# Vectors that are checked for two models.
_SAMPLE = 4096


class Survey(NamedTuple):
    """The number of rows of a store, how often its words occur, and warnings for the user.

    Vectors are divided by `scale` before a fit, so that their squares stay within float32.
    """

    rows: int
    words: Counter[str]
    warnings: list[str]
    scale: float = 1.0


def survey(store: Vectors, progress: Progress = silent) -> Survey:
    """Read a store once; raise if it has too few distinct texts or only zero vectors."""
    rows = empty = repeats = 0
    words: Counter[str] = Counter()
    hashes: set[bytes] = set()
    sample: list[NDArray[np.float32]] = []
    for texts, vectors in store.chunks(progress):
        sample.append(np.array(vectors[: max(0, _SAMPLE - rows)], dtype=np.float32))
        rows += len(texts)
        for text in texts:
            if not text.strip():
                empty += 1
                continue
            words.update(_WORD.findall(text.lower()))
            name = text_hash(text)
            repeats += name in hashes
            if len(hashes) < _MOST_DISTINCT:
                hashes.add(name)
        if len(words) > _MOST_DISTINCT:
            words = Counter({word: count for word, count in words.items() if count > 1})
    documents = rows - empty
    if documents - repeats < 2:
        raise InvalidInputError(f"{store.name}: has {documents - repeats} distinct texts; add more")
    first = np.concatenate(sample)
    if not first.any():
        raise InvalidInputError(f"{store.name}: all vectors are 0; check the column of vectors")
    largest = float(np.abs(first).max())
    scale = 1.0 if 1e-6 < largest < 1e6 else 2.0 ** np.floor(np.log2(largest))
    warnings = []
    if documents < 200:
        warnings.append(f"only {documents} documents: few words are covered; see the measured loss")
    if empty:
        warnings.append(f"{empty:,} texts are empty; their rows were left out of the fit")
    if repeats:
        warnings.append(f"{repeats:,} texts repeat an earlier text; each row counts")
    if doubt := _find_two_models(first / np.float32(scale)):
        warnings.append(f"{doubt}; did one model with the same settings make them all?")
    return Survey(rows, words, warnings, float(scale))


def text_hash(text: str) -> bytes:
    """Return a hash of a text: samples by it are the same in every pass."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


def _find_two_models(rows: NDArray[np.float32]) -> str:
    """Return why rows seem to come from two models, or two settings of one; empty if not."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    is_unit = np.abs(lengths - 1) < 0.01
    share = float(is_unit.mean())
    if 0.01 < share < 0.99:
        return (
            f"{share:.0%} of the vectors have length 1, the others have median length "
            f"{np.median(lengths[~is_unit]):.3g}"
        )
    centered = rows - rows.mean(axis=0)
    _, values, directions = np.linalg.svd(centered, full_matrices=False)
    line = centered @ directions[0]
    is_above = line > (line.max() + line.min()) / 2
    weight = float(is_above.mean())
    if not 0 < weight < 1:
        return ""
    gap = float(line[is_above].mean() - line[~is_above].mean())
    explained = weight * (1 - weight) * gap**2 / max(float(line.var()), 1e-30)
    # For normal rows two groups explain 0.64 of the variance along a direction.
    if explained > 0.9 and values[0] ** 2 / (values**2).sum() > 0.3:
        return f"the vectors fall into two groups ({weight:.0%} and {1 - weight:.0%} of them)"
    return ""


@dataclass(frozen=True, eq=False)
class Start:
    """A tokenizer, and the initial table."""

    tokenizer: Tokenizer
    table: NDArray[Any] | None  # None for zeros
    rows: int
    mapped: bool = True  # whether the table is in another space than the stored vectors
    sizes: tuple[int, ...] = SIZES  # texts are cut into pieces of this many tokens
    provenance: dict[str, Any] = field(default_factory=dict)


def start_from_model(
    encoder: Encoder,
    words: Iterable[str],
    *,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = VOCABULARY,
    sentences: str | os.PathLike[str] | Iterable[str] | None = SENTENCES,
    keep: Path | None = None,
    progress: Progress = silent,
) -> Start:
    """Start from the model distilled by `distill`, with the store's words as rows."""
    general, _ = read_vocabulary(vocabulary)
    every = list(dict.fromkeys([*islice(words, MOST_WORDS), *general]))
    model = distill(encoder, vocabulary=every, sentences=sentences, keep=keep, progress=progress)
    keys = ("model", "pooling", "license", "language")
    provenance = {key: model.provenance[key] for key in keys if key in model.provenance}
    provenance["start"] = "the model's own words"
    provenance["start_sentences"] = model.provenance["sentences"]
    rows = len(model.vectors)
    return Start(model.tokenizer, model.vectors, rows, mapped=False, provenance=provenance)


def start_from_static(base: StaticModel | str | os.PathLike[str], words: Iterable[str]) -> Start:
    """Start from another static model; its table will be mapped into the store's space.

    Words that a WordPiece tokenizer would split get rows, the sum of their pieces: so texts have
    the same vectors as before.
    """
    name = "a static model"
    if not isinstance(base, StaticModel):
        name = os.path.basename(os.path.normpath(base))
        base = StaticModel.load(base)
    keys = ("license", "language")
    provenance = {key: base.provenance[key] for key in keys if key in base.provenance}
    provenance["start"] = name
    tokenizer, table = base.tokenizer, np.asarray(base.vectors, dtype=np.float32)
    content = json.loads(tokenizer.to_str())
    model = content["model"]
    new: list[str] = []
    if model["type"] == "WordPiece" and model.get("continuing_subword_prefix", INNER) == INNER:
        normalizer, splitter = tokenizer.normalizer, tokenizer.pre_tokenizer
        new = [
            word
            for word in islice(words, MOST_WORDS)
            if word not in model["vocab"]
            and (normalizer is None or normalizer.normalize_str(word) == word)
            and (splitter is None or len(splitter.pre_tokenize_str(word)) == 1)
            and len(word) <= model["max_input_chars_per_word"]
        ]
    if new:
        pieces = TokenReader(tokenizer).split(new)
        sums = np.zeros((len(new), table.shape[1]), dtype=np.float32)
        np.add.at(sums, np.repeat(np.arange(len(new)), np.diff(pieces.ends)), table[pieces.rows])
        model["vocab"] |= {word: len(table) + i for i, word in enumerate(new)}
        tokenizer = import_tokenizers().Tokenizer.from_str(json.dumps(content))
        table = np.concatenate([table, sums])
    return Start(tokenizer, table, len(table), provenance=provenance)


def start_from_zero(words: Iterable[str]) -> Start:
    """Start without any model: the words of the store, with rows of zero."""
    words = list(islice(words, MOST_WORDS))
    # If a script has no spaces, the tokenizer treats each character as a word.
    characters = {c for word in words if not word.isascii() for c in word}
    vocabulary = make_vocabulary(None, [*words, *sorted(characters)])
    return Start(
        vocabulary.tokenizer, None, len(vocabulary.tokens), True, SIZES_FROM_ZERO, {"start": "zero"}
    )


class Attachment:
    """The data of a fit to texts and their vectors; it can add texts and other attachments.

    `rows` is the number of tokens of the reader's vocabulary, `dimension` that of the stored
    vectors. Texts are cut into pieces once for each of `sizes`. Vectors are only summed, and only
    the token numbers of texts are kept, so memory is the table plus four bytes per token.
    """

    def __init__(
        self, reader: TokenReader, rows: int, dimension: int, sizes: Sequence[int] = SIZES
    ) -> None:
        self._reader, self._sizes = reader, tuple(sizes)
        self._tokens: list[NDArray[np.int32]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._right = np.zeros((rows, dimension), dtype=np.float32)
        self._sum = np.zeros(dimension)
        self._squares = 0.0
        self.documents = 0

    @property
    def mean(self) -> Float64:
        """The mean of the stored vectors."""
        return self._sum / max(self.documents, 1)

    def add(self, texts: Sequence[str], vectors: NDArray[Any]) -> None:
        """Add texts and one stored vector for each; texts without a known token do not count."""
        tokens = self._reader(list(texts))
        has_tokens = np.diff(tokens.ends) > 0
        lengths = np.diff(tokens.ends)[has_tokens]
        if not len(lengths):
            return
        vectors = np.asarray(vectors, dtype=np.float32)[has_tokens]
        self.documents += len(vectors)
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self._squares += float(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64))
        document = np.repeat(np.arange(len(vectors)), lengths)
        distinct, columns = tokens.distinct()
        for size in self._sizes:
            pieces = cut(lengths, size)
            self._tokens.append(tokens.rows.astype(np.int32))
            self._lengths.append(pieces)
            weights = np.repeat(pieces.astype(np.float32) ** -0.5, pieces)
            shares = sparse.csr_array(
                (weights, (columns, document)), shape=(len(distinct), len(vectors))
            )
            self._right[distinct] += shares @ vectors

    def __add__(self, other: Self) -> Attachment:
        """Return the attachment of the texts of both."""
        both = copy(self)
        for name in ("_tokens", "_lengths", "_right", "_sum", "_squares", "documents"):
            setattr(both, name, getattr(self, name) + getattr(other, name))
        return both

    def fit(
        self,
        table: Table | None,
        *,
        mapped: bool = True,
        ridge: float = RIDGE,
        near: Table | None = None,
        progress: Progress = silent,
    ) -> Table:
        """Return the table fitted to the stored vectors, starting from `table` or from zero.

        `mapped` is for a table of another space: it goes through the linear map that fits best, and
        rows of tokens that do not occur keep these values. `near` is the result for nearly the same
        texts; the solver starts from it.
        """
        used, B = self._pieces()
        column_sums = np.asarray(B.sum(axis=0)).ravel()
        right = self._right[used] - column_sums[:, np.newaxis] * self.mean.astype(np.float32)
        start = np.zeros_like(self._right)
        if table is not None:
            blocks = [B[first : first + _BLOCK] for first in range(0, B.shape[0], _BLOCK)]
            with one_blas_thread():
                gram = np.zeros((table.shape[1], table.shape[1]))
                for block in blocks:
                    averages = block @ table[used]
                    gram += averages.T @ averages
                change: Float64 = np.eye(len(gram))
                if mapped:
                    change = best_map(gram, table[used].T.astype(np.float64) @ right)
                # The averages get the length of the stored vectors. At the length that fits best,
                # which is much shorter, rows that do not move would weigh less than the others.
                length = np.einsum("ij,ik,kj->", change, gram, change, optimize=True)
                spread = B.shape[0] * (self._squares / self.documents - (self.mean**2).sum())
                change *= (spread / length) ** 0.5 if length > 0 else 1.0
                start = (table @ change).astype(np.float32)
            for block in blocks:
                right -= block.T @ (block @ start[used])
        guess = None if near is None else near[used] - start[used]
        steps = _STEPS if near is None else _STEPS_NEAR
        start[used] += solve_ridge(B, right, ridge, progress, guess, steps)
        return start

    def _pieces(self) -> tuple[NDArray[np.int32], sparse.csr_array]:
        """Return the tokens that occur, and the matrix B: pieces × these tokens."""
        if not self._tokens:
            raise InvalidInputError("no text has a known token; check the column of texts")
        lengths = np.concatenate(self._lengths)
        used, columns = np.unique(np.concatenate(self._tokens), return_inverse=True)
        weights = np.repeat(lengths.astype(np.float32) ** -0.5, lengths)
        # With 32-bit indices the products are faster.
        index = np.int32 if len(weights) < 1 << 31 else np.int64
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
        B = sparse.csr_array(
            (weights, columns.astype(index), ends), shape=(len(lengths), len(used))
        )
        B.sum_duplicates()
        return used, B


def cut(lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the lengths of the pieces of texts, at most `size` each, as even as possible."""
    pieces = -(-lengths // size)
    owner = np.repeat(np.arange(len(lengths)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    whole, count = lengths[owner], pieces[owner]
    return np.asarray((number + 1) * whole // count - number * whole // count, dtype=np.int64)
