"""The post-processors, their names, and the one way from moments to a map.

    moments ──▶ method.solve ──▶ Solution(spectrum, gate, aperture, map)

To add a method, add an entry to `METHODS`: the command line, `compare`, the estimators and the
docs all read that table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np

from conceptor import __version__
from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.gates import (
    DropAll,
    DropLeading,
    Gate,
    HalfSize,
    LeadingNegation,
    LevelLeading,
    Negation,
    RidgeNegation,
    SingularValuePower,
    Whiten,
    check_number,
)
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum, symmetric_part
from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError, did_you_mean
from conceptor.base.threads import one_blas_thread
from conceptor.vectors.vectors import RowKind, Vectors

# The method that leaves the vectors unchanged.
ORIGINAL = "original"
DEFAULT_METHODS = (ORIGINAL, "abtt", "cn-paper", "cn")
# The method for each kind of row. Rows of static models keep their lengths, which weight tokens;
# embeddings of whole texts gain little and can lose, so they get a gentle method.
_DEFAULTS = {RowKind.WORDS: "cn", RowKind.TOKENS: "cn:lengths=kept", RowKind.TEXTS: "gentle"}


class Words(StrEnum):
    """The words that a method's moment is computed from, and how much each counts."""

    USAGE = "usage"  # every word, by its share of running text
    TYPES = "types"  # common words, once each
    FUNCTION_WORDS = "function words"  # once each
    ALL = "all"  # every word, once each


class Lengths(StrEnum):
    """How the lengths of vectors are treated; `unit` and `usage` give the same directions."""

    KEPT = "kept"  # the map is fitted to vectors as they are
    UNIT = "unit"  # vectors are brought to length 1 first, in the moment and in the map
    USAGE = "usage"  # the same, and then rows of frequent words are shortened (`conceptor.fit`)


@dataclass(frozen=True)
class Method:
    """A post-processor: ``y = U diag(g(λ)) Uᵀ (x − m)`` with ``λ, U`` from a moment of the words.

    `str(method)` is its name with the parameters that differ from the registry, such as
    `abtt:n_directions=3`; `Method.parse` is the inverse.
    """

    name: str
    description: str
    words: Words
    # The property of `Moments` to decompose; with the covariance, m is the mean.
    moment: Literal["second_moment", "covariance", "gram", "mean_square"]
    gate: Gate
    lengths: Lengths = Lengths.KEPT
    # The dimension of the result: its coordinates are the leading directions after the gate,
    # strongest first. None keeps the dimension and the coordinate system.
    n_components: int | None = None

    @classmethod
    def parse(cls, text: str) -> Method:
        """Read a name; raise for an unknown method or parameter."""
        name, *settings = text.split(":")
        if name not in METHODS:
            hint = did_you_mean(name, METHODS)
            raise InvalidInputError(
                f"unknown method {name!r}{hint}; the methods are {', '.join(METHODS)}"
            )
        method = METHODS[name]
        parameters: dict[str, object] = {}
        for setting in settings:
            key, _, value = setting.partition("=")
            try:
                parameters[key] = int(value) if key.startswith("n_") else float(value)
            except ValueError:
                parameters[key] = value
        return method.with_parameters(**parameters)

    def __str__(self) -> str:
        usual = METHODS[self.name].parameters if self.name in METHODS else {}
        text = self.name
        for key, value in self.parameters.items():
            if usual.get(key) != value:
                text += f":{key}={str(value).removesuffix('.0')}"  # 2 instead of 2.0
        return text

    @property
    def is_original(self) -> bool:
        """Whether it changes nothing at all."""
        return type(self.gate) is Gate and not (self.n_components or self.unit)

    @property
    def unit(self) -> bool:
        """Whether vectors are brought to length 1 first."""
        return self.lengths is not Lengths.KEPT

    @property
    def weighs_by_usage(self) -> bool:
        """Whether word frequencies change the result: by the moment, or by the lengths."""
        return self.words is Words.USAGE or self.lengths is Lengths.USAGE

    @property
    def once(self) -> Words | None:
        """The words that choose the directions of `n_components`; None for those of the moment.

        Each counts once: after the gate, function words have the strongest directions of text.
        """
        uneven = (Words.USAGE, Words.FUNCTION_WORDS)
        return Words.TYPES if self.words in uneven and self.n_components is not None else None

    @property
    def parameters(self) -> dict[str, Any]:
        """The gate's parameters by name, `lengths` and `n_components`."""
        size = self.n_components
        return asdict(self.gate) | {"lengths": str(self.lengths), "n_components": size}

    def with_parameters(self, **parameters: object) -> Method:
        """Return the method with other parameters; raise for an unknown name or invalid value."""
        for name in parameters:
            if name not in self.parameters:
                takes = ", ".join(self.parameters)
                raise InvalidInputError(f"{self.name} has no parameter {name}; it takes {takes}")
        lengths = parameters.pop("lengths", self.lengths)
        if lengths not in tuple(Lengths):
            choices = ", ".join(Lengths)
            raise InvalidInputError(f"lengths must be one of {choices}; it is {lengths!r}")
        size: Any = parameters.pop("n_components", self.n_components)
        if size is not None:
            check_number("n_components", size, Integral, 1)
            size = int(size)
        gate = replace(self.gate, **parameters)
        return replace(self, gate=gate, lengths=Lengths(str(lengths)), n_components=size)

    def output_dimension(self, dimension: int) -> int:
        """Return the dimension of the result for vectors of this dimension."""
        return self.n_components or self.gate.components(dimension) or dimension

    def check_rows(self, vectors: Vectors) -> None:
        """Raise if it needs words and the rows have none or are texts."""
        is_text = vectors.kind is RowKind.TEXTS
        if self.words is Words.FUNCTION_WORDS and (is_text or not vectors.has_words):
            reason = "are texts" if vectors.has_words else "have no words"
            raise InvalidInputError(f"{vectors.name}: its rows {reason}, but {self} needs words")

    # An eigendecomposition of this size is faster on one processor.
    @one_blas_thread()
    def solve(self, moments: Moments, once: Moments | None = None) -> Solution:
        """Return the map for vectors with these moments; costs one eigendecomposition.

        `moments` are of the method's `words`, and `once` of those that choose the leading
        directions, by default the same. If they are of unit vectors, the map normalizes first.
        """
        if self.moment == "mean_square":
            once = once or moments  # the mean cannot rank the other directions
        spectrum = Spectrum.from_matrix(getattr(moments, self.moment))
        n = moments.dimension
        components = self.n_components or self.gate.components(n)
        if components is not None and components > n:
            raise InvalidInputError(
                f"{components} dimensions were requested, but the vectors have {n}; choose fewer"
            )
        coefficients = self.gate.coefficients(spectrum.values, components or n)
        if not np.isfinite(coefficients).all():
            raise InvalidInputError(
                f"{self.name}: a coefficient overflows float64 on these vectors; scale the "
                "vectors, or choose other parameters"
            )
        mean = moments.mean if self.moment == "covariance" else None
        if components is None:
            matrix = spectrum.matrix(coefficients)
        elif once is None:
            matrix = _leading(spectrum, coefficients, components)
        else:
            gated = spectrum.matrix(coefficients)
            shift = once.mean if mean is None else once.mean - mean
            about_mean = once.covariance + np.outer(shift, shift)
            behind = symmetric_part(gated @ about_mean @ gated)
            # If the gate drops all directions of the vectors, only rounding is left.
            if np.abs(behind).max() <= n * np.finfo(np.float64).eps * np.trace(about_mean):
                behind[:] = 0.0
            matrix = gated @ _leading(Spectrum.from_matrix(behind), np.ones(n), components)
        aperture = self.gate.find_aperture(spectrum.values)
        parameters = asdict(self.gate)
        if components is not None:
            parameters["n_components"] = components
        provenance = {
            "method": self.name,
            # JSON has no numbers of NumPy.
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in parameters.items()
            },
            "count": moments.count,
            "weight": moments.weight,
            "dimension": n,
            "library": f"conceptor {__version__}",
        }
        if aperture is not None:
            provenance["aperture"] = aperture
        # At aperture 0 nothing changes, not even the length.
        map_ = AffineMap(matrix, mean, provenance=provenance, unit=moments.unit and aperture != 0)
        return Solution(self, moments, spectrum, coefficients, aperture, map_)


# The types that callers may pass for a method, and for several methods.
MethodLike: TypeAlias = Method | str
MethodsLike: TypeAlias = Iterable[MethodLike] | Mapping[str, MethodLike]


def as_method(method: MethodLike) -> Method:
    """Return a method given by name or as it is."""
    return Method.parse(method) if isinstance(method, str) else method


def as_methods(methods: MethodsLike) -> dict[str, Method]:
    """Return methods by name, without duplicates; raise for an unknown name."""
    if isinstance(methods, Mapping):
        chosen = {name: as_method(method) for name, method in methods.items()}
    else:
        chosen = {str(method): method for method in map(as_method, methods)}
    if not chosen:
        raise InvalidInputError("no method was named")
    return chosen


def default_method(vectors: Vectors) -> Method:
    """Return the default method for vectors."""
    return Method.parse(_DEFAULTS[vectors.kind])


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of solving a method for some moments."""

    method: Method
    moments: Moments
    spectrum: Spectrum  # λ, descending, and U of the method's moment
    # g(λ), how much of each direction is kept, before any reduction to fewer dimensions
    gate: Float64
    aperture: float | None  # the α that was used, if the method has one
    map: AffineMap  # can be saved and applied without this class

    @property
    def variance_removed(self) -> float | None:
        """``1 − Σ g² λ / Σ λ``; None if a direction grows, or if there is no variance at all.

        The variance is about the mean if that is subtracted; dropped dimensions count as removed.
        """
        is_centered = self.method.moment == "covariance"
        about = self.moments.covariance if is_centered else self.moments.second_moment
        total = float(np.trace(about))
        if not total > 0 or (self.gate > 1).any():
            return None
        return float(1 - np.vdot(self.map.matrix, about @ self.map.matrix) / total)

    def __repr__(self) -> str:
        aperture = "" if self.aperture is None else f", aperture={self.aperture:.4g}"
        return f"Solution({self.method.name}{aperture}, {self.moments!r})"


def _leading(spectrum: Spectrum, coefficients: Float64, count: int) -> Float64:
    """Return the strongest directions after a gate, as columns, times their coefficients.

    Directions that are equally strong, up to rounding, keep their order; after whitening that is
    the order before it. Directions without variance are an arbitrary basis, so they stay at zero.
    """
    left = coefficients * np.sqrt(spectrum.values)
    shares = (left / (left.max() or 1.0)).astype(np.float32)
    leading = np.argsort(-shares, kind="stable")[:count]
    return spectrum.vectors[:, leading] * np.where(left > 0, coefficients, 0.0)[leading]


_ENTRIES = (
    Method(ORIGINAL, "leaves the vectors as they are", Words.ALL, "second_moment", Gate()),
    Method(
        "cn",
        "turns down the directions that frequent words share, in unit vectors; the default for "
        "words (conceptor negation weighted by usage, power 0.5)",
        Words.USAGE,
        "second_moment",
        Negation(),
        Lengths.USAGE,
    ),
    Method(
        "cn-paper",
        "turns down the directions that common words share, as in the paper: each word counts "
        "once, aperture 2 (conceptor negation)",
        Words.TYPES,
        "second_moment",
        Negation(2.0, power=1.0),
    ),
    Method(
        "abtt",
        "removes the mean and the leading directions (all-but-the-top)",
        Words.TYPES,
        "covariance",
        DropLeading(),
    ),
    Method(
        "whitening",
        "gives every direction the same variance (ZCA whitening)",
        Words.TYPES,
        "covariance",
        Whiten(),
    ),
    Method(
        "zipf-whitening",
        "gives every direction the same variance in running text (whitening weighted by usage)",
        Words.USAGE,
        "covariance",
        Whiten(),
    ),
    Method(
        "pvn",
        "levels the leading directions instead of removing them (principal variance normalization)",
        Words.TYPES,
        "covariance",
        LevelLeading(),
    ),
    Method(
        "hsr",
        "removes from each word the part that function words predict (half-sibling regression)",
        Words.FUNCTION_WORDS,
        "gram",
        RidgeNegation(),
    ),
    Method(
        "ppa",
        "halves the dimension: all-but-the-top, then PCA, then all-but-the-top again",
        Words.TYPES,
        "covariance",
        HalfSize(),
    ),
    Method(
        "ew",
        "raises the singular values of a truncated SVD to a power (eigenvalue weighting)",
        Words.ALL,
        "gram",
        SingularValuePower(),
    ),
    Method(
        "gentle",
        "halves the strongest direction and turns down the others less; for embeddings of texts",
        Words.ALL,
        "second_moment",
        LeadingNegation(),
    ),
    Method(
        "renormalization",
        "removes the direction of the mean, from unit vectors",
        Words.ALL,
        "mean_square",
        DropAll(),
        Lengths.UNIT,
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _ENTRIES}
