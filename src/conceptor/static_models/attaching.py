"""Fit a static model to stored vectors, so that queries need no other model.

    texts ──▶ pieces of 24 tokens ──▶ B, tokens per piece ┐
    vectors of the whole texts, less their mean ──▶ BᵀF ──┴─▶ argmin ‖B T − F‖² + ridge ‖T − T₀‖²

A query is about as long as a piece, and its vector should be near those of the texts with similar
pieces. T₀ is the table of a static model of the same space, at the length that fits, or zero.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.static_models.distilling import distill, read_vocabulary
from conceptor.static_models.ridge import Table, solve_ridge
from conceptor.static_models.transformer import Encoder
from conceptor.static_models.vocabulary import make_vocabulary
from conceptor.vectors.tokenizer import TokenReader
from conceptor.vectors.vectors import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Tokens per piece, and the strength of the ridge; chosen on two collections. When starting from
# zero, pieces of several lengths are better than one (docs/studies/static-models.md).
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
# Vectors whose scale is checked.
_SAMPLE = 4096


class Survey(NamedTuple):
    """The number of rows of a store, how often its words occur, and warnings for the user."""

    rows: int
    words: Counter[str]
    warnings: list[str]
    scale: float = 1.0  # divides vectors before a fit: their squares stay within float32


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
    return Survey(rows, words, warnings, float(scale))


def text_hash(text: str) -> bytes:
    """Return a hash of a text: samples by it are the same in every pass."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


@dataclass(frozen=True, eq=False)
class Start:
    """A tokenizer, and the initial table."""

    tokenizer: Tokenizer
    table: NDArray[Any] | None  # None for zeros
    rows: int
    sizes: tuple[int, ...] = SIZES  # texts are cut into pieces of this many tokens
    provenance: dict[str, Any] = field(default_factory=dict)


def start_from_model(
    encoder: Encoder,
    words: Iterable[str],
    *,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = VOCABULARY,
    sentences: str | os.PathLike[str] | Iterable[str] | None = SENTENCES,
    progress: Progress = silent,
) -> Start:
    """Start from the model distilled by `distill`, with the store's words as rows."""
    general, _ = read_vocabulary(vocabulary)
    every = list(dict.fromkeys([*islice(words, MOST_WORDS), *general]))
    model = distill(encoder, vocabulary=every, sentences=sentences, progress=progress)
    keys = ("model", "pooling", "license", "language")
    provenance = {key: model.provenance[key] for key in keys if key in model.provenance}
    provenance["start"] = "the model's own words"
    provenance["start_sentences"] = model.provenance["sentences"]
    rows = len(model.vectors)
    return Start(model.tokenizer, model.vectors, rows, provenance=provenance)


def start_from_zero(words: Iterable[str]) -> Start:
    """Start without any model: the words of the store, with rows of zero."""
    words = list(islice(words, MOST_WORDS))
    # If a script has no spaces, the tokenizer treats each character as a word.
    characters = {c for word in words if not word.isascii() for c in word}
    vocabulary = make_vocabulary(None, [*words, *sorted(characters)])
    return Start(
        vocabulary.tokenizer, None, len(vocabulary.tokens), SIZES_FROM_ZERO, {"start": "zero"}
    )


class Attachment:
    """The data of a fit to texts and their vectors; it can add texts and other attachments.

    Vectors are only summed, and only the token numbers of texts are kept, so memory is the table
    plus four bytes per token for each of `sizes`.
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
        ridge: float = RIDGE,
        near: Table | None = None,
        progress: Progress = silent,
    ) -> Table:
        """Return the table fitted to the stored vectors, starting from `table` or from zero.

        `near` is the result for nearly the same texts; the solver starts from it.
        """
        used, B = self._pieces()
        column_sums = np.asarray(B.sum(axis=0)).ravel()
        right = self._right[used] - column_sums[:, np.newaxis] * self.mean.astype(np.float32)
        start = np.zeros_like(self._right)
        if table is not None:
            blocks = [B[first : first + _BLOCK] for first in range(0, B.shape[0], _BLOCK)]
            # The averages get the length of the stored vectors. At the length that fits best,
            # which is much shorter, rows that do not move would weigh less than the others.
            averages = (block @ table[used] for block in blocks)
            squares = sum(np.einsum("ij,ij->", a, a, dtype=np.float64) for a in averages)
            spread = B.shape[0] * (self._squares / self.documents - (self.mean**2).sum())
            start = table * np.float32((spread / squares) ** 0.5 if squares > 0 else 1.0)
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
