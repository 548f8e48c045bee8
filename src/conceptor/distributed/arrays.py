"""Dask arrays: their moments, and their image under a map."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.array import Array as DaskArray
from dask.array import from_array
from threadpoolctl import threadpool_limits

from conceptor.base.arrays import result_dtype
from conceptor.base.errors import InvalidInputError
from conceptor.distributed.cluster import Tally, delayed
from conceptor.distributed.content import Rows, wordless
from conceptor.distributed.gathering import PartialSum, RowWeights, total
from conceptor.distributed.survey import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.arrays import Array
    from conceptor.base.progress import Progress
    from conceptor.distributed.cluster import Teller


def moments_of_array(array: DaskArray, weights: object, progress: Progress) -> PartialSum:
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
    weighting = RowWeights.from_choice(weights if isinstance(weights, str) else "uniform")
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
    tally = Tally("moments", list(sizes) if known else [None], progress)
    leaves = [
        delayed(_of_block, pure=False)(block, weight, weighting, start, tally.teller(unit))
        for unit, (block, weight, start) in enumerate(zip(blocks, each, starts, strict=False))
    ]
    return total(leaves, tally)


def _of_block(
    block: Array, weights: Array | None, weighting: RowWeights, start: int, teller: Teller
) -> PartialSum:
    """Return the moments of a block; a task."""
    if not len(block):
        return PartialSum()
    rows = Rows(np.asarray(block), wordless(len(block)), weights)
    with threadpool_limits(1):
        try:
            found = weighting.moments_of(rows, start)
        except InvalidInputError as error:
            return PartialSum(None, (Failure("", f"the block from row {start}: {error}"),))
    teller.shard_done(len(block))
    return PartialSum(found)


def mapped_array(map_: AffineMap, array: DaskArray) -> DaskArray:
    """Return the lazily mapped array."""
    if array.ndim != 2 or array.shape[1] != map_.n_in:
        raise InvalidInputError(
            f"the map is for rows of {map_.n_in} numbers; the array's shape is {array.shape}"
        )
    dtype = result_dtype(array.dtype)

    def mapped_block(block: Array) -> Array:
        return map_(block) if len(block) else np.empty((0, map_.n_out), dtype=dtype)

    lazy: DaskArray = array.rechunk({1: -1}).map_blocks(
        mapped_block,
        dtype=dtype,
        chunks=(array.chunks[0], (map_.n_out,)),
        meta=np.empty((0, map_.n_out), dtype=dtype),
    )
    return lazy
