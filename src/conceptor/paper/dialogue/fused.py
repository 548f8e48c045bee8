"""The two expensive steps of the tracker, each as one function with its own gradient.

A tracker spends its time combining every turn with every candidate value: 256 × 92 × 100 hidden
units for food. Written as single operations, that takes a dozen passes over ten megabytes and
keeps half a dozen copies for the gradient; here it is one matrix product and one saved array,
both without the half that dropout removes. BLAS does the products; the rest is compiled loops
(`kernels.tracker`) that touch each number once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch.autograd.function import Function, once_differentiable

from conceptor import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor


def draw_half(count: int, draws: int, generator: torch.Generator) -> Tensor:
    """Draw random halves of `count` units: shape (draws, count // 2)."""
    return torch.rand(draws, count, generator=generator).argsort(1)[:, : count // 2].contiguous()


def decode(
    utterance: Tensor,
    candidates: Tensor,
    weight: Tensor,
    bias: Tensor,
    out: Tensor,
    units: Tensor | None = None,
) -> Tensor:
    """Return the scores ``out · σ(W (r ∘ c) + b)`` of every utterance r and candidate c.

    r has the shape (turns, D), c (values, D), W (H, D), b and out (H,), the result (turns, values).
    `units`, of shape (values, K), are the hidden units that dropout keeps for each value, scaled
    by H / K; by default all.

    One product of turns × D with D × (values · K), whose entries are ``c[v, d] W[h, d]``. The
    turns of a batch share their dropout, which differs between values and between batches: the
    expected gradient is that of dropout drawn per turn, and dropped units are never computed.
    """
    if units is None:
        units = torch.arange(len(out)).repeat(len(candidates), 1)
    scale = len(out) / units.shape[1]
    scores = _Decode.apply(  # type: ignore[no-untyped-call]
        utterance, candidates, weight, bias, out * scale, units
    )
    return cast("Tensor", scores)


class _Decode(Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        utterance: Tensor,
        candidates: Tensor,
        weight: Tensor,
        bias: Tensor,
        out: Tensor,
        units: Tensor,
    ) -> Tensor:
        # A column of ones puts the bias, and its gradient, into the same product.
        utterance = torch.nn.functional.pad(utterance, (0, 1), value=1.0)
        spread = weight.new_empty(*units.shape, weight.shape[1] + 1)
        kernels.spread_weights(*_arrays(units, weight, bias, candidates, spread))
        active = _product(utterance, spread.flatten(0, 1).T).sigmoid_().view(-1, *units.shape)
        outs = out[units]
        ctx.save_for_backward(utterance, candidates, weight, outs, units, spread, active)
        return (active * outs).sum(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        utterance, candidates, weight, outs, units, spread, active = ctx.saved_tensors
        inner, for_outs = torch.empty_like(active), torch.zeros_like(outs)
        kernels.derive_hidden(*_arrays(active, given.contiguous(), outs, inner, for_outs))
        inner = inner.flatten(1)
        for_utterance = _product(inner, spread.flatten(0, 1)[:, :-1])
        for_spread = _product(inner.T, utterance).view_as(spread)
        for_candidates, for_weight = torch.zeros_like(candidates), torch.zeros_like(weight)
        for_bias, for_out = (weight.new_zeros(len(weight)) for _ in range(2))
        kernels.gather_spread(
            *_arrays(units, weight, candidates, for_spread, for_candidates, for_weight, for_bias)
        )
        for_out.index_add_(0, units.flatten(), for_outs.flatten())
        return for_utterance, for_candidates, for_weight, for_bias, for_out, None


def max_convolution(words: Tensor, table: Tensor, filters: Sequence[Tensor]) -> Tensor:
    """Return the maximum response of each filter to each utterance: (len(filters), turns, F).

    `words`, of shape (turns, positions), are rows of `table`, the fixed word vectors, whose row 0
    is zero and stands for padding after a turn's last word. A filter has the shape (width, D, F).

    A filter is a sum of slices, one for each position in the window. Each distinct word of the
    turns is multiplied by each slice once, and a window is a sum of rows of the products (a batch
    has four hundred distinct words and two thousand windows). Only windows that start at a word are
    formed; windows of padding respond with 0, the initial value of the maximum. The gradient goes
    to the first of the winning windows: others that tie with it consist of the same words.
    """
    greatest = _MaxConvolution.apply(words, table, *filters)  # type: ignore[no-untyped-call]
    return cast("Tensor", greatest)


class _MaxConvolution(Function):
    @staticmethod
    def forward(ctx: Any, words: Tensor, table: Tensor, *filters: Tensor) -> Tensor:  # noqa: ANN401
        present = torch.zeros(len(table), dtype=torch.int64)
        present[words.flatten()] = 1
        said = table[present.nonzero()[:, 0]]
        rows = (present.cumsum(0) - 1)[words]
        lengths = (words != 0).sum(1)
        greatest = table.new_zeros(len(filters), len(words), filters[0].shape[2])
        winners = torch.full(greatest.shape, -1, dtype=torch.int32)
        window = table.new_empty(filters[0].shape[2])
        for best, winner, slices in zip(greatest, winners, filters, strict=True):
            kernels.max_windows(*_arrays(rows, lengths, said @ slices, window, best, winner))
        ctx.save_for_backward(said, rows, lengths, winners)
        ctx.widths = [len(slices) for slices in filters]
        return greatest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        said, rows, lengths, winners = ctx.saved_tensors
        gradients: list[Tensor | None] = []
        for width, winner, part in zip(ctx.widths, winners, given.contiguous(), strict=True):
            by_word = part.new_zeros(width, len(said), part.shape[1])
            kernels.derive_windows(*_arrays(rows, lengths, winner, part, by_word))
            gradients.append(said.T @ by_word)
        return None, None, *gradients


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Multiply by NumPy's BLAS, which for these long, thin shapes takes two thirds of the time."""
    return torch.from_numpy(np.matmul(*_arrays(left, right)))


def _arrays(*tensors: Tensor) -> list[NDArray[Any]]:
    """Return arrays that share the tensors' memory."""
    return [tensor.detach().numpy() for tensor in tensors]
