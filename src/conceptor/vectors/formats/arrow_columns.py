"""Columns of Arrow tables: which hold vectors and labels, as arrays, and with others in place."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.vectors.columns import Column, ColumnKind, choose_label, choose_vectors, refuse_label
from conceptor.vectors.formats.encoding import SCALE, Encoding
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.columns import Asked

VECTOR = "vector"
BITS = b"bits"  # how many bits of the bytes are a row, in the metadata of the column
_TEXT = ("string", "large_string", "string_view")


def import_pyarrow() -> Any:  # noqa: ANN401
    """Import pyarrow, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("reading and writing Parquet and Arrow files", "arrow") from None
    return pyarrow


@contextmanager
def report_damage(path: object) -> Iterator[None]:
    """Turn what the Arrow library says about a damaged file into an `InvalidInputError`."""
    arrow = import_pyarrow()
    try:
        yield
    except InvalidInputError:
        raise
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        if getattr(error, "errno", None):
            raise
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(f"{path}: not a readable Arrow or Parquet table ({said})") from None


def vector_shape(
    schema: Any,  # noqa: ANN401
    columns: list[str],
    first_row: Callable[[], Any],
) -> tuple[int | None, np.dtype[Any]]:
    """Return the dimension of the vectors in some columns, and how numbers are stored.

    Lists of any length have that of the first row; without one the dimension is None.
    """
    types = import_pyarrow().types
    kind = schema.field(columns[0]).type
    if types.is_floating(kind):
        return len(columns), np.dtype(kind.to_pandas_dtype())
    dtype = np.dtype(kind.value_type.to_pandas_dtype())
    if types.is_fixed_size_list(kind):
        return kind.list_size, dtype
    first = first_row()
    values = first.column(columns[0])[0].values if first is not None and first.num_rows else None
    return None if values is None else len(values), dtype


def to_words(
    column: Any,  # noqa: ANN401
    where: object,
    start: int,
    *,
    may_miss: bool = False,
) -> PackedWords:
    """Return the labels of a column; errors give `where` and the row, counted from `start`.

    With `may_miss`, a missing label is empty.
    """
    arrow = import_pyarrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    # In two steps: a view of text is not cast to bytes at once.
    column = column.cast(arrow.large_string())
    if may_miss and column.null_count:
        column = column.fill_null("")
    check_no_nulls(column, where, start, "word")
    column = column.cast(arrow.large_binary())
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[column.offset :][: len(column) + 1]
    text = np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8)
    return PackedWords(text[bounds[0] : bounds[-1]].copy(), bounds - bounds[0])


def to_matrix(
    columns: list[Any], dimension: int, where: object, start: int
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the vectors of a list column, or of one column per dimension, as they are stored.

    Errors give `where` and the row, counted from `start`.
    """
    arrow = import_pyarrow()
    for column in columns:
        check_no_nulls(column, where, start, "vector")
    column = columns[0]
    if not columns[1:] and is_list(column.type) and not len(column):
        return np.empty((0, dimension), dtype=column.type.value_type.to_pandas_dtype())
    if arrow.types.is_floating(column.type):
        return np.stack([column.to_numpy(zero_copy_only=False) for column in columns], axis=1)
    if not isinstance(column, arrow.FixedSizeListArray):
        is_view = is_list_view(column.type)
        lengths = column.sizes.to_numpy() if is_view else np.diff(column.offsets.to_numpy())
        wrong = np.flatnonzero(lengths != dimension)
        if len(wrong):
            raise InvalidInputError(
                f"{where}, row {start + wrong[0] + 1}: expected a vector of {dimension} "
                f"numbers, found {lengths[wrong[0]]}"
            )
    flat = column.flatten()
    check_no_nulls(flat, where, start, "number", dimension)
    numbers: np.ndarray[Any, np.dtype[Any]] = flat.to_numpy(zero_copy_only=False)
    return numbers.reshape(-1, dimension)


def check_no_nulls(column: Any, where: object, start: int, what: str, each: int = 1) -> None:  # noqa: ANN401
    """Raise for a missing value; `each` values make a row."""
    if column.null_count:
        first = column.is_null().index(True).as_py() // each
        raise InvalidInputError(
            f"{where}, row {start + first + 1}: the first of {column.null_count} missing {what}s"
        )


def is_list_view(kind: Any) -> bool:  # noqa: ANN401
    """Return whether a type is a view of lists, which older Arrow does not know."""
    return str(kind).startswith(("list_view<", "large_list_view<"))


def find_encoding(schema: Any) -> Encoding | None:  # noqa: ANN401
    """Return how a table with a column of small numbers and one of scales stores its vectors."""
    arrow = import_pyarrow()
    if not {VECTOR, SCALE} <= set(schema.names) or len(set(schema.names)) != len(schema):
        return None
    field, scale = schema.field(VECTOR), schema.field(SCALE)
    if not arrow.types.is_fixed_size_list(field.type) or scale.type != arrow.float32():
        return None
    bits = (field.metadata or {}).get(BITS, b"")
    if field.type.value_type == arrow.int8():
        return Encoding("int8", field.type.list_size)
    if field.type.value_type == arrow.uint8() and bits.isdigit():
        found = Encoding("binary", int(bits))
        return found if found.width == field.type.list_size else None
    return None


def is_list(kind: Any) -> bool:  # noqa: ANN401
    """Return whether a type is one of lists, of any or of fixed length."""
    types = import_pyarrow().types
    known = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    return bool(known or is_list_view(kind))


def describe_columns(schema: Any) -> list[Column]:  # noqa: ANN401
    """Return the columns of a schema with their kinds; scales of small numbers are left out."""
    types = import_pyarrow().types
    scale = SCALE if find_encoding(schema) else None

    def kind_of(field: Any) -> ColumnKind:  # noqa: ANN401
        kind = field.type
        if is_list(kind):
            is_vector = types.is_floating(kind.value_type) or (scale and field.name == VECTOR)
            return ColumnKind.LISTS if is_vector else ColumnKind.OTHER
        if types.is_floating(kind):
            return ColumnKind.FLOATS
        if types.is_integer(kind) or types.is_decimal(kind):
            return ColumnKind.INTEGERS
        text = kind.value_type if types.is_dictionary(kind) else kind
        return ColumnKind.TEXT if str(text) in _TEXT else ColumnKind.OTHER

    return [Column(field.name, kind_of(field)) for field in schema if field.name != scale]


class TableColumns(NamedTuple):
    """Which columns of a table hold vectors and labels, and how small numbers are stored."""

    label: str | None
    vectors: list[str]
    encoding: Encoding | None = None

    @property
    def replaced(self) -> set[str]:
        """The columns that new vectors replace."""
        return {*self.vectors, *([SCALE] if self.encoding else [])}


def choose_columns(
    where: object,
    schema: Any,  # noqa: ANN401
    first_rows: Callable[[list[str]], Any],
    asked: Asked = None,
    *,
    wordless: bool = False,
) -> TableColumns:
    """Choose the columns of vectors and of labels; with `wordless`, there may be no labels.

    `first_rows` returns the first rows of some columns.
    """
    columns = describe_columns(schema)
    vectors: list[Any] = choose_vectors(where, columns, asked)
    label = find_label(columns, first_rows)
    if label is None and not wordless:
        raise refuse_label(where, columns)
    encoding = find_encoding(schema) if vectors == [VECTOR] else None
    return TableColumns(label, vectors, encoding)


def refuse_encoding(where: object, encoding: Encoding | None) -> None:
    """Raise for vectors as small numbers with scales, where only floats will do."""
    if encoding is not None:
        raise InvalidInputError(
            f"{where}: no columns of vectors as floats, only {encoding.dtype} with scales; convert "
            "the file first (conceptor convert)"
        )


def find_label(columns: Sequence[Column], first_rows: Callable[[list[str]], Any]) -> str | None:
    """Return the column that labels rows with words or texts, if there is one."""

    def sample(names: list[Any]) -> dict[Any, Sequence[str]]:
        rows = first_rows(names)
        if rows is None:
            return {name: [] for name in names}
        return {name: [each or "" for each in rows.column(name).to_pylist()] for name in names}

    found = choose_label(columns, sample)
    return None if found is None else str(found)


def output_schema(
    schema: Any,  # noqa: ANN401
    columns: Sequence[str],
    n_out: int,
    where: object,
    value: Any = None,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return the schema of a table with other vectors: the same except for their length.

    `value` is the type of their numbers, where it is another.
    """
    arrow = import_pyarrow()
    kind = schema.field(columns[0]).type
    if not is_list(kind):
        if n_out > len(columns):
            raise InvalidInputError(
                f"{where}: {len(columns)} columns cannot hold vectors of length {n_out}"
            )
        for name in columns[n_out:]:
            schema = schema.remove(schema.get_field_index(name))
        for name in columns[:n_out] if value else ():
            place = schema.get_field_index(name)
            schema = schema.set(place, schema.field(place).with_type(value))
        return schema
    place = schema.get_field_index(columns[0])
    item = kind.value_field if value is None else kind.value_field.with_type(value)
    if arrow.types.is_fixed_size_list(kind):
        new = arrow.list_(item, n_out)
    else:
        new = (arrow.large_list if arrow.types.is_large_list(kind) else arrow.list_)(item)
    return schema.set(place, schema.field(place).with_type(new))


def vector_arrays(
    columns: Sequence[str],
    rows: NDArray[Any],
    schema: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Return rows as arrays for the columns of a schema that hold vectors."""
    arrow = import_pyarrow()
    kind = schema.field(columns[0]).type
    if not is_list(kind):
        names = columns[: rows.shape[1]]
        types = [schema.field(name).type for name in names]
        return {
            name: arrow.array(np.ascontiguousarray(column), type=type_)
            for name, column, type_ in zip(names, rows.T, types, strict=True)
        }
    dtype = kind.value_type.to_pandas_dtype()
    flat = arrow.array(np.ascontiguousarray(rows, dtype=dtype).reshape(-1))
    if arrow.types.is_fixed_size_list(kind):
        return {columns[0]: arrow.FixedSizeListArray.from_arrays(flat, type=kind)}
    large = arrow.types.is_large_list(kind)
    made = arrow.LargeListArray if large else arrow.ListArray
    ends = np.arange(0, rows.size + 1, rows.shape[1]).astype(np.int64 if large else np.int32)
    return {columns[0]: made.from_arrays(ends, flat, type=kind)}


def parquet_options(table: Any, columns: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401
    """Return the options a Parquet table was written with, so that the output uses the same.

    Vectors get neither dictionaries nor statistics: no two are alike.
    """
    data = table.metadata
    if not data.num_row_groups:
        return {}
    group = data.row_group(0)
    stored = [group.column(i) for i in range(group.num_columns)]
    vectors = set(columns)
    carried = [c for c in stored if c.path_in_schema.partition(".")[0] not in vectors]
    split = [c for c in stored if "BYTE_STREAM_SPLIT" in c.encodings]
    return {
        "compression": {
            c.path_in_schema: c.compression.lower().replace("uncompressed", "none") for c in stored
        },
        "use_dictionary": [
            c.path_in_schema for c in carried if any("DICTIONARY" in e for e in c.encodings)
        ]
        or False,
        "write_statistics": [c.path_in_schema for c in carried if c.is_stats_set] or False,
        "use_byte_stream_split": [c.path_in_schema for c in split] or False,
    }
