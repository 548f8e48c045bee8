"""The gain of the dialogue tracker's hand-written gradients over PyTorch's own.

    python benchmarks/tracker_step.py

It times a training step of both expensive functions (`conceptor.paper.dialogue.fused`) and of the
same functions in plain PyTorch, on one thread, in turn, for a slot with few values and one with
many. The minimum processor time of several rounds counts; gradients agree to single precision.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from conceptor.base.threads import one_blas_thread
from conceptor.paper.dialogue.fused import decode, draw_half, max_convolution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

TURNS, POSITIONS, WORDS, HIDDEN = 256, 22, 1000, 100
ROUNDS = 12


def plain_decode(
    utterance: Tensor, candidates: Tensor, weight: Tensor, bias: Tensor, out: Tensor, units: Tensor
) -> Tensor:
    spread = (weight[units] * candidates[:, None]).flatten(0, 1)
    active = torch.addmm(bias[units].flatten(), utterance, spread.T).sigmoid()
    scale = len(out) / units.shape[1]
    return (active.view(-1, *units.shape) * (scale * out)[units]).sum(2)


def plain_convolution(words: Tensor, table: Tensor, filters: Sequence[Tensor]) -> Tensor:
    said, rows = torch.unique(words, return_inverse=True)
    greatest = []
    for slices in filters:
        products = table[said] @ slices
        response = products[0][rows]
        for place in range(1, len(slices)):
            later = products[place][rows][:, place:]
            response = response + functional.pad(later, (0, 0, 0, place))
        masked = response.masked_fill((words == 0)[..., None], float("-inf"))
        greatest.append(masked.amax(1).clamp_min(0))
    return torch.stack(greatest)


def make_step(dimension: int, values: int) -> Callable[..., list[Tensor]]:
    """Return a function that takes a step and returns the gradients."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    table = draw(WORDS, dimension)
    table[0] = 0
    lengths = torch.randint(3, POSITIONS, (TURNS, 1), generator=generator)
    said = (torch.rand(TURNS, POSITIONS, generator=generator) ** 3 * (WORDS - 1)).long() + 1
    words = torch.where(torch.arange(POSITIONS) < lengths, said, 0)
    filters = [0.1 * draw(width, dimension, dimension) for width in (1, 2, 3)]
    parts = [
        draw(values, dimension) / dimension**0.5,
        draw(HIDDEN, dimension) / dimension**0.5,
        torch.zeros(HIDDEN),
        draw(HIDDEN),
    ]
    units = draw_half(HIDDEN, values, generator)
    parameters = [each.requires_grad_() for each in (*parts, *filters)]

    def step(decoding: Callable[..., Tensor], convolution: Callable[..., Tensor]) -> list[Tensor]:
        utterance = convolution(words, table, filters).sum(0) / dimension
        loss = decoding(utterance, *parts, units).logsumexp(1).mean()
        return list(torch.autograd.grad(loss, parameters))

    return step


def main() -> None:
    torch.set_num_threads(1)
    ways = {
        "ours": (decode, max_convolution),
        "PyTorch": (plain_decode, plain_convolution),
        "PyTorch's decoding": (plain_decode, max_convolution),
        "PyTorch's convolution": (decode, plain_convolution),
    }
    print(f"| dimension | values | {' | '.join(f'{name}, ms' for name in ways)} | ratio | error |")
    print("|" + "---|" * (len(ways) + 4))
    for dimension in (50, 300):
        for values in (7, 92):
            step = make_step(dimension, values)
            best = dict.fromkeys(ways, float("inf"))
            gradients = {name: step(*way) for name, way in ways.items()}
            for _ in range(ROUNDS):
                for name, way in ways.items():
                    start = time.process_time()
                    step(*way)
                    best[name] = min(best[name], time.process_time() - start)
            pairs = zip(gradients["ours"], gradients["PyTorch"], strict=True)
            error = max(float((a - b).norm() / b.norm().clamp_min(1e-20)) for a, b in pairs)
            times = " | ".join(f"{1000 * each:.0f}" for each in best.values())
            ratio = best["PyTorch"] / best["ours"]
            print(f"| {dimension} | {values} | {times} | {ratio:.1f} | {error:.0e} |")


if __name__ == "__main__":
    with one_blas_thread():
        main()
