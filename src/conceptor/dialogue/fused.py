"""The two expensive steps of the tracker, each as one function with its own gradient.

A tracker spends its time combining every turn with every candidate value: 256 × 92 × 100 hidden
units for food. Written as single operations, that takes a dozen passes over ten megabytes and
keeps half a dozen copies for the gradient; here it is one matrix product and one saved array,
both without the half that dropout removes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch.autograd.function import Function, once_differentiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


def draw_half(count: int, draws: int, generator: torch.Generator) -> Tensor:
    """Draw random halves of `count` units: shape (draws, count // 2)."""
    return torch.rand(draws, count, generator=generator).argsort(1)[:, : count // 2]


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
        units = torch.arange(len(out)).expand(len(candidates), -1)
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
        outs = out[units]
        spread = torch.cat(
            [
                weight.T.index_select(1, units.flatten()).view(-1, *units.shape)
                * candidates.T[:, :, None],
                bias[units][None],
            ]
        )
        active = (utterance @ spread.flatten(1)).sigmoid_().view(len(utterance), *units.shape)
        ctx.save_for_backward(utterance, candidates, weight, outs, units, spread, active)
        return (active * outs).sum(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        utterance, candidates, weight, outs, units, spread, active = ctx.saved_tensors
        inner = active * given[:, :, None]
        for_outs = inner.sum(0)
        # The output weights are the same for all turns, so they are multiplied in afterwards.
        inner = inner.addcmul_(inner, active, value=-1).flatten(1)
        for_utterance = inner @ (spread[:-1] * outs).flatten(1).T
        for_spread = (utterance.T @ inner).view_as(spread) * outs
        chosen = units.flatten()
        selected = weight.T.index_select(1, chosen).view(-1, *units.shape)
        for_candidates = (for_spread[:-1] * selected).sum(2).T
        for_weight = (
            torch.zeros_like(weight.T)
            .index_add_(1, chosen, (for_spread[:-1] * candidates.T[:, :, None]).flatten(1))
            .T
        )
        for_bias = weight.new_zeros(len(weight)).index_add_(0, chosen, for_spread[-1].flatten())
        for_out = weight.new_zeros(len(weight)).index_add_(0, chosen, for_outs.flatten())
        return for_utterance, for_candidates, for_weight, for_bias, for_out, None


def max_convolution(words: Tensor, table: Tensor, filters: Sequence[Tensor]) -> Tensor:
    """Return the maximum response of each filter to each utterance: (len(filters), turns, F).

    `words`, of shape (turns, positions), are rows of `table`, the fixed word vectors, whose row 0
    is zero and stands for padding after a turn's last word. A filter has the shape (width, D, F).

    A filter is a sum of slices, one for each position in the window. Each word of the table is
    multiplied by each slice once, and a window is a sum of table rows (a corpus of dialogues has a
    thousand words, a batch of it two thousand windows). Only windows that start at a word are
    formed; windows of padding respond with 0, the initial value of the maximum. The gradient goes
    to the winning windows, in equal parts if several tie.
    """
    greatest = _MaxConvolution.apply(words, table, *filters)  # type: ignore[no-untyped-call]
    return cast("Tensor", greatest)


class _MaxConvolution(Function):
    @staticmethod
    def forward(ctx: Any, words: Tensor, table: Tensor, *filters: Tensor) -> Tensor:  # noqa: ANN401
        real = words != 0
        turn = real.nonzero()[:, 0]
        widest, positions = max(map(len, filters)), words.shape[1]
        padded = torch.nn.functional.pad(words, (0, widest - 1))
        window = [padded[:, place : place + positions][real] for place in range(widest)]
        greatest = table.new_zeros(len(filters), len(words), filters[0].shape[2])
        winners = []
        for best, slices in zip(greatest, filters, strict=True):
            looked_up = table @ slices
            sums = looked_up[0].index_select(0, window[0])
            for rows, word in zip(looked_up[1:], window[1:], strict=False):
                sums += rows.index_select(0, word)
            best.scatter_reduce_(0, turn[:, None].expand_as(sums), sums, "amax")
            winners.append(sums == best.index_select(0, turn))
        ctx.save_for_backward(table, turn, *window, *winners)
        ctx.widths = [len(slices) for slices in filters]
        return greatest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        table, turn, *saved = ctx.saved_tensors
        window, winners = saved[: max(ctx.widths)], saved[max(ctx.widths) :]
        gradients: list[Tensor | None] = []
        for width, won, part in zip(ctx.widths, winners, given, strict=True):
            won = won.to(part.dtype)
            equals = torch.zeros_like(part).index_add_(0, turn, won).clamp_(min=1)
            for_sums = won.mul_((part / equals).index_select(0, turn))
            by_word = part.new_zeros(width, len(table), part.shape[1])
            for rows, word in zip(by_word, window, strict=False):
                rows.index_add_(0, word, for_sums)
            gradients.append(table.T @ by_word)
        return None, None, *gradients
