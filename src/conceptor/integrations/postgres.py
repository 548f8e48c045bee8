"""PostgreSQL with pgvector: a table with a column of texts and one of vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.integrations.stores import choose_table
from conceptor.vectors.formats.tables import import_pyarrow, open_batches
from conceptor.vectors.vectors import Vectors

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


def open_postgres(
    address: str, table: str | None, *, column: str | None, text_column: str | None
) -> Vectors:
    """Open a table; without a name, only one table may have a column of vectors."""
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
    chosen = choose_table("PostgreSQL", list(usable), table)
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
    where = f"PostgreSQL table {chosen}"
    return open_batches(where, schema, read, column=column, text_column=text_column)


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
            # Each pass must see the rows in the same order: that of the table, not of an index.
            connection.execute("SET synchronize_seqscans = off")
            connection.execute("SET enable_indexonlyscan = off")
            connection.execute("SET enable_indexscan = off")
            connection.execute("SET max_parallel_workers_per_gather = 0")
            yield connection
    except psycopg.Error as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConceptorError(f"PostgreSQL: {reason[:300]}") from None
