"""Open rows of words or texts of any kind, for reading."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.integrations.improving import vectors_of
from conceptor.integrations.registry import TABLES, kinds
from conceptor.vectors.chunks import as_vectors
from conceptor.vectors.files import open_vectors
from conceptor.vectors.rows import SaidRows, parse_rows
from conceptor.vectors.texts import as_texts
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from conceptor.vectors.columns import Asked
    from conceptor.vectors.vectors import Vectors

__all__ = ["open_rows"]


def open_rows(
    vectors: object, texts: object = None, *, column: Asked = None, rows: str | None = None
) -> Vectors:
    """Return vectors of words or texts; rows without labels are numbered from 1.

    Parameters
    ----------
    vectors : path, array, data frame, Vectors, (labels, array), ...
    texts : path or iterable of str, optional
        The text of each row; implies that rows are texts.
    column : optional
        The column of a table that holds the vectors.
    rows : `words` or `texts`, optional
        The kind of rows; by default their labels decide.
    """
    said = parse_rows(rows)
    if texts is not None:
        if said is RowKind.WORDS:
            raise InvalidInputError(Setting("texts"), " is for rows of texts, not words")
        said = RowKind.TEXTS
    if isinstance(vectors, (str, os.PathLike)):
        named: Any = column
        opened: Vectors = open_vectors(
            vectors, wordless=True, column=named, rows=said and str(said)
        )
    elif TABLES.intersection(kinds(vectors)):
        opened = vectors_of(vectors, column=column)
    elif column is not None:
        raise InvalidInputError(
            Setting("column"), f" is for tables, not a {type(vectors).__name__}"
        )
    else:
        opened = as_texts(vectors) if isinstance(vectors, np.ndarray) else as_vectors(vectors)
    if said is not None and opened.kind is not said:
        opened = SaidRows(opened, said)
    return opened if texts is None and opened.has_words else as_texts(opened, texts)
