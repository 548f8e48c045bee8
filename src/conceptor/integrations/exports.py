"""A map in other libraries: a FAISS index, a PyTorch layer, an ONNX model.

None of them has words, so lengths by usage are left out. Cosines are the same without them. FAISS
and PyTorch square numbers in float32: bring vectors shorter than 1e-17 or longer than 1e17 to
another scale before a map that scales them to length 1.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import replace_atomically

if TYPE_CHECKING:
    from torch import nn

__all__ = ["to_faiss", "to_onnx", "to_torch"]

# Avoids division by zero for a vector of zeros, and changes no other vector.
_TINY = float(np.finfo(np.float32).tiny)
# Old enough for every runtime of recent years.
_OPSET, _IR = 17, 8


def to_faiss(map_: AffineMap, index: Any = None, *, normalize: bool = False) -> Any:  # noqa: ANN401
    """Return `index` behind this map, as a `faiss.IndexPreTransform`.

    With `normalize`, results are scaled to length 1, so that inner products are cosines. Without an
    index, a map that does not scale vectors to length 1 becomes a `faiss.LinearTransform`.
    """
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("a FAISS transform", "faiss") from None
    linear = faiss.LinearTransform(map_.n_in, map_.n_out, True)
    weight, bias = map_.as_linear()
    faiss.copy_array_to_vector(weight.astype(np.float32).ravel(), linear.A)
    faiss.copy_array_to_vector(bias.astype(np.float32), linear.b)
    linear.is_trained = True
    if index is None:
        if map_.unit or normalize:
            raise InvalidInputError(
                "scaling vectors to length 1 is a separate transform in FAISS; pass the index, "
                "as in to_faiss(map, index)"
            )
        return linear
    if index.d != map_.n_out:
        raise InvalidInputError(
            f"the index has {index.d} dimensions, but the map returns {map_.n_out}; create the "
            f"index with {map_.n_out}"
        )
    behind = faiss.IndexPreTransform(index)
    if normalize:
        behind.prepend_transform(faiss.NormalizationTransform(map_.n_out, 2.0))
    behind.prepend_transform(linear)
    if map_.unit:
        behind.prepend_transform(faiss.NormalizationTransform(map_.n_in, 2.0))
    return behind


def to_torch(map_: AffineMap) -> nn.Module:
    """Return the map as an `nn.Linear`, after an `nn.RMSNorm` if it scales vectors to length 1."""
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
    return nn.Sequential(nn.RMSNorm(map_.n_in, eps=_TINY, elementwise_affine=False), linear)


def to_onnx(map_: AffineMap, path: str | os.PathLike[str]) -> None:
    """Write the map as an ONNX model, atomically: `vectors` in, `improved` out, in float32."""
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError:
        raise MissingExtraError("an ONNX model", "onnx") from None
    nodes: list[Any] = []
    numbers: list[Any] = []

    def add(operation: str, *inputs: str, **attributes: Any) -> str:  # noqa: ANN401
        nodes.append(helper.make_node(operation, inputs, [f"after_{operation}"], **attributes))
        return f"after_{operation}"

    def constant(name: str, values: Any) -> str:  # noqa: ANN401
        numbers.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    last = "vectors"
    if map_.unit:  # by the largest number first, so that no square overflows
        largest = add("ReduceMax", add("Abs", last), axes=[-1])
        last = add("Div", last, add("Max", largest, constant("tiny", _TINY)))
        last = add("LpNormalization", last, axis=-1, p=2)
    if map_.offset.any():
        last = add("Sub", last, constant("offset", map_.offset))
    last = add("MatMul", last, constant("matrix", map_.matrix))
    if map_.bias.any():
        add("Add", last, constant("bias", map_.bias))
    nodes[-1].output[0] = "improved"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["count", size])
        for name, size in (("vectors", map_.n_in), ("improved", map_.n_out))
    ]
    graph = helper.make_graph(nodes, "conceptor", ends[:1], ends[1:], numbers)
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR)
    helper.set_model_props(model, {"provenance": json.dumps(map_.provenance, sort_keys=True)})
    checker.check_model(model)
    with replace_atomically(path) as beside:
        beside.write_bytes(model.SerializeToString())
