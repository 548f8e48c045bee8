"""The dialogue tracker's loops over single numbers; `dialogue.fused` explains where they belong.

Each innermost loop runs along the last axis of its arrays, without branches, so that it becomes
vector instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.kernels.jit import jit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int64]


@jit
def spread_weights(
    units: Integers, weight: Floats, bias: Floats, candidates: Floats, products: Floats
) -> None:
    """Set products[v, k] to the weights of unit h = units[v, k] times candidate v, and its bias."""
    values, kept = units.shape
    dimension = weight.shape[1]
    for v in range(values):
        for k in range(kept):
            h = units[v, k]
            for d in range(dimension):
                products[v, k, d] = weight[h, d] * candidates[v, d]
            products[v, k, dimension] = bias[h]


@jit
def derive_hidden(
    active: Floats, given: Floats, outs: Floats, inner: Floats, for_outs: Floats
) -> None:
    """Set `inner` to the gradient before the sigmoid, and add that of `outs`."""
    turns, values, kept = active.shape
    for t in range(turns):
        for v in range(values):
            slope = given[t, v]
            for k in range(kept):
                a = active[t, v, k]
                for_outs[v, k] += slope * a
                inner[t, v, k] = slope * a * (1 - a) * outs[v, k]


@jit
def gather_spread(
    units: Integers,
    weight: Floats,
    candidates: Floats,
    for_products: Floats,
    for_candidates: Floats,
    for_weight: Floats,
    for_bias: Floats,
) -> None:
    """Add the gradients of the factors in `spread_weights`."""
    values, kept = units.shape
    dimension = weight.shape[1]
    for v in range(values):
        for k in range(kept):
            h = units[v, k]
            for d in range(dimension):
                slope = for_products[v, k, d]
                for_candidates[v, d] += slope * weight[h, d]
                for_weight[h, d] += slope * candidates[v, d]
            for_bias[h] += for_products[v, k, dimension]


@jit
def max_windows(
    rows: Integers,
    lengths: Integers,
    products: Floats,
    response: Floats,
    best: Floats,
    winner: NDArray[np.int32],
) -> None:
    """Raise `best` to each turn's greatest window, and set `winner` to where that starts.

    products[place, row] are the filters' responses to a word at a place of the window; `response`
    is room for those to a window.
    """
    width, _, filters = products.shape
    for t in range(len(rows)):
        length, highest, first = lengths[t], best[t], winner[t]
        for start in range(length):
            alone = products[0, rows[t, start]]
            for f in range(filters):
                response[f] = alone[f]
            for place in range(1, min(width, length - start)):
                more = products[place, rows[t, start + place]]
                for f in range(filters):
                    response[f] += more[f]
            for f in range(filters):
                better = response[f] > highest[f]
                highest[f] = response[f] if better else highest[f]
                first[f] = start if better else first[f]


@jit
def derive_windows(
    rows: Integers,
    lengths: Integers,
    winner: NDArray[np.int32],
    given: Floats,
    for_products: Floats,
) -> None:
    """Add the gradient of each turn's greatest windows to the words they consist of."""
    width, _, filters = for_products.shape
    for t in range(len(rows)):
        for f in range(filters):
            start = winner[t, f]
            if start >= 0:
                for place in range(min(width, lengths[t] - start)):
                    for_products[place, rows[t, start + place], f] += given[t, f]
