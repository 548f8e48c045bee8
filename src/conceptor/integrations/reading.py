"""Open vectors of any kind for reading: what `compare`, `most_similar` and `inspect` take."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.integrations.improving import open_object
from conceptor.vectors.files import open_vectors
from conceptor.vectors.rows import SaidRows, parse_rows
from conceptor.vectors.texts import as_texts
from conceptor.vectors.vectors import RowKind, Vectors

if TYPE_CHECKING:
    from conceptor.vectors.columns import Asked


def open_rows(
    vectors: object, texts: object = None, *, column: Asked = None, rows: str | None = None
) -> Vectors:
    """Return vectors of words or texts; rows without labels are numbered from 1.

    Parameters
    ----------
    vectors : path, Vectors, or an object that `improve` takes
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
        opened: Vectors = open_vectors(
            vectors, wordless=True, column=column, rows=said and str(said)
        )
    elif isinstance(vectors, Vectors):
        if column is not None:
            raise InvalidInputError(
                f"{vectors.name}: is already open; pass the column to open_vectors"
            )
        opened = vectors
    else:
        opened = open_object(vectors, column=column).vectors
    if said is not None and opened.kind is not said:
        opened = SaidRows(opened, said)
    return opened if texts is None and opened.has_words else as_texts(opened, texts)
