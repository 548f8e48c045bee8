"""A map as a PyTorch layer of standard modules, so it loads without this library."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from conceptor.base.errors import MissingExtraError

if TYPE_CHECKING:
    from torch import nn

    from conceptor.algebra.affine_map import AffineMap

# Avoids division by zero for a vector of zeros, and changes no other vector.
_TINY = 1e-30


def to_torch(map_: AffineMap) -> nn.Module:
    """Return the map as an `nn.Linear`, after a normalisation if the map needs one.

    A layer has no words, so it does not include lengths by usage.
    """
    try:
        import torch
        from torch import nn
    except ImportError:
        raise MissingExtraError("a PyTorch layer", "torch") from None
    weight, bias = map_.as_linear()
    if map_.unit:
        # RMSNorm scales vectors to length √n.
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

    Otherwise the squares of very small or very large numbers would underflow or overflow single
    precision. A graph of PyTorch operations needs no class of this library.
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
