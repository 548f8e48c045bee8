"""Methods fitted to a table on demand, at any setting of the page's controls."""

from __future__ import annotations

import importlib.util
import shlex
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.aperture import scale_free_aperture
from conceptor.algebra.gates import DropLeading, LevelLeading, Negation
from conceptor.algebra.lengths import Lengths
from conceptor.algebra.recipes import Recipe, Solution, Words
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.explore.answers import Choice, Settings, Slider
from conceptor.explore.cache import Cache
from conceptor.explore.views import Reach, View
from conceptor.fitting import FitOptions, Request, gather, solve
from conceptor.methods import Method, spectral_methods
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.moments import Moments
    from conceptor.explore.table import PageTable
    from conceptor.weights import Weights

# The slider's range around the automatic aperture, and the number of sampled gates.
APERTURE_SPAN = 30.0
_SAMPLED = 64
_PAPER_APERTURE = 2.0
_MOST_DIRECTIONS = 20
# A view holds two numbers per word, a reach about a dozen.
_KEPT_VIEWS, _KEPT_REACHES = 8, 3


class PageMethods:
    """Methods applied to a table: each is fitted once, then solved at any setting.

    Attributes
    ----------
    names : list of str
    progress
        Called with the progress of each pass over the table.
    """

    def __init__(self, table: PageTable, names: Sequence[str], options: FitOptions) -> None:
        self._table, self._options = table, options
        self._recipes = {name: _recipe(name) for name in names}
        self.names = list(self._recipes)
        self.progress: Progress = silent
        self._weights: Cache[Weights] = Cache(100)
        self._moments: Cache[Moments] = Cache(16)
        self._bases: Cache[Solution] = Cache(32)
        self._solutions: Cache[Solution] = Cache(64)
        self._reaches: Cache[Reach] = Cache(_KEPT_REACHES)
        self._views: Cache[View] = Cache(_KEPT_VIEWS)

    @property
    def choices(self) -> list[Choice]:
        """The methods, and the parameter that a slider sets for each."""
        return [
            Choice(name, recipe.description, _control(recipe))
            for name, recipe in self._recipes.items()
        ]

    @cached_property
    def weight_choices(self) -> list[str]:
        """The names of the available usage weights."""
        known = ["wordfreq:en"] if importlib.util.find_spec("wordfreq") else []
        return ["auto", "zipf", "uniform", *known]

    def solution(self, settings: Settings) -> Solution:
        """Return the solution of a method at these settings; raise for an unknown method."""

        def make() -> Solution:
            base = self._base(settings)
            parameters = _parameters(settings, self._range(base))
            if not parameters:
                return base
            return solve(base.recipe.with_parameters(**parameters), base.moments)

        return self._solutions.get(settings, make)

    def map(self, settings: Settings) -> AffineMap:
        """Return the map of a method at these settings, with the lengths of words, for saving."""
        solution, usage, lengths = self.solution(settings), self.weights(settings), None
        vectors = self._table.vectors
        by_usage = solution.aperture != 0 and solution.recipe.lengths is Lengths.USAGE
        if by_usage and vectors.has_words and vectors.kind is not RowKind.TEXTS:
            found = gather(read_chunks(vectors), Request(usage=usage)).frequent
            lengths = None if found is None else found.lengths(usage)
        return solution.map.with_lengths(lengths)

    def is_fitted(self, settings: Settings) -> bool:
        """Return whether a method is fitted with these weights, so that any view is quick."""
        return (settings.method, settings.weights) in self._reaches

    def slider(self, settings: Settings) -> Slider | None:
        """Return a method's slider at its current value; None for a method without parameters."""
        reach = self._range(self._base(settings))
        if reach is None:
            return None
        solution = self.solution(settings)
        now = solution.aperture if reach.name == "aperture" else _treated(solution)
        return replace(reach, value=float(now or 0.0))

    def view(self, settings: Settings) -> View:
        """Return the table after a method at these settings."""
        solution = self.solution(settings)

        def make() -> View:
            key = settings.method, settings.weights
            return self._reaches.get(key, lambda: self._reach(settings)).view(solution)

        return self._views.get(settings, make)

    def weights(self, settings: Settings) -> Weights:
        """Return the usage weights that a method is fitted with."""
        recipe = self._recipes[settings.method]
        return self._weights_for(recipe.words, recipe.unit, settings.weights)

    def usage_moments(self, *, unit: bool) -> Moments:
        """Return the moments of running text, with vectors at length 1 if `unit`."""
        return self._moments_under(self._weights_for(Words.USAGE, unit))

    def text(self, settings: Settings) -> str:
        """Return a method and its parameters as command-line options."""
        given = _parameters(settings, self._range(self._base(settings)))
        return ":".join([settings.method, *(f"{name}={value!r}" for name, value in given.items())])

    def command(self, settings: Settings) -> str:
        """Return the command that writes the vectors shown, to a name other than the input's."""
        target = "better.bin" if Path(self._table.command).name != "better.bin" else "best.bin"
        parts = ["conceptor", "postprocess", self._table.command, target]
        parts += ["--method", self.text(settings)]
        weights = self._options.weights if settings.weights == "auto" else settings.weights
        if weights is not None and self._recipes[settings.method].words is Words.USAGE:
            parts += ["--weights", str(weights)]
        if self._options.vocabulary is not None:
            parts += ["--vocabulary", str(self._options.vocabulary)]
        return shlex.join([*parts, *self._table.flags])

    def _base(self, settings: Settings) -> Solution:
        """Return the method's solution with its default parameters."""
        _check_known("method", settings.method, self.names)
        _check_known("weights", settings.weights, self.weight_choices)

        def fit() -> Solution:
            moments = self._moments_under(self.weights(settings))
            return solve(self._recipes[settings.method], moments)

        return self._bases.get((settings.method, settings.weights), fit)

    def _weights_for(self, words: Words, unit: bool, chosen: str = "auto") -> Weights:
        options = self._options if chosen == "auto" else replace(self._options, weights=chosen)

        def choose() -> Weights:
            return options.weights_for(words, self._table.vectors, unit=unit)

        return self._weights.get((words, unit, chosen), choose)

    def _moments_under(self, weights: Weights) -> Moments:
        def collect() -> Moments:
            chunks = read_chunks(self._table.vectors, self.progress)
            return gather(chunks, Request([weights])).moments[weights]

        return self._moments.get(weights, collect)

    def _range(self, base: Solution) -> Slider | None:
        """Return the settings within a slider's range, from a method's default parameters."""
        control = _control(base.recipe)
        if control == "aperture":
            auto, own = scale_free_aperture(base.spectrum.values), float(base.aperture or 0.0)
            if not auto > 0:
                return None
            least, most = min(auto / APERTURE_SPAN, own), max(auto * APERTURE_SPAN, own)
            marks = {"automatic": auto, "paper": _PAPER_APERTURE}
            marks = {name: mark for name, mark in marks.items() if least <= mark <= most}
            return Slider(control, own, least, most, marks)
        if control == "directions":
            own = float(_treated(base))
            most = max(own, float(min(_MOST_DIRECTIONS, self._table.dimension - 1)))
            return Slider(control, own, 0.0, most, {"default": own})
        return None

    def _reach(self, settings: Settings) -> Reach:
        base = self._base(settings)
        self.usage_moments(unit=base.map.unit)  # another pass, for scores that follow a slider
        slider = self._range(base)
        parameters: list[dict[str, float]] = [{}]
        if slider is not None and slider.name == "aperture":
            apertures = np.geomspace(slider.least, slider.most, _SAMPLED).tolist()
            parameters += [{"aperture": aperture} for aperture in apertures]
        elif slider is not None:
            parameters += [{"n_directions": d} for d in range(int(slider.most) + 1)]
        recipes = [base.recipe.with_parameters(**each) for each in parameters]
        gates = np.array([solve(recipe, base.moments).gate for recipe in recipes])
        return Reach(self._table, base, gates, self.progress)


def _recipe(name: str) -> Recipe:
    """Return the recipe of a method; raise for one that is not a single map."""
    method = Method.parse(name)
    recipe = method.recipe
    if recipe is None or not method.is_map:
        shown = ", ".join(known for known in spectral_methods() if Method.parse(known).is_map)
        raise InvalidInputError(
            f"the method {name!r} is not a single map; the page can show {shown}"
        )
    return recipe


def _control(recipe: Recipe) -> str:
    """Return the parameter of a method that a slider sets, or `none`."""
    match recipe.gate:
        case Negation():
            return "aperture"
        case DropLeading() | LevelLeading():
            return "directions"
    return "none"


def _treated(solution: Solution) -> int:
    """Return the number of leading directions that a solution changes."""
    return int(np.count_nonzero(solution.gate != 1.0))


def _check_known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise InvalidInputError(f"unknown {what} {name!r}; choose from {', '.join(known)}")


def _parameters(settings: Settings, slider: Slider | None) -> dict[str, float]:
    """Return the parameters that were set; raise for one outside its slider's range."""
    if slider is None:
        return {}
    value = settings.aperture if slider.name == "aperture" else settings.directions
    if value is None:
        return {}
    if not slider.least * 0.999 <= value <= slider.most * 1.001:
        raise InvalidInputError(
            f"{slider.name} {value:g} is outside the slider's range, from {slider.least:.4g} to "
            f"{slider.most:.4g}"
        )
    return {"aperture": float(value)} if slider.name == "aperture" else {"n_directions": int(value)}
