"""A map as a transform of a FAISS index: vectors go in as they come, and are found improved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from conceptor.algebra.affine_map import AffineMap


def to_faiss(map_: AffineMap, index: Any = None, *, normalize: bool = False) -> Any:  # noqa: ANN401
    """Return `index` behind this map, as a `faiss.IndexPreTransform`.

    Vectors that are added or searched for go through the map first. It maps directions: an index
    knows no words, so lengths by usage are not part of it. Cosines are the same without.

    Parameters
    ----------
    map_ : AffineMap
    index : faiss.Index, optional
        For `n_out` dimensions. Without it a `faiss.LinearTransform` is returned, for maps that do
        not bring vectors to length 1, which FAISS does in a transform of its own.
    normalize : bool
        Bring results to length 1, so that inner products are cosines.
    """
    faiss = _import_faiss()
    linear = faiss.LinearTransform(map_.n_in, map_.n_out, True)
    weight, bias = map_.as_linear()
    faiss.copy_array_to_vector(weight.astype(np.float32).ravel(), linear.A)
    faiss.copy_array_to_vector(bias.astype(np.float32), linear.b)
    linear.is_trained = True
    if index is None:
        if map_.unit or normalize:
            raise InvalidInputError(
                "bringing vectors to length 1 is a transform of its own in FAISS; pass the index, "
                "as in to_faiss(map, index)"
            )
        return linear
    if index.d != map_.n_out:
        raise InvalidInputError(
            f"the index is for {index.d} dimensions, the map gives {map_.n_out}; make the index "
            f"with {map_.n_out}"
        )
    transforms = [linear]
    if map_.unit:
        transforms.insert(0, faiss.NormalizationTransform(map_.n_in, 2.0))
    if normalize:
        transforms.append(faiss.NormalizationTransform(map_.n_out, 2.0))
    behind = faiss.IndexPreTransform(index)
    for transform in reversed(transforms):
        behind.prepend_transform(transform)
    return behind


def _import_faiss() -> Any:  # noqa: ANN401
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("a FAISS transform", "faiss") from None
    return faiss
