"""The map that every post-processor produces: apply, compose, invert, save and load it.

`conceptor.integrations` exports it as a FAISS index, a PyTorch layer or an ONNX model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from conceptor.algebra.background import Background
from conceptor.algebra.saved import MAP_FORMAT, load_tensors, save_tensors
from conceptor.base.arrays import Array, Float64, as_matrix, result_dtype, row_lengths
from conceptor.base.errors import InvalidInputError

# A block that stays in the cache from one step to the next, but is large enough for BLAS.
_BLOCK_ROWS, _BLOCK_NUMBERS = 512, 1 << 17


@dataclass(frozen=True, eq=False, repr=False, init=False)
class AffineMap:
    """``y = (x − offset) A + bias`` for row vectors x, or for ``x / |x|`` with `unit`.

    Subtracting the offset first, rather than folding it into the bias, keeps precision for
    vectors far from the origin. With both, maps compose and invert exactly.

    A map with `lengths` has factors for the rows of frequent words. Only `map_words` uses them:
    cosines ignore the length of a row, and averages do not. Calling the map gives directions only.
    """

    matrix: Float64  # A, n_in × n_out; symmetric for every post-processor that keeps the dimension
    offset: Float64  # subtracted first
    bias: Float64  # added last; zero for every fitted estimator
    provenance: dict[str, Any]  # method, parameters, count, ...; must survive JSON
    unit: bool  # bring vectors to length 1 first; a row of zeros stays
    lengths: Mapping[str, float] | None  # positive; other rows stay
    # Make NumPy leave the operators to this class, not apply them to each element.
    __array_ufunc__: ClassVar[None] = None

    def __init__(
        self,
        matrix: npt.ArrayLike,
        offset: npt.ArrayLike | None = None,
        bias: npt.ArrayLike | None = None,
        provenance: dict[str, Any] | None = None,
        *,
        unit: bool = False,
        lengths: Mapping[str, float] | None = None,
    ) -> None:
        A = as_matrix(matrix, "a map's matrix").astype(np.float64, copy=False)
        n_in, n_out = A.shape
        parts = {
            "matrix": A,
            "offset": np.zeros(n_in) if offset is None else np.asarray(offset, dtype=np.float64),
            "bias": np.zeros(n_out) if bias is None else np.asarray(bias, dtype=np.float64),
        }
        if parts["offset"].shape != (n_in,) or parts["bias"].shape != (n_out,):
            raise InvalidInputError(
                f"a {n_in} x {n_out} map needs an offset of {n_in} and a bias of {n_out} numbers, "
                f"not of shapes {parts['offset'].shape} and {parts['bias'].shape}"
            )
        for name, part in parts.items():
            if not np.isfinite(part).all():
                raise InvalidInputError(f"a map's {name} must not contain NaN or infinity")
        if lengths is not None and not all(0 < factor < np.inf for factor in lengths.values()):
            raise InvalidInputError("the lengths of words must be positive and finite")
        facts = {"provenance": dict(provenance or {}), "unit": unit, "lengths": lengths}
        for name, value in (parts | facts).items():
            object.__setattr__(self, name, value)

    @property
    def n_in(self) -> int:
        """Dimension of the input vectors."""
        return len(self.offset)

    @property
    def n_out(self) -> int:
        """Dimension of the output vectors."""
        return len(self.bias)

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Map each row of `X`, or a single vector.

        float32 gives float32 and float64 gives float64; float16 gives float32, integers float64
        (`conceptor.base.arrays.result_dtype`). Besides the result, memory holds one small block.
        """
        if np.ndim(X) == 1:
            return self(np.asarray(X)[np.newaxis]).reshape(-1)
        vectors = as_matrix(X, empty=True)
        if vectors.shape[1] != self.n_in:
            raise InvalidInputError(
                f"this map is for {self.n_in}-dimensional vectors; these have {vectors.shape[1]}"
            )
        dtype = result_dtype(vectors.dtype)
        out = np.empty((len(vectors), self.n_out), dtype=dtype)
        matrix, offset, bias = (
            part.astype(dtype, copy=False) for part in (self.matrix, self.offset, self.bias)
        )
        step = max(_BLOCK_ROWS, _BLOCK_NUMBERS // self.n_in)
        for start in range(0, len(vectors), step):
            part = slice(start, start + step)
            rows = vectors[part]
            if self.unit:
                rows = rows / row_lengths(rows)[:, np.newaxis]
            rows = rows.astype(dtype, copy=False)
            if offset.any():
                rows = rows - offset
            np.matmul(rows, matrix, out=out[part])
            if bias.any():
                out[part] += bias
        return out

    def map_words(self, words: Sequence[str], X: npt.ArrayLike) -> Array:
        """Map each row of `X`, the vectors of `words`, and scale it by the length of its word.

        A word without a length, such as a new word, gets the same vector as from a call.
        """
        mapped = self(X)
        if self.lengths is not None:
            each = map(self.lengths.get, words, repeat(1.0))
            factors = np.fromiter(each, mapped.dtype, len(words))
            changed = np.flatnonzero(factors != 1.0)
            mapped[changed] *= factors[changed, np.newaxis]
        return mapped

    def __matmul__(self, after: AffineMap) -> Self:
        """Compose, first this map and then `after`: ``(f @ g)(X) == g(f(X))``.

        The order is that of the row-vector product ``X A B``.
        """
        if not isinstance(after, AffineMap):
            return NotImplemented
        if self.n_out != after.n_in:
            raise InvalidInputError(
                f"a map to {self.n_out} dimensions cannot be followed by one from {after.n_in}"
            )
        if after.unit:
            raise InvalidInputError(
                "a map that brings vectors to length 1 cannot be the second part of one map; apply "
                "or save the two maps separately"
            )
        shifts = after.offset.any() or after.bias.any()
        if self.lengths is not None and (after.lengths is not None or shifts):
            raise InvalidInputError(
                "a map with lengths of words can only be followed by a map without lengths, offset "
                "or bias; apply or save the two maps separately"
            )
        return type(self)(
            self.matrix @ after.matrix,
            self.offset,
            (self.bias - after.offset) @ after.matrix + after.bias,
            {"method": "composition", "steps": [self.provenance, after.provenance]},
            unit=self.unit,
            lengths=self.lengths or after.lengths,
        )

    def inverse(self) -> Self:
        """Return the map that undoes this one; raise if directions or lengths were dropped."""
        if self.unit:
            raise InvalidInputError("a map that brings vectors to length 1 has no inverse")
        if self.n_in != self.n_out:
            raise InvalidInputError(
                f"a map from {self.n_in} to {self.n_out} dimensions has no inverse"
            )
        scales = np.linalg.svd(self.matrix, compute_uv=False)
        lost = int(np.count_nonzero(scales <= scales[0] * self.n_in * np.finfo(np.float64).eps))
        if lost:
            raise InvalidInputError(
                f"this map drops {lost} of {self.n_in} directions and has no inverse"
            )
        return type(self)(
            np.linalg.inv(self.matrix),
            self.bias,
            self.offset,
            {"method": "inverse", "of": self.provenance},
        )

    def linear(self) -> Self:
        """Return the map without bringing vectors to length 1, for averages of vectors.

        Lengths of words are left out too. Every result keeps its direction, and the map of an
        average is the average of the mapped vectors; raise if an offset or a bias prevents that.
        """
        if not self.unit:
            return self if self.lengths is None else replace(self, lengths=None)
        if self.offset.any() or self.bias.any():
            method = self.provenance.get("method", "the map")
            raise InvalidInputError(
                f"{method} brings vectors to length 1 and then shifts them, which does not "
                "carry over to averages; use it with lengths=kept"
            )
        return type(self)(self.matrix, provenance=self.provenance)

    def save(self, path: str | os.PathLike[str], *, background: Background | None = None) -> None:
        """Write the map and its provenance as safetensors, perhaps with a `Background`."""
        metadata = {
            "format": MAP_FORMAT,
            "provenance": json.dumps(self.provenance, sort_keys=True),
            "unit": json.dumps(self.unit),
        }
        extra = {} if background is None else background.tensors
        save_tensors(path, self.tensors | extra, metadata)

    @property
    def tensors(self) -> dict[str, Array]:
        """All numbers by name; the words of lengths are UTF-8 JSON."""
        parts: dict[str, Array]
        parts = {"matrix": self.matrix, "offset": self.offset, "bias": self.bias}
        if self.lengths is not None:
            words = json.dumps(list(self.lengths)).encode()
            parts["length_words"] = np.frombuffer(words, dtype=np.uint8)
            parts["length_factors"] = np.array(list(self.lengths.values()), dtype=np.float64)
        return parts

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a map written by `save`; raise for any other or a truncated file."""
        return load_tensors(path, "map", (MAP_FORMAT,), cls._parse)

    @classmethod
    def _parse(cls, parts: dict[str, Array], metadata: dict[str, str]) -> Self:
        provenance = dict(json.loads(metadata["provenance"]))
        matrix, offset, bias = (parts[name] for name in ("matrix", "offset", "bias"))
        unit = bool(json.loads(metadata["unit"]))
        lengths = None
        if "length_words" in parts:
            words = json.loads(parts["length_words"].astype(np.uint8).tobytes())
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise InvalidInputError("its lengths do not contain a list of words")
            lengths = dict(zip(words, parts["length_factors"].tolist(), strict=True))
        return cls(matrix, offset, bias, provenance, unit=unit, lengths=lengths)

    def as_linear(self) -> tuple[Float64, Float64]:
        """Return W and b of ``y = W x + b`` for column vectors, as in neural network layers.

        With `unit`, they apply to ``x / |x|``.
        """
        return np.ascontiguousarray(self.matrix.T), self.bias - self.offset @ self.matrix

    def to_json(self) -> str:
        """Return the map as JSON, for JavaScript: directions only, without lengths of words.

        Numbers have nine digits, enough for float32; `matrix` is a list of rows.
        """

        def nine_digits(numbers: Float64) -> list[float]:
            return [float(f"{number:.9g}") for number in numbers]

        content = {
            "offset": nine_digits(self.offset),
            "matrix": [nine_digits(row) for row in self.matrix],
            "bias": nine_digits(self.bias),
            "format": "conceptor.AffineMap.json/1",
            "unit": self.unit,
            "provenance": self.provenance,
        }
        return json.dumps(content)

    def __repr__(self) -> str:
        method = self.provenance.get("method", "unknown")
        return f"AffineMap({self.n_in} -> {self.n_out}, method={method})"
