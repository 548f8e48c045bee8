"""The post-processors as recipes, and the registry that names them.

Every method is the same three decisions: which words weigh how much (`Recipe.words`), which moment
of them is decomposed (`Recipe.moment`), and which gate it goes through (`Recipe.gate`). Each may
keep only the leading directions of what the gate leaves (`Recipe.n_components`). So there is one
way from moments to a map, whoever calls it:

    moments ──▶ recipe.solve ──▶ Solution(spectrum, gate, aperture, map)

A recipe is frozen and so is its solution. Adding a method is one more entry of `METHODS`; the
command line, `compare`, the scikit-learn classes and the docs all read that registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from conceptor import __version__
from conceptor.algebra import gates
from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.aperture import leading_aperture, scale_free_aperture
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.spectrum import Spectrum, symmetric_part
from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.moments import Moments
    from conceptor.base.arrays import Float64

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "ORIGINAL",
    "Gate",
    "LexiconRecipe",
    "Recipe",
    "Solution",
    "Words",
    "parse_method",
    "parse_methods",
    "with_dimensions",
]

# The vectors as they came.
ORIGINAL = "original"


class Words(StrEnum):
    """Which words a recipe's moment is taken over, and how much each of them counts."""

    USAGE = "usage"  # every word, by its share of running text
    TYPES = "types"  # common words, once each
    FUNCTION_WORDS = "function words"  # once each
    ALL = "all"  # every word, once each


@dataclass(frozen=True)
class Gate(ABC):
    """The parameters of a gate, and the coefficients that follow from a spectrum.

    `Recipe.solve` calls what is below; users see the parameters.
    """

    def _check(self) -> None:  # noqa: B027 - not every gate has parameters
        """Raise `InvalidInputError` for a parameter that makes no sense."""

    def _settle(self, values: Float64) -> Self:
        """Return the gate with parameters that depend on the data made explicit."""
        return self

    @abstractmethod
    def _coefficients(self, values: Float64, size: int) -> Float64:
        """Return how much of each direction is kept, for eigenvalues in descending order.

        `size` is how many dimensions the result has.
        """

    def _components(self, n: int) -> int | None:
        """Return how many directions are kept as coordinates if nobody says; None for no change."""
        return None


def _check_number(
    name: str, value: object, kind: type, least: float, *, above: bool = False
) -> None:
    """Raise unless a parameter is a number of this kind from `least` on, or beyond it."""
    number: Any = value if isinstance(value, kind) and not isinstance(value, bool) else np.nan
    if not (number > least if above else number >= least):
        what = "an integer" if kind is Integral else "a number"
        bound = f"{'greater than' if above else 'of at least'} {least:g}"
        raise InvalidInputError(f"{name} must be {what} {bound}; it is {value!r}")


@dataclass(frozen=True)
class Negation(Gate):
    """``(α⁻² / (λ + α⁻²))^power``: softly out.

    `auto` is the α at which a direction of mean strength λ has odds ``α² λ = 1``. With power 1
    directions far above that end up below the others; with ½ all of them end up level.
    """

    aperture: float | Literal["auto"] = "auto"
    power: float = 0.5

    def _check(self) -> None:
        _check_number("power", self.power, Real, 0)
        if not (isinstance(self.aperture, str) and self.aperture == "auto"):
            _check_number("aperture", self.aperture, Real, 0)

    def _settle(self, values: Float64) -> Self:
        if isinstance(self.aperture, str):
            return replace(self, aperture=scale_free_aperture(values))
        return replace(self, aperture=float(self.aperture))

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return gates.negated_conceptor(values, float(self.aperture), self.power)


@dataclass(frozen=True)
class LeadingNegation(Gate):
    """``1 / (1 + α² λ)`` with the α that keeps the share `kept` of the strongest direction."""

    kept: float = 0.5

    def _check(self) -> None:
        _check_number("kept", self.kept, Real, 0, above=True)
        if not self.kept < 1:
            raise InvalidInputError(f"kept must be below 1; it is {self.kept!r}")

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return gates.negated_conceptor(values, leading_aperture(values, self.kept))


@dataclass(frozen=True)
class RidgeNegation(Gate):
    """``ρ / (λ + ρ)``: what a ridge regression leaves."""

    ridge: float = 50.0

    def _check(self) -> None:
        _check_number("ridge", self.ridge, Real, 0, above=True)

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return gates.negated_conceptor(values, self.ridge**-0.5)


@dataclass(frozen=True)
class _Leading(Gate):
    """Gates that do something about the leading directions."""

    n_directions: int | None = None

    def _check(self) -> None:
        if self.n_directions is not None:
            _check_number("n_directions", self.n_directions, Integral, 0)

    def _settle(self, values: Float64) -> Self:
        """Count the directions: one for every hundred dimensions, and at least two.

        Mu & Viswanath's rule of thumb, and at least what they drop from GloVe; for 300-dimensional
        word2vec and for GloVe these are the numbers of the conceptor negation paper.
        """
        n = len(values)
        count = min(max(2, n // 100), n - 1) if self.n_directions is None else self.n_directions
        return replace(self, n_directions=int(count))


@dataclass(frozen=True)
class DropLeading(_Leading):
    """0 for the leading directions, 1 for the rest."""

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return gates.drop_leading(values, int(self.n_directions or 0))


@dataclass(frozen=True)
class DropAll(Gate):
    """0 for every direction in which there is anything, 1 for the rest."""

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return np.where(values > 0, 0.0, 1.0)


@dataclass(frozen=True)
class LevelLeading(_Leading):
    """``λ_{d+1} / λ_i`` for the leading directions, 1 for the rest.

    By default eleven, as in the authors' script.
    """

    def _settle(self, values: Float64) -> Self:
        count = min(11, len(values) - 1) if self.n_directions is None else self.n_directions
        return replace(self, n_directions=int(count))

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return gates.level_leading(values, int(self.n_directions or 0))


@dataclass(frozen=True)
class SingularValuePower(Gate):
    """``λ^((p−1)/2)``, which turns singular values d into ``d^p``."""

    power: float = 0.5

    def _check(self) -> None:
        if not (isinstance(self.power, Real) and np.isfinite(self.power)):
            raise InvalidInputError(f"power must be a finite number; it is {self.power!r}")

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return gates.power(values, (self.power - 1) / 2)


@dataclass(frozen=True)
class Whiten(Gate):
    """``λ^(−1/2)``."""

    def _coefficients(self, values: Float64, size: int) -> Float64:
        return gates.power(values, -0.5)


@dataclass(frozen=True)
class HalfSize(_Leading):
    """All-but-the-top, PCA to k of n dimensions, all-but-the-top, which share their eigenvectors.

    Dropped are the leading d directions, d more of those that PCA keeps, and what it does not keep.
    By default d is the authors' 7 for each 300 dimensions, and k is half of n.
    """

    def _components(self, n: int) -> int:
        return max(1, n // 2)

    def _settle(self, values: Float64) -> Self:
        usual = max(1, round(7 * len(values) / 300))
        return replace(self, n_directions=usual if self.n_directions is None else self.n_directions)

    def _coefficients(self, values: Float64, size: int) -> Float64:
        n, dropped = len(values), int(self.n_directions or 0)
        if dropped + size > n:
            raise InvalidInputError(
                f"PPA cannot drop {dropped} and keep {size} of n_features={n} dimensions"
            )
        position = np.arange(n)
        return np.where((position < 2 * dropped) | (position >= dropped + size), 0.0, 1.0)


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
    unit : bool
        Whether vectors are brought to length 1 first: in the moment, and by the map.
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
    unit: bool = False
    n_components: int | None = None
    swaps: bool = False

    @property
    def centred(self) -> bool:
        """Whether the mean is taken off first."""
        return self.moment == "covariance"

    @property
    def parameters(self) -> dict[str, Any]:
        """The gate's parameters by name, `unit` and `n_components`."""
        return asdict(self.gate) | {"unit": self.unit, "n_components": self.n_components}

    @property
    def once(self) -> Words | None:
        """Which words say which directions lead, if not those of the moment as they are weighed.

        What running text uses most after the gate are the directions of function words. So with
        fewer dimensions words count once.
        """
        by_usage = self.words is Words.USAGE and self.n_components is not None
        return Words.TYPES if by_usage else None

    def with_parameters(self, **parameters: object) -> Recipe:
        """Return the recipe with other parameters; raise for a name or value it does not take."""
        for name in parameters:
            if name not in self.parameters:
                takes = ", ".join(self.parameters)
                raise InvalidInputError(f"{self.name} has no parameter {name}; it takes {takes}")
        unit = parameters.pop("unit", self.unit)
        if not isinstance(unit, bool | np.bool_):
            raise InvalidInputError(f"unit must be True or False; it is {unit!r}")
        size: Any = parameters.pop("n_components", self.n_components)
        if size is not None:
            _check_number("n_components", size, Integral, 1)
            size = int(size)
        gate = replace(self.gate, **parameters)
        gate._check()
        return replace(self, gate=gate, unit=bool(unit), n_components=size)

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


METHODS: Mapping[str, Recipe | LexiconRecipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "cn",
            "conceptor negation weighted by usage: its square root, on vectors of length 1",
            Words.USAGE,
            "second_moment",
            Negation(),
            unit=True,
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
            unit=True,
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
    )
}
DEFAULT_METHODS = (ORIGINAL, "abtt", "cn-paper", "cn")


def default_recipe() -> Recipe:
    """Return `cn`."""
    return spectral_recipe("cn")


def spectral_recipe(name: str) -> Recipe:
    """Return a method that needs nothing but vectors."""
    recipe = METHODS[name]
    assert isinstance(recipe, Recipe)
    return recipe


def leading_directions(n_components: int) -> Recipe:
    """Return plain PCA, of vectors that are not centred: no gate, fewer dimensions."""
    _check_number("n_components", n_components, Integral, 1)
    return Recipe(
        "pca",
        "the leading directions",
        Words.TYPES,
        "second_moment",
        DropLeading(0),
        n_components=n_components,
    )


def spectral_methods() -> list[str]:
    """Return the names of the methods that need nothing but vectors."""
    return [name for name, recipe in METHODS.items() if isinstance(recipe, Recipe)]


def parse_method(text: str) -> tuple[Recipe | LexiconRecipe, ...]:
    """Read `cn`, `abtt:n_directions=3` or `cn+counterfit`: the recipes, one after the other.

    `original` is no recipe at all.
    """
    if text == ORIGINAL:
        return ()
    steps = []
    for step in text.split("+"):
        name, *given = step.split(":")
        if name not in METHODS:
            known = ", ".join([ORIGINAL, *METHODS])
            raise InvalidInputError(f"unknown method {name!r}; the methods are {known}")
        recipe = METHODS[name]
        types = set(recipe.parameters) if isinstance(recipe, Recipe) else set()
        parameters = dict(_parse_parameter(text, one, types) for one in given)
        steps.append(recipe.with_parameters(**parameters))
    return tuple(steps)


def _parse_parameter(method: str, text: str, known: set[str]) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or name not in known:
        takes = ", ".join(sorted(known)) or "no parameters"
        raise InvalidInputError(f"{method}: {text!r} is not a parameter; it takes {takes}")
    if name == "unit" and value in ("true", "false"):
        return name, value == "true"
    try:
        return name, int(value) if name.startswith("n_") else float(value)
    except ValueError:
        return name, value


def with_dimensions(method: str, n_components: int) -> str:
    """Return a method's name with so many dimensions for its last spectral step.

    >>> with_dimensions("cn+sif", 128)
    'cn:n_components=128+sif'
    """
    steps = method.split("+")
    spectral = [i for i, step in enumerate(parse_method(method)) if isinstance(step, Recipe)]
    if not spectral:
        raise InvalidInputError(
            f"{method} keeps the dimension of the vectors; put a spectral method first, such as cn"
        )
    steps[spectral[-1]] += f":n_components={n_components}"
    return "+".join(steps)


def parse_methods(
    methods: Sequence[str],
) -> dict[str, tuple[Recipe | LexiconRecipe, ...]]:
    """Return the recipes of each method, each once; raise for an unknown name."""
    if not methods:
        raise InvalidInputError("no method was named")
    return {method: parse_method(method) for method in methods}
