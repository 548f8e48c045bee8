"""A map as a transform of a FAISS index: it improves vectors when they are added or searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from conceptor.algebra.affine_map import AffineMap


def to_faiss(map_: AffineMap, index: Any = None, *, normalize: bool = False) -> Any:  # noqa: ANN401
    """Return `index` behind this map, as a `faiss.IndexPreTransform`.

    Vectors go through the map before they are added or searched. An index has no words, so the map
    does not include lengths by usage. Cosines are the same without them.

    Parameters
    ----------
    map_ : AffineMap
    index : faiss.Index, optional
        For `n_out` dimensions. Without it a `faiss.LinearTransform` is returned; this works only
        for maps that do not scale vectors to length 1, because FAISS has a separate transform for
        that.
    normalize : bool
        Scale results to length 1, so that inner products are cosines.
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
                "scaling vectors to length 1 is a separate transform in FAISS; pass the index, "
                "as in to_faiss(map, index)"
            )
        return linear
    if index.d != map_.n_out:
        raise InvalidInputError(
            f"the index has {index.d} dimensions, but the map returns {map_.n_out}; create the "
            f"index with {map_.n_out}"
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
