"""A map as a layer of PyTorch, of its own modules: it loads where this library is not installed."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from conceptor.base.errors import MissingExtraError

if TYPE_CHECKING:
    from torch import nn

    from conceptor.algebra.affine_map import AffineMap

# What keeps a vector of zeros from being divided by zero, and changes no other.
_TINY = 1e-30


def to_torch(map_: AffineMap) -> nn.Module:
    """Return the map as an `nn.Linear`, behind a norm where lengths matter.

    It maps directions: a layer knows no words, so lengths by usage are not part of it.
    """
    try:
        import torch
        from torch import nn
    except ImportError:
        raise MissingExtraError("a PyTorch layer", "torch") from None
    weight, bias = map_.as_linear()
    if map_.unit:
        # RMSNorm brings vectors to length √n.
        weight = weight / map_.n_in**0.5
    linear = nn.Linear(map_.n_in, map_.n_out, bias=bool(bias.any()))
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(weight))
        if linear.bias is not None:
            linear.bias.copy_(torch.from_numpy(bias))
    if not map_.unit:
        return linear
    norm = nn.RMSNorm(map_.n_in, eps=_TINY, elementwise_affine=False)
    return nn.Sequential(nn.Sequential(_largest_to_one(), norm), linear)


def _largest_to_one() -> nn.Module:
    """Return a layer that divides vectors by their largest number, or by 1 if all are zero.

    The squares of very small and very large numbers, which come next, leave single precision. A
    graph of PyTorch's own operations needs no class of this library.
    """
    from torch import fx, nn

    graph = fx.Graph()
    x = graph.placeholder("x")
    sizes = graph.call_method("abs", (x,))
    largest = graph.call_method("amax", (sizes,), {"dim": -1, "keepdim": True})
    is_zero = graph.call_function(operator.eq, (largest, 0))
    safe = graph.call_function(operator.add, (largest, is_zero))
    graph.output(graph.call_function(operator.truediv, (x, safe)))
    return fx.GraphModule(nn.Module(), graph, "LargestToOne")
