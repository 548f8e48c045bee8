"""PostgreSQL with pgvector: a table with a column of texts and one of vectors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError, Setting
from conceptor.integrations.stores import StoredVectors, choose_columns, find_ids
from conceptor.vectors.columns import Column, ColumnKind
from conceptor.vectors.rows import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_VECTORS = ("vector", "halfvec")
_TEXTS = ("text", "varchar", "bpchar")
_NUMBERS = ("int2", "int4", "int8")
_KINDS = (
    dict.fromkeys(_VECTORS, ColumnKind.LISTS)
    | dict.fromkeys(_TEXTS, ColumnKind.TEXT)
    | dict.fromkeys(_NUMBERS, ColumnKind.INTEGERS)
)
_LOOK = """
SELECT n.nspname, c.relname, a.attname, t.typname
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND t.typname = ANY(%s)
ORDER BY n.nspname, c.relname, a.attnum
"""


def open_postgres(
    address: str, table: str | None = None, text: str | None = None, vector: str | None = None
) -> PostgresVectors:
    """Open a table; without a name, only one table may have a column of vectors."""
    from psycopg import sql

    with _connect(address) as connection:
        found: dict[str, list[Column]] = {}
        places: dict[str, tuple[str, str]] = {}
        for schema, relation, column, kind in connection.execute(_LOOK, [list(_KINDS)]):
            name = relation if schema == "public" else f"{schema}.{relation}"
            places[name] = schema, relation
            found.setdefault(name, []).append(Column(column, _KINDS[kind]))
        chosen = _choose_table(found, table)

        def sample(names: list[Any]) -> dict[Any, Sequence[str]]:
            listed = sql.SQL(", ").join(map(sql.Identifier, names))
            query = sql.SQL("SELECT {} FROM {} LIMIT {}").format(
                listed, sql.Identifier(*places[chosen]), LABELS
            )
            rows = connection.execute(query).fetchall()
            return {each: [row[i] or "" for row in rows] for i, each in enumerate(names)}

        label, vectors = choose_columns(
            f"PostgreSQL table {chosen}", found[chosen], sample, text, vector
        )
        ids = find_ids(found[chosen], label)
        return PostgresVectors(
            address, chosen, places[chosen], (label, vectors[0]), ids, connection
        )


def _choose_table(found: dict[str, list[Column]], table: str | None) -> str:
    usable = [
        name
        for name, columns in found.items()
        if any(each.kind is ColumnKind.LISTS for each in columns)
    ]
    if not usable:
        raise InvalidInputError(
            "this PostgreSQL database has no column of pgvector's type vector or halfvec"
        )
    if table is not None:
        if table not in usable:
            raise InvalidInputError(
                f"PostgreSQL has no table {table} with vectors; it has {', '.join(usable)}"
            )
        return table
    if len(usable) > 1:
        raise InvalidInputError(
            f"this PostgreSQL database has {len(usable)} tables with vectors "
            f"({', '.join(usable)}); choose one with ",
            Setting("table", usable[0]),
        )
    return usable[0]


@contextmanager
def _connect(address: str) -> Iterator[Any]:
    """Connect for reading; error messages never include the address or its password."""
    try:
        import psycopg
        from pgvector.psycopg import register_vector
    except ImportError:
        raise MissingExtraError("reading PostgreSQL with pgvector", "postgres") from None
    try:
        with psycopg.connect(address) as connection:
            connection.read_only = True
            # Each pass must see the rows in the same order: that of the table, not of an index.
            connection.execute("SET synchronize_seqscans = off")
            connection.execute("SET enable_indexonlyscan = off")
            connection.execute("SET enable_indexscan = off")
            if connection.execute("SELECT 1 WHERE to_regtype('vector') IS NULL").fetchone():
                raise InvalidInputError("this PostgreSQL database does not have pgvector")
            register_vector(connection)
            yield connection
    except psycopg.Error as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise ConceptorError(f"PostgreSQL: {said[:300]}") from None


class PostgresVectors(StoredVectors):
    """The rows of a table, read by a server-side cursor in batches."""

    def __init__(
        self,
        address: str,
        name: str,
        table: tuple[str, str],
        columns: tuple[str, str],
        ids: list[str],
        connection: Any,  # noqa: ANN401
    ) -> None:
        from psycopg import sql

        self._address, self._table, self._ids = address, sql.Identifier(*table), ids
        text, vector = map(sql.Identifier, columns)
        self._select = sql.SQL("SELECT {}, {}::vector FROM {}").format(text, vector, self._table)
        first = connection.execute(self._select + sql.SQL(" LIMIT 1")).fetchone()
        if first is None or first[1] is None:
            raise InvalidInputError(
                f"PostgreSQL table {name}: contains no vectors, or the first is missing"
            )
        super().__init__(f"PostgreSQL table {name}", len(_numbers(first[1])))

    @property
    def id_columns(self) -> list[str]:
        """The columns of text or whole numbers, but not the texts."""
        return self._ids

    def ids(self, column: str) -> Iterator[str]:
        """Yield the values of a column as text."""
        from psycopg import sql

        select = sql.SQL("SELECT {} FROM {}").format(sql.Identifier(column), self._table)
        for rows in self._fetch(select):
            for (value,) in rows:
                yield "" if value is None else str(value)

    def batches(self) -> Iterator[tuple[Sequence[str | None], Any]]:
        """Yield batches of one snapshot of the table."""
        for rows in self._fetch(self._select):
            yield (
                [row[0] for row in rows],
                [None if row[1] is None else _numbers(row[1]) for row in rows],
            )

    def _fetch(self, select: Any) -> Iterator[list[Any]]:  # noqa: ANN401
        with _connect(self._address) as connection, connection.cursor("conceptor") as cursor:
            cursor.execute(select)
            while rows := cursor.fetchmany(self.batch_rows):
                yield rows


def _numbers(vector: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Return pgvector's own type, from old and new clients, as an array."""
    return np.asarray(vector.to_numpy() if hasattr(vector, "to_numpy") else vector)
