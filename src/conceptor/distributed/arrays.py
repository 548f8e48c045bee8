"""Moments of Dask arrays, and maps applied to them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.array import Array as DaskArray
from dask.array import from_array
from dask.delayed import delayed

from conceptor.base.arrays import result_dtype
from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import one_blas_thread
from conceptor.distributed.cluster import Tally
from conceptor.distributed.content import empty_words
from conceptor.distributed.gathering import PartialSum, parse_row_weights, sum_tree
from conceptor.distributed.survey import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.arrays import Array
    from conceptor.base.progress import Progress
    from conceptor.distributed.cluster import Reporter
    from conceptor.weights import Weights


def sum_array(
    array: DaskArray, weights: object, progress: Progress, *, unit: bool = False
) -> PartialSum:
    """Add up the moments of a Dask array's blocks."""
    if array.ndim != 2:
        raise InvalidInputError(
            f"the array has {array.ndim} dimensions; expected a matrix with one vector per row"
        )
    array = array.rechunk({1: -1})
    sizes = array.chunks[0]
    by_rank = isinstance(weights, str) and weights == "zipf"
    known = not np.isnan(sizes).any()
    if not known and (by_rank or not isinstance(weights, str)):
        raise InvalidInputError(
            "the array's chunk sizes are unknown; call its compute_chunk_sizes() first"
        )
    if isinstance(weights, str) and weights not in ("uniform", "zipf"):
        raise InvalidInputError(
            f"weights {weights!r} do not apply to a Dask array; use 'uniform', 'zipf' or an array"
        )
    weighting = parse_row_weights(weights if isinstance(weights, str) else "uniform", unit=unit)
    blocks = array.to_delayed().ravel()
    each: Sequence[Any] = [None] * len(blocks)
    if not isinstance(weights, str):
        aligned = from_array(weights) if not isinstance(weights, DaskArray) else weights
        if aligned.shape != array.shape[:1]:
            raise InvalidInputError(
                f"weights of shape {aligned.shape} do not match {array.shape[0]} rows"
            )
        each = aligned.rechunk((sizes,)).to_delayed().ravel()
    starts = accumulate(sizes, initial=0) if known else [0] * len(blocks)
    tally = Tally("moments", list(sizes) if known else [None], progress)
    leaves = [
        delayed(_sum_block, pure=False)(block, weight, weighting, start, tally.reporter(unit))
        for unit, (block, weight, start) in enumerate(zip(blocks, each, starts, strict=False))
    ]
    return sum_tree(leaves, tally)


def _sum_block(
    block: Array, weights: Array | None, weighting: Weights, start: int, reporter: Reporter
) -> PartialSum:
    """Return the moments of one block (runs as a task)."""
    if not len(block):
        return PartialSum()
    words = empty_words(len(block))
    with one_blas_thread():
        try:
            found = weighting.moments(words, np.asarray(block), start, weights)
        except InvalidInputError as error:
            return PartialSum(None, (Failure("", f"block at row {start}: {error}"),))
    reporter.finish_shard(len(block))
    return PartialSum(found)


def map_array(map_: AffineMap, array: DaskArray) -> DaskArray:
    """Return the mapped array, still lazy."""
    if array.ndim != 2 or array.shape[1] != map_.n_in:
        raise InvalidInputError(
            f"the array has shape {array.shape}; the map takes rows of {map_.n_in} dimensions"
        )
    dtype = result_dtype(array.dtype)

    def map_block(block: Array) -> Array:
        return map_(block) if len(block) else np.empty((0, map_.n_out), dtype=dtype)

    lazy: DaskArray = array.rechunk({1: -1}).map_blocks(
        map_block,
        dtype=dtype,
        chunks=(array.chunks[0], (map_.n_out,)),
        meta=np.empty((0, map_.n_out), dtype=dtype),
    )
    return lazy
