"""pandas: a frame with a column of lists or arrays, or one column per dimension.

All other columns, their order and types, and the index are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conceptor.base.errors import InvalidInputError
from conceptor.integrations.opened import Opened, check_vectors, open_labelled
from conceptor.vectors.columns import Column, ColumnKind, choose_label, choose_vectors
from conceptor.vectors.rows import LABELS

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.columns import Asked

_WHERE = "this DataFrame"
# The name of an unnamed index, as in pandas' own files.
_INDEX = "__index_level_0__"


def open_frame(frame: pd.DataFrame, column: Asked = None) -> Opened:
    """Open a frame; `column` names the vectors if several columns may hold them."""
    columns = [Column(name, _kind_of(frame.iloc[:, i])) for i, name in enumerate(frame.columns)]
    check_vectors(len(frame), len(columns), "DataFrame", "pass one with rows and columns")
    chosen = choose_vectors(_WHERE, columns, column)
    places = [[each.name for each in columns].index(name) for name in chosen]
    is_lists = columns[places[0]].kind is ColumnKind.LISTS
    values = frame.iloc[:, places[0]]
    matrix = _stack(values) if is_lists else _numbers(frame.iloc[:, places])

    def rebuild(rows: NDArray[Any]) -> pd.DataFrame:
        new = frame.copy(deep=False)
        if is_lists:
            better = _as_before(values, rows.astype(matrix.dtype, copy=False))
            new.isetitem(places[0], better.array)
            return new
        for place, numbers in zip(places, rows.T, strict=False):
            same = pd.Series(numbers, index=frame.index).astype(frame.dtypes.iloc[place])
            new.isetitem(place, same.array)
        gone = set(places[rows.shape[1] :])
        return new.iloc[:, [i for i in range(len(columns)) if i not in gone]] if gone else new

    return open_labelled(_labels(frame, columns), matrix, rebuild)


def _kind_of(values: pd.Series[Any]) -> ColumnKind:
    """Return the kind of a column; lists and arrays are recognised by the first non-missing one."""
    dtype = values.dtype
    if isinstance(dtype, pd.ArrowDtype):
        from pyarrow import schema

        from conceptor.vectors.formats.arrow_columns import describe_columns

        return describe_columns(schema([("values", dtype.pyarrow_dtype)]))[0].kind
    if pd.api.types.is_bool_dtype(dtype):
        return ColumnKind.OTHER
    if pd.api.types.is_float_dtype(dtype):
        return ColumnKind.FLOATS
    if pd.api.types.is_integer_dtype(dtype):
        return ColumnKind.INTEGERS
    if pd.api.types.is_object_dtype(dtype):
        first = next((each for each in values if each is not None), None)
        if isinstance(first, (list, tuple, np.ndarray)):
            array = np.asarray(first)
            is_vector = array.ndim == 1 and array.size and array.dtype.kind in "fiu"
            return ColumnKind.LISTS if is_vector else ColumnKind.OTHER
    if isinstance(dtype, pd.CategoricalDtype):
        return _kind_of(pd.Series(dtype.categories))
    is_text = pd.api.types.infer_dtype(values, skipna=True) == "string"
    return ColumnKind.TEXT if is_text else ColumnKind.OTHER


def _stack(values: pd.Series[Any]) -> NDArray[Any]:
    """Return a column of lists as a matrix; raise, naming the row, if one is missing or ragged."""
    rows: list[NDArray[Any]] = []
    for number, each in enumerate(values, start=1):
        row = np.empty(0) if each is None or each is pd.NA else np.atleast_1d(np.asarray(each))
        if row.ndim != 1 or row.dtype.kind not in "fiu" or (rows and len(row) != len(rows[0])):
            expected = f"{len(rows[0])} numbers" if rows else "numbers"
            found = len(row) if row.dtype.kind in "fiu" else repr(each)[:40]
            raise InvalidInputError(
                f"{_WHERE}, row {number} of {values.name!r}: expected a vector of {expected}, "
                f"found {found}"
            )
        rows.append(row)
    matrix = np.stack(rows)
    check_vectors(len(matrix), matrix.shape[1], "DataFrame", "the first list is empty")
    return matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)


def _numbers(frame: pd.DataFrame) -> NDArray[Any]:
    """Return columns of numbers as a matrix; missing numbers become NaN and are refused later."""
    matrix = frame.to_numpy()
    is_float = matrix.dtype.kind == "f"
    return matrix if is_float else frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _as_before(values: pd.Series[Any], rows: NDArray[Any]) -> pd.Series[Any]:
    """Return rows as a column of the same kind as another: lists, tuples or arrays."""
    if isinstance(values.dtype, pd.ArrowDtype):
        from pyarrow import schema

        from conceptor.vectors.formats.arrow_columns import output_schema, vector_arrays

        before = schema([("v", values.dtype.pyarrow_dtype)])
        after = output_schema(before, ["v"], rows.shape[1], _WHERE)
        arrow = pd.arrays.ArrowExtensionArray(vector_arrays(["v"], rows, after)["v"])
        return pd.Series(arrow, index=values.index, name=values.name)
    first = type(values.iloc[0])
    made: Any = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        made[i] = row.copy() if first is np.ndarray else first(row.tolist())
    return pd.Series(made, index=values.index, name=values.name)


def _labels(frame: pd.DataFrame, columns: Sequence[Column]) -> list[str] | None:
    """Return the words or texts of the rows, from a column or the index."""
    index = frame.index
    is_text = index.nlevels == 1 and pd.api.types.is_string_dtype(index)
    named = index.name if index.name is not None else _INDEX
    every = [*columns, *([Column(named, ColumnKind.TEXT)] if is_text else [])]

    def values(name: Hashable, stop: int | None = None) -> list[str]:
        found = [each.name for each in columns]
        column = frame.iloc[:stop, found.index(name)] if name in found else index[:stop]
        return [each if isinstance(each, str) else "" for each in column]

    label = choose_label(every, lambda names: {name: values(name, LABELS) for name in names})
    return None if label is None else values(label)
