"""Texts and their stored vectors: in files, frames, LanceDB or PostgreSQL."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.integrations.tables import open_arrow_rows, to_arrow
from conceptor.vectors.columns import ColumnKind
from conceptor.vectors.files import in_memory, open_vectors
from conceptor.vectors.formats.tables import Table, import_pyarrow, open_batches
from conceptor.vectors.texts import as_texts
from conceptor.vectors.vectors import RowKind, Rows, Vectors

__all__ = ["open_store"]

# The types of PostgreSQL that hold vectors, texts, and numbers that may be ids.
_VECTORS = ("vector", "halfvec")
_TEXTS = ("text", "varchar", "bpchar")
_NUMBERS = ("int2", "int4", "int8")
# Names of tables with their schema, if it is not `public`, and quoted where SQL needs it.
_LOOK = """
SELECT c.oid::regclass::text, a.attname, t.typname
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  AND t.typname = ANY(%s)
ORDER BY 1, a.attnum
"""
# Each pass must see the rows in the same order: that of the table, not of an index.
_IN_ORDER = """
SET synchronize_seqscans = off; SET max_parallel_workers_per_gather = 0;
SET enable_indexscan = off; SET enable_indexonlyscan = off
"""


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

    `source` is texts, with an array of `vectors`; a Parquet, Feather or `.npy` file (with a file
    of `texts`, one per line); a frame of pandas or Polars or an Arrow table; a LanceDB folder or
    table; or the address of a PostgreSQL database. `table`, `text_column` and `column` choose
    among several.

    A missing text is empty. A vector that is missing, not finite or of another length raises.
    For tables, `extra` of the result is a `Table`, which also reads columns of ids.
    """
    columns: dict[str, Any] = {"column": column, "text_column": text_column}
    package = type(source).__module__.partition(".")[0]
    if vectors is not None:
        if isinstance(source, str):
            raise InvalidInputError("texts is a single string; pass a list of texts")
        labels = ["" if text is None else str(text) for text in source]
        opened = in_memory(labels, vectors, name="texts")
    elif isinstance(source, Vectors):
        return source
    elif isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        opened = _open_postgres(source, table, columns)
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir():
            opened = _open_lance(_find_lance_table(path, table), columns)
        elif table is not None:
            raise InvalidInputError(f"{path}: is a file; --table is for databases")
        else:
            opened = _open_file(path, texts, columns)
    elif package == "lancedb":
        opened = _open_lance(source, columns)
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
    first: list[int] = []  # checksums of all vectors and of all texts in the first pass

    def read() -> Iterator[Rows]:
        before = of_vectors = of_texts = 0
        for labels, rows, places in opened.read():
            with np.errstate(over="ignore"):  # reported with the row
                numbers = rows.astype(np.float32, copy=False)
            bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
            if len(bad):
                raise InvalidInputError(
                    f"{opened.name}, row {before + bad[0] + 1}: the vector has NaN, Inf or a "
                    "number too large for float32; embed this text again, or remove the row"
                )
            before += len(labels)
            of_vectors = zlib.crc32(numbers.tobytes(), of_vectors)
            lines = "".join(f"{label}\n" for label in labels)
            of_texts = zlib.crc32(lines.encode("utf-8", "replace"), of_texts)
            yield Rows(labels, numbers, places)
        first[:] = first or [of_vectors, of_texts]
        if first != [of_vectors, of_texts]:
            raise InvalidInputError(
                f"{opened.name}: its rows or their order changed while it was being read; repeat "
                "the same call"
            )

    return replace(opened, read=read, kind=RowKind.TEXTS, evidence="", ranked=False)


def _open_file(
    path: Path, texts: str | os.PathLike[str] | None, columns: dict[str, Any]
) -> Vectors:
    """Open a Parquet, Feather or `.npy` file."""
    opened = open_vectors(path, column=columns["column"], rows=str(RowKind.TEXTS))
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
    text_column = columns["text_column"]
    if text_column in (None, table.label):
        return opened
    chosen = open_batches(str(path), table.schema, table.read, **columns)
    return replace(chosen, files=opened.files)


def _choose_table(where: str, names: Sequence[str], table: str | None) -> str:
    """Return the user's choice of a table with vectors, by default the only one."""
    if table in names:
        return str(table)
    if table is None and len(names) == 1:
        return names[0]
    problem = "choose one with --table" if table is None else f"{table} is not one of them"
    raise InvalidInputError(f"{where}: has the tables with vectors {', '.join(names)}; {problem}")


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
    chosen = _choose_table(str(folder), names, table)
    with _lance_errors(f"{folder}, table {chosen}"):
        return lancedb.connect(folder).open_table(chosen)


def _open_lance(table: Any, columns: dict[str, Any]) -> Vectors:  # noqa: ANN401
    where = f"LanceDB table {table.name}"

    def read(names: list[str], rows: int) -> Iterator[Any]:
        with _lance_errors(where):
            yield from table.search().select(names).to_batches(rows)

    return open_batches(where, table.schema, read, **columns)


@contextmanager
def _lance_errors(where: str) -> Iterator[None]:
    """Put the name of a table before any error of LanceDB, which has many kinds."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"{where}: LanceDB cannot read it ({reason[:200]})") from None


def _open_postgres(address: str, table: str | None, columns: dict[str, Any]) -> Vectors:
    """Open a table with pgvector; without a name, only one may have a column of vectors."""
    arrow = import_pyarrow()
    types = (
        dict.fromkeys(_VECTORS, arrow.list_(arrow.float32()))
        | dict.fromkeys(_TEXTS, arrow.string())
        | dict.fromkeys(_NUMBERS, arrow.int64())
    )
    tables: dict[str, dict[str, str]] = {}
    with _connect(address) as connection:
        for name, attribute, kind in connection.execute(_LOOK, [list(types)]):
            tables.setdefault(name, {})[attribute] = kind
    usable = {
        name.replace('"', ""): name
        for name, kinds in tables.items()
        if not set(_VECTORS).isdisjoint(kinds.values())
    }
    if not usable:
        raise InvalidInputError(
            "this PostgreSQL database has no column of pgvector's type vector or halfvec"
        )
    chosen = _choose_table("PostgreSQL", list(usable), table)
    kinds = tables[usable[chosen]]

    def read(names: list[str], rows: int) -> Iterator[Any]:
        from psycopg import sql

        # The same query for any columns: a view may give another query another order.
        selected = [
            sql.SQL("{}::real[]" if kind in _VECTORS else "{}").format(sql.Identifier(name))
            for name, kind in kinds.items()
        ]
        query = sql.SQL("SELECT {} FROM {}").format(
            sql.SQL(", ").join(selected), sql.SQL(usable[chosen])
        )
        # One snapshot of the table, by a server-side cursor.
        with _connect(address) as connection, connection.cursor("conceptor", binary=True) as cursor:
            cursor.execute(query)
            while fetched := cursor.fetchmany(rows):
                arrays = [
                    arrow.array(values, types[kinds[name]])
                    for name, values in zip(kinds, zip(*fetched, strict=True), strict=True)
                ]
                yield arrow.RecordBatch.from_arrays(arrays, list(kinds)).select(names)

    schema = arrow.schema([(name, types[kind]) for name, kind in kinds.items()])
    return open_batches(f"PostgreSQL table {chosen}", schema, read, **columns)


@contextmanager
def _connect(address: str) -> Iterator[Any]:
    """Connect for reading; error messages never include the address or its password."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("reading PostgreSQL with pgvector", "postgres") from None
    try:
        # A password with @ or / would be split, and its parts shown as a host or a port.
        if not re.fullmatch("[a-z]+://[^/@]*@?[^@]*", address):
            raise psycopg.ProgrammingError
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # its message contains parts of the address
        raise InvalidInputError(
            "the PostgreSQL address cannot be read; percent-encode the password: % is %25, a space "
            "%20, @ %40, / %2F"
        ) from None
    try:
        with psycopg.connect(address) as connection:
            connection.read_only = True
            connection.execute(_IN_ORDER)
            yield connection
    except psycopg.Error as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConceptorError(f"PostgreSQL: {reason[:300]}") from None
