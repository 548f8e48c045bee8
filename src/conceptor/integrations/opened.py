"""The result of an adapter: vectors to fit a method to, and a function to rebuild the object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.formats.static_model import count_tokens
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from conceptor.algebra.lengths import Lengths
    from conceptor.fitting import Fitted
    from conceptor.vectors.vectors import Vectors

__all__ = ["Opened", "improve_rows", "open_labelled", "open_table"]


@dataclass(frozen=True, eq=False)
class Opened:
    """An object that an adapter has opened.

    Attributes
    ----------
    vectors : Vectors
        The vectors that methods are fitted to.
    rebuild : function
        Takes the fitted method; returns an improved object of the same kind.
    needs_map : bool
        Whether vectors are made of rows that do not belong to single words, such as n-grams. Then
        the method must be a single map.
    remarks : sequence of str
        Warnings for users of the result.
    lengths : Lengths, optional
        How lengths are set instead of by usage, if rows do not belong to single words.
    """

    vectors: Vectors
    rebuild: Callable[[Fitted], object]
    needs_map: bool = False
    remarks: tuple[str, ...] = ()
    lengths: Lengths | None = None


class TokenVectors(WordVectors):
    """The table of a static model; token frequency is derived from word frequency."""

    def __init__(self, tokenizer: Tokenizer, vectors: NDArray[Any]) -> None:
        by_row = {row: token for token, row in tokenizer.get_vocab().items()}
        super().__init__([by_row.get(row, "") for row in range(len(vectors))], vectors)
        self._tokenizer = tokenizer

    @property
    def kind(self) -> RowKind:
        """Tokens."""
        return RowKind.TOKENS

    def token_counts(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Return token frequencies, derived from word frequencies."""
        return count_tokens(self._tokenizer, counts)


def open_tokens(
    tokenizer: Tokenizer, vectors: NDArray[Any], rebuild: Callable[[NDArray[Any]], object]
) -> Opened:
    """Open the table of a static model; rows keep their lengths, which weight the tokens."""
    table = TokenVectors(tokenizer, np.ascontiguousarray(vectors))
    return Opened(table, lambda fitted: rebuild(improve_rows(fitted, table)))


def open_table(
    words: Iterable[str],
    vectors: NDArray[Any],
    rebuild: Callable[[NDArray[Any]], object],
    *,
    counts: Mapping[str, float] | None = None,
    kind: RowKind | None = None,
) -> Opened:
    """Open labels with one vector each; `rebuild` creates the object from the improved matrix.

    Without `kind`, the labels decide whether they are words or texts.
    """
    # In C order, as from a file, because the last bit of a product depends on it.
    table = WordVectors(words, np.ascontiguousarray(vectors), counts=counts, kind=kind)
    return Opened(table, lambda fitted: rebuild(improve_rows(fitted, table)))


def open_labelled(
    labels: Sequence[str] | None,
    vectors: NDArray[Any],
    rebuild: Callable[[NDArray[Any]], object],
) -> Opened:
    """Open the rows of a table, which may have no labels."""
    if labels is not None:
        return open_table(labels, vectors, rebuild)
    table = WordVectors([""] * len(vectors), np.ascontiguousarray(vectors), has_words=False)
    return Opened(table, lambda fitted: rebuild(improve_rows(fitted, table)), needs_map=True)


def improve_rows(fitted: Fitted, vectors: Vectors) -> NDArray[Any]:
    """Apply a fitted method to all rows, chunk by chunk, as when writing a file."""
    parts = []
    with one_blas_thread():
        for rows in ordered_map(lambda chunk: fitted(*chunk), read_chunks(vectors), processors()):
            parts.append(rows)
    return np.concatenate(parts)


def map_rows(fitted: Fitted, rows: NDArray[Any]) -> NDArray[Any]:
    """Apply the map of a fitted method to rows that average to vectors; keep their type."""
    return fitted.map.linear()(rows).astype(rows.dtype, copy=False)


def check_vectors(rows: int, columns: int, kind: str, remedy: str) -> None:
    """Raise for an object without vectors."""
    if not rows or not columns:
        raise InvalidInputError(f"this {kind} has no vectors ({rows} × {columns}); {remedy}")
