"""Parquet and Arrow/Feather tables: words, and a list column or one column per dimension."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from contextlib import closing, contextmanager, suppress
from itertools import chain
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import replace_atomically
from conceptor.vectors.formats.encoding import DTYPES, SCALE, Encoding
from conceptor.vectors.formats.format import Format, starts_with
from conceptor.vectors.formats.npy import as_float32
from conceptor.vectors.rows import LABELS
from conceptor.vectors.source import (
    BLOCK_BYTES,
    Chunk,
    LocatedChunk,
    VectorSource,
    check_finite,
    number_rows,
)
from conceptor.vectors.words import PackedWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.target import Target

_PARQUET = "parquet"
_FEATHER = "feather"
PARQUET_MAGIC = b"PAR1"
# Below this size of a file nothing in it may take more than `_LARGEST_BATCH` bytes of memory.
_SMALL_FILE = 64 << 20
_LARGEST_BATCH = 256 << 20
_VECTOR = "vector"
_BITS = b"bits"  # how many bits of the bytes are a row, in the metadata of the column
WORD_COLUMNS = ("word", "words", "token", "key", "index", "__index_level_0__")


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


class ArrowSource(VectorSource):
    """Reads a batch of rows at a time."""

    def __init__(self, path: Path, file_format: str, *, wordless: bool = False) -> None:
        self.format = file_format
        self._fraction = 0.0
        with report_damage(path), _open_table(path, file_format) as (schema, batches):
            self._encoding = find_encoding(schema)
            self._word_column, self._vector_columns = choose_columns(
                path, schema, wordless=wordless
            )
            self.has_words = self._word_column is not None
            dimension, dtype = vector_shape(
                schema, self._vector_columns, lambda: next(batches(1), (0.0, None))[1]
            )
            if self._encoding is not None:
                dimension = self._encoding.dimension
            if dimension is None:
                raise InvalidInputError(f"{path}: contains no vectors, or the first is missing")
        super().__init__(path, dimension, dtype)

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._fraction

    def _decode(self) -> Iterator[LocatedChunk]:
        start = 0
        rows = max(1, BLOCK_BYTES // (4 * self.dimension))
        with report_damage(self.path), _open_table(self.path, self.format) as (_, batches):
            for self._fraction, batch in batches(rows):
                chunk = Chunk(self._words(batch, start), self._vectors(batch, start))
                yield LocatedChunk(chunk, np.arange(start + 1, start + batch.num_rows + 1))
                start += batch.num_rows

    def _first_labels(self) -> Sequence[str] | None:
        with report_damage(self.path), _open_table(self.path, self.format) as (_, batches):
            _, batch = next(batches(LABELS), (0.0, None))
            return [] if batch is None else self._words(batch, 0)

    def _words(self, batch: Any, start: int) -> PackedWords:  # noqa: ANN401
        if self._word_column is None:
            return number_rows(start, start + batch.num_rows)
        return to_words(batch.column(self._word_column), self.path, start)

    def _vectors(self, batch: Any, start: int) -> NDArray[np.float32]:  # noqa: ANN401
        columns = [batch.column(name) for name in self._vector_columns]
        if self._encoding is not None:
            codes = to_matrix(columns, self._encoding.width, self.path, start)
            scales = batch.column(SCALE)
            check_no_nulls(scales, self.path, start, SCALE)
            return self._encoding.decode(codes, scales.to_numpy())
        return as_float32(to_matrix(columns, self.dimension, self.path, start))


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


def to_words(column: Any, where: object, start: int) -> PackedWords:  # noqa: ANN401
    """Return the words of a column; errors give `where` and the row, counted from `start`."""
    arrow = import_pyarrow()
    check_no_nulls(column, where, start, "word")
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    # In two steps: a view of text is not cast to bytes at once.
    column = column.cast(arrow.large_string()).cast(arrow.large_binary())
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
    if not {_VECTOR, SCALE} <= set(schema.names) or len(set(schema.names)) != len(schema):
        return None
    field, scale = schema.field(_VECTOR), schema.field(SCALE)
    if not arrow.types.is_fixed_size_list(field.type) or scale.type != arrow.float32():
        return None
    bits = (field.metadata or {}).get(_BITS, b"")
    if field.type.value_type == arrow.int8():
        return Encoding("int8", field.type.list_size)
    if field.type.value_type == arrow.uint8() and bits.isdigit():
        found = Encoding("binary", int(bits))
        return found if found.width == field.type.list_size else None
    return None


def float_columns(schema: Any) -> tuple[list[str], list[str], list[str]]:  # noqa: ANN401
    """Return the names of the list columns of floats, of the columns of floats, and of integers.

    Scales of small numbers are no vectors.
    """
    types = import_pyarrow().types
    lists = [
        field.name
        for field in schema
        if (
            types.is_fixed_size_list(field.type)
            or types.is_list(field.type)
            or types.is_large_list(field.type)
            or is_list_view(field.type)
        )
        and types.is_floating(field.type.value_type)
    ]
    scale = SCALE if find_encoding(schema) else None
    floats = [
        field.name for field in schema if types.is_floating(field.type) and field.name != scale
    ]
    integers = [
        field.name
        for field in schema
        if types.is_integer(field.type) or types.is_decimal(field.type)
    ]
    return lists, floats, integers


def word_columns(schema: Any) -> list[str]:  # noqa: ANN401
    """Return the column of words: the only one of text, or the one with a usual name."""
    text = ("string", "large_string", "string_view")
    kinds = {field.name: getattr(field.type, "value_type", field.type) for field in schema}
    dictionary = import_pyarrow().types.is_dictionary
    names = [
        field.name
        for field in schema
        if str(kinds[field.name] if dictionary(field.type) else field.type) in text
    ]
    return [name for name in WORD_COLUMNS if name in names][:1] if len(names) > 1 else names


def choose_columns(
    path: object,
    schema: Any,  # noqa: ANN401
    *,
    wordless: bool = False,
) -> tuple[str | None, list[str]]:
    """Choose the column of words and the column or columns of vectors.

    With `wordless`, a table with one list column of floats need not have words: what text it has
    may be anything.
    """
    words = word_columns(schema)
    lists, numbers, integers = float_columns(schema)
    vectors = lists or ([_VECTOR] if find_encoding(schema) else numbers)
    if wordless and len(lists) == 1 and len(words) != 1:
        return None, lists
    if not lists and integers:
        raise InvalidInputError(
            f"{path}: {integers[0]} is a column of integers, the other dimensions are floats; make "
            "it floats if it belongs to the vectors, and leave it out if not"
        )
    if len(words) != 1 or not vectors or len(lists) > 1 or len(set(schema.names)) != len(schema):
        raise InvalidInputError(
            f"{path}: needs one column of words and one list column (or one column per "
            f"dimension) of floats; it has {', '.join(map(str, schema.names)) or 'no columns'}"
        )
    return words[0], vectors


def open_parquet(file: Any) -> Any:  # noqa: ANN401
    """Open a Parquet file to be read in small pieces.

    Without `pre_buffer=False` Arrow reads a whole row group before it returns the first rows, and
    without a buffer a whole column of it. With one it takes the memory that a damaged page asks
    for, so a small file is read without.
    """
    if isinstance(file, (str, os.PathLike)):
        size = os.path.getsize(file)
    else:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
    buffer = BLOCK_BYTES if size > _SMALL_FILE else 0
    return import_pyarrow().parquet.ParquetFile(file, buffer_size=buffer, pre_buffer=False)


Batches = Callable[[int], "Iterator[tuple[float, Any]]"]


@contextmanager
def _open_table(path: Path, file_format: str) -> Iterator[tuple[Any, Batches]]:
    """Yield the schema, and a function from a batch size to pairs of progress and batch."""
    arrow = import_pyarrow()
    if file_format == _PARQUET:
        with open_parquet(path) as table:

            def read_parquet(rows: int) -> Iterator[tuple[float, Any]]:
                done, total = 0, table.metadata.num_rows
                for batch in table.iter_batches(rows):
                    batch.validate(full=True)
                    done += batch.num_rows
                    yield done / max(total, 1), batch
                if done != total:
                    raise InvalidInputError(
                        f"{path}: {done} of {total} rows could be read; it is damaged, or was cut "
                        "while being read"
                    )

            yield table.schema_arrow, read_parquet
        return
    _check_batches(path)
    with arrow.OSFile(str(path)) as raw, arrow.ipc.open_file(raw) as file:

        def read_feather(rows: int) -> Iterator[tuple[float, Any]]:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                batch.validate(full=True)
                for start in range(0, batch.num_rows, rows):
                    yield (i + 1) / file.num_record_batches, batch.slice(start, rows)

        yield file.schema, read_feather


def _check_batches(path: Path) -> None:
    """Raise if a small Feather file unpacks to a large one: Arrow unpacks a batch at a time.

    Arrow tells nobody how large a batch becomes before it is unpacked, so its headers are read.
    """
    if path.stat().st_size > _SMALL_FILE:
        return
    with (
        path.open("rb") as file,
        mmap(file.fileno(), 0, access=ACCESS_READ) as data,
        suppress(struct.error),  # damaged; Arrow says where
    ):
        (length,) = struct.unpack_from("<i", data, len(data) - 10)
        footer = _FlatTable.root(data, len(data) - 10 - length)
        # Blocks of 24 bytes: the footer's field 2 is dictionaries, 3 is batches.
        blocks = chain(footer.items(2, 24), footer.items(3, 24))
        size = max((_unpacked_size(data, block) for block in blocks), default=0)
        if size > _LARGEST_BATCH:
            raise InvalidInputError(
                f"{path}: a batch of rows unpacks to {size} bytes, more than "
                f"{_LARGEST_BATCH} in so small a file; write it in smaller batches"
            )


class _FlatTable(NamedTuple):
    """A table in a flatbuffer (Arrow's File.fbs and Message.fbs), whose fields have numbers."""

    data: mmap
    at: int

    @classmethod
    def root(cls, data: mmap, start: int) -> _FlatTable:
        return cls(data, start + cls(data, start).number("I"))

    def number(self, kind: str, place: int = 0) -> int:
        return int(struct.unpack_from(f"<{kind}", self.data, self.at + place)[0])

    def place(self, index: int) -> int:
        """Return where a field is, counted from the table; 0 if it is missing."""
        layout, entry = -self.number("i"), 4 + 2 * index
        return self.number("H", layout + entry) if entry < self.number("H", layout) else 0

    def table(self, index: int) -> _FlatTable | None:
        place = self.place(index)
        return self.root(self.data, self.at + place) if place else None

    def items(self, index: int, size: int) -> range:
        """Return where the structures of a vector begin."""
        found = self.table(index)
        start = found.at + 4 if found else 0
        return range(start, start + size * (found.number("I") if found else 0), size)


def _unpacked_size(data: mmap, block: int) -> int:
    """Return how large a batch becomes if it is compressed: each buffer begins with its size."""
    start, head, _ = struct.unpack_from("<qi4xq", data, block)
    (mark,) = struct.unpack_from("<i", data, start)
    message = _FlatTable.root(data, start + (8 if mark == -1 else 4))
    batch = message.table(2)
    if batch and message.number("B", message.place(1)) == 2:  # of a dictionary
        batch = batch.table(1)
    if not batch or not batch.place(3):  # no rows, or not compressed
        return 0
    buffers = (struct.unpack_from("<qq", data, each) for each in batch.items(2, 16))
    sizes = (struct.unpack_from("<q", data, start + head + at)[0] for at, size in buffers if size)
    return sum(max(0, size) for size in sizes)


class ArrowWriter:
    """Writes chunks as row groups of a table `word: string, vector: fixed_size_list`.

    Small numbers have their scales in a third column.
    """

    def __init__(
        self, path: Path, file_format: str, encoding: Encoding, *, has_words: bool = True
    ) -> None:
        arrow = import_pyarrow()
        self._list = arrow.list_(arrow.from_numpy_dtype(encoding.stored), encoding.width)
        self._encoding = encoding
        bits = {_BITS: str(encoding.dimension)} if encoding.dtype == "binary" else None
        self._has_words = has_words
        fields = [("word", arrow.string())] if has_words else []
        fields.append(arrow.field(_VECTOR, self._list, metadata=bits))
        if encoding.has_scales:
            fields.append((SCALE, arrow.float32()))
        schema = arrow.schema(fields)
        self._schema = schema
        if file_format == _PARQUET:
            self._writer = arrow.parquet.ParquetWriter(
                path, schema, compression="none", use_dictionary=False, write_statistics=False
            )
        else:
            self._writer = arrow.ipc.new_file(str(path), schema)

    def encode(self, chunk: Chunk) -> Any:  # noqa: ANN401
        """Return a record batch without copying words or numbers."""
        arrow = import_pyarrow()
        check_finite(chunk, self._encoding.stored)
        words, vectors = chunk
        offsets = (words.offsets - words.offsets[0]).astype(np.int32)
        blob = words.blob[words.offsets[0] : words.offsets[-1]]
        text = arrow.StringArray.from_buffers(
            len(words), arrow.py_buffer(offsets), arrow.py_buffer(np.ascontiguousarray(blob))
        )
        codes, scales = self._encoding.encode(vectors, words)
        lists = arrow.FixedSizeListArray.from_arrays(
            arrow.array(codes.reshape(-1)), type=self._list
        )
        columns = [*([text] if self._has_words else []), lists, arrow.array(scales)]
        return arrow.RecordBatch.from_arrays(columns[: len(self._schema)], schema=self._schema)

    def write(self, batch: Any) -> None:  # noqa: ANN401
        """Append a batch."""
        self._writer.write_batch(batch)

    def finish(self, count: int) -> None:
        """Write the footer."""
        self._writer.close()

    def close(self) -> None:
        """Release the file, whatever happened."""
        self._writer.close()


def _make_format(name: str, magic: bytes, suffixes: tuple[str, ...]) -> Format:
    @contextmanager
    def open_writer(target: Target, dimension: int, count: int | None) -> Iterator[ArrowWriter]:
        encoding, has_words = Encoding(target.dtype, dimension), target.has_words
        with (
            replace_atomically(target.files[0]) as path,
            closing(ArrowWriter(path, name, encoding, has_words=has_words)) as writer,
        ):
            yield writer

    return Format(
        name=name,
        description="a word column, and a list column or one column for each dimension",
        recognise=starts_with(magic),
        open=lambda head, wordless: ArrowSource(head.path, name, wordless=wordless),
        open_writer=open_writer,
        suffixes=suffixes,
        dtypes=DTYPES,
        read_dtypes=("float64",),
        wordless=True,
    )


PARQUET = _make_format(_PARQUET, PARQUET_MAGIC, (".parquet",))
FEATHER = _make_format(_FEATHER, b"ARROW1", (".feather", ".arrow"))
