"""Arrow: a table with a column of lists, or one column per dimension; other columns are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from conceptor.integrations.opened import Opened, check_vectors, open_labelled
from conceptor.vectors.formats.arrow_columns import (
    choose_columns,
    import_pyarrow,
    is_list,
    output_schema,
    refuse_encoding,
    to_matrix,
    vector_arrays,
)
from conceptor.vectors.rows import LABELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conceptor.vectors.columns import Asked


class TableContent(NamedTuple):
    """The vectors of a table in memory, their columns, and the labels of the rows."""

    columns: list[str]
    matrix: NDArray[Any]
    labels: list[str] | None

    def replaced(self, schema: Any, rows: NDArray[Any]) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
        """Return the schema of the table with other rows, and the columns that hold them."""
        new = output_schema(schema, self.columns, rows.shape[1], "this table")
        return new, vector_arrays(self.columns, rows, new)


def open_arrow_table(table: Any, column: Asked = None) -> Opened:  # noqa: ANN401
    """Open a table; `column` names the vectors if several columns may hold them."""
    found = read_table(table, column, "table")

    def rebuild(rows: NDArray[Any]) -> Any:  # noqa: ANN401
        schema, new = found.replaced(table.schema, rows)
        arrays = [new[name] if name in new else table.column(name) for name in schema.names]
        return import_pyarrow().Table.from_arrays(arrays, schema=schema)

    return open_labelled(found.labels, found.matrix, rebuild)


def read_table(table: Any, column: Asked, kind: str) -> TableContent:  # noqa: ANN401
    """Read vectors and labels of a table; errors call it a `kind`."""
    arrow, where = import_pyarrow(), f"this {kind}"
    found = choose_columns(
        where,
        table.schema,
        lambda names: table.select(names).slice(0, LABELS),
        column,
        wordless=True,
    )
    refuse_encoding(where, found.encoding)
    check_vectors(len(table), len(found.vectors), kind, "pass one with rows")
    parts = [_whole(arrow, table.column(name)) for name in found.vectors]
    size = _length(parts[0][0]) if is_list(parts[0].type) else len(parts)
    matrix = to_matrix(parts, size, where, 0)
    labels = None
    if found.label is not None:
        labels = [each or "" for each in table.column(found.label).to_pylist()]
    return TableContent(found.vectors, matrix, labels)


def _whole(arrow: Any, column: Any) -> Any:  # noqa: ANN401
    """Return a column as one array."""
    whole = column.combine_chunks()
    return arrow.concat_arrays(whole.chunks) if isinstance(whole, arrow.ChunkedArray) else whole


def _length(first: Any) -> int:  # noqa: ANN401
    """Return the length of a list; 0 for a missing one, which is reported with its row."""
    return 0 if first.values is None else len(first.values)
