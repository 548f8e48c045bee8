"""Plain Python and NumPy: words with an array, a dictionary, an array alone, a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError
from conceptor.integrations.opened import (
    Opened,
    check_vectors,
    improve_rows,
    open_labelled,
    open_table,
)
from conceptor.vectors.files import open_vectors
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from conceptor.fitting import Fitted
    from conceptor.vectors.columns import Asked


def open_word_vectors(x: WordVectors) -> Opened:
    """Open a table of this library."""
    check_vectors(len(x), x.dimension, "table", "pass one with a word for each row")
    return Opened(x, lambda fitted: x.with_vectors(improve_rows(fitted, x)))


def open_pair(x: tuple[Any, ...]) -> Opened:
    """Open `(words, array)`."""
    if len(x) != 2:
        raise InvalidInputError(f"expected (words, array), not a tuple of {len(x)}")
    words, array = x
    matrix = as_matrix(array, "the array of (words, array)")
    return open_table(words, matrix, lambda rows: (words, _as_before(rows, matrix)))


def open_dict(x: dict[str, Any]) -> Opened:
    """Open a mapping of words to vectors."""
    rows = [np.asarray(row) for row in x.values()]
    if not rows or len({row.shape for row in rows}) != 1:
        raise InvalidInputError(
            "expected a mapping of words to vectors of the same length; it has "
            f"{len(rows)} entries of shapes {sorted({row.shape for row in rows})[:3]}"
        )
    matrix = as_matrix(np.stack(rows), "the mapping")
    return open_table(x, matrix, lambda new: dict(zip(x, _as_before(new, matrix), strict=True)))


def open_array(x: NDArray[Any]) -> Opened:
    """Open vectors without words; all rows count equally."""
    matrix = as_matrix(x, "the array")
    return open_labelled(None, matrix, lambda rows: _as_before(rows, matrix))


def open_path(x: str | os.PathLike[str], column: Asked = None, rows: str | None = None) -> Opened:
    """Open a file; its improved vectors are returned in memory."""
    if Path(x).is_dir():
        raise InvalidInputError(f"{x}: is a directory; use conceptor.postprocess for folders")
    source = open_vectors(x, wordless=True, column=column, rows=rows)

    def read(fitted: Fitted) -> WordVectors:
        better = improve_rows(fitted, source)
        return WordVectors(source.words, better, has_words=source.has_words, kind=source.kind)

    return Opened(source, read, needs_map=not source.has_words)


def _as_before(rows: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
    """Return rows in the precision of the original array, if it has a float type."""
    return rows.astype(before.dtype, copy=False) if before.dtype.kind == "f" else rows
