"""Frames of pandas and Polars, and Arrow tables: all become Arrow, with one chooser of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conceptor.integrations.objects import Opened
from conceptor.vectors.columns import INDEX
from conceptor.vectors.files import in_memory
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.formats.tables import (
    import_pyarrow,
    open_batches,
    vector_columns,
    vector_schema,
)
from conceptor.vectors.vectors import Vectors

if TYPE_CHECKING:
    import pandas
    import polars


def open_arrow(table: Any, column: Columns = None) -> Opened:  # noqa: ANN401
    """Open a `pyarrow.Table`."""

    def rebuild(schema: Any, columns: dict[str, Any]) -> Any:  # noqa: ANN401
        arrays = [columns[name] if name in columns else table[name] for name in schema.names]
        return import_pyarrow().Table.from_arrays(arrays, schema=schema)

    return _open(table, column, "table", rebuild)


def open_polars(frame: polars.DataFrame, column: Columns = None) -> Opened:
    """Open a Polars frame through Arrow, which shares its memory."""
    import polars

    table = to_arrow(frame)

    def rebuild(schema: Any, columns: dict[str, Any]) -> polars.DataFrame:  # noqa: ANN401
        series = [polars.Series(name, polars.from_arrow(each)) for name, each in columns.items()]
        return frame.drop(set(table.column_names) - set(schema.names)).with_columns(series)

    return _open(table, column, "DataFrame", rebuild)


def open_pandas(frame: pandas.DataFrame, column: Columns = None) -> Opened:
    """Open a pandas frame; the words may be its index."""
    import pandas as pd

    names = [str(name) for name in frame.columns]

    def rebuild(schema: Any, columns: dict[str, Any]) -> pandas.DataFrame:  # noqa: ANN401
        new = frame.copy(deep=False)
        for name, array in columns.items():
            place = names.index(name)
            before = frame.iloc[:, place]
            values: Any = array.to_numpy(zero_copy_only=False)
            if isinstance(before.dtype, pd.ArrowDtype):
                values = pd.arrays.ArrowExtensionArray(array)
            elif before.dtype != object:
                values = pd.array(values, dtype=before.dtype)
            else:
                rows = [np.array(row) for row in values]
                if (kind := type(before.iloc[0])) is not np.ndarray:  # list or tuple
                    rows = [kind(row.tolist()) for row in rows]
                values = pd.Series(rows, dtype=object).array
            new.isetitem(place, values)
        return new.iloc[:, [place for place, name in enumerate(names) if name in schema.names]]

    return _open(to_arrow(frame), column, "DataFrame", rebuild)


def to_arrow(frame: Any) -> Any:  # noqa: ANN401
    """Return a frame of pandas or Polars as an Arrow table, and an Arrow table as it is.

    Values that Arrow cannot hold are not vectors. They become nulls here. An index of strings in
    pandas becomes the last column.
    """
    arrow = import_pyarrow()
    if isinstance(frame, arrow.Table):
        return frame
    if hasattr(frame, "to_arrow"):
        import polars

        return frame.select(polars.exclude(polars.Object)).to_arrow()
    columns = [(str(name), frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    if frame.index.nlevels == 1 and frame.index.inferred_type == "string":
        is_new = frame.index.name is not None and frame.index.name not in frame.columns
        columns.append((str(frame.index.name) if is_new else INDEX, frame.index))
    arrays = []
    for _, values in columns:
        try:
            arrays.append(arrow.array(values, from_pandas=True))
        except (arrow.ArrowException, ValueError, TypeError, OverflowError):
            arrays.append(arrow.nulls(len(frame)))
    return arrow.Table.from_arrays(arrays, names=[name for name, _ in columns])


def open_arrow_rows(name: str, table: Any, **options: Any) -> Vectors:  # noqa: ANN401
    """Open the vectors of an Arrow table in memory; options are those of `open_batches`."""

    def read(names: list[str], rows: int) -> Iterator[Any]:
        yield from table.select(names).to_batches(rows)

    return open_batches(name, table.schema, read, **options)


def _open(
    table: Any,  # noqa: ANN401
    column: Columns,
    kind: str,
    build: Callable[[Any, dict[str, Any]], object],
) -> Opened:
    """Open a table; `build` makes the object from its new schema and the columns of vectors."""
    where = f"this {kind}"
    stored = open_arrow_rows(where, table, column=column, dtype=None)
    names = stored.extra.vectors
    chunks = [(list(labels), rows) for labels, rows in stored.chunks()]
    labels = [label for part, _ in chunks for label in part] if stored.has_words else None
    parts = [rows for _, rows in chunks] or [np.zeros((0, stored.dimension))]
    vectors = in_memory(labels, np.concatenate(parts), name=where)

    def rebuild(rows: NDArray[Any]) -> object:
        schema = vector_schema(where, table.schema, names, rows.shape[1])
        return build(schema, vector_columns(schema, names, labels, rows))

    return Opened.with_rows(vectors, rebuild)
