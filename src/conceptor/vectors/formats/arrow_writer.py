"""Writing tables: labels and vectors, or a table again with other vectors in it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.formats.arrow_columns import (
    BITS,
    VECTOR,
    import_pyarrow,
    is_list,
    output_schema,
    vector_arrays,
)
from conceptor.vectors.formats.encoding import SCALE, Encoding
from conceptor.vectors.source import check_finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from conceptor.vectors.formats.arrow import ArrowSource
    from conceptor.vectors.source import Chunk

PARQUET = "parquet"


def _open_file(path: Path, file_format: str, schema: Any, options: dict[str, Any]) -> Any:  # noqa: ANN401
    arrow = import_pyarrow()
    if file_format == PARQUET:
        return arrow.parquet.ParquetWriter(path, schema, **options)
    return arrow.ipc.new_file(str(path), schema)


def _encoded_field(encoding: Encoding) -> Any:  # noqa: ANN401
    """Return the field of vectors of fixed length; that of bits says how many they are."""
    arrow = import_pyarrow()
    kind = arrow.list_(arrow.from_numpy_dtype(encoding.stored), encoding.width)
    bits = {BITS: str(encoding.dimension)} if encoding.dtype == "binary" else None
    return arrow.field(VECTOR, kind, metadata=bits)


class ArrowWriter:
    """Writes chunks as row groups of a table `word: string, vector: fixed_size_list`.

    `label` is the name of the first column, without which rows are written alone. Small numbers
    have their scales in a third column.
    """

    def __init__(
        self, path: Path, file_format: str, encoding: Encoding, label: str | None = "word"
    ) -> None:
        arrow = import_pyarrow()
        self._encoding = encoding
        self._has_words = label is not None
        fields: list[Any] = [(label, arrow.string())] if label is not None else []
        fields.append(_encoded_field(encoding))
        if encoding.has_scales:
            fields.append((SCALE, arrow.float32()))
        self._schema = arrow.schema(fields)
        self._list = self._schema.field(VECTOR).type
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        self._writer = _open_file(path, file_format, self._schema, plain)

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


class TableWriter:
    """Writes a table again, with other vectors in the columns that hold them.

    All other columns are read from the source once more, beside the rows that are written.
    """

    def __init__(
        self, path: Path, file_format: str, source: ArrowSource, encoding: Encoding, *, cast: bool
    ) -> None:
        self._encoding, self._columns = encoding, source.columns.vectors
        self._schema = _table_schema(source, encoding, cast=cast)
        with ExitStack() as stack:
            names, batches, options = stack.enter_context(source.other_columns(file_format))
            self._others = _Others(names, batches, source.gone)
            writer = _open_file(path, file_format, self._schema, options)
            self._writer = stack.enter_context(writer)
            self._stack = stack.pop_all()

    def encode(self, chunk: Chunk) -> tuple[int, dict[str, Any]]:
        """Return the number of rows, and the columns of vectors."""
        arrow = import_pyarrow()
        words, vectors = chunk
        if self._encoding.has_scales:
            check_finite(chunk, self._encoding.stored)
            codes, scales = self._encoding.encode(vectors, words)
            kind = self._schema.field(VECTOR).type
            lists = arrow.FixedSizeListArray.from_arrays(arrow.array(codes.reshape(-1)), type=kind)
            return len(words), {VECTOR: lists, SCALE: arrow.array(scales)}
        kind = self._schema.field(self._columns[0]).type
        stored = np.dtype((kind.value_type if is_list(kind) else kind).to_pandas_dtype())
        check_finite(chunk, stored)
        if stored == np.float16:
            vectors, _ = Encoding("float16", vectors.shape[1]).encode(vectors, words)
        return len(words), vector_arrays(self._columns, vectors, self._schema)

    def write(self, encoded: tuple[int, dict[str, Any]]) -> None:
        """Append rows: the new vectors, and what the other columns hold beside them."""
        arrow = import_pyarrow()
        rows, new = encoded
        others = self._others.take(rows)
        arrays = [new[name] if name in new else others[name] for name in self._schema.names]
        table = arrow.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, max(1, rows))

    def finish(self, count: int) -> None:
        """Write the footer."""
        self.close()

    def close(self) -> None:
        """Release both files, whatever happened."""
        self._stack.close()


def _table_schema(source: ArrowSource, encoding: Encoding, *, cast: bool) -> Any:  # noqa: ANN401
    """Return the schema of a table with other vectors; `cast` gives their numbers another type."""
    arrow = import_pyarrow()
    schema, (first, *more) = source.schema, source.columns.vectors
    if source.columns.encoding:
        schema = schema.remove(schema.get_field_index(SCALE))
    if not (encoding.has_scales or source.columns.encoding):
        value = arrow.from_numpy_dtype(encoding.stored) if cast else None
        return output_schema(schema, [first, *more], encoding.dimension, source.path, value)
    for name in more:
        schema = schema.remove(schema.get_field_index(name))
    for name in {VECTOR, SCALE} & ({*schema.names} - {first}):
        raise InvalidInputError(
            f"{source.path}: has a column {name!r}, which {encoding.dtype} needs for itself; "
            "rename it"
        )
    schema = schema.set(schema.get_field_index(first), _encoded_field(encoding))
    return schema.append(arrow.field(SCALE, arrow.float32())) if encoding.has_scales else schema


class _Others:
    """Reads columns from beginning to end, without the rows that a pass over the vectors dropped.

    `gone` grows while that pass goes on; it is ahead of what is taken here.
    """

    def __init__(self, names: Sequence[str], batches: Iterator[Any], gone: list[int]) -> None:
        self._names, self._batches, self._gone = names, batches, gone
        self._batch: Any = None
        self._at = self._place = self._dropped = 0

    def take(self, count: int) -> dict[str, Any]:
        """Return the next rows by column."""
        arrow = import_pyarrow()
        parts: list[Any] = []
        while count and self._names:
            left = self._rows_left()
            is_known = self._dropped < len(self._gone)
            before = self._gone[self._dropped] - self._place - 1 if is_known else left
            if before == 0:
                self._dropped += 1
                self._move(1)
                continue
            size = min(count, left, before)
            parts.append(self._batch.slice(self._at, size))
            self._move(size)
            count -= size
        if not self._names:
            return {}
        table = arrow.Table.from_batches(parts)
        return {name: table.column(name) for name in self._names}

    def _rows_left(self) -> int:
        while self._batch is None or self._at == self._batch.num_rows:
            self._batch, self._at = next(self._batches), 0
        return int(self._batch.num_rows - self._at)

    def _move(self, rows: int) -> None:
        self._at += rows
        self._place += rows
