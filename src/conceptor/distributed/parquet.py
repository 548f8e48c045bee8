"""Parquet shards: vectors in a list column, or in one column per dimension.

All other columns, the schema, its metadata, compression and dictionaries are kept.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.parquet

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.distributed.content import Layout, Need, Rows, batch_rows, empty_words, map_rows
from conceptor.vectors.formats.arrow import (
    check_no_nulls,
    float_columns,
    is_list_view,
    open_parquet,
    report_damage,
    to_matrix,
    to_words,
    vector_shape,
    word_columns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.arrays import Array
    from conceptor.distributed.storage import Place


class _Vectors(NamedTuple):
    """Which columns of a table hold the vectors."""

    columns: list[str]
    dimension: int | None
    itemsize: int


class ParquetContent:
    """A Parquet file, read a few row groups (or part of one) at a time."""

    def __init__(self, place: Place, column: str | None = None) -> None:
        self._place = place
        self._column = column

    @contextmanager
    def _open(self) -> Iterator[Any]:
        local = nullcontext(self._place.path) if self._place.is_local else None
        with (
            report_damage(self._place),
            local or self._place.open() as file,
            open_parquet(file) as table,
        ):
            yield table

    def layout(self) -> Layout:
        """Read the footer; the shard splits at row groups."""
        with self._open() as table:
            found = self._vectors(table, Need())
            data = table.metadata
            groups = [data.row_group(i) for i in range(data.num_row_groups)]
            stored = sum(group.total_byte_size for group in groups)
            cuts = tuple(accumulate((group.num_rows for group in groups), initial=0))
            row_bytes = max(
                (found.dimension or 0) * found.itemsize, stored // max(1, data.num_rows)
            )
            return Layout(data.num_rows, found.dimension, row_bytes, cuts)

    def read(self, start: int, stop: int | None, need: Need) -> Iterator[Rows]:
        """Yield rows, reading only the columns that are needed."""
        with self._open() as table:
            found = self._vectors(table, need)
            words = self._word_column(table.schema_arrow) if need.words else None
            apart = [name for name in (words, need.weights) if name is not None]
            for batch in _batches(table, start, stop, found, [*found.columns, *apart]):
                vectors = self._matrix(batch, found, start)
                weights = None
                if need.weights is not None:
                    weights = self._weights(batch.column(need.weights), start)
                text = empty_words(len(vectors))
                if words is not None:
                    text = to_words(batch.column(words), self._place, start)
                yield Rows(vectors, text, weights)
                start += len(vectors)

    def rewrite(self, map_: AffineMap, path: Path, report: Callable[[int], None]) -> int:
        """Write the table with its vectors mapped, one row group per batch."""
        done = 0
        with self._open() as table:
            found = self._vectors(table, Need())
            schema = _output_schema(table.schema_arrow, found.columns, map_.n_out, self._place)
            options = _writer_options(table, found.columns)
            with pyarrow.parquet.ParquetWriter(path, schema, **options) as writer:
                words = None if map_.lengths is None else self._word_column(table.schema_arrow)
                for batch in _batches(table, 0, None, found, None):
                    text = None
                    if words is not None:
                        text = to_words(batch.column(words), self._place, done)
                    matrix = self._matrix(batch, found, done)
                    image = map_rows(map_, matrix, self._place, done, text)
                    writer.write_batch(_replace_vectors(batch, found.columns, image, schema))
                    done += batch.num_rows
                    report(done)
        return done

    def _matrix(self, batch: Any, found: _Vectors, start: int) -> Array:  # noqa: ANN401
        columns = [batch.column(name) for name in found.columns]
        return to_matrix(columns, found.dimension or 0, self._place, start)

    def _weights(self, column: Any, start: int) -> Array:  # noqa: ANN401
        check_no_nulls(column, self._place, start, "weight")
        weights: Array = column.to_numpy(zero_copy_only=False).astype(np.float64)
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(wrong):
            raise InvalidInputError(
                f"{self._place}, row {start + wrong[0] + 1}: the weight is {weights[wrong[0]]}; "
                "it must be finite and not negative"
            )
        return weights

    def _vectors(self, table: Any, need: Need) -> _Vectors:  # noqa: ANN401
        columns = self._vector_columns(table.schema_arrow, need)
        dimension, dtype = vector_shape(
            table.schema_arrow, columns, lambda: next(table.iter_batches(1, columns=columns), None)
        )
        return _Vectors(columns, dimension, dtype.itemsize)

    def _vector_columns(self, schema: Any, need: Need) -> list[str]:  # noqa: ANN401
        """Return the list column, or the column of each dimension, that hold the vectors."""
        lists, numbers, integers = (
            [
                name
                for name in found
                if name != need.weights and fnmatchcase(name, self._column or "*")
            ]
            for found in float_columns(schema)
        )
        names = schema.names
        if need.weights is not None and need.weights not in names:
            raise InvalidInputError(
                f"{self._place}: no column {need.weights!r} for the weights; its columns are "
                f"{', '.join(names)}"
            )
        if len(lists) > 1 or not (lists or numbers) or len(set(names)) != len(names):
            found = "several" if len(lists) > 1 else "no"
            matching = "" if self._column is None else f" matching {self._column!r}"
            raise InvalidInputError(
                f"{self._place}: found {found} columns of vectors{matching} among "
                f"{', '.join(names)}; name one list column of floats, or a pattern for one column "
                "per dimension, with ",
                Setting("column", "NAME"),
            )
        if self._column is not None and not lists and integers:
            raise InvalidInputError(
                f"{self._place}: {integers[0]} matches {self._column!r} but is a column of "
                "integers; name only columns of floats with ",
                Setting("column", "PATTERN"),
            )
        return lists or numbers

    def _word_column(self, schema: Any) -> str:  # noqa: ANN401
        words = word_columns(schema)
        if len(words) != 1:
            raise InvalidInputError(
                f"{self._place}: cannot tell which column holds the words; name it 'word'"
            )
        return words[0]


def _batches(
    table: Any,  # noqa: ANN401
    start: int,
    stop: int | None,
    found: _Vectors,
    columns: list[str] | None,
) -> Iterator[Any]:
    """Yield batches from the row groups between two cuts."""
    data = table.metadata
    sizes = [data.row_group(i).num_rows for i in range(data.num_row_groups)]
    bounds = pairwise(accumulate(sizes, initial=0))
    end = data.num_rows if stop is None else stop
    groups = [i for i, (low, high) in enumerate(bounds) if start <= low and high <= end]
    rows = batch_rows((found.dimension or 1) * found.itemsize)
    for batch in table.iter_batches(rows, row_groups=groups, columns=columns):
        batch.validate(full=True)
        if batch.num_rows:
            yield batch


def _output_schema(schema: Any, columns: list[str], n_out: int, place: Place) -> Any:  # noqa: ANN401
    """Return the schema of the mapped table: the same except for the length of the vectors."""
    kind = schema.field(columns[0]).type
    if pyarrow.types.is_floating(kind):
        if n_out > len(columns):
            raise InvalidInputError(
                f"{place}: {len(columns)} columns cannot hold vectors of length {n_out}"
            )
        for name in columns[n_out:]:
            schema = schema.remove(schema.get_field_index(name))
    elif is_list_view(kind):
        position = schema.get_field_index(columns[0])
        plain = schema.field(position).with_type(pyarrow.list_(kind.value_field))
        schema = schema.set(position, plain)
    elif pyarrow.types.is_fixed_size_list(kind) and kind.list_size != n_out:
        position = schema.get_field_index(columns[0])
        longer = schema.field(position).with_type(pyarrow.list_(kind.value_field, n_out))
        schema = schema.set(position, longer)
    return schema


def _replace_vectors(
    batch: Any,  # noqa: ANN401
    columns: list[str],
    image: Array,
    schema: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    kind = schema.field(columns[0]).type
    if pyarrow.types.is_floating(kind):
        new = {name: pyarrow.array(image[:, i]) for i, name in enumerate(columns[: image.shape[1]])}
    else:
        flat = pyarrow.array(image.reshape(-1))
        if pyarrow.types.is_fixed_size_list(kind):
            lists = pyarrow.FixedSizeListArray.from_arrays(flat, type=kind)
        else:
            large = pyarrow.types.is_large_list(kind)
            made = pyarrow.LargeListArray if large else pyarrow.ListArray
            kept = np.int64 if large else np.int32
            offsets = np.arange(0, image.size + 1, image.shape[1]).astype(kept)
            lists = made.from_arrays(offsets, flat, type=kind)
        new = {columns[0]: lists}
    arrays = [new[name] if name in new else batch.column(name) for name in schema.names]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _writer_options(table: Any, columns: list[str]) -> dict[str, Any]:  # noqa: ANN401
    """Return the options the table was written with, so that the output uses the same.

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
