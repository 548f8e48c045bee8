"""Parquet and Arrow/Feather tables: labels, and a list column or one column per dimension."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from contextlib import closing, contextmanager, suppress
from itertools import chain
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically
from conceptor.vectors.formats.arrow_columns import (
    check_no_nulls,
    choose_columns,
    import_pyarrow,
    parquet_options,
    report_damage,
    to_matrix,
    to_words,
    vector_shape,
)
from conceptor.vectors.formats.encoding import DTYPES, SCALE, Encoding
from conceptor.vectors.formats.format import Format, starts_with
from conceptor.vectors.formats.npy import as_float32
from conceptor.vectors.rows import LABELS
from conceptor.vectors.source import (
    BLOCK_BYTES,
    Chunk,
    LocatedChunk,
    VectorSource,
    number_rows,
)
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.columns import Asked
    from conceptor.vectors.formats.arrow_writer import ArrowWriter, TableWriter
    from conceptor.vectors.target import Target
    from conceptor.vectors.words import PackedWords

_PARQUET = "parquet"
_FEATHER = "feather"
PARQUET_MAGIC = b"PAR1"
# Below this size of a file nothing in it may take more than `_LARGEST_BATCH` bytes of memory.
_SMALL_FILE = 64 << 20
_LARGEST_BATCH = 256 << 20
# So many rows of other columns are read at a time.
_ROWS_BESIDE = 1 << 14


class ArrowSource(VectorSource):
    """Reads a batch of rows at a time."""

    def __init__(
        self, path: Path, file_format: str, *, wordless: bool = False, column: Asked = None
    ) -> None:
        self.format = file_format
        self._fraction = 0.0
        with report_damage(path), open_table(path, file_format) as (schema, batches):

            def first_rows(names: list[str], rows: int = LABELS) -> Any:  # noqa: ANN401
                return next(batches(rows, names), (0.0, None))[1]

            self.schema = schema
            self.columns = choose_columns(path, schema, first_rows, column, wordless=wordless)
            self.has_words = self.columns.label is not None
            vectors = self.columns.vectors
            dimension, dtype = vector_shape(schema, vectors, lambda: first_rows(vectors, 1))
            if self.columns.encoding is not None:
                dimension = self.columns.encoding.dimension
            if dimension is None:
                raise InvalidInputError(f"{path}: contains no vectors, or the first is missing")
        super().__init__(path, dimension, dtype)

    def fraction_read(self) -> float | None:
        """Return how far the current pass has got."""
        return self._fraction

    @contextmanager
    def other_columns(
        self, file_format: str
    ) -> Iterator[tuple[list[str], Iterator[Any], dict[str, Any]]]:
        """Yield the columns that hold no vectors, their batches, and how to write a file."""
        names = [name for name in self.schema.names if name not in self.columns.replaced]
        options: dict[str, Any] = {}
        if file_format == self.format == _PARQUET:
            with open_parquet(self.path) as table:
                options = parquet_options(table, self.columns.vectors)
        with report_damage(self.path), open_table(self.path, self.format) as (_, batches):
            yield names, (batch.select(names) for _, batch in batches(_ROWS_BESIDE, names)), options

    def _decode(self) -> Iterator[LocatedChunk]:
        start = 0
        rows = max(1, BLOCK_BYTES // (4 * self.dimension))
        columns = self.columns
        names = [*columns.vectors, *([SCALE] if columns.encoding else [])]
        names += [columns.label] if columns.label and columns.label not in names else []
        is_text = self.kind is RowKind.TEXTS
        with report_damage(self.path), open_table(self.path, self.format) as (_, batches):
            for self._fraction, batch in batches(rows, names):
                words = self._words(batch, start, may_miss=is_text)
                chunk = Chunk(words, self._vectors(batch, start))
                yield LocatedChunk(chunk, np.arange(start + 1, start + batch.num_rows + 1))
                start += batch.num_rows

    def _first_labels(self) -> Sequence[str] | None:
        label = self.columns.label or ""
        with report_damage(self.path), open_table(self.path, self.format) as (_, batches):
            _, batch = next(batches(LABELS, [label]), (0.0, None))
            return [] if batch is None else self._words(batch, 0, may_miss=True)

    def _words(self, batch: Any, start: int, *, may_miss: bool) -> PackedWords:  # noqa: ANN401
        if self.columns.label is None:
            return number_rows(start, start + batch.num_rows)
        return to_words(batch.column(self.columns.label), self.path, start, may_miss=may_miss)

    def _vectors(self, batch: Any, start: int) -> NDArray[np.float32]:  # noqa: ANN401
        columns = [batch.column(name) for name in self.columns.vectors]
        encoding = self.columns.encoding
        if encoding is not None:
            codes = to_matrix(columns, encoding.width, self.path, start)
            scales = batch.column(SCALE)
            check_no_nulls(scales, self.path, start, SCALE)
            return encoding.decode(codes, scales.to_numpy())
        return as_float32(to_matrix(columns, self.dimension, self.path, start))


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


# From a batch size and names of columns to pairs of progress and batch.
Batches = Callable[[int, list[str]], "Iterator[tuple[float, Any]]"]


@contextmanager
def open_table(path: Path, file_format: str) -> Iterator[tuple[Any, Batches]]:
    """Yield the schema, and a function that reads batches."""
    arrow = import_pyarrow()
    if file_format == _PARQUET:
        with open_parquet(path) as table:

            def read_parquet(rows: int, names: list[str]) -> Iterator[tuple[float, Any]]:
                done, total = 0, table.metadata.num_rows
                for batch in table.iter_batches(rows, columns=names):
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

        def read_feather(rows: int, names: list[str]) -> Iterator[tuple[float, Any]]:
            fields = [file.schema.get_field_index(name) for name in names]
            some = arrow.ipc.open_file(
                raw, options=arrow.ipc.IpcReadOptions(included_fields=fields)
            )
            for i in range(some.num_record_batches):
                batch = some.get_batch(i)
                batch.validate(full=True)
                for start in range(0, batch.num_rows, rows):
                    yield (i + 1) / some.num_record_batches, batch.slice(start, rows)

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


def _make_format(name: str, magic: bytes, suffixes: tuple[str, ...]) -> Format:
    @contextmanager
    def open_writer(
        target: Target, dimension: int, count: int | None
    ) -> Iterator[ArrowWriter | TableWriter]:
        from conceptor.vectors.formats.arrow_writer import ArrowWriter, TableWriter

        encoding, source = Encoding(target.dtype, dimension), target.source
        with replace_atomically(target.files[0]) as path:
            writer: ArrowWriter | TableWriter
            if isinstance(source, ArrowSource):
                writer = TableWriter(path, name, source, encoding, cast=target.casts)
            else:
                is_text = source is not None and source.kind is RowKind.TEXTS
                label = "text" if is_text else "word"
                writer = ArrowWriter(path, name, encoding, label if target.has_words else None)
            with closing(writer):
                yield writer

    return Format(
        name=name,
        description="a column of words or texts, and a list column or one column per dimension",
        recognise=starts_with(magic),
        open=lambda head, wordless: ArrowSource(head.path, name, wordless=wordless),
        open_column=lambda head, wordless, column: ArrowSource(
            head.path, name, wordless=wordless, column=column
        ),
        open_writer=open_writer,
        suffixes=suffixes,
        dtypes=DTYPES,
        read_dtypes=("float64",),
        wordless=True,
    )


PARQUET = _make_format(_PARQUET, PARQUET_MAGIC, (".parquet",))
FEATHER = _make_format(_FEATHER, b"ARROW1", (".feather", ".arrow"))
