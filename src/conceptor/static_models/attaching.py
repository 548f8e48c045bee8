"""Fit a static model to stored vectors, so that queries need no other model.

    texts ──▶ pieces of 20 tokens ──▶ B, tokens per piece ┐
    vectors of the whole texts, less their mean ──▶ BᵀF ──┴─▶ argmin ‖B T − F‖² + ridge ‖T − T₀‖²

A query is about as long as a piece, and its vector should be near those of the texts with similar
pieces. T₀ is the table of another static model under the linear map that fits best, or zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread
from conceptor.static_models.table import best_map, solve_ridge
from conceptor.vectors.memory import RowLists

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Self

    from numpy.typing import NDArray
    from scipy import sparse

    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.static_models.table import Table
    from conceptor.vectors.tokenizer import TokenReader

# Tokens per piece, and the strength of the ridge; chosen on two collections
# (docs/studies/attach.md). When starting from zero, pieces of several lengths are better than one.
SIZES = (24,)
SIZES_FROM_ZERO = (8, 24, 64)
RIDGE = 3.0
# Steps of the solver: more do not change the scores (docs/studies/attach.md). Fewer are needed when
# starting from a table fitted to nine tenths of the same texts.
_STEPS, _STEPS_NEAR = 8, 4
_BLOCK = 8192


class Attachment:
    """The data of a fit to texts and their vectors; it can add texts and other attachments.

    Vectors are only summed, and only the token numbers of texts are kept. So memory is the table
    plus four bytes per token.

    Parameters
    ----------
    reader : TokenReader
        Converts texts to token numbers.
    rows : int
        Number of tokens in the vocabulary.
    dimension : int
        The number of dimensions of the stored vectors.
    sizes : sequence of int
        Texts are cut into pieces of this many tokens, once for each size.
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
        from scipy import sparse

        found = self._reader(list(texts))
        lengths = np.diff(found.ends)
        told = lengths > 0
        if not told.any():
            return
        vectors = np.asarray(vectors, dtype=np.float32)[told]
        self.documents += len(vectors)
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self._squares += float(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64))
        document = np.repeat(np.arange(len(vectors)), lengths[told])
        distinct, columns = found.distinct()
        for size in self._sizes:
            pieces = cut(lengths[told], size)
            self._tokens.append(found.rows.astype(np.int32))
            self._lengths.append(pieces)
            weights = np.repeat(pieces.astype(np.float32) ** -0.5, pieces)
            shares = sparse.csr_array(
                (weights, (columns, document)), shape=(len(distinct), len(vectors))
            )
            self._right[distinct] += shares @ vectors

    def __add__(self, other: Self) -> Attachment:
        """Return the attachment of the texts of both."""
        rows, dimension = self._right.shape
        both = Attachment(self._reader, rows, dimension, self._sizes)
        both._tokens = self._tokens + other._tokens
        both._lengths = self._lengths + other._lengths
        np.add(self._right, other._right, out=both._right)
        both._sum = self._sum + other._sum
        both._squares = self._squares + other._squares
        both.documents = self.documents + other.documents
        return both

    def _pieces(self) -> tuple[NDArray[np.int64], sparse.csr_array]:
        """Return the tokens that occur, and the matrix B: pieces × these tokens."""
        from scipy import sparse

        if not self._tokens:
            raise InvalidInputError(
                "no text has a known token; check the column of texts, or start from a model of "
                "their language"
            )
        lengths = np.concatenate(self._lengths)
        whole = RowLists(np.concatenate(self._tokens), np.concatenate([[0], np.cumsum(lengths)]))
        seen, columns = whole.distinct()
        weights = np.repeat(lengths.astype(np.float32) ** -0.5, lengths)
        # Use 32-bit indices if possible: the products then take two thirds of the time.
        small = np.int32 if len(weights) < 1 << 31 else np.int64
        B = sparse.csr_array(
            (weights, columns.astype(small), whole.ends.astype(small)),
            shape=(len(lengths), len(seen)),
        )
        B.sum_duplicates()
        return seen, B

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

        `mapped` is for a table of another space: it goes through the linear map that fits best.
        `near` is the result for nearly the same texts; the solver starts from it.
        Rows of tokens that do not occur keep the values of the mapped table. B T estimates the
        stored vectors, minus their mean; the table is linear in them, so their scale does not
        matter.
        """
        seen, B = self._pieces()
        each = np.asarray(B.sum(axis=0)).ravel()
        right = self._right[seen] - each[:, np.newaxis] * self.mean.astype(np.float32)
        start = np.zeros_like(self._right)
        if table is not None:
            with one_blas_thread():
                start = self._place(B, table, seen, right, mapped=mapped)
            for part in _blocks(B):
                right -= part.T @ (part @ start[seen])
        guess = None if near is None else near[seen] - start[seen]
        steps = _STEPS if near is None else _STEPS_NEAR
        start[seen] += solve_ridge(B, right, ridge, progress, guess, steps)
        return start

    def _place(
        self,
        B: sparse.csr_array,
        table: Table,
        seen: NDArray[np.int64],
        right: Table,
        *,
        mapped: bool,
    ) -> Table:
        """Return a table in the space of the stored vectors; its averages have their length.

        The length that fits best is much shorter, as a piece reveals little about its text. But
        then rows that do not move would weigh less than those that do.
        """
        gram = _gram(B, table[seen])
        change: Float64 = np.eye(len(gram))
        if mapped:
            change = best_map(gram, table[seen].T.astype(np.float64) @ right)
        length = np.einsum("ij,ik,kj->", change, gram, change, optimize=True)
        spread = B.shape[0] * (self._squares / self.documents - (self.mean**2).sum())
        change *= (spread / length) ** 0.5 if length > 0 else 1.0
        return (table @ change).astype(np.float32)


def _blocks(B: sparse.csr_array) -> Iterator[sparse.csr_array]:
    """Split B into blocks of rows whose averages are small compared with the table."""
    for start in range(0, B.shape[0], _BLOCK):
        yield B[start : start + _BLOCK]


def _gram(B: sparse.csr_array, table: Table) -> Float64:
    """Return AᵀA for the averages A = B · table."""
    gram = np.zeros((table.shape[1], table.shape[1]))
    for part in _blocks(B):
        averages = part @ table
        gram += averages.T @ averages
    return gram


def cut(lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the lengths of the pieces of texts, at most `size` each, as even as possible."""
    pieces = -(-lengths // size)
    owner = np.repeat(np.arange(len(lengths)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    whole = lengths[owner]
    return np.asarray(
        (number + 1) * whole // pieces[owner] - number * whole // pieces[owner], dtype=np.int64
    )
