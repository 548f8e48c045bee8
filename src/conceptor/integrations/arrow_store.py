"""Texts and vectors in Parquet, Feather and Arrow tables, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conceptor.integrations.stores import Columns, StoredVectors
from conceptor.vectors.formats import arrow as tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_TEXT = ("string", "large_string", "string_view")


def text_and_vector(
    where: str,
    schema: Any,  # noqa: ANN401
    text: str | None,
    vector: str | None,
) -> tuple[str, str]:
    """Return the columns of texts and vectors of a table; by their types, if not named."""
    texts = [field.name for field in schema if _kind(field) in _TEXT]
    lists, _, _ = tables.float_columns(schema)
    if text is None and len(texts) > 1:
        # An identifier or a title is also text; the usual names of the text itself decide.
        usual = [name for name in ("text", "body", "content", "document") if name in texts]
        text = usual[0] if usual else None
    return Columns(where, texts, lists).choose(text, vector)


def _kind(field: Any) -> str:  # noqa: ANN401
    """Return the type of a column's values; texts may be numbered in a dictionary."""
    kind = field.type
    if tables.import_pyarrow().types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind)


class ArrowRows(StoredVectors):
    """Batches of an Arrow schema, whoever reads them."""

    def __init__(self, name: str, schema: Any, text: str | None, vector: str | None) -> None:  # noqa: ANN401
        self._columns = text_and_vector(name, schema, text, vector)
        super().__init__(name, self._first_length(schema))

    def _first_length(self, schema: Any) -> int:  # noqa: ANN401
        def first() -> Any:  # noqa: ANN401
            return next((batch for batch in self._read(1) if batch.num_rows), None)

        from conceptor.base.errors import InvalidInputError

        found, _ = tables.vector_shape(schema, [self._columns[1]], first)
        if not found:
            raise InvalidInputError(f"{self.name}: contains no vectors, or the first is missing")
        return found

    def _read(self, rows: int) -> Iterator[Any]:
        raise NotImplementedError

    def batches(self) -> Iterator[tuple[Sequence[str | None], Any]]:
        """Yield the two columns."""
        text, vector = self._columns
        start = 0
        for batch in self._read(self.batch_rows):
            if not batch.num_rows:
                continue
            matrix = tables.to_matrix([batch.column(vector)], self.dimension, self.name, start)
            yield batch.column(text).to_pylist(), matrix
            start += batch.num_rows


class ArrowFile(ArrowRows):
    """A Parquet or Feather file."""

    def __init__(self, path: Path, text: str | None = None, vector: str | None = None) -> None:
        self._path, self._name = path, str(path)
        with path.open("rb") as file:
            self._format = "parquet" if file.read(4) == tables.PARQUET_MAGIC else "feather"
        with (
            tables.report_damage(path),
            tables._open_table(path, self._format) as (schema, _),
        ):
            super().__init__(str(path), schema, text, vector)

    def files(self) -> list[Path]:
        """Return the file."""
        return [self._path]

    def _read(self, rows: int) -> Iterator[Any]:
        with (
            tables.report_damage(self._path),
            tables._open_table(self._path, self._format) as (_, batches),
        ):
            for _, batch in batches(rows):
                yield batch


class ArrowTable(ArrowRows):
    """A table in memory."""

    def __init__(self, table: Any, text: str | None = None, vector: str | None = None) -> None:  # noqa: ANN401
        self._table, self._name = table, "this table"
        super().__init__("this table", table.schema, text, vector)

    def _read(self, rows: int) -> Iterator[Any]:
        yield from self._table.to_batches(rows)
