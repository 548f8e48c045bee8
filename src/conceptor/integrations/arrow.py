"""Arrow: a table with a column of words, and lists of numbers or a column for each dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.integrations.opened import Opened, check_vectors, open_table
from conceptor.vectors.formats.arrow import (
    check_no_nulls,
    choose_columns,
    import_pyarrow,
    to_matrix,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


def open_arrow_table(table: Any) -> Opened:  # noqa: ANN401
    """Open a table; columns that are neither words nor vectors stay as they are."""
    arrow = import_pyarrow()
    name, columns = choose_columns("this table", table.schema)
    words = table.column(name).combine_chunks()
    check_no_nulls(words, "this table", 0, "word")
    check_vectors(len(table), len(columns), "table", "pass one with rows")
    parts = [_whole(arrow, table.column(column)) for column in columns]
    has_lists = not arrow.types.is_floating(parts[0].type)
    size = len(parts[0][0].values) if has_lists else len(parts)
    matrix = to_matrix(parts, size, "this table", 0)

    def rebuild(rows: NDArray[Any]) -> Any:  # noqa: ANN401
        numbers = rows.astype(matrix.dtype, copy=False)
        if has_lists:
            flat = arrow.array(np.ascontiguousarray(numbers).reshape(-1))
            lists = arrow.FixedSizeListArray.from_arrays(flat, numbers.shape[1])
            kind = parts[0].type
            if not arrow.types.is_fixed_size_list(kind):
                lists = lists.cast(kind)
            return table.set_column(table.schema.get_field_index(columns[0]), columns[0], lists)
        new = table.drop_columns(columns[numbers.shape[1] :])
        for i, column in enumerate(columns[: numbers.shape[1]]):
            place = new.schema.get_field_index(column)
            new = new.set_column(place, column, arrow.array(np.ascontiguousarray(numbers[:, i])))
        return new

    return open_table(words.to_pylist(), matrix, rebuild)


def _whole(arrow: Any, column: Any) -> Any:  # noqa: ANN401
    """Return a column as one array."""
    whole = column.combine_chunks()
    return arrow.concat_arrays(whole.chunks) if isinstance(whole, arrow.ChunkedArray) else whole
