"""The post-processors as recipes, and the registry that names them.

Every method makes the same three decisions: how much each word counts (`Recipe.words`), which
moment is decomposed (`Recipe.moment`), and which gate is applied to it (`Recipe.gate`). A method
may also keep only the leading directions after the gate (`Recipe.n_components`). So there is one
way from moments to a map for every caller:

    moments ──▶ recipe.solve ──▶ Solution(spectrum, gate, aperture, map)

A recipe is frozen and so is its solution. To add a method, add an entry to `METHODS`, here or
from another package; the command line, `compare`, the estimators and the docs all read that
registry. `conceptor.methods` parses names such as `abtt:n_directions=3` and `cn+counterfit`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal

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
from conceptor.algebra.lengths import Lengths
from conceptor.algebra.spectrum import Spectrum, symmetric_part
from conceptor.base.errors import InvalidInputError
from conceptor.base.registry import Registry

if TYPE_CHECKING:
    from conceptor.algebra.moments import Moments
    from conceptor.base.arrays import Float64

__all__ = [
    "METHODS",
    "LexiconRecipe",
    "Recipe",
    "Solution",
    "Words",
    "leading_directions",
    "spectral_recipe",
]


# A map that changes by less than this, relative to its norm, counts as unchanged.
_SMALL_CHANGE = 1e-6
# An eigenvalue above this many times its rounding bound is not zero.
_TOLD_APART = 4


class Words(StrEnum):
    """The words that a recipe's moment is computed from, and how much each counts."""

    USAGE = "usage"  # every word, by its share of running text
    TYPES = "types"  # common words, once each
    FUNCTION_WORDS = "function words"  # once each
    ALL = "all"  # every word, once each


@dataclass(frozen=True)
class Recipe:
    """A post-processor: ``y = U diag(g(λ)) Uᵀ (x − m)`` with ``λ, U`` from a moment of the words.

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
        `conceptor.fitting` does it. Directions are the same with `unit` and `usage`.
    n_components : int or None
        The dimension of the result: its coordinates are the leading directions after the gate,
        strongest first. None keeps the dimension and the coordinate system. See `once`.
    swaps : bool
        Whether the words of the moment themselves get a second map, fitted on the commonest other
        words.
    """

    name: str
    description: str
    words: Words
    moment: Literal["second_moment", "covariance", "gram", "mean_square"]
    gate: Gate
    lengths: Lengths = Lengths.KEPT
    n_components: int | None = None
    swaps: bool = False

    @property
    def centred(self) -> bool:
        """Whether the mean is subtracted first."""
        return self.moment == "covariance"

    @property
    def parameters(self) -> dict[str, Any]:
        """The gate's parameters by name, `lengths` and `n_components`."""
        return asdict(self.gate) | {
            "lengths": str(self.lengths),
            "n_components": self.n_components,
        }

    @property
    def unit(self) -> bool:
        """Whether vectors are brought to length 1 first."""
        return self.lengths is not Lengths.KEPT

    @property
    def once(self) -> Words | None:
        """The words that decide which directions lead; None for the weighted words of the moment.

        After the gate, the strongest directions of running text are those of function words. So
        with fewer dimensions each word counts once.
        """
        by_usage = self.words is Words.USAGE and self.n_components is not None
        return Words.TYPES if by_usage else None

    @property
    def is_map(self) -> bool:
        """Whether it is a single map for all vectors."""
        return not self.swaps

    @property
    def needs_words(self) -> bool:
        """Whether it needs the word of each row."""
        return self.words is Words.FUNCTION_WORDS

    @property
    def bears_rounding(self) -> bool:
        """Whether float32 products are precise enough, if `Solution.is_settled` confirms it.

        Other recipes drop directions, or divide by small eigenvalues.
        """
        is_bounded = self.n_components is None and self.moment == "second_moment"
        return self.gate._is_gradual and is_bounded

    def output_dimension(self, dimension: int) -> int:
        """Return the dimension of the result for vectors of this dimension."""
        return self.n_components or self.gate._components(dimension) or dimension

    def with_parameters(self, **parameters: object) -> Recipe:
        """Return the recipe with other parameters; raise for an unknown name or invalid value.

        `unit=True` is short for `lengths="unit"`, and `unit=False` for `lengths="kept"`.
        """
        if "unit" in parameters:
            unit = parameters.pop("unit")
            if not isinstance(unit, bool | np.bool_):
                raise InvalidInputError(f"unit must be True or False; it is {unit!r}")
            parameters = {"lengths": Lengths.UNIT if unit else Lengths.KEPT} | parameters
        for name in parameters:
            if name not in self.parameters:
                takes = ", ".join(self.parameters)
                raise InvalidInputError(f"{self.name} has no parameter {name}; it takes {takes}")
        lengths = parameters.pop("lengths", self.lengths)
        if lengths not in tuple(Lengths):
            known = ", ".join(Lengths)
            raise InvalidInputError(f"lengths must be one of {known}; it is {lengths!r}")
        size: Any = parameters.pop("n_components", self.n_components)
        if size is not None:
            check_number("n_components", size, Integral, 1)
            size = int(size)
        gate = replace(self.gate, **parameters)
        gate._check()
        return replace(self, gate=gate, lengths=Lengths(str(lengths)), n_components=size)

    def solve(self, moments: Moments, once: Moments | None = None) -> Solution:
        """Return the map for vectors with these moments; costs one eigendecomposition.

        If the moments are of vectors of length 1, the map brings vectors to length 1 first.

        Parameters
        ----------
        moments : Moments
            Moments of the recipe's `words`.
        once : Moments, optional
            Moments of its `once`, used to find the leading directions; by default `moments`.
        """
        if self.swaps and self.n_components is not None:
            raise InvalidInputError(
                f"{self.name}: the words it is fitted on do not determine which directions of "
                "the other words to keep; use fit_methods, which reads all words"
            )
        self.gate._check()
        if self.moment == "mean_square":
            once = once or moments  # the mean cannot rank the other directions
        spectrum = Spectrum.from_matrix(getattr(moments, self.moment))
        n = moments.dimension
        components = self.n_components or self.gate._components(n)
        if components is not None and components > n:
            raise InvalidInputError(
                f"{components} dimensions were requested, but the vectors have {n}; choose fewer"
            )
        gate = self.gate._settle(spectrum.values)
        coefficients = gate._coefficients(spectrum.values, components or n)
        if not np.isfinite(coefficients).all():
            raise InvalidInputError(
                f"{self.name}: a coefficient overflows float64 on these vectors; scale the "
                "vectors, or choose other parameters"
            )
        mean = moments.mean if self.centred else None
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
            left = Spectrum.from_matrix(behind)
            matrix = gated @ _leading(left, np.ones(n), components)
        aperture = getattr(gate, "aperture", None)
        parameters = asdict(self.gate) | (
            {} if components is None else {"n_components": components}
        )
        provenance = {
            "method": self.name,
            "parameters": {name: _plain(value) for name, value in parameters.items()},
            "count": moments.count,
            "weight": moments.weight,
            "effective_count": moments.effective_count,
            "dimension": n,
            "library": f"conceptor {__version__}",
        } | ({} if aperture is None else {"aperture": aperture})
        # At aperture 0 nothing changes, not even the length.
        map_ = AffineMap(matrix, mean, provenance=provenance, unit=moments.unit and aperture != 0)
        return Solution(self, moments, spectrum, coefficients, aperture, map_)


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of solving a recipe for some moments.

    Attributes
    ----------
    recipe : Recipe
    moments : Moments
    spectrum : Spectrum
        ``λ`` (descending) and ``U`` of the recipe's moment.
    gate : ndarray of shape (n,)
        ``g(λ)``, the paper's variance gating coefficients: how much of each direction is kept,
        before any reduction to fewer dimensions.
    aperture : float or None
        The α that was used, given or chosen.
    map : AffineMap
        The map that improves vectors; it can be saved and applied without this class.
    """

    recipe: Recipe
    moments: Moments
    spectrum: Spectrum
    gate: Float64
    aperture: float | None
    map: AffineMap

    @property
    def conceptor(self) -> Conceptor:
        """The conceptor C whose negation this is, for its algebra."""
        if self.aperture is None:
            raise InvalidInputError(f"{self.recipe.name} has no conceptor")
        return Conceptor.from_spectrum(self.spectrum, self.aperture)

    @property
    def variance_removed(self) -> float | None:
        """``1 − Σ g² λ / Σ λ``; None if a direction grows, or if there is no variance at all.

        λ are the eigenvalues of the covariance if the mean is subtracted, else of the second
        moment. With fewer dimensions, the dropped ones count as removed.
        """
        about = self.moments.covariance if self.recipe.centred else self.moments.second_moment
        total = float(np.trace(about))
        if not total > 0 or (self.gate > 1).any():
            return None
        return float(1 - np.vdot(self.map.matrix, about @ self.map.matrix) / total)

    @property
    def is_settled(self) -> bool:
        """Whether float32 products changed the map by less than 1e-6 of its norm.

        The bound comes from the gate's slope at the smallest eigenvalue, measured on either side of
        it. The answer is False if rounding could hide that a direction has no variance.
        """
        if not self.moments.squared_rounding:
            return True
        values, gate = self.spectrum.values, self.gate
        moved = self.moments.rounding * values[0]
        if not (self.recipe.bears_rounding and values[-1] > _TOLD_APART * moved):
            return False
        settled, least = self.recipe.gate._settle(values), np.zeros_like(values)
        least[-1] = moved
        below, above = (
            settled._coefficients(v, len(v))[-1] for v in (values - least, values + least)
        )
        return bool(below - above < 2 * _SMALL_CHANGE * gate.max())

    def __repr__(self) -> str:
        aperture = "" if self.aperture is None else f", aperture={self.aperture:.4g}"
        return f"Solution({self.recipe.name}{aperture}, {self.moments!r})"


@dataclass(frozen=True)
class LexiconRecipe:
    """A method that needs the words themselves, not only their vectors.

    It uses lists of `synonyms` or `antonyms` (`conceptor.lexicon`). A method that uses neither
    needs the frequency of each word.
    """

    name: str
    description: str
    synonyms: bool = True
    antonyms: bool = True
    is_map: ClassVar[bool] = False
    needs_words: ClassVar[bool] = True
    unit: ClassVar[bool] = False

    @property
    def lengths(self) -> Lengths:
        """Usage for `sif`, which changes only lengths; kept for all others."""
        return Lengths.KEPT if self.synonyms or self.antonyms else Lengths.USAGE

    @property
    def parameters(self) -> dict[str, Any]:
        """No parameters: an empty dict."""
        return {}

    def output_dimension(self, dimension: int) -> int:
        """Return the dimension of the result, the same as that of the vectors."""
        return dimension

    def with_parameters(self, **parameters: object) -> LexiconRecipe:
        """Return the recipe; it takes no parameters here."""
        for name in parameters:
            raise InvalidInputError(f"{self.name} has no parameter {name}; it takes no parameters")
        return self


def _leading(spectrum: Spectrum, coefficients: Float64, count: int) -> Float64:
    """Return the strongest directions after a gate, as columns, times their coefficients.

    Directions that are equally strong, up to rounding, keep their order; after whitening that is
    the order before it. Directions without variance are an arbitrary basis, so they stay at zero.
    """
    left = coefficients * np.sqrt(spectrum.values)
    shares = (left / (left.max() or 1.0)).astype(np.float32)
    kept = np.argsort(-shares, kind="stable")[:count]
    return spectrum.vectors[:, kept] * np.where(left > 0, coefficients, 0.0)[kept]


def _plain(value: object) -> object:
    """Return a number that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


METHODS: Registry[Recipe | LexiconRecipe] = Registry(
    "conceptor.methods",
    (
        Recipe(
            "cn",
            "turns down the directions that frequent words share, in vectors of length 1; the "
            "default for words (conceptor negation weighted by usage, power 0.5)",
            Words.USAGE,
            "second_moment",
            Negation(),
            lengths=Lengths.USAGE,
        ),
        Recipe(
            "cn-paper",
            "turns down the directions that common words share, as in the paper: each word counts "
            "once, aperture 2 (conceptor negation)",
            Words.TYPES,
            "second_moment",
            Negation(2.0, power=1.0),
        ),
        Recipe(
            "abtt",
            "removes the mean and the leading directions (all-but-the-top)",
            Words.TYPES,
            "covariance",
            DropLeading(),
        ),
        Recipe(
            "whitening",
            "gives every direction the same variance (ZCA whitening)",
            Words.TYPES,
            "covariance",
            Whiten(),
        ),
        Recipe(
            "zipf-whitening",
            "gives every direction the same variance in running text (whitening weighted by usage)",
            Words.USAGE,
            "covariance",
            Whiten(),
        ),
        Recipe(
            "pvn",
            "levels the leading directions instead of removing them (principal variance "
            "normalisation)",
            Words.TYPES,
            "covariance",
            LevelLeading(),
        ),
        Recipe(
            "hsr",
            "removes from each word the part that function words predict, and from each function "
            "word the part that other words predict (half-sibling regression)",
            Words.FUNCTION_WORDS,
            "gram",
            RidgeNegation(),
            swaps=True,
        ),
        Recipe(
            "ppa",
            "halves the dimension: all-but-the-top, then PCA, then all-but-the-top again",
            Words.TYPES,
            "covariance",
            HalfSize(),
        ),
        Recipe(
            "ew",
            "raises the singular values to a power, for vectors from a truncated SVD (eigenvalue "
            "weighting)",
            Words.ALL,
            "gram",
            SingularValuePower(),
        ),
        Recipe(
            "gentle",
            "halves the strongest direction and turns down the others less; for embeddings of "
            "texts",
            Words.ALL,
            "second_moment",
            LeadingNegation(),
        ),
        Recipe(
            "renormalization",
            "removes the direction of the mean, from vectors of length 1",
            Words.ALL,
            "mean_square",
            DropAll(),
            lengths=Lengths.UNIT,
        ),
        LexiconRecipe(
            "counterfit", "pulls synonyms together and pushes antonyms apart (counter-fitting)"
        ),
        LexiconRecipe(
            "counterfit-syn",
            "pulls synonyms together (counter-fitting with synonyms only)",
            antonyms=False,
        ),
        LexiconRecipe(
            "counterfit-ant",
            "pushes antonyms apart (counter-fitting with antonyms only)",
            synonyms=False,
        ),
        LexiconRecipe("retrofit", "moves each word towards its synonyms", antonyms=False),
        LexiconRecipe(
            "sif",
            "shortens frequent words, so that a plain average weights words as SIF does",
            synonyms=False,
            antonyms=False,
        ),
    ),
)


def spectral_recipe(name: str) -> Recipe:
    """Return a registered method that needs only vectors; raise for any other."""
    recipe = METHODS[name]
    if not isinstance(recipe, Recipe):
        raise InvalidInputError(f"{name} needs more than vectors; use a spectral method such as cn")
    return recipe


def leading_directions(n_components: int) -> Recipe:
    """Return plain PCA of uncentred vectors: no gate, fewer dimensions."""
    check_number("n_components", n_components, Integral, 1)
    return Recipe(
        "pca",
        "the leading directions",
        Words.TYPES,
        "second_moment",
        DropLeading(0),
        n_components=n_components,
    )
