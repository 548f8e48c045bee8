"""Moments of shards on a cluster: tasks sum rows, and a tree of tasks adds the sums."""

from __future__ import annotations

from contextlib import closing, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dask.array import Array as DaskArray
from dask.delayed import delayed

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread, prefetch
from conceptor.distributed.arrays import sum_array
from conceptor.distributed.cluster import Tally
from conceptor.distributed.content import Need, check_finite
from conceptor.distributed.gathering import (
    PartialSum,
    parse_row_weights,
    require_moments,
    sum_tree,
)
from conceptor.distributed.shards import Shard, find_shards
from conceptor.distributed.survey import Failure, attempt, group_by_size, sum_rows, survey
from conceptor.weights import FrequentWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from conceptor.algebra.moments import Moments
    from conceptor.base.progress import Progress
    from conceptor.distributed.cluster import Reporter
    from conceptor.distributed.content import Layout, Rows
    from conceptor.distributed.shards import Paths
    from conceptor.weights import Weights

    WeightsLike = str | Weights | Mapping[str, float] | npt.ArrayLike | DaskArray


def moments(
    source: DaskArray | Paths,
    weights: WeightsLike = "uniform",
    *,
    vocabulary: object = None,
    column: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    unit: bool = False,
    progress: Progress = silent,
) -> Moments:
    """Compute moments on a cluster; equal to `Moments.from_vectors` up to rounding.

    The tree of additions depends only on the shards, so the result is the same to the last bit for
    any number of workers, even if some of them die.

    Parameters
    ----------
    source
        A Dask array with one vector per row; or Parquet, `.npy`, word2vec or GloVe files: one
        file, a directory, a pattern or a list, on any file system that fsspec supports.
    weights
        Row weights: `uniform`; `column:NAME`, a column of the Parquet files; `zipf`, by rank
        across all shards in order; or anything else `parse_weights` takes. For a Dask array:
        `uniform`, `zipf`, or an array with one number per row.
    vocabulary
        Which rows to use, as for `parse_weights`; rows of a Parquet file are matched by its word
        column.
    column
        The list column that holds the vectors, if there are several; or a pattern for tables with
        one column per dimension.
    storage_options
        Passed to fsspec.
    unit
        Scale every vector to length 1 first, as `cn` does.
    progress
        Called as the work proceeds.
    """
    if isinstance(source, DaskArray):
        return require_moments(sum_array(source, weights, progress, unit=unit))
    shards = find_shards(source, column, storage_options)
    weighting = parse_row_weights(weights, vocabulary, unit=unit)
    layouts = survey(shards, count=weighting.by_rank)
    return require_moments(gather(shards, layouts, weighting, progress))


class Piece(NamedTuple):
    """Rows of a shard between two cuts, and how many rows precede them across all shards."""

    shard: Shard
    start: int
    stop: int | None
    before: int
    size: int

    @property
    def rows(self) -> int | None:
        """Number of rows, None if unknown."""
        return None if self.stop is None else self.stop - self.start


def gather(
    shards: Sequence[Shard],
    layouts: Sequence[Layout | Failure],
    weighting: Weights,
    progress: Progress,
    *,
    frequent: bool = False,
) -> PartialSum:
    """Add up the moments of the readable shards; also collect `frequent` words if requested."""
    groups = group_by_size(_pieces(shards, layouts, weighting), lambda piece: piece.size)
    rows = [sum_rows(piece.rows for piece in group) for group in groups]
    tally = Tally("moments", rows, progress)
    # Once in the graph, not once per task: there may be counts for millions of words.
    shared = delayed(weighting, pure=False, traverse=False)
    sum_ = sum_tree(
        [
            delayed(_sum_pieces, pure=False)(group, shared, tally.reporter(unit), frequent)
            for unit, group in enumerate(groups)
        ],
        tally,
    )
    early = tuple(each for each in layouts if isinstance(each, Failure))
    return PartialSum(sum_.moments, early + sum_.failures, sum_.frequent)


def _pieces(
    shards: Sequence[Shard], layouts: Sequence[Layout | Failure], weighting: Weights
) -> Iterator[Piece]:
    before = 0
    for shard, layout in zip(shards, layouts, strict=True):
        if isinstance(layout, Failure):
            continue
        if layout.rows is None:
            yield Piece(shard, 0, None, before, shard.size)
            continue
        cuts = [
            Piece(shard, start, stop, before + start, (stop - start) * layout.row_bytes)
            for start, stop in pairwise(layout.cuts)
        ]
        for span in group_by_size(cuts, lambda piece: piece.size):
            whole = span[0]._replace(stop=span[-1].stop, size=sum(piece.size for piece in span))
            if weighting.top is None or whole.before < weighting.top:
                yield whole
        before += layout.rows


def _sum_pieces(
    group: Sequence[Piece], weighting: Weights, reporter: Reporter, frequent: bool
) -> PartialSum:
    """Add up a few pieces, one after another (runs as a task)."""
    sum_ = PartialSum()
    # One BLAS thread per worker thread: there are already as many of those as processors.
    with one_blas_thread():
        for piece in group:
            result = attempt(_sum_piece, piece.shard, piece, weighting, reporter, frequent)
            part = PartialSum(None, (result,)) if isinstance(result, Failure) else result
            sum_ = sum_.plus(part)
    return sum_


def _sum_piece(
    shard: Shard, piece: Piece, weighting: Weights, reporter: Reporter, frequent: bool
) -> PartialSum:
    sum_ = PartialSum()
    need = Need(weighting.by_word or frequent, weighting.column)
    done = 0
    with closing(prefetch(shard.content.read(piece.start, piece.stop, need))) as batches:
        for rows in batches:
            with _locate_errors(rows, shard, piece.start + done):
                before = piece.before + done
                part = weighting.moments(rows.words, rows.vectors, before, rows.weights)
            often = None
            if frequent:
                often = FrequentWords.of(weighting, rows.words, before, given=rows.weights)
            sum_ = sum_.plus(PartialSum(part, (), often))
            done += len(rows.vectors)
            reporter(done)
    reporter.finish_shard(done)
    return sum_


@contextmanager
def _locate_errors(rows: Rows, shard: Shard, start: int) -> Iterator[None]:
    """Add the shard and row to an error's message."""
    try:
        yield
    except InvalidInputError as error:
        check_finite(rows.vectors, shard.place, start)
        last = start + len(rows.vectors)
        raise InvalidInputError(f"{shard.place}, rows {start + 1} to {last}: {error}") from None
