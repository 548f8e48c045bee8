"""What an adapter makes of an object: vectors to fit a method to, and how to put it back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.pipeline import STATIC_METHOD
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.static_model import count_tokens
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from conceptor.fitting import Fitted

__all__ = ["Opened", "OpenedVectors", "improve_rows", "open_table"]


class OpenedVectors(Protocol):
    """Words and rows, and how long a row is."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def chunks(self) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield words and rows in order, any number of times."""


@dataclass(frozen=True, eq=False)
class Opened:
    """An object that an adapter has opened.

    Attributes
    ----------
    vectors : OpenedVectors
        What methods are fitted to: `chunks()` yields words and rows, and `counts`, if there is
        such an attribute, maps words to how often they occur.
    rebuild : function
        From the fitted method to an improved object of the same kind.
    needs_map : bool
        Whether vectors are made of rows that belong to no single word, such as n-grams. Then only
        methods that are one map for all vectors will do.
    method : str
        What improves such vectors if nobody says, as `conceptor.pipeline.default_method` does.
    weights : str, optional
        What vectors weigh if nobody says, instead of `conceptor.weights.choose_weights`.
    remarks : sequence of str
        What users should know before they use the result.
    """

    vectors: OpenedVectors
    rebuild: Callable[[Fitted], object]
    needs_map: bool = False
    method: str = "cn"
    weights: str | None = None
    remarks: tuple[str, ...] = ()


class TokenVectors(WordVectors):
    """The table of a static model: tokens, whose usage follows from that of words."""

    def __init__(self, tokenizer: Tokenizer, vectors: NDArray[Any]) -> None:
        by_row = {row: token for token, row in tokenizer.get_vocab().items()}
        super().__init__([by_row.get(row, "") for row in range(len(vectors))], vectors)
        self._tokenizer = tokenizer

    def token_counts(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Return how often tokens are used, from how often words are."""
        return count_tokens(self._tokenizer, counts)


def open_tokens(
    tokenizer: Tokenizer, vectors: NDArray[Any], rebuild: Callable[[NDArray[Any]], object]
) -> Opened:
    """Open the table of a static model, whose rows keep their lengths: these weigh tokens."""
    table = TokenVectors(tokenizer, np.ascontiguousarray(vectors))
    return Opened(table, lambda fitted: rebuild(improve_rows(fitted, table)), method=STATIC_METHOD)


def open_table(
    words: Iterable[str],
    vectors: NDArray[Any],
    rebuild: Callable[[NDArray[Any]], object],
    *,
    counts: Mapping[str, float] | None = None,
) -> Opened:
    """Open words with one vector each; `rebuild` makes the object from the improved matrix."""
    # In C order, as from a file: the last bit of a product depends on it.
    table = WordVectors(words, np.ascontiguousarray(vectors), counts=counts)
    return Opened(table, lambda fitted: rebuild(improve_rows(fitted, table)))


def improve_rows(fitted: Fitted, vectors: OpenedVectors) -> NDArray[Any]:
    """Return all rows through a fitted method, chunk by chunk, as they would be written."""
    parts = []
    with one_blas_thread():
        for rows in ordered_map(lambda chunk: fitted(*chunk), read_chunks(vectors), processors()):
            parts.append(rows)
    return np.concatenate(parts)


def map_rows(fitted: Fitted, rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows that average to vectors through the map of a fitted method, in their type."""
    return fitted.map.linear()(rows).astype(rows.dtype, copy=False)


def usable_counts(words: Iterable[str], counts: Iterable[float]) -> dict[str, float] | None:
    """Return counts by word; None if they tell nothing: all are the same, or some impossible."""
    found = dict(zip(words, map(float, counts), strict=True))
    numbers = np.fromiter(found.values(), dtype=np.float64)
    tells = np.isfinite(numbers).all() and (numbers >= 0).all() and len(np.unique(numbers)) > 1
    return found if tells else None


def check_vectors(rows: int, columns: int, kind: str, remedy: str) -> None:
    """Raise for an object without vectors."""
    if not rows or not columns:
        raise InvalidInputError(f"this {kind} has no vectors ({rows} × {columns}); {remedy}")
