"""A map as an ONNX model: `vectors` in, `improved` out, in float32."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import MissingExtraError
from conceptor.base.files import replace_atomically

if TYPE_CHECKING:
    import os

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.arrays import Array

# Old enough for every runtime of recent years.
_OPSET, _IR = 17, 8


def to_onnx(map_: AffineMap, path: str | os.PathLike[str]) -> None:
    """Write the map as an ONNX model; the file appears whole or not at all.

    The model has no words, so it does not include lengths by usage.
    """
    model = make_model(map_)
    with replace_atomically(path) as beside:
        beside.write_bytes(model.SerializeToString())


def make_model(map_: AffineMap) -> Any:  # noqa: ANN401
    """Return the model: lengths, offset, product and bias, each if the map has it."""
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError:
        raise MissingExtraError("an ONNX model", "onnx") from None
    nodes: list[Any] = []
    numbers: list[Any] = []
    last = "vectors"

    def add(operation: str, part: tuple[str, Array] | None = None, **attributes: Any) -> None:  # noqa: ANN401
        nonlocal last
        given = [last]
        if part is not None:
            name, values = part
            numbers.append(numpy_helper.from_array(values.astype(np.float32), name))
            given.append(name)
        last = f"after_{operation.lower()}"
        nodes.append(helper.make_node(operation, given, [last], **attributes))

    if map_.unit:
        # Divide by the largest number first: squares of very small or large numbers would
        # underflow or overflow single precision.
        add("Abs")
        add("ReduceMax", axes=[-1], keepdims=1)
        add("Max", ("smallest", np.array(np.finfo(np.float32).tiny)))
        nodes.append(helper.make_node("Div", ["vectors", last], ["scaled"]))
        last = "scaled"
        add("LpNormalization", axis=-1, p=2)
    if map_.offset.any():
        add("Sub", ("offset", map_.offset))
    add("MatMul", ("matrix", map_.matrix))
    if map_.bias.any():
        add("Add", ("bias", map_.bias))
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
    return model
