"""Tables: Parquet and Feather files, and everything else that comes as Arrow batches.

The vectors are a column of lists, or one column per dimension. Vectors as bytes or bits have a
second column with the scale of each row. All other columns stay as they are in a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import replace_atomically
from conceptor.base.progress import Progress
from conceptor.base.threads import ordered_map, processors
from conceptor.vectors.columns import ColumnKind, choose_label, choose_vectors, is_list
from conceptor.vectors.formats.encoding import DTYPES, SCALE, Encoding
from conceptor.vectors.formats.format import (
    FLOAT32,
    Chunks,
    Columns,
    Format,
    Target,
    check_finite,
)
from conceptor.vectors.formats.head import Head
from conceptor.vectors.vectors import Findings, RowKind, Rows, Vectors, chunk_rows

# A schema, type, column, batch or writer of pyarrow, which has no types.
Arrow = Any
# From names of columns and a number of rows at a time to record batches.
ReadBatches = Callable[[list[str], int], Iterator[Arrow]]

_PARQUET = "parquet"
_VECTOR = "vector"
_BITS = b"bits"  # the number of bits in a row, in the metadata of the column
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

    schema: Arrow  # without scales: small numbers are floats here
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

    `read` takes names of columns and a number of rows, and yields record batches of at most that
    size. `findings` decides about rows without a vector or with one of another length. `column` and
    `text_column` are the user's choices of columns, and `dtype` is the type of the rows; None is
    that of the columns. The `extra` of the result is the `Table`.
    """
    arrow = import_pyarrow()
    findings = Findings() if findings is None else findings

    def first(names: list[str], rows: int = _SAMPLE_ROWS) -> dict[str, list[Any]]:
        batches = (batch for batch in read(names, rows) if batch.num_rows)
        batch = next(batches, None)
        return batch.to_pydict() if batch else {each: [] for each in names}

    encoding = _find_encoding(schema)
    if encoding:
        floats = arrow.field(_VECTOR, arrow.list_(arrow.float32(), encoding.dimension))
        schema = schema.set(schema.get_field_index(_VECTOR), floats)
        schema = schema.remove(schema.get_field_index(SCALE))
    for each in schema.names:
        if schema.names.count(each) > 1:
            raise InvalidInputError(f"{name}: two columns have the name {each!r}; rename one")
    kinds = {field.name: ColumnKind.of(field.type) for field in schema}
    vectors = choose_vectors(name, kinds, column)
    if encoding and vectors != [_VECTOR]:
        raise InvalidInputError(
            f"{name}: its vectors are {encoding.dtype} with scales; remove --column {column}"
        )
    if text_column is not None and kinds.get(text_column) is not ColumnKind.TEXT:
        texts = [each for each, kind in kinds.items() if kind is ColumnKind.TEXT]
        raise InvalidInputError(
            f"{name}: {text_column} is not a column of text; these are: "
            f"{', '.join(texts) or 'none'}"
        )
    label = text_column or choose_label(kinds, first)

    kind = schema.field(vectors[0]).type
    if arrow.types.is_fixed_size_list(kind):
        dimension = kind.list_size
    elif is_list(kind):
        vector = next(iter(first(vectors, 1)[vectors[0]]), None)
        dimension = len(vector or ())
    else:
        dimension = len(vectors)
    if not dimension:
        raise InvalidInputError(f"{name}: contains no vectors, or the first one is missing")
    names = [*vectors, *([SCALE] if encoding else []), *([label] if label else [])]
    width = encoding.width if encoding else dimension

    def read_rows() -> Iterator[Rows]:
        start = unlabeled = 0
        for batch in read(names, chunk_rows(dimension)):
            places = np.arange(start + 1, start + batch.num_rows + 1)
            start += batch.num_rows
            if is_list(kind):
                good = _check_lengths(batch.column(vectors[0]), width, name, places, findings)
                if not good.all():
                    batch, places = batch.filter(arrow.array(good)), places[good]
                numbers = batch.column(vectors[0]).flatten().to_numpy(zero_copy_only=False)
                rows = numbers.reshape(-1, width)
            else:  # a missing number is NaN
                columns = [batch.column(each).to_numpy(zero_copy_only=False) for each in vectors]
                rows = np.stack(columns, axis=1)
            if encoding:
                rows = encoding.decode(rows, batch.column(SCALE).to_numpy(zero_copy_only=False))
            if dtype is not None:
                with np.errstate(over="ignore"):  # reported with the row
                    rows = rows.astype(dtype, copy=False)
            if label:
                labels = [value or "" for value in batch.column(label).to_pylist()]
                unlabeled += batch.column(label).null_count
            else:
                labels = [str(place) for place in places.tolist()]
            yield Rows(labels, rows, places)
        if unlabeled:
            findings.remarks.append(f"{unlabeled} rows without a value in the column {label}")

    return Vectors(
        name,
        dimension,
        read_rows,
        has_words=label is not None,
        kind=RowKind.WORDS if label else RowKind.TEXTS,
        dtype=encoding.dtype if encoding else _number_type(kind).name,
        costly=True,
        findings=findings,
        extra=Table(schema, read, vectors, label),
    )


def _find_encoding(schema: Arrow) -> Encoding | None:
    """Return how a table with a column of small numbers and one of scales stores its vectors."""
    arrow = import_pyarrow()
    if schema.names.count(_VECTOR) != 1 or schema.names.count(SCALE) != 1:
        return None
    field = schema.field(_VECTOR)
    if not arrow.types.is_fixed_size_list(field.type) or schema.field(SCALE).type != "float":
        return None
    bits = (field.metadata or {}).get(_BITS, b"")
    if field.type.value_type == "int8":
        encoding = Encoding("int8", field.type.list_size)
    elif field.type.value_type == "uint8" and bits.isdigit():
        encoding = Encoding("binary", int(bits))
    else:
        return None
    return encoding if encoding.width == field.type.list_size else None


def _check_lengths(
    column: Arrow, width: int, name: str, places: NDArray[np.int64], findings: Findings
) -> NDArray[np.bool_]:
    """Return which lists have the right length; reject the others."""
    compute = import_pyarrow().compute
    # A missing list of fixed length has a length too.
    lengths = compute.if_else(column.is_valid(), compute.list_value_length(column), None)
    good: NDArray[np.bool_] = compute.fill_null(lengths, -1).to_numpy() == width
    if not good.all():
        bad = int(np.argmin(good))
        findings.reject(
            f"{name}, row {places[bad]}: expected a vector of {width} numbers, found "
            f"{'none' if lengths[bad].as_py() is None else lengths[bad]}",
            int(np.count_nonzero(~good)),
        )
    return good


def _open_file(head: Head, findings: Findings, column: Columns) -> Vectors:
    """Open a Parquet or Feather file."""
    path = head.path
    is_parquet = head.data.startswith(PARQUET.magic)

    def read(names: list[str], rows: int) -> Iterator[Arrow]:
        with _report_damage(path), ExitStack() as stack:
            if is_parquet:
                file = stack.enter_context(_open_parquet(path))
                batches = file.iter_batches(rows, columns=names)
            else:
                batches = _read_feather(path, names, rows)
            for batch in batches:
                batch.validate(full=True)
                yield batch.select(names)

    with _report_damage(path):
        if is_parquet:
            with _open_parquet(path) as file:
                schema = file.schema_arrow
        else:
            arrow = import_pyarrow()
            with arrow.OSFile(str(path)) as raw, arrow.ipc.open_file(raw) as file:
                schema = file.schema
        return open_batches(str(path), schema, read, findings, column)


def _read_feather(path: Path, names: list[str], rows: int) -> Iterator[Arrow]:
    ipc = import_pyarrow().ipc
    with import_pyarrow().OSFile(str(path)) as raw:
        schema = ipc.open_file(raw).schema
        fields = [schema.get_field_index(name) for name in names]
        with ipc.open_file(raw, options=ipc.IpcReadOptions(included_fields=fields)) as file:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)


def _open_parquet(path: Path) -> Arrow:
    """Open a Parquet file to be read in small pieces.

    Without `pre_buffer=False` Arrow reads a whole row group before it returns the first rows, and
    without a buffer a whole column of it. With a buffer it allocates whatever size a damaged page
    claims, so a small file is read without one.
    """
    buffer = _BUFFER_BYTES if path.stat().st_size > _SMALL_FILE else 0
    return import_pyarrow().parquet.ParquetFile(path, buffer_size=buffer, pre_buffer=False)


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


@contextmanager
def _open_writer(target: Target, schema: Arrow, **options: object) -> Iterator[Arrow]:
    """Yield a writer of record batches; the target appears when the block succeeds."""
    arrow = import_pyarrow()
    assert target.path is not None  # tables are not written to standard output
    with replace_atomically(target.path) as path:
        if target.format.name == _PARQUET:
            writer = arrow.parquet.ParquetWriter(path, schema, **options)
        else:
            writer = arrow.ipc.new_file(str(path), schema)
        with writer:
            yield writer


def _write(target: Target, chunks: Chunks) -> int:
    """Write a column `word` or `text`, if rows have labels, and the columns of the vectors."""
    arrow = import_pyarrow()
    fields = [(_VECTOR, arrow.list_(arrow.float32(), target.dimension))]
    if target.has_words:
        label = "text" if target.kind is RowKind.TEXTS else "word"
        fields.insert(0, (label, arrow.string()))
    encoding = Encoding(target.dtype or FLOAT32, target.dimension)
    schema = vector_schema(str(target.path), arrow.schema(fields), [_VECTOR], encoding)
    options: dict[str, Any] = {}
    # Parquet stores a byte as four; pyarrow's default, a dictionary, makes it one again.
    if not encoding.has_scales:
        options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    count = 0
    with _open_writer(target, schema, **options) as writer:
        for labels, rows in chunks:
            columns = vector_columns(schema, [_VECTOR], labels, rows, encoding)
            if target.has_words:
                columns[label] = arrow.array(labels, arrow.string())
            arrays = [columns[name] for name in schema.names]
            writer.write_batch(arrow.RecordBatch.from_arrays(arrays, schema=schema))
            count += len(labels)
    return count


def _rewrite(vectors: Vectors, target: Target, map_: AffineMap | None, progress: Progress) -> int:
    """Write a copy of a table with new vectors, without the rows that reading dropped."""
    arrow = import_pyarrow()
    table: Table = vectors.extra
    encoding = Encoding(target.dtype or FLOAT32, target.dimension)
    schema = vector_schema(
        vectors.name, table.schema, table.vectors, encoding, casts=target.dtype is not None
    )
    others = [name for name in table.schema.names if name not in table.vectors]
    options: dict[str, Any] = {}
    if not encoding.has_scales:  # few floats are alike, so they get no dictionaries or statistics
        options = dict.fromkeys(("use_dictionary", "write_statistics"), others or False)
    if not encoding.has_scales and vectors.format == target.format.name == _PARQUET:
        with _open_parquet(vectors.files[0]) as file:
            if file.metadata.num_row_groups:
                codec = file.metadata.row_group(0).column(0).compression
                options["compression"] = codec.lower().replace("uncompressed", "none")

    def mapped(chunk: Rows) -> Rows:
        if map_ is None:
            return chunk
        with np.errstate(over="ignore"):  # what overflows is refused by `vector_columns`
            return chunk._replace(rows=map_.map_words(chunk.labels, chunk.rows))

    chunks = ordered_map(mapped, vectors.read(), processors(), ahead=2)
    batches = table.read(others, chunk_rows(vectors.dimension))
    batch, stop, count = None, 0, 0
    with _open_writer(target, schema, **options) as writer:
        for labels, rows, places in chunks:
            assert places is not None  # the rows of a table are numbered
            columns = vector_columns(schema, table.vectors, labels, rows, encoding)
            parts = []
            while others and len(places):
                while batch is None or places[0] > stop:
                    batch = next(batches)
                    stop += batch.num_rows
                here = places[places <= stop]
                parts.append(batch.take(arrow.array(here - 1 - stop + batch.num_rows)))
                places = places[len(here) :]
            if others:
                beside = arrow.Table.from_batches(parts)
                columns |= {name: beside.column(name) for name in others}
            arrays = [columns[name] for name in schema.names]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema), max(1, len(labels)))
            count += len(labels)
            progress("writing", None, count)
    return count


def vector_schema(
    where: str, schema: Arrow, columns: Sequence[str], encoding: Encoding, *, casts: bool = True
) -> Arrow:
    """Return the schema of a table with new vectors; only small numbers change the columns' names.

    Bytes and bits are lists of fixed length, with a column of scales at the end. With `casts`,
    floats get the type of the encoding.
    """
    arrow = import_pyarrow()
    stored = arrow.from_numpy_dtype(encoding.stored)
    fields = []
    for field in schema:
        place = columns.index(field.name) if field.name in columns else -1
        kind = field.type
        if place < 0:
            fields.append(field)
        elif encoding.has_scales:
            bits = {_BITS: str(encoding.dimension)} if encoding.dtype == "binary" else None
            lists = arrow.list_(stored, encoding.width)
            fields += [arrow.field(_VECTOR, lists, metadata=bits)] if place == 0 else []
        elif is_list(kind):
            item = kind.value_field.with_type(stored) if casts else kind.value_field
            if arrow.types.is_fixed_size_list(kind):
                lists = arrow.list_(item, encoding.dimension)
            else:
                lists = (arrow.large_list if arrow.types.is_large_list(kind) else arrow.list_)(item)
            fields.append(field.with_type(lists))
        elif encoding.dimension > len(columns):
            raise InvalidInputError(
                f"{where}: {len(columns)} columns cannot hold vectors of length "
                f"{encoding.dimension}"
            )
        elif place < encoding.dimension:
            fields.append(field.with_type(stored) if casts else field)
    if encoding.has_scales:
        fields.append(arrow.field(SCALE, arrow.float32()))
    names = [field.name for field in fields]
    for name in (_VECTOR, SCALE):
        if encoding.has_scales and names.count(name) > 1:
            raise InvalidInputError(
                f"{where}: has a column {name!r}, which {encoding.dtype} vectors need; rename it"
            )
    return arrow.schema(fields, schema.metadata)


def vector_columns(
    schema: Arrow,
    columns: Sequence[str],
    labels: Sequence[str] | None,
    rows: NDArray[Any],
    encoding: Encoding,
) -> dict[str, Any]:
    """Return rows as Arrow arrays for the columns of vectors of a `vector_schema`.

    Raises, naming the label, for numbers that the columns cannot hold.
    """
    arrow = import_pyarrow()
    name = _VECTOR if encoding.has_scales else columns[0]
    kind = schema.field(name).type
    numbers = _number_type(kind)
    check_finite(labels, rows, numbers.name)
    arrays = {}
    if encoding.has_scales:
        rows, scales = encoding.encode(rows, labels)
        arrays[SCALE] = arrow.array(scales)
    elif numbers == np.float16:
        rows, _ = Encoding("float16", rows.shape[1]).encode(rows, labels)
    if is_list(kind):
        flat = arrow.array(np.ascontiguousarray(rows, dtype=numbers).reshape(-1))
        lists = arrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        return arrays | {name: lists.cast(kind)}
    return {
        name: arrow.array(np.ascontiguousarray(numbers), type=schema.field(name).type)
        for name, numbers in zip(columns, rows.T, strict=False)
    }


def _number_type(kind: Arrow) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype((kind.value_type if is_list(kind) else kind).to_pandas_dtype())
    return dtype


PARQUET = Format(
    name=_PARQUET,
    description="a column of words or texts, and a list column or one column per dimension",
    magic=b"PAR1",
    open=_open_file,
    write=_write,
    rewrite=_rewrite,
    suffixes=(".parquet",),
    dtypes=DTYPES,
    read_dtypes=("float64",),
    wordless=True,
)
FEATHER = replace(PARQUET, name="feather", magic=b"ARROW1", suffixes=(".feather", ".arrow"))
