"""Texts and vectors in Parquet, Feather and Arrow tables, batch by batch."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError
from conceptor.integrations.stores import StoredVectors, choose_columns, find_ids
from conceptor.vectors.formats.arrow import PARQUET_MAGIC, open_table
from conceptor.vectors.formats.arrow_columns import (
    VECTOR,
    describe_columns,
    find_encoding,
    refuse_encoding,
    report_damage,
    to_matrix,
    vector_shape,
)
from conceptor.vectors.rows import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class ArrowRows(StoredVectors):
    """Batches of an Arrow schema, from any reader."""

    def __init__(
        self,
        name: str,
        schema: Any,  # noqa: ANN401
        text: str | None,
        vector: str | None,
    ) -> None:
        def first(rows: int, names: list[str]) -> Any:  # noqa: ANN401
            return next((batch for batch in self._read(rows, names) if batch.num_rows), None)

        def sample(names: list[Any]) -> dict[Any, Sequence[str]]:
            batch = first(LABELS, names)
            if batch is None:
                return {each: [] for each in names}
            return {each: [text or "" for text in batch.column(each).to_pylist()] for each in names}

        columns = describe_columns(schema)
        self._text, self._vectors = choose_columns(name, columns, sample, text, vector)
        self._ids = find_ids(columns, self._text)
        refuse_encoding(name, find_encoding(schema) if self._vectors == [VECTOR] else None)
        found, _ = vector_shape(schema, self._vectors, lambda: first(1, self._vectors))
        if not found:
            raise InvalidInputError(f"{name}: contains no vectors, or the first is missing")
        super().__init__(name, found)

    @abstractmethod
    def _read(self, rows: int, names: list[str]) -> Iterator[Any]:
        """Yield batches of some columns."""

    @property
    def id_columns(self) -> list[str]:
        """The columns of text or whole numbers, but not the texts."""
        return self._ids

    def ids(self, column: str) -> Iterator[str]:
        """Yield the values of a column as text."""
        for batch in self._read(self.batch_rows, [column]):
            for value in batch.column(column).to_pylist():
                yield "" if value is None else str(value)

    def batches(self) -> Iterator[tuple[Sequence[str | None], Any]]:
        """Yield texts and vectors."""
        start = 0
        for batch in self._read(self.batch_rows, [self._text, *self._vectors]):
            if batch.num_rows:
                columns = [batch.column(name) for name in self._vectors]
                matrix = to_matrix(columns, self.dimension, self.name, start)
                yield batch.column(self._text).to_pylist(), matrix
                start += batch.num_rows


class ArrowFile(ArrowRows):
    """A Parquet or Feather file."""

    def __init__(self, path: Path, text: str | None = None, vector: str | None = None) -> None:
        self._path = path
        with path.open("rb") as file:
            self._format = "parquet" if file.read(4) == PARQUET_MAGIC else "feather"
        with report_damage(path), open_table(path, self._format) as (schema, _):
            super().__init__(str(path), schema, text, vector)

    def files(self) -> list[Path]:
        """Return the file."""
        return [self._path]

    def _read(self, rows: int, names: list[str]) -> Iterator[Any]:
        with report_damage(self._path), open_table(self._path, self._format) as (_, batches):
            for _, batch in batches(rows, names):
                yield batch


class ArrowTable(ArrowRows):
    """A table in memory."""

    def __init__(self, table: Any, text: str | None = None, vector: str | None = None) -> None:  # noqa: ANN401
        self._table = table
        super().__init__("this table", table.schema, text, vector)

    def _read(self, rows: int, names: list[str]) -> Iterator[Any]:
        yield from self._table.select(names).to_batches(rows)
