"""Moments of shards on a cluster: each task sums up some rows, a tree of tasks adds the sums."""

from __future__ import annotations

from contextlib import closing, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dask.array import Array as DaskArray
from threadpoolctl import threadpool_limits

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import prefetch
from conceptor.distributed.arrays import moments_of_array
from conceptor.distributed.cluster import Tally, delayed
from conceptor.distributed.content import check_finite
from conceptor.distributed.gathering import PartialSum, RowWeights, complete, total
from conceptor.distributed.shards import Shard, find_shards
from conceptor.distributed.survey import Failure, attempted, packed, rows_in, survey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from conceptor.algebra.moments import Moments
    from conceptor.base.progress import Progress
    from conceptor.distributed.cluster import Teller
    from conceptor.distributed.content import Layout, Rows
    from conceptor.distributed.shards import Paths
    from conceptor.weights import Weights as WordWeights

    Weights = str | WordWeights | Mapping[str, float] | npt.ArrayLike | DaskArray


def moments(
    source: DaskArray | Paths,
    weights: Weights = "uniform",
    *,
    vocabulary: object = None,
    column: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Moments:
    """Return the moments of vectors on a cluster; the same as `Moments.from_vectors` to rounding.

    The tree of additions depends on the shards only, so that the result is the same to the last
    bit however many workers there are, and whichever of them die on the way.

    Parameters
    ----------
    source
        A Dask array with one vector a row; or Parquet, `.npy` or word2vec and GloVe files: one,
        a directory of them, a pattern or a list, on any file system that fsspec knows.
    weights
        What rows weigh: `uniform`; `column:NAME`, by a column of the Parquet files; `zipf`, by
        their rank, counted through all shards in order; anything else `parse_weights` takes. Of a
        Dask array: `uniform`, `zipf`, or an array with a number for each row.
    vocabulary
        Which rows take part, as for `parse_weights`; those of a Parquet file go by its column of
        words.
    column
        The list column that holds the vectors, where there are several; or a pattern that matches
        the columns of the dimensions.
    storage_options
        Passed on to fsspec.
    progress
        Called as work goes on.
    """
    if isinstance(source, DaskArray):
        return complete(moments_of_array(source, weights, progress))
    shards = find_shards(source, column, storage_options)
    weighting = RowWeights.from_choice(weights, vocabulary)
    layouts = survey(shards, count=weighting.by_rank)
    return complete(gather(shards, layouts, weighting, progress))


class Piece(NamedTuple):
    """Rows of a shard between two of its cuts, and how many come before in all shards."""

    shard: Shard
    start: int
    stop: int | None
    before: int
    size: int

    @property
    def rows(self) -> int | None:
        """How many they are, where that is known."""
        return None if self.stop is None else self.stop - self.start


def gather(
    shards: Sequence[Shard],
    layouts: Sequence[Layout | Failure],
    weighting: RowWeights,
    progress: Progress,
) -> PartialSum:
    """Sum up the shards that can be read."""
    packs = packed(_pieces(shards, layouts, weighting), lambda piece: piece.size)
    tally = Tally("moments", [rows_in(piece.rows for piece in pack) for pack in packs], progress)
    # Once in the graph, not once in every task: counts may be of millions of words.
    shared = delayed(weighting, pure=False, traverse=False)
    sum_ = total(
        [
            delayed(_of_pieces, pure=False)(pack, shared, tally.teller(unit))
            for unit, pack in enumerate(packs)
        ],
        tally,
    )
    early = tuple(each for each in layouts if isinstance(each, Failure))
    return PartialSum(sum_.moments, early + sum_.failures)


def _pieces(
    shards: Sequence[Shard], layouts: Sequence[Layout | Failure], weighting: RowWeights
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
        for span in packed(cuts, lambda piece: piece.size):
            whole = span[0]._replace(stop=span[-1].stop, size=sum(piece.size for piece in span))
            if weighting.weights.top is None or whole.before < weighting.weights.top:
                yield whole
        before += layout.rows


def _of_pieces(pack: Sequence[Piece], weighting: RowWeights, teller: Teller) -> PartialSum:
    """Sum up a few pieces, one after another; a task."""
    sum_ = PartialSum()
    # One BLAS thread for each of the worker's: there are as many of these as processors.
    with threadpool_limits(1):
        for piece in pack:
            result = attempted(_of_piece, piece.shard, piece, weighting, teller)
            part = (
                PartialSum(None, (result,)) if isinstance(result, Failure) else PartialSum(result)
            )
            sum_ = sum_.plus(part)
    return sum_


def _of_piece(shard: Shard, piece: Piece, weighting: RowWeights, teller: Teller) -> Moments | None:
    sum_ = PartialSum()
    done = 0
    with closing(prefetch(shard.content.read(piece.start, piece.stop, weighting.need))) as batches:
        for rows in batches:
            with _placed(rows, shard, piece.start + done):
                part = weighting.moments_of(rows, piece.before + done)
            sum_ = sum_.plus(PartialSum(part))
            done += len(rows.vectors)
            teller(done)
    teller.shard_done(done)
    return sum_.moments


@contextmanager
def _placed(rows: Rows, shard: Shard, start: int) -> Iterator[None]:
    """Name the shard and the row of what is wrong."""
    try:
        yield
    except InvalidInputError as error:
        check_finite(rows.vectors, shard.place, start)
        last = start + len(rows.vectors)
        raise InvalidInputError(f"{shard.place}, rows {start + 1} to {last}: {error}") from None
