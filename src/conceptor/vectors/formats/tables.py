"""Tables: Parquet and Feather files, and everything else that comes as Arrow batches.

The vectors are a column of lists, or one column per dimension. All other columns stay in a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import replace_atomically
from conceptor.base.progress import Progress
from conceptor.vectors.columns import ColumnKind, choose_label, choose_vectors, is_list
from conceptor.vectors.formats.encoding import Encoding
from conceptor.vectors.formats.format import (
    FLOAT32,
    Chunks,
    Columns,
    Format,
    Target,
    check_finite,
    starts_with,
)
from conceptor.vectors.formats.head import Head
from conceptor.vectors.vectors import Findings, RowKind, Rows, Vectors, chunk_rows

# A schema, type, column, batch or writer of pyarrow, which has no types.
Arrow = Any
# From names of columns and a number of rows at a time to record batches.
ReadBatches = Callable[[list[str], int], Iterator[Arrow]]

_PARQUET = "parquet"
_VECTOR = "vector"
# How many first rows decide which column holds the labels.
_SAMPLE_ROWS = 1000
# Parquet pages of larger files are read in pieces of this size.
_BUFFER_BYTES, _SMALL_FILE = 4 << 20, 64 << 20


def import_pyarrow() -> Arrow:
    """Import pyarrow, or raise with the command that installs it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("reading and writing Parquet and Arrow files", "arrow") from None
    return pyarrow


@dataclass(frozen=True, eq=False)
class Table:
    """Which columns of a table are what, and how to read them."""

    schema: Arrow
    read: ReadBatches
    vectors: list[str]  # a column of lists, or the column of each dimension
    label: str | None

    @property
    def id_columns(self) -> list[str]:
        """The columns that may hold ids: text or whole numbers, but not the labels."""
        kinds = (ColumnKind.TEXT, ColumnKind.INTEGERS)
        columns = [field.name for field in self.schema if ColumnKind.of(field.type) in kinds]
        return [name for name in columns if name != self.label]

    def values(self, column: str) -> Iterator[str]:
        """Yield the values of a column as text, in the order of the rows."""
        for batch in self.read([column], 1 << 14):
            for value in batch.column(column).to_pylist():
                yield "" if value is None else str(value)


def open_batches(
    name: str,
    schema: Arrow,
    read: ReadBatches,
    findings: Findings | None = None,
    column: Columns = None,
    *,
    text_column: str | None = None,
    dtype: type[np.floating[Any]] | None = np.float32,
) -> Vectors:
    """Open the vectors of anything that is read as Arrow batches; their values are not checked.

    `column` and `text_column` are the user's choices of columns, and `dtype` is the type of the
    rows; None is that of the columns. The `extra` of the result is the `Table`.
    """
    findings = Findings() if findings is None else findings
    compute = import_pyarrow().compute

    def first(names: list[str], rows: int = _SAMPLE_ROWS) -> dict[str, list[Any]]:
        batches = (batch for batch in read(names, rows) if batch.num_rows)
        batch = next(batches, None)
        return batch.to_pydict() if batch else {each: [] for each in names}

    if twice := {each for each in schema.names if schema.names.count(each) > 1}:
        raise InvalidInputError(f"{name}: two columns have the name {min(twice)!r}; rename one")
    kinds = {field.name: ColumnKind.of(field.type) for field in schema}
    vectors = choose_vectors(name, kinds, column)
    if text_column is not None and kinds.get(text_column) is not ColumnKind.TEXT:
        texts = ", ".join(each for each, kind in kinds.items() if kind is ColumnKind.TEXT)
        raise InvalidInputError(
            f"{name}: {text_column} is not a column of text; these are: {texts or 'none'}"
        )
    label = text_column or choose_label(kinds, first)

    kind = schema.field(vectors[0]).type
    dimension = len(vectors)
    if is_list(kind):
        fixed = getattr(kind, "list_size", None)
        dimension = fixed or len(next(iter(first(vectors, 1)[vectors[0]]), None) or ())
    if not dimension:
        raise InvalidInputError(f"{name}: contains no vectors, or the first one is missing")
    names = [*vectors, *([label] if label else [])]

    def read_rows() -> Iterator[Rows]:
        start = unlabeled = 0
        for batch in read(names, chunk_rows(dimension)):
            places = np.arange(start + 1, start + batch.num_rows + 1)
            start += batch.num_rows
            good = places > 0
            if is_list(kind):
                lists = batch.column(vectors[0])
                # A missing list of fixed length has a length too.
                lengths = compute.if_else(lists.is_valid(), compute.list_value_length(lists), None)
                good = compute.fill_null(lengths, -1).to_numpy() == dimension
                if not good.all():
                    bad = int(np.argmin(good))
                    findings.reject(
                        f"{name}, row {places[bad]}: expected a vector of {dimension} numbers, "
                        f"found {'none' if lengths[bad].as_py() is None else lengths[bad]}",
                        int(np.count_nonzero(~good)),
                    )
                # Arrow does not filter views of strings.
                runs = [lists.slice(*run) for run in _runs(np.flatnonzero(good))] or [lists[:0]]
                numbers = [run.flatten().to_numpy(zero_copy_only=False) for run in runs]
                rows = np.concatenate(numbers).reshape(-1, dimension)
            else:  # a missing number is NaN
                columns = [batch.column(each).to_numpy(zero_copy_only=False) for each in vectors]
                rows = np.stack(columns, axis=1)
            if dtype is not None:
                with np.errstate(over="ignore"):  # reported with the row
                    rows = rows.astype(dtype, copy=False)
            labels = list(map(str, places[good].tolist()))
            if label:
                values = batch.column(label).to_pylist()
                labels = [values[i] or "" for i in np.flatnonzero(good).tolist()]
                unlabeled += batch.column(label).null_count
            yield Rows(labels, rows, places[good])
        if unlabeled:
            findings.remarks.append(f"{unlabeled} rows without a value in the column {label}")

    return Vectors(
        name,
        dimension,
        read_rows,
        has_words=label is not None,
        kind=RowKind.WORDS if label else RowKind.TEXTS,
        dtype=_number_type(kind).name,
        costly=True,
        findings=findings,
        extra=Table(schema, read, vectors, label),
    )


def _runs(rows: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the first row and the length of each run of consecutive rows."""
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        if len(run):
            yield int(run[0]), len(run)


def _open_file(head: Head, findings: Findings, column: Columns) -> Vectors:
    """Open a Parquet or Feather file."""
    path = head.path
    read_table = _read_parquet if head.data.startswith(b"PAR1") else _read_feather

    def read(names: list[str], rows: int) -> Iterator[Arrow]:
        with _report_damage(path):
            for batch in read_table(path, names, rows):
                batch.validate(full=True)
                yield batch.select(names)

    with _report_damage(path):
        schema = next(read_table(path, [], 0))
        return open_batches(str(path), schema, read, findings, column)


def _read_parquet(path: Path, names: list[str], rows: int) -> Iterator[Arrow]:
    """Yield batches of a Parquet file, in small pieces; without `rows`, only its schema.

    Pre-buffering would read a whole row group, and no buffer a whole column of it. With a buffer
    Arrow allocates whatever size a damaged page claims, so a small file is read without one.
    """
    buffer = _BUFFER_BYTES if path.stat().st_size > _SMALL_FILE else 0
    parquet = import_pyarrow().parquet
    with parquet.ParquetFile(path, buffer_size=buffer, pre_buffer=False) as file:
        if rows:
            yield from file.iter_batches(rows, columns=names)
        else:
            yield file.schema_arrow


def _read_feather(path: Path, names: list[str], rows: int) -> Iterator[Arrow]:
    ipc = import_pyarrow().ipc
    with import_pyarrow().OSFile(str(path)) as raw:
        schema = ipc.open_file(raw).schema
        if not rows:
            yield schema
            return
        fields = [schema.get_field_index(name) for name in names]
        with ipc.open_file(raw, options=ipc.IpcReadOptions(included_fields=fields)) as file:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)


@contextmanager
def _report_damage(path: Path) -> Iterator[None]:
    """Turn the Arrow library's errors about a damaged file into `InvalidInputError`."""
    arrow = import_pyarrow()
    try:
        yield
    except InvalidInputError:
        raise
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        if getattr(error, "errno", None):
            raise
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(
            f"{path}: not a readable Arrow or Parquet table ({problem})"
        ) from None


def _save(
    target: Target,
    schema: Arrow,
    vectors: list[str],
    chunks: Iterable[tuple[Sequence[str], NDArray[Any], dict[str, Arrow]]],
) -> int:
    """Write a table atomically, from labels, rows and the other columns; return the row count."""
    arrow = import_pyarrow()
    assert target.path is not None  # tables are not written to standard output
    others = [name for name in schema.names if name not in vectors]
    count = 0
    with replace_atomically(target.path) as path:
        if target.format.name == _PARQUET:
            # Words and classes repeat, floats differ.
            new = arrow.parquet.ParquetWriter(path, schema, use_dictionary=others or False)
        else:
            new = arrow.ipc.new_file(str(path), schema)
        with new as writer:
            for labels, rows, columns in chunks:
                columns |= vector_columns(schema, vectors, labels, rows)
                arrays = [columns[name] for name in schema.names]
                table = arrow.Table.from_arrays(arrays, schema=schema)
                writer.write_table(table, max(1, len(labels)))
                count += len(labels)
    return count


def _write(target: Target, chunks: Chunks) -> int:
    """Write a column `word` or `text`, if rows have labels, and the column of vectors."""
    arrow = import_pyarrow()
    label = "text" if target.kind is RowKind.TEXTS else "word"
    others = [label] if target.has_words else []
    fields = [(name, arrow.string()) for name in others]
    number = arrow.from_numpy_dtype(np.dtype(target.dtype or FLOAT32))
    schema = arrow.schema([*fields, (_VECTOR, arrow.list_(number, target.dimension))])
    labeled = (
        (labels, rows, dict.fromkeys(others, arrow.array(labels, arrow.string())))
        for labels, rows in chunks
    )
    return _save(target, schema, [_VECTOR], labeled)


def _rewrite(vectors: Vectors, target: Target, progress: Progress) -> int:
    """Write a copy of a table with new vectors, without the rows that reading dropped."""
    arrow = import_pyarrow()
    table: Table = vectors.extra
    schema = vector_schema(
        vectors.name, table.schema, table.vectors, target.dimension, target.dtype
    )
    others = [name for name in table.schema.names if name not in table.vectors]

    def chunks() -> Iterator[tuple[Sequence[str], NDArray[Any], dict[str, Arrow]]]:
        batches = table.read(others, chunk_rows(vectors.dimension))
        batch, stop, count = None, 0, 0
        for labels, rows, places in vectors.read():
            assert places is not None  # the rows of a table are numbered
            parts = []
            while others and len(places):
                while batch is None or places[0] > stop:
                    batch = next(batches)
                    stop += batch.num_rows
                here = places[places <= stop]
                parts += [batch.slice(*run) for run in _runs(here - 1 - stop + batch.num_rows)]
                places = places[len(here) :]
            beside = arrow.Table.from_batches(parts) if others else arrow.table({})
            yield labels, rows, {name: beside.column(name) for name in others}
            count += len(labels)
            progress("writing", None, count)

    return _save(target, schema, table.vectors, chunks())


def vector_schema(
    where: str, schema: Arrow, columns: Sequence[str], dimension: int, dtype: str | None = None
) -> Arrow:
    """Return the schema of a table with new vectors, whose type stays without a `dtype`."""
    if 1 < len(columns) < dimension:
        raise InvalidInputError(
            f"{where}: {len(columns)} columns cannot hold vectors of length {dimension}"
        )
    arrow = import_pyarrow()
    fields = []
    for field in schema:
        kind = field.type
        number = arrow.from_numpy_dtype(np.dtype(dtype)) if dtype else None
        if field.name not in columns:
            fields.append(field)
        elif is_list(kind):
            item = kind.value_field.with_type(number) if number else kind.value_field
            if arrow.types.is_fixed_size_list(kind):
                lists = arrow.list_(item, dimension)
            else:
                lists = (arrow.large_list if arrow.types.is_large_list(kind) else arrow.list_)(item)
            fields.append(field.with_type(lists))
        elif columns.index(field.name) < dimension:
            fields.append(field.with_type(number) if number else field)
    return arrow.schema(fields, schema.metadata)


def vector_columns(
    schema: Arrow, columns: Sequence[str], labels: Sequence[str] | None, rows: NDArray[Any]
) -> dict[str, Any]:
    """Return rows as Arrow arrays, by column; raise for numbers that the columns cannot hold."""
    arrow = import_pyarrow()
    kind = schema.field(columns[0]).type
    numbers = _number_type(kind)
    check_finite(labels, rows, numbers.name)
    if numbers == np.float16:
        rows, _ = Encoding("float16", rows.shape[1]).encode(rows, labels)
    if is_list(kind):
        flat = arrow.array(np.ascontiguousarray(rows, dtype=numbers).reshape(-1))
        return {columns[0]: arrow.FixedSizeListArray.from_arrays(flat, rows.shape[1]).cast(kind)}
    return {
        name: arrow.array(np.ascontiguousarray(values), type=schema.field(name).type)
        for name, values in zip(columns, rows.T, strict=False)
    }


def _number_type(kind: Arrow) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype((kind.value_type if is_list(kind) else kind).to_pandas_dtype())
    return dtype


PARQUET = Format(
    name=_PARQUET,
    description="a column of words or texts, and a list column or one column per dimension; reads "
    "float64 too",
    recognize=starts_with(b"PAR1"),
    open=_open_file,
    write=_write,
    rewrite=_rewrite,
    suffixes=(".parquet",),
    dtypes=(FLOAT32, "float16"),
    wordless=True,
)
FEATHER = replace(
    PARQUET,
    name="feather",
    recognize=starts_with(b"ARROW1"),
    suffixes=(".feather", ".arrow"),
)
