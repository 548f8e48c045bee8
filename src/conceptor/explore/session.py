"""The vectors on the page, methods at any setting of its controls, and the answers to it."""

from __future__ import annotations

import importlib.util
import shlex
import warnings
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from conceptor import __version__
from conceptor.algebra.aperture import isotropy, scale_free_aperture
from conceptor.algebra.background import BackgroundWarning, percent_below
from conceptor.algebra.conceptors import Conceptor
from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.concepts.expressions import Expression, check_name
from conceptor.concepts.lookup import Unknown, UnknownWordsError, shorten
from conceptor.concepts.neighbors import choose_background, choose_prior
from conceptor.concepts.query import Query
from conceptor.explore import scores
from conceptor.explore.plane import Clusters, Plane, explained, spread
from conceptor.explore.table import PageTable, Side
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import as_methods, default_method
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.background import Background
    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.fit import Fitted, FittedMethods
    from conceptor.methods import Method

__all__ = ["FILE", "Cache", "Near", "Session", "Settings", "Slider"]

# The choice of the second file instead of a method.
FILE = "file"
# The methods on the page besides the default for the kind of rows.
_WORD_METHODS = ("cn-paper", "abtt", "pvn", "whitening", "zipf-whitening")
_TEXT_METHODS = ("renormalization", "abtt", "cn", "whitening")
_EXAMPLES = ("bank", "doctor", "apple", "river", "music", "paris")
# The range of the slider: this factor around the automatic aperture, or this many directions.
APERTURE_SPAN, _MOST_DIRECTIONS = 30.0, 20
# How many words or texts the map shows, and how many neighbors on each side.
_ON_MAP, _NEAR_ON_MAP = 20_000, 10
# Coordinates are sent as whole numbers, in this fraction of a unit.
_UNIT = 10_000
# Random rows and pairs that show what a cosine of texts means.
_SCALE_ROWS, _SCALE_PAIRS = 2000, 100_000
# How many first words are searched for the words of a concept, and how many are shown.
_EVIDENCE_AMONG, _EVIDENCE_WORDS = 50_000, 40
# The aperture of a conceptor of a few unit vectors.
_CONCEPT_APERTURE = 3.0
# The longest word, or beginning of a text, in the name of a cluster.
_LONGEST_NAME = 24

Made = TypeVar("Made")


@dataclass(frozen=True)
class Settings:
    """A method as chosen on the page.

    Attributes
    ----------
    method : str
        One of the methods of the page, or `file` for the second file.
    weights : str
        How words are weighted; `auto` leaves it to the method.
    value : float, optional
        The slider: an aperture, or a number of directions. None is the method's default.
    """

    method: str
    weights: str = "auto"
    value: float | None = None


@dataclass(frozen=True)
class Slider:
    """A parameter of a method, `aperture` or `n_directions`, with its range and marks."""

    name: str
    value: float
    default: float
    least: float
    most: float
    marks: dict[str, float]


@dataclass(frozen=True)
class Near:
    """A neighbor; `moved` is `new`, `gone` or `both`, compared with the other side.

    Lists are sorted by score: the cosine, minus a penalty for rare and for excluded words. `rank`
    is from 1. For texts, `above` is the share of random pairs with a lower cosine, as in `99.9%`.
    """

    word: str
    score: float
    cosine: float
    rank: int
    moved: str = "both"
    above: str = ""


class Cache:
    """The most recent results by key; concurrent callers share one computation."""

    def __init__(self, size: int = 300) -> None:
        self._size, self._lock = size, Lock()
        self._futures: dict[Hashable, Future[Any]] = {}

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the result for a key; make it if it is missing, and drop the oldest one."""
        with self._lock:
            future: Future[Any] | None = self._futures.pop(key, None)
            is_new = future is None
            future = Future() if future is None else future
            self._futures[key] = future
            if len(self._futures) > self._size:
                del self._futures[next(iter(self._futures))]
        if is_new:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._futures.pop(key, None)
                future.set_exception(error)
        return cast("Made", future.result())


@dataclass(frozen=True, eq=False)
class _Layout:
    """The map: its words, their places in the first file, a plane for each side, and clusters."""

    words: list[str]
    places: NDArray[np.intp]
    before: Plane
    after: Plane
    clusters: Clusters
    names: list[str] = field(default_factory=list)


class Session:
    """One or two files of vectors, and methods fitted to the first.

    Parameters
    ----------
    vectors : path, Vectors, (words, array), ...
    other : the same, optional
        A second file, shown as the after side.
    methods : names, optional
        The methods on the page; by default that of `postprocess`, and others.
    options : FitOptions, optional
        The options for fitting; the page can change the weights.
    flags : sequence of str
        The options that the vectors were opened with, for the command that the page shows.
    progress
        Called with the progress of the first preparations.
    """

    def __init__(
        self,
        vectors: object,
        other: object = None,
        methods: Sequence[str] | None = None,
        options: FitOptions | None = None,
        *,
        flags: Sequence[str] = (),
        progress: Progress = silent,
    ) -> None:
        self.table = PageTable(vectors, progress)
        self.other = None if other is None else PageTable(other, progress)
        self._options, self._flags = options or FitOptions(), flags
        if methods is None:
            more = _TEXT_METHODS if self.table.is_texts else _WORD_METHODS
            methods = [str(default_method(self.table.vectors)), *more]
        self._methods = as_methods(methods)
        for name, method in self._methods.items():
            if method.is_original:
                raise InvalidInputError(f"{name} changes nothing; name other methods")
        self._cache = Cache()
        self._prior = choose_prior(None, self.table.vectors)
        self._examples = self._find_examples()
        self.default = Settings(FILE if self.other else next(iter(self._methods)))
        self._fits(self.default.weights, progress)

    def about(self) -> dict[str, object]:
        """Return the vectors and the available choices."""
        choices = {name: method.description for name, method in self._methods.items()}
        if self.other:
            choices = {FILE: f"{self.other.name}, unchanged"} | choices
        more = ["wordfreq:en"] if importlib.util.find_spec("wordfreq") else []
        return {
            "vectors": self.table.name,
            "rows": str(self.table.vectors.kind),
            "count": len(self.table),
            "dimension": self.table.vectors.dimension,
            "sorted": self._prior > 0,
            "other": None if self.other is None else self.other.name,
            "methods": choices,
            "weights": [] if self.table.is_texts else ["auto", "zipf", "uniform", *more],
            "examples": self._examples,
            "version": __version__,
        }

    def _find_examples(self) -> list[str]:
        """Return words to begin with, which have a vector in all files."""
        tables = [self.table, self.other] if self.other else [self.table]

        def has_vector(word: str) -> bool:
            return all(word in each and each.rows[each.places([word])].any() for each in tables)

        examples = [] if self.table.is_texts else list(filter(has_vector, _EXAMPLES))
        examples = examples or list(islice(filter(has_vector, self.table.words), 100))[-1:]
        if not examples:
            raise InvalidInputError("the two files have no words in common")
        return examples

    # Methods.

    def _fits(self, weights: str, progress: Progress = silent) -> FittedMethods:
        """Fit all methods of the page with their default parameters, in one pass."""
        options = self._options if weights == "auto" else replace(self._options, weights=weights)
        vectors, methods = self.table.vectors, self._methods
        return self._cache.get(
            ("fits", weights), lambda: fit_methods(vectors, methods, options, progress=progress)
        )

    def _base(self, settings: Settings) -> Fitted:
        if settings.method not in self._methods:
            names = ", ".join(self._methods)
            raise InvalidInputError(f"unknown method {settings.method!r}; choose from {names}")
        return self._fits(settings.weights).methods[settings.method]

    def fitted(self, settings: Settings) -> Fitted:
        """Return a method at these settings: the same as `postprocess` fits.

        Another value of the slider needs no pass, because moments do not depend on it.
        """
        base = self._base(settings)
        slider = self._range(base)
        if settings.value is None or slider is None:
            return base
        if not slider.least * 0.999 <= settings.value <= slider.most * 1.001:
            raise InvalidInputError(
                f"{slider.name} {settings.value:g} is outside the slider's range, from "
                f"{slider.least:.4g} to {slider.most:.4g}"
            )

        def solve() -> Fitted:
            assert base.solution is not None
            is_aperture = slider.name == "aperture"
            value = settings.value if is_aperture else int(settings.value or 0)
            method = base.method.with_parameters(**{slider.name: value})
            solution = method.solve(base.solution.moments)
            return replace(base, name=str(method), method=method, solution=solution)

        return self._cache.get(("fitted", settings), solve)

    def _range(self, base: Fitted) -> Slider | None:
        """Return the slider at a method's default parameters; None if it has none."""
        solution, parameters = base.solution, base.method.parameters
        if solution is None or base.method.n_components:
            return None
        if "aperture" in parameters:
            automatic, own = scale_free_aperture(solution.spectrum.values), solution.aperture or 0.0
            if not (automatic > 0 and 0 < own < np.inf):
                return None
            least, most = min(automatic / APERTURE_SPAN, own), max(automatic * APERTURE_SPAN, own)
            marks = {"automatic": automatic, "paper": 2.0}
            marks = {name: mark for name, mark in marks.items() if least <= mark <= most}
            return Slider("aperture", own, own, least, most, marks)
        if "n_directions" in parameters and solution.map.n_out == solution.map.n_in:
            own = float(np.count_nonzero(solution.gate != 1.0))
            most = max(own, float(min(_MOST_DIRECTIONS, len(solution.gate) - 1)))
            return Slider("n_directions", own, own, 0.0, most, {"default": own})
        return None

    def solve(self, settings: Settings) -> dict[str, object]:
        """Return the slider, the gate, the variance of each direction, and the command."""
        if self._is_file(settings):
            return {"slider": None, "gate": [], "variance": [], "command": "", "notes": []}
        fitted, slider = self.fitted(settings), self._range(self._base(settings))
        solution, weights = fitted.solution, fitted.weights
        assert solution is not None  # only the original vectors have none
        assert weights is not None
        if slider is not None and settings.value is not None:
            slider = replace(slider, value=settings.value)
        values = solution.spectrum.values
        notes = [f"fitted on {weights.description}", weights.caution, fitted.doubt]
        return {
            "slider": slider,
            "gate": solution.gate,
            "variance": values / (values.sum() or 1.0),
            "isotropy": [isotropy(values), isotropy(solution.gate**2 * values)],
            "command": self._command(settings, fitted.method),
            "notes": list(filter(None, notes)),
        }

    def _command(self, settings: Settings, method: Method) -> str:
        """Return the command that writes the vectors of the after side."""
        source = self.table.vectors.name
        target = "better.bin" if Path(source).name != "better.bin" else "best.bin"
        parts = ["conceptor", "postprocess", source, target, "--method", str(method)]
        weights = self._options.weights if settings.weights == "auto" else settings.weights
        options = {
            "--weights": weights if method.weighs_by_usage else None,
            "--vocabulary": self._options.vocabulary,
            "--function-words": self._options.function_words,
        }
        for flag, value in options.items():
            parts += [] if value is None else [flag, str(value)]
        return shlex.join([*parts, *self._flags])

    def _is_file(self, settings: Settings) -> bool:
        return settings.method == FILE and self.other is not None

    def _sides(self, settings: Settings) -> tuple[Side, Side]:
        """Return the sides before and after."""
        before = Side(self.table)
        if settings.method == FILE and self.other is not None:
            return before, Side(self.other, settings=settings)
        solution = self.fitted(settings).solution
        return before, Side(self.table, None if solution is None else solution.map, settings)

    # Words.

    def complete(self, prefix: str, n: int = 8) -> list[dict[str, object]]:
        """Return words with a prefix and their ranks."""
        rows = self.table.complete(prefix, n)
        return [{"word": self.table.words[row], "rank": row + 1} for row in rows]

    def look_up(self, settings: Settings, words: Sequence[str]) -> tuple[list[str], list[Unknown]]:
        """Return words as both sides spell them, and suggestions for the others."""
        labels, unknown = self.table.look_up(words)
        if self._is_file(settings) and self.other is not None:
            labels, more = self.other.look_up(labels)
            unknown += more
        return labels, unknown

    def neighbors(
        self, settings: Settings, like: Sequence[str], without: Sequence[str] = (), n: int = 10
    ) -> dict[str, Any]:
        """Return the words nearest to `like` but unlike `without`, before and after.

        `places` has the words and their first neighbors on the map.
        """
        like, unknown = self.look_up(settings, like)
        without, more = self.look_up(settings, without)
        unknown += more
        if not like:
            raise UnknownWordsError(unknown)
        query = Query(like, without)
        before, after = (self._search(side, query, n) for side in self._sides(settings))
        words = [{near.word for near in side} for side in (before, after)]
        shown = [near.word for side in (before, after) for near in side[:_NEAR_ON_MAP]]
        return {
            "before": [
                near if near.word in words[1] else replace(near, moved="gone") for near in before
            ],
            "after": [
                near if near.word in words[0] else replace(near, moved="new") for near in after
            ],
            "like": like,
            "without": without,
            "unknown": unknown,
            "places": self._place(settings, list(query.words), shown),
        }

    def _search(self, side: Side, query: Query, n: int) -> list[Near]:
        """Find the best rows of one side for a query."""
        table = side.table
        places = table.places(query.words)
        rows = side.rows(places)
        for word, row in zip(query.words, rows, strict=True):
            if not row.any():
                when = "before" if side.settings is None else "after"
                raise InvalidInputError(
                    f"the vector of {word!r} {when} post-processing is zero; it has no neighbors"
                )

        def search() -> list[Near]:
            criterion = query.criterion(WordVectors(query.words, rows))
            nearest = Nearest(
                criterion.direction[np.newaxis],
                n + len(places),
                prior=self._prior,
                penalty=criterion.penalty if criterion.selective else None,
            )
            side.search(nearest)
            others = ~np.isin(nearest.rows[0], [*places, MISSING])
            best, scores = nearest.rows[0][others][:n], nearest.scores[0][others][:n]
            cosines = unit_rows(side.rows(best)) @ criterion.direction
            scale = self._background(side)
            above = [""] * len(best) if scale is None else map(percent_below, scale.p(cosines))
            columns = best.tolist(), scores.tolist(), cosines.tolist(), above
            return [
                Near(table.words[row], score, cosine, row + 1, above=share)
                for row, score, cosine, share in zip(*columns, strict=True)
            ]

        return self._cache.get(("near", side.settings, query, n), search)

    def _background(self, side: Side) -> Background | None:
        """Return the scale of cosines of texts on a side; None for words, and for few rows."""

        def fit() -> Background | None:
            sample = np.random.default_rng(0).permutation(len(side.table))[:_SCALE_ROWS]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BackgroundWarning)
                return choose_background(None, side.rows(sample), pairs=_SCALE_PAIRS)

        is_texts = side.table.is_texts
        return self._cache.get(("background", side.settings), fit) if is_texts else None

    def save_map(self, settings: Settings, path: Path) -> None:
        """Save the map of a method, as `conceptor fit` does."""
        if self._is_file(settings):
            raise InvalidInputError("the second file has no map; choose a method")
        background = self._background(self._sides(settings)[1])
        self.fitted(settings).map.save(path, background=background)

    # The map.

    def _layout(self, settings: Settings) -> _Layout:
        def lay_out() -> _Layout:
            places = spread(len(self.table), _ON_MAP)
            words = [self.table.words[row] for row in places.tolist()]
            sides = self._sides(settings)
            if self._is_file(settings):
                common = [i for i, word in enumerate(words) if word in sides[1].table]
                places, words = places[common], [words[i] for i in common]
            before = sides[0].rows(places)
            after = sides[1].rows(sides[1].table.places(words))
            first = Plane.fit(before)
            # Clusters are those at the default value, so they stay while a slider is dragged.
            own = replace(settings, value=None)
            if own == settings:
                clusters = Clusters.fit(after)
                names = clusters.names([shorten(word, _LONGEST_NAME) for word in words], after)
            else:
                clusters, names = self._layout(own).clusters, self._layout(own).names
            second = Plane.fit(after, first(before))
            return _Layout(words, places, first, second, clusters, names)

        return self._cache.get(("layout", settings), lay_out)

    def points(self, settings: Settings) -> dict[str, Any]:
        """Return common words on a plane before and after, and the names of their clusters.

        `frequency` is the share of the variance of log rank that each plane explains: how much of
        the map only shows how common words are.
        """
        layout = self._layout(settings)
        points = self._place(settings, layout.words)
        logs = np.log(layout.places + 1.0)
        points["names"] = layout.names
        points["frequency"] = [
            explained(np.reshape(points[side], (-1, 2)), logs) for side in ("before", "after")
        ]
        return points

    def _place(
        self, settings: Settings, words: Sequence[str], more: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return words on the planes; `query` is how many of them are not from `more`."""
        layout, (before, after) = self._layout(settings), self._sides(settings)
        shown = [
            word
            for word in dict.fromkeys([*words, *more])
            if word in before.table and word in after.table
        ]
        places = before.table.places(shown)
        own = self._sides(replace(settings, value=None))[1]
        return {
            "words": shown,
            "ranks": (places + 1).tolist(),
            "clusters": layout.clusters(own.rows(after.table.places(shown))).tolist(),
            "before": _integers(layout.before(before.rows(places))),
            "after": _integers(layout.after(after.rows(after.table.places(shown)))),
            "query": len(words),
        }

    # Scores and concepts.

    def scores(self, settings: Settings) -> list[scores.Score]:
        """Return what a method gains and loses; takes about a second."""
        before, after = self._sides(settings)
        if self.table.is_texts:
            return self._cache.get(
                ("scores", settings),
                lambda: [] if self._is_file(settings) else scores.text_scores(before, after),
            )
        battery = self._cache.get(
            "battery", lambda: scores.load_sample(self.table, self._options.data)
        )
        first = self._cache.get(("evaluation", None), lambda: scores.evaluate(before, battery))
        second = self._cache.get(("evaluation", settings), lambda: scores.evaluate(after, battery))
        return self._cache.get(("scores", settings), lambda: scores.word_scores(first, second))

    def concepts(
        self, settings: Settings, lists: Mapping[str, Sequence[str]], expression: str = ""
    ) -> dict[str, object]:
        """Return the words with most evidence for an expression of concepts, and their relations.

        Concepts are conceptors of the directions of words after the method.
        """
        side = self._sides(settings)[1]
        conceptors: dict[str, Conceptor] = {}
        examples: set[str] = set()
        missing: list[str] = []
        for name, words in lists.items():
            labels, unknown = side.table.look_up(words)
            if not labels:
                raise InvalidInputError(f"none of the words of the concept {name} has a vector")
            missing += [each.word for each in unknown]
            examples.update(labels)
            rows = unit_rows(side.rows(side.table.places(labels)))
            conceptors[check_name(name)] = Conceptor.from_vectors(rows, _CONCEPT_APERTURE)
        wanted = Expression(expression or next(iter(lists)))
        evidence = wanted(conceptors).evidence(side.rows(slice(0, _EVIDENCE_AMONG)))
        best = np.argsort(-evidence, kind="stable")[:_EVIDENCE_WORDS].tolist()
        each = conceptors.items()
        return {
            "names": list(conceptors),
            "quotas": [conceptor.quota for _, conceptor in each],
            "similarity": [[one.similarity(two) for _, two in each] for _, one in each],
            "order": [[a, b] for a, one in each for b, two in each if a != b and one <= two],
            "expression": wanted.text,
            "words": [
                {
                    "word": side.table.words[row],
                    "evidence": evidence[row],
                    "rank": row + 1,
                    "example": side.table.words[row] in examples,
                }
                for row in best
            ],
            "missing": missing,
        }


def _integers(points: Float64) -> list[int]:
    """Return coordinates as whole numbers, which are shorter to send."""
    whole: list[int] = np.rint(np.clip(points, -1e4, 1e4) * _UNIT).astype(int).ravel().tolist()
    return whole
