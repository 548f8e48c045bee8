"""The post-processors, their names, and the one way from moments to a map.

Every method makes the same decisions: how much each word counts (`Method.words`), which moment is
decomposed (`moment`), which gate is applied to it (`gate`), what happens to the lengths of vectors
(`lengths`), and how many dimensions stay (`n_components`):

    moments ──▶ method.solve ──▶ Solution(spectrum, gate, aperture, map)

A method and its solution are frozen. To add a method, add an entry to `METHODS`; the command line,
`compare`, the estimators and the docs all read that table.
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
from conceptor.algebra.conceptors import Conceptor
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

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "ORIGINAL",
    "Lengths",
    "Method",
    "MethodLike",
    "MethodsLike",
    "Solution",
    "Words",
    "as_methods",
    "default_method",
]

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
    """How the lengths of vectors are treated."""

    KEPT = "kept"  # the map is fitted to vectors as they are
    UNIT = "unit"  # vectors are brought to length 1 first
    USAGE = "usage"  # the same, and then rows of frequent words are shortened


@dataclass(frozen=True)
class Method:
    """A post-processor: ``y = U diag(g(λ)) Uᵀ (x − m)`` with ``λ, U`` from a moment of the words.

    `str(method)` is its name with the parameters that differ from the registry, such as
    `abtt:n_directions=3`; `Method.parse` is the inverse.

    Attributes
    ----------
    name, description : str
        Its name everywhere, and one line on what it does.
    words : Words
        The words that the moment is computed from, and how much each counts.
    moment : {"second_moment", "covariance", "gram", "mean_square"}
        The property of `Moments` to decompose; with the covariance, m is the mean.
    gate : Gate
        g, with its parameters.
    lengths : Lengths
        `unit` brings vectors to length 1 first, both in the moment and in the map. `usage` does
        the same and then shortens the rows of frequent words; that needs words, so
        `conceptor.fit` does it. Directions are the same with `unit` and `usage`.
    n_components : int or None
        The dimension of the result: its coordinates are the leading directions after the gate,
        strongest first. None keeps the dimension and the coordinate system. See `once`.

    Examples
    --------
    >>> str(Method.parse("cn:aperture=2"))
    'cn:aperture=2'
    """

    name: str
    description: str
    words: Words
    moment: Literal["second_moment", "covariance", "gram", "mean_square"]
    gate: Gate
    lengths: Lengths = Lengths.KEPT
    n_components: int | None = None

    @classmethod
    def parse(cls, text: str) -> Method:
        """Read a name; raise for an unknown method or parameter."""
        name, *settings = text.split(":")
        if name not in METHODS:
            names = ", ".join(METHODS)
            hint = did_you_mean(name, METHODS) if name.lower() not in METHODS else ""
            raise InvalidInputError(f"unknown method {name!r}{hint}; the methods are {names}")
        method = METHODS[name]
        parameters: dict[str, object] = {}
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not equals or key not in method.parameters:
                takes = ", ".join(sorted(method.parameters))
                raise InvalidInputError(f"{text}: {setting!r} is not a parameter; it takes {takes}")
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
        """The words that decide which directions lead; None for the weighted words of the moment.

        After the gate, the strongest directions of running text are those of function words. So
        with fewer dimensions each word counts once.
        """
        uneven = (Words.USAGE, Words.FUNCTION_WORDS)
        return Words.TYPES if self.words in uneven and self.n_components is not None else None

    @property
    def parameters(self) -> dict[str, Any]:
        """The gate's parameters by name, `lengths` and `n_components`."""
        lengths = str(self.lengths)
        return asdict(self.gate) | {"lengths": lengths, "n_components": self.n_components}

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

    # An eigendecomposition of this size is faster on one processor: several mostly wait for each
    # other, on a busy machine for a second.
    @one_blas_thread()
    def solve(self, moments: Moments, once: Moments | None = None) -> Solution:
        """Return the map for vectors with these moments; costs one eigendecomposition.

        If the moments are of vectors of length 1, the map brings vectors to length 1 first.

        Parameters
        ----------
        moments : Moments
            Moments of the method's `words`.
        once : Moments, optional
            Moments of its `once`, used to find the leading directions; by default `moments`.
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
        for name, value in parameters.items():
            if isinstance(value, np.generic):
                parameters[name] = value.item()  # JSON has no numbers of NumPy
        provenance = {
            "method": self.name,
            "parameters": parameters,
            "count": moments.count,
            "weight": moments.weight,
            "effective_count": moments.effective_count,
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
    chosen: dict[str, Method] = {}
    if isinstance(methods, Mapping):
        chosen = {name: as_method(method) for name, method in methods.items()}
    else:
        for method in map(as_method, methods):
            chosen[str(method)] = method
    if not chosen:
        raise InvalidInputError("no method was named")
    return chosen


def default_method(vectors: Vectors) -> Method:
    """Return the default method for vectors."""
    return Method.parse(_DEFAULTS[vectors.kind])


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of solving a method for some moments.

    Attributes
    ----------
    method : Method
    moments : Moments
    spectrum : Spectrum
        ``λ`` (descending) and ``U`` of the method's moment.
    gate : ndarray of shape (n,)
        ``g(λ)``, the paper's variance gating coefficients: how much of each direction is kept,
        before any reduction to fewer dimensions.
    aperture : float or None
        The α that was used, given or chosen.
    map : AffineMap
        The map that improves vectors; it can be saved and applied without this class.
    """

    method: Method
    moments: Moments
    spectrum: Spectrum
    gate: Float64
    aperture: float | None
    map: AffineMap

    @property
    def conceptor(self) -> Conceptor:
        """The conceptor C whose negation this is, for its algebra."""
        if self.aperture is None:
            raise InvalidInputError(f"{self.method.name} has no conceptor")
        return Conceptor.from_spectrum(self.spectrum, self.aperture)

    @property
    def variance_removed(self) -> float | None:
        """``1 − Σ g² λ / Σ λ``; None if a direction grows, or if there is no variance at all.

        λ are the eigenvalues of the covariance if the mean is subtracted, else of the second
        moment. With fewer dimensions, the dropped ones count as removed.
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


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(ORIGINAL, "leaves the vectors as they are", Words.ALL, "second_moment", Gate()),
        Method(
            "cn",
            "turns down the directions that frequent words share, in unit vectors; the default for "
            "words (conceptor negation weighted by usage, power 0.5)",
            Words.USAGE,
            "second_moment",
            Negation(),
            lengths=Lengths.USAGE,
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
            "levels the leading directions instead of removing them (principal variance "
            "normalization)",
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
            "raises the singular values to a power, for vectors from a truncated SVD (eigenvalue "
            "weighting)",
            Words.ALL,
            "gram",
            SingularValuePower(),
        ),
        Method(
            "gentle",
            "halves the strongest direction and turns down the others less; for embeddings of "
            "texts",
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
            lengths=Lengths.UNIT,
        ),
    )
}
