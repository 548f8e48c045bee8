"""The map that every post-processor produces: apply, compose, invert, save and load it.

`conceptor.integrations` exports it as a FAISS index, a PyTorch layer or an ONNX model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from conceptor.algebra.lengths import LengthTable
from conceptor.algebra.saved import load_tensors, save_tensors
from conceptor.base.arrays import (
    as_matrix,
    block_slices,
    is_one_vector,
    result_dtype,
    row_lengths,
)
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.files import replace_atomically
from conceptor.base.notebook import html_table

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy.typing as npt

    from conceptor.algebra.background import Background
    from conceptor.base.arrays import Array, Float64

# The name of this class when the format was created; files keep it. A map that brings vectors to
# length 1 has a format of its own, so that older readers refuse the file.
_FORMAT = "conceptor.LinearMap/1"
_UNIT_FORMAT = "conceptor.AffineMap/2"
# The same for a map with lengths of words, with and without bringing vectors to length 1.
_LENGTHS_FORMAT = "conceptor.AffineMap/3"
MAP_FORMATS = (_FORMAT, _UNIT_FORMAT, _LENGTHS_FORMAT)
_JSON_FORMAT = "conceptor.AffineMap.json/1"
# Rows shorter than this, or longer than its inverse, are divided by their length first.
_SHORT = 1e-12
# A block that stays in the cache from one step to the next, but is large enough for BLAS.
_MAPPED_ROWS, _MAPPED_NUMBERS = 512, 1 << 17


@dataclass(frozen=True, eq=False, repr=False, init=False)
class AffineMap:
    """``y = (x − offset) A + bias`` for row vectors x, or for ``x / |x|`` with `unit`.

    Subtracting the offset first, rather than folding it into the bias, keeps precision for
    vectors far from the origin. With both, maps compose and invert exactly.

    Parameters
    ----------
    matrix : array-like of shape (n_in, n_out)
        A, in float64; symmetric for every post-processor that keeps the dimension.
    offset : array-like of shape (n_in,), optional
        Subtracted first; zero by default.
    bias : array-like of shape (n_out,), optional
        Added last; zero by default, and for every fitted estimator.
    provenance : dict, optional
        Where the map comes from (method, parameters, count, ...); must survive JSON.
    unit : bool
        Bring vectors to length 1 first; a row of zeros stays.
    lengths : LengthTable, optional
        The factors for the rows of frequent words, applied last. Only `map_words` uses them;
        calling the map gives directions only.
    """

    matrix: Float64
    offset: Float64
    bias: Float64
    provenance: dict[str, Any]
    unit: bool
    lengths: LengthTable | None
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
        lengths: LengthTable | None = None,
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
            object.__setattr__(self, name, part)
        object.__setattr__(self, "provenance", dict(provenance or {}))
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "lengths", lengths)

    @property
    def _shifts(self) -> bool:
        return bool(self.offset.any() or self.bias.any())

    @cached_property
    def _is_identity(self) -> bool:
        return not (self._shifts or self.unit) and np.array_equal(self.matrix, np.eye(self.n_in))

    @property
    def n_in(self) -> int:
        """Dimension of the input vectors."""
        return len(self.offset)

    @property
    def n_out(self) -> int:
        """Dimension of the output vectors."""
        return len(self.bias)

    def __call__(self, X: npt.ArrayLike, out: Array | None = None) -> Array:
        """Map each row of `X`, or a single vector.

        float32 gives float32 and float64 gives float64; float16 gives float32, integers float64
        (`conceptor.base.arrays.result_dtype`). Besides the result, memory holds one small block.

        Parameters
        ----------
        X : array-like of shape (k, n_in) or (n_in,)
            k may be 0.
        out : ndarray of shape (k, n_out), optional
            The array for the result; it may be `X` itself.
        """
        if is_one_vector(X):
            mapped = self(np.asarray(X)[np.newaxis], None if out is None else out[np.newaxis])
            return mapped.reshape(-1)
        vectors = as_matrix(X, empty=True)
        if vectors.shape[1] != self.n_in:
            raise InvalidInputError(
                f"this map is for {self.n_in}-dimensional vectors; these have {vectors.shape[1]}"
            )
        dtype = result_dtype(vectors.dtype)
        if out is None:
            out = np.empty((len(vectors), self.n_out), dtype=dtype)
        matrix = self.matrix.astype(dtype, copy=False)
        offset, bias = self.offset.astype(dtype), self.bias.astype(dtype)
        if not len(vectors):
            return out
        if self._is_identity:  # a product would turn -0 into 0
            np.copyto(out, vectors)
            return out
        as_it_is = vectors.dtype == dtype and not np.may_share_memory(vectors, out)
        if as_it_is and not (self.unit or offset.any() or bias.any()):
            return np.matmul(vectors, matrix, out=out)
        if as_it_is and not (offset.any() or bias.any()):
            return self._map_units(vectors, matrix, out)
        parts = list(block_slices(*vectors.shape))
        scratch = np.empty((parts[0].stop, self.n_in), dtype=dtype)
        for part in parts:
            block = scratch[: part.stop - part.start]
            if self.unit:
                lengths = row_lengths(vectors[part])
                np.divide(vectors[part], lengths[:, np.newaxis], out=block, casting="same_kind")
                block -= offset
            else:
                np.subtract(vectors[part], offset, out=block, casting="same_kind")
            np.matmul(block, matrix, out=out[part])
            if bias.any():
                out[part] += bias
        return out

    def map_words(self, words: Sequence[str], X: npt.ArrayLike) -> Array:
        """Map each row of `X`, the vectors of `words`, and scale it by the length of its word.

        A word without a length, such as a new word, gets the same vector as from a call.
        """
        mapped = self(X)
        return mapped if self.lengths is None else self.lengths.scale(words, mapped)

    def with_lengths(self, lengths: LengthTable | None) -> Self:
        """Return the map with different lengths of words."""
        parts = self.matrix, self.offset, self.bias, self.provenance
        return type(self)(*parts, unit=self.unit, lengths=lengths)

    def _map_units(self, vectors: Array, matrix: Array, out: Array) -> Array:
        """Map rows, then divide each result by the length of its row.

        Products of ordinary rows cannot overflow; extreme rows are divided by their length first.
        """
        most = max(_MAPPED_ROWS, _MAPPED_NUMBERS // self.n_in)
        # Of equal size, because BLAS rounds differently in a small block at the end.
        step = -(-len(vectors) // max(1, len(vectors) // most))
        for start in range(0, len(vectors), step):
            part = slice(start, start + step)
            rows, lengths = vectors[part], row_lengths(vectors[part])[:, np.newaxis]
            if lengths.min() < _SHORT or lengths.max() > 1 / _SHORT:
                rows, lengths = (rows / lengths).astype(out.dtype, copy=False), np.ones((1, 1))
            np.matmul(rows, matrix, out=out[part])
            out[part] *= (1 / lengths).astype(out.dtype, copy=False)
        return out

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
        if self.lengths is not None and (after.lengths is not None or after._shifts):
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
        """Return the map that undoes this one.

        Raises
        ------
        InvalidInputError
            If directions or lengths were dropped, so that they cannot be restored.
        """
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
        average is the average of the mapped vectors.

        Raises
        ------
        InvalidInputError
            If the map has an offset or a bias, so that the direction would change.
        """
        if not self.unit:
            return self if self.lengths is None else self.with_lengths(None)
        if self._shifts:
            raise InvalidInputError(
                f"{self._method} brings vectors to length 1 and then shifts them, which does not "
                "carry over to averages; use it with ",
                Setting("unit", False),
            )
        return type(self)(self.matrix, provenance=self.provenance)

    def dual(self) -> Self:
        """Return the map for vectors that are multiplied with mapped ones, such as an output layer.

        All products stay the same if the map drops no direction and shifts nothing. Dropped
        directions no longer contribute.
        """
        undone = np.linalg.pinv(self.matrix, rcond=1e-10)
        return type(self)(undone.T, provenance={"method": "dual", "of": self.provenance})

    def save(self, path: str | os.PathLike[str], *, background: Background | None = None) -> None:
        """Write the map and its provenance as safetensors; the file appears whole or not at all.

        A `background` of cosines between mapped rows goes into the same file; `Background.load`
        reads it from there.
        """
        metadata = {
            "format": _UNIT_FORMAT if self.unit else _FORMAT,
            "provenance": json.dumps(self.provenance, sort_keys=True),
        }
        parts: dict[str, Array] = {
            "matrix": self.matrix,
            "offset": self.offset,
            "bias": self.bias,
        }
        if self.lengths is not None:
            metadata |= {"format": _LENGTHS_FORMAT, "unit": json.dumps(self.unit)}
            parts |= self.lengths.tensors
        beside = {} if background is None else background.tensors
        save_tensors(path, parts | beside, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a map written by `save`.

        Raises
        ------
        InvalidInputError
            If the file is not such a map, or is truncated.
        """
        return load_tensors(path, "map", MAP_FORMATS, cls._parse)

    @classmethod
    def _parse(cls, parts: dict[str, Array], metadata: dict[str, str]) -> Self:
        provenance = dict(json.loads(metadata["provenance"]))
        matrix, offset, bias = (parts[name] for name in ("matrix", "offset", "bias"))
        unit = metadata["format"] == _UNIT_FORMAT or json.loads(metadata.get("unit", "false"))
        lengths = LengthTable.from_tensors(parts)
        return cls(matrix, offset, bias, provenance, unit=bool(unit), lengths=lengths)

    def as_linear(self) -> tuple[Float64, Float64]:
        """Return W and b of ``y = W x + b`` for column vectors, as in neural network layers.

        With `unit`, they apply to ``x / |x|``.
        """
        return np.ascontiguousarray(self.matrix.T), self.bias - self.offset @ self.matrix

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the map as JSON, for JavaScript; with `path`, write it to a file as well.

        Keys are `unit`, `offset`, `matrix` (a list of rows), `bias` and `provenance`; numbers have
        nine digits, enough for float32. It holds directions only, without lengths of words.
        """
        parts = {"offset": self.offset, "matrix": self.matrix, "bias": self.bias}
        found = {"format": _JSON_FORMAT, "unit": self.unit, "provenance": self.provenance}
        text = json.dumps(found | {name: _nine_digits(part) for name, part in parts.items()})
        if path is not None:
            with replace_atomically(path) as beside:
                beside.write_text(text, encoding="utf-8")
        return text

    def __repr__(self) -> str:
        return f"AffineMap({self.n_in} -> {self.n_out}, method={self._method})"

    def _repr_html_(self) -> str:
        """Show shape and origin in a notebook."""
        shape = {"dimensions": f"{self.n_in} → {self.n_out}", "method": self._method}
        known = ("aperture", "count", "library")
        return html_table(
            "AffineMap", shape | {k: self.provenance[k] for k in known if k in self.provenance}
        )

    @property
    def _method(self) -> str:
        return str(self.provenance.get("method", "unknown"))


def _nine_digits(numbers: Float64) -> Any:  # noqa: ANN401
    """Return (nested) lists of numbers with nine significant digits."""
    if numbers.ndim > 1:
        return [_nine_digits(row) for row in numbers]
    return [float(f"{number:.9g}") for number in numbers]
