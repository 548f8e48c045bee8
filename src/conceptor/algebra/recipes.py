"""The post-processors as recipes, and the registry that names them.

Every method is the same three decisions: which words weigh how much (`Recipe.words`), which moment
of them is decomposed (`Recipe.moment`), and which gate it goes through (`Recipe.gate`). Each may
keep only the leading directions of what the gate leaves (`Recipe.n_components`). So there is one
way from moments to a map, whoever calls it:

    moments ──▶ recipe.solve ──▶ Solution(spectrum, gate, aperture, map)

A recipe is frozen and so is its solution. Adding a method is one more entry of `METHODS`, here or
from another package; the command line, `compare`, the estimators and the docs all read that
registry. `conceptor.methods` has names such as `abtt:n_directions=3` and `cn+counterfit`.
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


# A map that moves by less than this, relative to its norm, is the same.
_SMALL_CHANGE = 1e-6
# An eigenvalue this many times the bound on its rounding is not zero.
_TOLD_APART = 4


class Words(StrEnum):
    """Which words a recipe's moment is taken over, and how much each of them counts."""

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
        What it is called everywhere, and what it does, in a line.
    words : Words
        Which words the moment is taken over, and how much each counts.
    moment : {"second_moment", "covariance", "gram", "mean_square"}
        The property of `Moments` that is decomposed; with the covariance, m is the mean.
    gate : Gate
        g, with its parameters.
    lengths : Lengths
        Whether vectors are brought to length 1 first, in the moment and by the map (`unit`); and
        whether rows of frequent words are made short after it (`usage`), which needs words:
        `conceptor.fitting`. Directions are the same with `unit` and `usage`.
    n_components : int or None
        How many dimensions the result has: the leading directions of what the gate leaves, as
        coordinates, strongest first. None keeps the dimension, and the coordinates as they are.
        See `once`.
    swaps : bool
        Whether the words of the moment themselves go through another map, made of the commonest
        other words.
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
        """Whether the mean is taken off first."""
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
        """Which words say which directions lead, if not those of the moment as they are weighed.

        What running text uses most after the gate are the directions of function words. So with
        fewer dimensions words count once.
        """
        by_usage = self.words is Words.USAGE and self.n_components is not None
        return Words.TYPES if by_usage else None

    @property
    def is_map(self) -> bool:
        """Whether it is one map for all vectors."""
        return not self.swaps

    @property
    def needs_words(self) -> bool:
        """Whether it must know which word each row is."""
        return self.words is Words.FUNCTION_WORDS

    @property
    def bears_rounding(self) -> bool:
        """Whether moments multiplied in float32 are good enough, unless the spectrum objects.

        See `Solution.is_settled`. Others drop directions, or divide by small eigenvalues.
        """
        is_bounded = self.n_components is None and self.moment == "second_moment"
        return self.gate._is_gradual and is_bounded

    def output_dimension(self, dimension: int) -> int:
        """Return the dimension of the result for vectors of this dimension."""
        return self.n_components or self.gate._components(dimension) or dimension

    def with_parameters(self, **parameters: object) -> Recipe:
        """Return the recipe with other parameters; raise for a name or value it does not take.

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
        """Return the map that improves vectors with these moments; one eigendecomposition.

        Moments of vectors of length 1 make a map that brings vectors to it.

        Parameters
        ----------
        moments : Moments
            Of the recipe's `words`.
        once : Moments, optional
            Of its `once`, by which the leading directions are found; by default by `moments`.
        """
        if self.swaps and self.n_components is not None:
            raise InvalidInputError(
                f"{self.name}: the words it is fitted on do not tell which directions of the "
                "others to keep; use fit_methods, which looks at all of them"
            )
        self.gate._check()
        if self.moment == "mean_square":
            once = once or moments  # the mean does not tell which other directions lead
        spectrum = Spectrum.from_matrix(getattr(moments, self.moment))
        n = moments.dimension
        components = self.n_components or self.gate._components(n)
        if components is not None and components > n:
            raise InvalidInputError(
                f"{components} dimensions were asked for, and the vectors have {n}; ask for fewer"
            )
        gate = self.gate._settle(spectrum.values)
        coefficients = gate._coefficients(spectrum.values, components or n)
        if not np.isfinite(coefficients).all():
            raise InvalidInputError(
                f"{self.name}: on these vectors a direction would be multiplied by more than "
                "numbers can hold; scale them, or choose other parameters"
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
            # What is left of vectors that all lie in what the gate drops is rounding.
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
        # At aperture 0 nothing changes, the length neither.
        map_ = AffineMap(matrix, mean, provenance=provenance, unit=moments.unit and aperture != 0)
        return Solution(self, moments, spectrum, coefficients, aperture, map_)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a recipe makes of moments.

    Attributes
    ----------
    recipe : Recipe
    moments : Moments
    spectrum : Spectrum
        ``λ`` (descending) and ``U`` of the recipe's moment.
    gate : ndarray of shape (n,)
        ``g(λ)``: how much of each direction is kept, the paper's variance gating coefficients;
        before any reduction to fewer dimensions.
    aperture : float or None
        The α that was used, given or chosen.
    map : AffineMap
        What improves vectors; can be saved and applied without this class.
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
            raise InvalidInputError(f"{self.recipe.name} negates no conceptor")
        return Conceptor.from_spectrum(self.spectrum, self.aperture)

    @property
    def variance_removed(self) -> float | None:
        """``1 − Σ g² λ / Σ λ``; None where a direction grows, or there is no variance at all.

        λ are those of the covariance if the mean is taken off, else of the second moment.

        With fewer dimensions, what is not kept counts as removed.
        """
        about = self.moments.covariance if self.recipe.centred else self.moments.second_moment
        total = float(np.trace(about))
        if not total > 0 or (self.gate > 1).any():
            return None
        return float(1 - np.einsum("ij,ik,kj->", self.map.matrix, about, self.map.matrix) / total)

    @property
    def is_settled(self) -> bool:
        """Whether products in float32 have moved the map by less than 1e-6 of its norm.

        By the gate's slope at the least eigenvalue, found from the values on either side of it.
        Where rounding could hide that directions are missing, they have not been told from others.
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
    """A method that needs to know words, not only their vectors.

    What words mean comes from lists of `synonyms` or `antonyms` (`conceptor.lexicon`); a method
    that takes neither needs to know how often they are used.
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
        """By usage for `sif`, which does nothing else."""
        return Lengths.KEPT if self.synonyms or self.antonyms else Lengths.USAGE

    @property
    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def output_dimension(self, dimension: int) -> int:
        """Return the dimension of the result, which is that of the vectors."""
        return dimension

    def with_parameters(self, **parameters: object) -> LexiconRecipe:
        """Return the recipe; it takes no parameters here."""
        for name in parameters:
            raise InvalidInputError(f"{self.name} has no parameter {name}; it takes no parameters")
        return self


def _leading(spectrum: Spectrum, coefficients: Float64, count: int) -> Float64:
    """Return the strongest directions behind a gate, as columns, times their coefficients.

    Directions that are equally strong, up to rounding, stay in their order: after whitening that
    is the order they had before. Those without variance are no directions but an arbitrary basis,
    and stay at zero.
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
            "conceptor negation weighted by usage: its square root, on vectors of length 1",
            Words.USAGE,
            "second_moment",
            Negation(),
            lengths=Lengths.USAGE,
        ),
        Recipe(
            "cn-paper",
            "conceptor negation as in the paper: common words count once, α = 2",
            Words.TYPES,
            "second_moment",
            Negation(2.0, power=1.0),
        ),
        Recipe(
            "abtt",
            "all-but-the-top: the mean and the leading directions dropped",
            Words.TYPES,
            "covariance",
            DropLeading(),
        ),
        Recipe(
            "whitening",
            "ZCA whitening: every direction the same variance",
            Words.TYPES,
            "covariance",
            Whiten(),
        ),
        Recipe(
            "zipf-whitening",
            "whitening weighted by usage",
            Words.USAGE,
            "covariance",
            Whiten(),
        ),
        Recipe(
            "pvn",
            "principal variance normalisation: the leading directions levelled",
            Words.TYPES,
            "covariance",
            LevelLeading(),
        ),
        Recipe(
            "hsr",
            "half-sibling regression: out of other words what function words predict, and out of "
            "these what other words predict",
            Words.FUNCTION_WORDS,
            "gram",
            RidgeNegation(),
            swaps=True,
        ),
        Recipe(
            "ppa",
            "half-size vectors: all-but-the-top, PCA, all-but-the-top",
            Words.TYPES,
            "covariance",
            HalfSize(),
        ),
        Recipe(
            "ew",
            "eigenvalue weighting, for vectors of a truncated SVD",
            Words.ALL,
            "gram",
            SingularValuePower(),
        ),
        Recipe(
            "gentle",
            "half of the strongest direction softly out, for embeddings of whole texts",
            Words.ALL,
            "second_moment",
            LeadingNegation(),
        ),
        Recipe(
            "renormalization",
            "the direction of the mean dropped, on vectors of length 1",
            Words.ALL,
            "mean_square",
            DropAll(),
            lengths=Lengths.UNIT,
        ),
        LexiconRecipe("counterfit", "synonyms pulled together, antonyms pushed apart"),
        LexiconRecipe("counterfit-syn", "counter-fitting to synonyms only", antonyms=False),
        LexiconRecipe("counterfit-ant", "counter-fitting to antonyms only", synonyms=False),
        LexiconRecipe("retrofit", "each word moved towards its synonyms", antonyms=False),
        LexiconRecipe(
            "sif",
            "frequent words made short, so that plain averages weigh words as SIF does",
            synonyms=False,
            antonyms=False,
        ),
    ),
)


def spectral_recipe(name: str) -> Recipe:
    """Return a registered method that needs nothing but vectors; raise for another."""
    recipe = METHODS[name]
    if not isinstance(recipe, Recipe):
        raise InvalidInputError(f"{name} needs more than vectors; use a spectral method such as cn")
    return recipe


def leading_directions(n_components: int) -> Recipe:
    """Return plain PCA, of vectors that are not centred: no gate, fewer dimensions."""
    check_number("n_components", n_components, Integral, 1)
    return Recipe(
        "pca",
        "the leading directions",
        Words.TYPES,
        "second_moment",
        DropLeading(0),
        n_components=n_components,
    )
