"""Saved sentence encoders: one safetensors file, checked when it is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.algebra.saved import save_tensors
from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

FORMAT = "conceptor.SentenceEncoder/3"


class SavedEncoder(NamedTuple):
    """A fitted encoder: its words, their frequencies, its parameters, and the fitted map.

    `frequencies` are counts, or `uniform` or `zipf`.
    """

    words: Sequence[str]
    vectors: NDArray[Any]
    frequencies: Mapping[str, float] | str
    parameters: dict[str, Any]
    moments: Moments
    map: AffineMap


def write(path: str | os.PathLike[str], saved: SavedEncoder) -> None:
    """Write the file, whole or not at all."""
    counts = {} if isinstance(saved.frequencies, str) else saved.frequencies
    moments = saved.moments
    metadata = {
        "format": FORMAT,
        "parameters": json.dumps(
            saved.parameters | ({} if counts else {"frequencies": saved.frequencies})
        ),
        "provenance": json.dumps(saved.map.provenance),
    }
    parts = {
        "words": _pack_words(saved.words),
        "vectors": saved.vectors,
        "counted_words": _pack_words(list(counts)),
        "counts": np.fromiter(counts.values(), dtype=np.float64),
        "matrix": saved.map.matrix,
        "mean": moments.mean,
        "scatter": moments.scatter,
        "totals": np.array([moments.weight, moments.count, moments.squared_weight]),
    }
    save_tensors(path, parts, metadata)


def parse(parts: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> SavedEncoder:
    """Read the file of `write`; raise if a part is missing or wrong."""
    vectors, counts, totals = (parts[name] for name in ("vectors", "counts", "totals"))
    mean, scatter, matrix = (parts[name] for name in ("mean", "scatter", "matrix"))
    weight, count, squared_weight = totals.tolist()
    n = vectors.shape[1]
    if (mean.shape, scatter.shape, matrix.shape) != ((n,), (n, n), (n, n)):
        raise InvalidInputError(f"its parts do not match vectors of {n} dimensions")
    finite = all(np.isfinite(each).all() for each in (mean, scatter, counts, totals))
    if not finite or min(weight, count) < 0:
        raise InvalidInputError("contains a negative or non-finite value")
    parameters = json.loads(metadata["parameters"])
    if any(value is None for value in parameters.values()):
        raise InvalidInputError("a parameter is null")
    if parameters.get("aperture") == "auto":  # its name in files of version 0.2
        parameters["aperture"] = "leading"
    frequencies: Mapping[str, float] | str = parameters.pop("frequencies", "")
    if len(counts):
        known = _unpack_words(parts["counted_words"], len(counts))
        frequencies = dict(zip(known, counts.tolist(), strict=True))
    elif frequencies not in ("uniform", "zipf"):  # the name of a file would be read
        raise InvalidInputError("contains no word frequencies")
    return SavedEncoder(
        _unpack_words(parts["words"], len(vectors)),
        vectors,
        frequencies,
        parameters,
        Moments(weight, mean, scatter, int(count), squared_weight),
        AffineMap(matrix, provenance=json.loads(metadata["provenance"])),
    )


def _pack_words(words: Sequence[str]) -> NDArray[np.uint8]:
    text = "\n".join(words)
    if text.count("\n") != max(len(words) - 1, 0):
        raise InvalidInputError("a word contains a line break, which cannot be saved; remove it")
    try:
        return np.frombuffer(text.encode(), dtype=np.uint8)
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"a word cannot be encoded as UTF-8 ({error.reason}); remove it"
        ) from None


def _unpack_words(text: NDArray[np.uint8], count: int) -> list[str]:
    return text.tobytes().decode().split("\n") if count else []
