"""Moments on a cluster: each task sums up some rows, and a tree of tasks adds the sums."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from dask.array import Array as DaskArray
from dask.array import from_array
from threadpoolctl import threadpool_limits

from conceptor.distributed.cluster import Run, delayed, lost, outcomes
from conceptor.distributed.content import Need, Rows, check_finite, wordless
from conceptor.distributed.shards import Shard, find_shards
from conceptor.distributed.survey import (
    Failure,
    attempted,
    complaint,
    packed,
    survey,
)
from conceptor.errors import ConceptorError, InvalidInputError
from conceptor.moments import Moments
from conceptor.progress import silent
from conceptor.usage import Usage, usage
from conceptor.vectors.pipeline import ahead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from conceptor.arrays import Array
    from conceptor.distributed.cluster import Delayed, Teller
    from conceptor.distributed.content import Layout
    from conceptor.distributed.shards import Paths
    from conceptor.progress import Progress

    Weights = str | Usage | Mapping[str, float] | npt.ArrayLike | DaskArray

COLUMN = "column:"
# So many sums are added by one task: a tree of logarithmic depth, a few matrices a worker.
_SPLIT_EVERY = 8


def moments(
    source: DaskArray | Paths,
    weights: Weights = "uniform",
    *,
    vocabulary: object = None,
    column: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Moments:
    """Return the moments of vectors on a cluster; the same as `Moments.of` to rounding.

    The tree of additions depends on the shards only, so that the result is the same to the last
    bit however many workers there are, and whichever of them die on the way.

    Parameters
    ----------
    source
        A Dask array with one vector a row; or Parquet, `.npy` or word2vec and GloVe files: one,
        a directory of them, a pattern or a list, on any file system that fsspec knows.
    weights
        What rows weigh: `uniform`; `column:NAME`, by a column of the Parquet files; `zipf`, by
        their rank, counted through all shards in order; anything else `usage` takes. Of a Dask
        array: `uniform`, `zipf`, or an array with a number for each row.
    vocabulary
        Which rows take part, as for `usage`; those of a Parquet file go by its column of words.
    column
        The list column that holds the vectors, where there are several; or a pattern that matches
        the columns of the dimensions.
    storage_options
        Passed on to fsspec.
    progress
        Called as work goes on.
    """
    if isinstance(source, DaskArray):
        return complete(_of_array(source, weights, progress))
    shards = find_shards(source, column, storage_options)
    weighting = Weighting.of(weights, vocabulary)
    layouts = survey(shards, count=weighting.by_rank)
    return complete(gather(shards, layouts, weighting, progress))


@dataclass(frozen=True)
class Weighting:
    """What rows of shards weigh: by a column, or by what `usage` says of their words and ranks."""

    usage: Usage
    column: str | None = None

    @classmethod
    def of(cls, weights: object, vocabulary: object = None) -> Weighting:
        """Make it from what users write."""
        if isinstance(weights, Usage):
            return cls(weights)
        if isinstance(weights, str) and weights.startswith(COLUMN):
            return cls(usage("uniform", vocabulary), weights.removeprefix(COLUMN))
        return cls(usage(weights, vocabulary))  # type: ignore[arg-type]

    @property
    def by_rank(self) -> bool:
        """Whether it matters how many rows came before."""
        return self.usage.name == "zipf" or self.usage.top is not None

    @property
    def need(self) -> Need:
        """What must be read besides the vectors."""
        by_word = self.usage.counts is not None or self.usage.vocabulary is not None
        return Need(by_word, self.column)

    def moments_of(self, rows: Rows, before: int) -> Moments | None:
        """Return the moments of consecutive rows, if any of them takes part."""
        taken, weights = self.usage.of(rows.words, before)
        weights = weights if rows.weights is None else rows.weights
        if taken is None:
            return Moments.of(rows.vectors, weights)
        if not len(taken):
            return None
        if rows.weights is not None:
            weights = rows.weights[taken]
        return Moments.of(rows.vectors[taken], weights)


class Gathered(NamedTuple):
    """Moments of what could be read, and what could not."""

    moments: Moments | None = None
    failures: tuple[Failure, ...] = ()

    def plus(self, other: Gathered) -> Gathered:
        """Put two together."""
        both = [part for part in (self.moments, other.moments) if part is not None]
        return Gathered(reduce(add, both) if both else None, self.failures + other.failures)


class Piece(NamedTuple):
    """Rows of a shard between two of its cuts, and how many come before in all shards."""

    shard: Shard
    start: int
    stop: int | None
    before: int
    size: int


def gather(
    shards: Sequence[Shard],
    layouts: Sequence[Layout | Failure],
    weighting: Weighting,
    progress: Progress,
) -> Gathered:
    """Sum up the shards that can be read."""
    packs = packed(_pieces(shards, layouts, weighting), lambda piece: piece.size)
    run = Run("moments", [_row_count(pack) for pack in packs], progress)
    # Once in the graph, not once in every task: counts may be of millions of words.
    shared = delayed(weighting, pure=False, traverse=False)
    total = _total(
        [
            delayed(_of_pieces, pure=False)(pack, shared, run.teller(unit))
            for unit, pack in enumerate(packs)
        ],
        run,
    )
    early = tuple(each for each in layouts if isinstance(each, Failure))
    return Gathered(total.moments, early + total.failures)


def _pieces(
    shards: Sequence[Shard], layouts: Sequence[Layout | Failure], weighting: Weighting
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
            if weighting.usage.top is None or whole.before < weighting.usage.top:
                yield whole
        before += layout.rows


def _row_count(pack: Sequence[Piece]) -> int | None:
    counts = [None if piece.stop is None else piece.stop - piece.start for piece in pack]
    return None if None in counts else sum(filter(None, counts))


def _of_pieces(pack: Sequence[Piece], weighting: Weighting, teller: Teller) -> Gathered:
    """Sum up a few pieces, one after another; a task."""
    total = Gathered()
    # One BLAS thread for each of the worker's: there are as many of these as processors.
    with threadpool_limits(1):
        for piece in pack:
            result = attempted(_of_piece, piece.shard, piece, weighting, teller)
            part = Gathered(None, (result,)) if isinstance(result, Failure) else Gathered(result)
            total = total.plus(part)
    return total


def _of_piece(shard: Shard, piece: Piece, weighting: Weighting, teller: Teller) -> Moments | None:
    total = Gathered()
    done = 0
    with closing(ahead(shard.content.read(piece.start, piece.stop, weighting.need))) as batches:
        for rows in batches:
            with _placed(rows, shard, piece.start + done):
                part = weighting.moments_of(rows, piece.before + done)
            total = total.plus(Gathered(part))
            done += len(rows.vectors)
            teller(done)
    teller.shard_done(done)
    return total.moments


@contextmanager
def _placed(rows: Rows, shard: Shard, start: int) -> Iterator[None]:
    """Name the shard and the row of what is wrong."""
    try:
        yield
    except InvalidInputError as error:
        check_finite(rows.vectors, shard.place, start)
        last = start + len(rows.vectors)
        raise InvalidInputError(f"{shard.place}, rows {start + 1} to {last}: {error}") from None


def _of_array(array: DaskArray, weights: object, progress: Progress) -> Gathered:
    """Sum up the blocks of a Dask array."""
    if array.ndim != 2:
        raise InvalidInputError(
            f"vectors are the rows of a matrix; the array has {array.ndim} axes"
        )
    array = array.rechunk({1: -1})
    sizes = array.chunks[0]
    by_rank = isinstance(weights, str) and weights == "zipf"
    known = not np.isnan(sizes).any()
    if not known and (by_rank or not isinstance(weights, str)):
        raise InvalidInputError(
            "the array does not know how long its blocks are; call its compute_chunk_sizes() first"
        )
    if isinstance(weights, str) and weights not in ("uniform", "zipf"):
        raise InvalidInputError(
            f"rows of a Dask array weigh uniform, zipf or by another array, not {weights!r}"
        )
    weighting = Weighting.of(weights if isinstance(weights, str) else "uniform")
    blocks = array.to_delayed().ravel()
    each: Sequence[Any] = [None] * len(blocks)
    if not isinstance(weights, str):
        aligned = from_array(weights) if not isinstance(weights, DaskArray) else weights
        if aligned.shape != array.shape[:1]:
            raise InvalidInputError(
                f"{array.shape[0]} rows cannot have weights of shape {aligned.shape}"
            )
        each = aligned.rechunk((sizes,)).to_delayed().ravel()
    starts = accumulate(sizes, initial=0) if known else [0] * len(blocks)
    run = Run("moments", list(sizes) if known else [None], progress)
    leaves = [
        delayed(_of_block, pure=False)(block, weight, weighting, start, run.teller(unit))
        for unit, (block, weight, start) in enumerate(zip(blocks, each, starts, strict=False))
    ]
    return _total(leaves, run)


def _of_block(
    block: Array, weights: Array | None, weighting: Weighting, start: int, teller: Teller
) -> Gathered:
    """Return the moments of a block; a task."""
    if not len(block):
        return Gathered()
    rows = Rows(np.asarray(block), wordless(len(block)), weights)
    with threadpool_limits(1):
        try:
            found = weighting.moments_of(rows, start)
        except InvalidInputError as error:
            return Gathered(None, (Failure("", f"the block from row {start}: {error}"),))
    teller.shard_done(len(block))
    return Gathered(found)


def _total(leaves: Sequence[Delayed], run: Run) -> Gathered:
    """Add up a tree of tasks."""
    if not leaves:
        return Gathered()
    level = list(leaves)
    while len(level) > 1:
        groups = [level[i : i + _SPLIT_EVERY] for i in range(0, len(level), _SPLIT_EVERY)]
        level = [delayed(_plus, pure=False)(group) for group in groups]
    result: Gathered | BaseException
    ((_, result),) = outcomes(level, run)
    if isinstance(result, BaseException):
        raise ConceptorError(f"the moments could not be gathered: {lost(result)}")
    return result


def _plus(parts: Sequence[Gathered]) -> Gathered:
    return reduce(Gathered.plus, parts)


def complete(gathered: Gathered, *, despite_failures: bool = False) -> Moments:
    """Return the moments of everything, or of all that is sound; raise if there are none."""
    if gathered.failures and not (despite_failures and gathered.moments):
        kind = InvalidInputError if gathered.failures[0].invalid else ConceptorError
        raise kind(complaint(gathered.failures))
    if gathered.moments is None:
        raise InvalidInputError(
            "none of the rows takes part: does the vocabulary or the counts file belong to these "
            "vectors?"
        )
    return gathered.moments
