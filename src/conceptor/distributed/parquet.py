"""Parquet shards: vectors in a list column, or in one column per dimension.

All other columns, the schema, its metadata, compression and dictionaries are kept.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.parquet

from conceptor.base.errors import InvalidInputError
from conceptor.distributed.content import Layout, Need, Rows, batch_rows, empty_words, map_rows
from conceptor.vectors.columns import choose_vectors, refuse_label
from conceptor.vectors.formats.arrow import open_parquet
from conceptor.vectors.formats.arrow_columns import (
    VECTOR,
    check_no_nulls,
    describe_columns,
    find_encoding,
    find_label,
    output_schema,
    parquet_options,
    refuse_encoding,
    report_damage,
    to_matrix,
    to_words,
    vector_arrays,
    vector_shape,
)
from conceptor.vectors.rows import LABELS

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
            words = self._word_column(table) if need.words else None
            apart = [name for name in (words, need.weights) if name is not None]
            for batch in _batches(table, start, stop, found, [*found.columns, *apart]):
                vectors = self._matrix(batch, found, start)
                weights = None
                if need.weights is not None:
                    weights = self._weights(batch.column(need.weights), start)
                text = empty_words(len(vectors))
                if words is not None:
                    text = to_words(batch.column(words), self._place, start, may_miss=True)
                yield Rows(vectors, text, weights)
                start += len(vectors)

    def rewrite(self, map_: AffineMap, path: Path, report: Callable[[int], None]) -> int:
        """Write the table with its vectors mapped, one row group per batch."""
        done = 0
        with self._open() as table:
            found = self._vectors(table, Need())
            schema = output_schema(table.schema_arrow, found.columns, map_.n_out, self._place)
            options = parquet_options(table, found.columns)
            with pyarrow.parquet.ParquetWriter(path, schema, **options) as writer:
                words = None if map_.lengths is None else self._word_column(table)
                for batch in _batches(table, 0, None, found, None):
                    text = None
                    if words is not None:
                        text = to_words(batch.column(words), self._place, done)
                    matrix = self._matrix(batch, found, done)
                    image = map_rows(map_, matrix, self._place, done, text)
                    new = vector_arrays(found.columns, image, schema)
                    arrays = [new.get(name, batch.column(name)) for name in schema.names]
                    writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
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
        if need.weights is not None and need.weights not in schema.names:
            raise InvalidInputError(
                f"{self._place}: no column {need.weights!r} for the weights; its columns are "
                f"{', '.join(schema.names)}"
            )
        columns = [each for each in describe_columns(schema) if each.name != need.weights]
        found: list[Any] = choose_vectors(self._place, columns, self._column)
        if found == [VECTOR]:
            refuse_encoding(self._place, find_encoding(schema))
        return found

    def _word_column(self, table: Any) -> str:  # noqa: ANN401
        columns = describe_columns(table.schema_arrow)
        found = find_label(
            columns, lambda names: next(table.iter_batches(LABELS, columns=names), None)
        )
        if found is None:
            raise refuse_label(self._place, columns)
        return found


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
