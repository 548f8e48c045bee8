"""Texts and their stored vectors: in files, frames, LanceDB or PostgreSQL."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.integrations.tables import open_arrow_rows, to_arrow
from conceptor.vectors.columns import ColumnKind
from conceptor.vectors.files import in_memory, open_vectors
from conceptor.vectors.formats.tables import Table, open_batches
from conceptor.vectors.texts import as_texts
from conceptor.vectors.vectors import RowKind, Rows, Vectors

__all__ = ["open_store"]


def open_store(
    source: Any,  # noqa: ANN401
    vectors: Any = None,  # noqa: ANN401
    *,
    texts: str | os.PathLike[str] | None = None,
    table: str | None = None,
    text_column: str | None = None,
    column: str | None = None,
) -> Vectors:
    """Open texts with their vectors; every pass yields float32 rows in the same order.

    A missing text is empty. A vector that is missing, not finite or of another length raises.

    For tables, `extra` of the result is a `Table`, which also reads columns of ids.

    Parameters
    ----------
    source
        Texts, with an array of `vectors`; a Parquet, Feather or `.npy` file; a pandas or Polars
        frame or an Arrow table; a LanceDB folder or table; the address of a PostgreSQL database.
    texts
        The file with one text per line that belongs to a `.npy` file.
    table
        The table of a database; not needed if only one has vectors.
    text_column, column
        The columns of texts and of vectors, if there are several candidates.
    """
    columns: dict[str, Any] = {"column": column, "text_column": text_column}
    package = type(source).__module__.partition(".")[0]
    if vectors is not None:
        return _open_pair(source, vectors)
    if isinstance(source, Vectors):
        return source
    if isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        from conceptor.integrations.postgres import open_postgres

        opened = open_postgres(source, table, **columns)
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir():
            opened = _open_lance(_find_lance_table(path, table), **columns)
        elif table is not None:
            raise InvalidInputError(f"{path}: is a file; --table is for databases")
        else:
            opened = _open_file(path, texts, **columns)
    elif package == "lancedb":
        opened = _open_lance(source, **columns)
    elif package in ("pandas", "polars", "pyarrow"):
        opened = open_arrow_rows("this table", to_arrow(source), **columns)
    else:
        raise InvalidInputError(
            f"cannot attach to a {type(source).__name__} without vectors; pass "
            "attach(texts, vectors)"
        )
    if not opened.has_words:
        fields = opened.extra.schema
        names = [each.name for each in fields if ColumnKind.of(each.type) is ColumnKind.TEXT]
        if not names:
            raise InvalidInputError(f"{opened.name}: has vectors, but no column of text")
        raise InvalidInputError(
            f"{opened.name}: several columns of text ({', '.join(names)}); choose one with "
            f"--text-column {names[0]}"
        )

    checksums: dict[int, tuple[int, int]] = {}  # of vectors and texts up to a row; -1: of all

    def read() -> Iterator[Rows]:
        before = of_rows = of_texts = 0

        def check(row: int) -> None:
            if checksums.setdefault(row, (of_rows, of_texts)) != (of_rows, of_texts):
                raise InvalidInputError(
                    f"{opened.name}: its rows or their order changed while it was being read; "
                    "repeat the same call"
                )

        for chunk in opened.read():
            _check_finite(opened.name, chunk.rows, before)
            before += len(chunk.rows)
            of_rows = zlib.crc32(chunk.rows.tobytes(), of_rows)
            lines = "".join(f"{text}\n" for text in chunk.labels)
            of_texts = zlib.crc32(lines.encode("utf-8", "replace"), of_texts)
            check(before)
            yield chunk
        check(-1)

    return replace(opened, read=read, kind=RowKind.TEXTS, evidence="", ranked=False)


def _open_pair(texts: Iterable[Any], vectors: Any) -> Vectors:  # noqa: ANN401
    """Open texts and vectors in memory."""
    if isinstance(texts, str):
        raise InvalidInputError("texts is a single string; pass a list of texts")
    labels = ["" if text is None else str(text) for text in texts]
    if not labels:
        raise InvalidInputError("there are no texts; pass those whose vectors are stored")
    if len(labels) != len(vectors):
        raise InvalidInputError(
            f"{len(labels):,} texts but {len(vectors):,} vectors; each text needs its stored vector"
        )
    lengths = np.array([np.size(row) for row in vectors])
    if (lengths != lengths[0]).any():
        bad = int(np.argmax(lengths != lengths[0]))
        raise InvalidInputError(
            f"texts, row {bad + 1}: a vector of {lengths[bad]} dimensions, where the first row has "
            f"{lengths[0]}; embed all texts with one model"
        )
    is_matrix = isinstance(vectors, np.ndarray) and vectors.ndim == 2
    matrix = as_matrix(vectors if is_matrix else np.array(list(vectors)), "vectors")
    with np.errstate(over="ignore"):  # reported with the row
        matrix = matrix.astype(np.float32, copy=False)
    _check_finite("texts", matrix)
    return in_memory(labels, matrix, name="texts", kind=RowKind.TEXTS, ranked=False)


def _open_file(
    path: Path,
    texts: str | os.PathLike[str] | None,
    column: str | None,
    text_column: str | None,
) -> Vectors:
    """Open a Parquet, Feather or `.npy` file."""
    opened = open_vectors(path, column=column, rows=str(RowKind.TEXTS))
    table = opened.extra
    if not isinstance(table, Table):
        if texts is None and not opened.has_words:
            raise InvalidInputError(
                f"{path}: has vectors but no texts; name the file with one text per line with "
                "--text-file texts.txt"
            )
        return as_texts(opened, texts)
    if texts is not None:
        raise InvalidInputError(f"{path}: --text-file belongs to a .npy file")
    if text_column in (None, table.label):
        return opened
    if opened.dtype in ("int8", "binary"):  # the schema no longer has their scales
        raise InvalidInputError(
            f"{path}: its vectors are {opened.dtype} with scales; convert it to float32 first, or "
            f"rename the column {text_column} to text"
        )
    columns: dict[str, Any] = {"column": column, "text_column": text_column}
    return replace(open_batches(str(path), table.schema, table.read, **columns), files=opened.files)


def choose_table(where: str, names: Sequence[str], table: str | None) -> str:
    """Return the user's choice of a table with vectors, by default the only one."""
    if table is None and len(names) > 1:
        raise InvalidInputError(
            f"{where}: has {len(names)} tables with vectors ({', '.join(names)}); choose one with "
            f"--table {names[0]}"
        )
    if table is not None and table not in names:
        raise InvalidInputError(
            f"{where}: has no table {table} with vectors; it has {', '.join(names)}"
        )
    return table or names[0]


def _find_lance_table(folder: Path, table: str | None) -> Any:  # noqa: ANN401
    names = sorted(each.stem for each in folder.glob("*.lance") if each.is_dir())
    if not names:
        raise InvalidInputError(
            f"{folder}: a folder without LanceDB tables; name a file, or LanceDB's own folder"
        )
    try:
        import lancedb
    except ImportError:
        raise MissingExtraError("reading LanceDB", "lancedb") from None
    chosen = choose_table(str(folder), names, table)
    try:
        return lancedb.connect(folder).open_table(chosen)
    except Exception as error:  # LanceDB raises any kind for damaged files
        raise _damaged(f"{folder}, table {chosen}", error) from None


def _open_lance(table: Any, **columns: Any) -> Vectors:  # noqa: ANN401
    def read(names: list[str], rows: int) -> Iterator[Any]:
        try:
            yield from table.search().select(names).to_batches(rows)
        except Exception as error:  # LanceDB raises any kind for damaged files
            raise _damaged(f"LanceDB table {table.name}", error) from None

    return open_batches(f"LanceDB table {table.name}", table.schema, read, **columns)


def _damaged(where: str, error: Exception) -> InvalidInputError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return InvalidInputError(f"{where}: LanceDB cannot read it ({reason[:200]})")


def _check_finite(name: str, rows: NDArray[Any], before: int = 0) -> None:
    """Raise, naming the row, for a vector that is not finite; `before` counts earlier rows."""
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InvalidInputError(
            f"{name}, row {before + bad[0] + 1}: the vector has NaN, Inf or a number too large for "
            "float32; embed this text again, or remove the row"
        )
