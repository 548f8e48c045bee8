"""The vectors on the page, and the answers to everything it asks."""

from __future__ import annotations

import importlib.util
import shlex
from collections import OrderedDict
from dataclasses import replace
from functools import cached_property
from threading import Lock, RLock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from conceptor import __version__
from conceptor.algebra.aperture import isotropy, scale_free_aperture
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.methods import (
    METHODS,
    ORIGINAL,
    DropLeading,
    LevelLeading,
    Negation,
    Recipe,
    Words,
)
from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.concepts.query import Query
from conceptor.data import registry as datasets
from conceptor.evaluation.similarity import FILES, WordSimilarity
from conceptor.explore import answers, projection
from conceptor.explore.views import Reach, Search, Searcher, View, ViewCache
from conceptor.fitting import FitOptions, gather, solve
from conceptor.report.charts import gate_chart, spectrum_chart
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.table import WordVectors
from conceptor.weights import rank_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.methods import Solution
    from conceptor.algebra.moments import Moments
    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.explore.answers import Settings
    from conceptor.explore.table import Table
    from conceptor.weights import Weights

__all__ = ["DEFAULT_METHODS", "Session"]

DEFAULT_METHODS = ("cn", "cn-paper", "abtt", "pvn", "whitening", "zipf-whitening")
# The choice that stands for the second file.
OTHER = "file"
# How far the slider goes from the automatic aperture, and in how many steps gates are sampled.
APERTURE_SPAN = 30.0
_SAMPLED = 64
PAPER_APERTURE = 2.0
_MOST_DIRECTIONS = 20
# The map shows words spread evenly over log rank, so that common and rare ones can be told apart.
MAP_WORDS, _MAP_REACH = 1800, 100_000
# First words among which the ends of directions, and the words of concepts, are looked for.
_ENDS_AMONG = 20_000
_EVIDENCE_AMONG = 50_000
LEADING = 10
_END_WORDS = 8
_EVIDENCE_WORDS = 40
# The aperture of conceptors made of a few words at length 1.
CONCEPT_APERTURE = 3.0
_EXAMPLES = ("bank", "doctor", "apple", "river", "music", "paris")
_QUICK = {"WS": "WordSim-353", "SimLex": "SimLex-999"}
_PREPARED = 3
_PLANES = 6

Made = TypeVar("Made")


class Session:
    """One or two tables, and methods fitted to the first as they are asked for.

    Parameters
    ----------
    table : Table
    other : Table, optional
        A second file, to be seen as what the first one has become.
    methods : sequence of str
        Spectral methods by name; those that move single words are no map and cannot be shown.
    options : FitOptions, optional
        What methods are fitted with, where the page leaves it open.
    progress
        Told how far the first preparations are.
    """

    def __init__(
        self,
        table: Table,
        other: Table | None = None,
        methods: Sequence[str] = DEFAULT_METHODS,
        options: FitOptions | None = None,
        progress: Progress = silent,
    ) -> None:
        self.table, self.other = table, other
        self.options = options or FitOptions()
        self._recipes = {name: _recipe(name) for name in methods}
        if not self._recipes and other is None:
            raise InvalidInputError("no method was named")
        self._searchers = {id(each): Searcher(each) for each in self._tables}
        self._views = ViewCache()
        self._kept: dict[str, OrderedDict[Hashable, object]] = {}
        self._locks: dict[Hashable, RLock] = {}
        self._lock = Lock()
        self._progress = progress
        self._prepare(self.default)
        self._progress = silent

    def _prepare(self, settings: Settings) -> None:
        self.solve(settings)
        self.neighbours(settings, [self.about.examples[0]], [], 10)

    @property
    def _tables(self) -> list[Table]:
        return [self.table, *([self.other] if self.other is not None else [])]

    @cached_property
    def default(self) -> Settings:
        """The settings the page opens with."""
        name = OTHER if self.other is not None else next(iter(self._recipes))
        return answers.Settings(name)

    @cached_property
    def about(self) -> answers.About:
        """What the vectors are and what can be chosen."""
        choices = [
            answers.Choice(name, recipe.description, _control(recipe))
            for name, recipe in self._recipes.items()
        ]
        if self.other is not None:
            other = f"{self.other.name} as it is"
            choices.insert(0, answers.Choice(OTHER, other, "none"))
        weights = ["auto", "zipf", "uniform"]
        if importlib.util.find_spec("wordfreq"):
            weights.append("wordfreq:en")
        known = [word for word in _EXAMPLES if word in self.table.vectors]
        words = self.table.words
        return answers.About(
            vectors=self.table.name,
            count=len(self.table),
            dimension=self.table.dimension,
            sorted=bool(self.table.penalties[self.table.penalties < np.inf].any()),
            other=self.other.name if self.other is not None else None,
            methods=choices,
            weights=weights,
            projections=projection.projections(),
            examples=known or [words[min(len(words) - 1, 100)]],
            version=__version__,
        )

    @property
    def about_methods(self) -> list[str]:
        """The names of the methods, without the second file."""
        return list(self._recipes)

    # Methods at their settings.

    def solution(self, settings: Settings) -> Solution | None:
        """Return the method's solution at these settings; None for the second file."""
        if settings.method == OTHER and self.other is not None:
            return None
        if settings.method not in self._recipes:
            known = ", ".join(choice.name for choice in self.about.methods)
            raise InvalidInputError(f"unknown method {settings.method!r}; choose from {known}")
        if settings.weights not in self.about.weights:
            known = ", ".join(self.about.weights)
            raise InvalidInputError(f"unknown weights {settings.weights!r}; choose from {known}")
        base = self._base(settings)
        parameters = _parameters(settings, self._range(base))
        return (
            solve(base.recipe.with_parameters(**parameters), base.moments) if parameters else base
        )

    def _base(self, settings: Settings) -> Solution:
        """Return the method's solution with its own parameters."""

        def fit() -> Solution:
            return solve(
                self._recipes[settings.method], self._moments_under(self._weights(settings))
            )

        return self._once("base", (settings.method, settings.weights), fit, 32)

    def _weights(self, settings: Settings) -> Weights:
        recipe = self._recipes[settings.method]
        chosen = None if settings.weights == "auto" else settings.weights
        options = FitOptions(
            chosen or self.options.weights,
            self.options.vocabulary,
            data=self.options.data,
        )

        def choose() -> Weights:
            return options.weights_for(recipe.words, self.table.vectors, unit=recipe.unit)

        return self._once("weights", (recipe.words, recipe.unit, chosen), choose, 100)

    def _moments_under(self, weights: Weights) -> Moments:
        def collect() -> Moments:
            chunks = read_chunks(self.table.vectors, self._progress)
            return gather(chunks, [weights]).moments[weights]

        return self._once("moments", weights, collect, 16)

    def _range(self, base: Solution) -> answers.Slider | None:
        """Return what a slider can reach, from a method's own parameters."""
        control = _control(base.recipe)
        if control == "aperture":
            auto, own = scale_free_aperture(base.spectrum.values), float(base.aperture or 0.0)
            if not auto > 0:
                return None
            least, most = min(auto / APERTURE_SPAN, own), max(auto * APERTURE_SPAN, own)
            marks = {"automatic": auto, "paper": PAPER_APERTURE}
            marks = {name: mark for name, mark in marks.items() if least <= mark <= most}
            return answers.Slider(control, own, least, most, marks)
        if control == "directions":
            own = float(_chosen(base))
            most = max(own, float(min(_MOST_DIRECTIONS, self.table.dimension - 1)))
            return answers.Slider(control, own, 0.0, most, {"default": own})
        return None

    def _slider(self, settings: Settings, solution: Solution) -> answers.Slider | None:
        """Return the slider where it is now."""
        reach = self._range(self._base(settings))
        if reach is None:
            return None
        now = solution.aperture if reach.name == "aperture" else _chosen(solution)
        return replace(reach, value=float(now or 0.0))

    def _view(self, settings: Settings, solution: Solution | None) -> View:
        if solution is None:
            return View.plain(self.other or self.table)

        def prepare() -> Reach:
            base = self._base(settings)
            reach = self._range(base)
            parameters: list[dict[str, float]] = [{}]
            if reach is not None and reach.name == "aperture":
                apertures = np.geomspace(reach.least, reach.most, _SAMPLED).tolist()
                parameters += [{"aperture": aperture} for aperture in apertures]
            elif reach is not None:
                parameters += [{"n_directions": d} for d in range(int(reach.most) + 1)]
            recipes = [base.recipe.with_parameters(**each) for each in parameters]
            gates = np.array([solve(recipe, base.moments).gate for recipe in recipes])
            return Reach(self.table, base, gates, self._progress)

        key = (settings.method, settings.weights)
        return self._views.view(self._once("reach", key, prepare, _PREPARED), solution)

    def _once(self, kind: str, key: Hashable, make: Callable[[], Made], most: int) -> Made:
        """Return what was made before for this key, or make it, once; keep the last few."""
        with self._lock:
            kept = self._kept.setdefault(kind, OrderedDict())
            lock = self._locks.setdefault((kind, key), RLock())
        with lock:
            if key not in kept:
                made = make()
                with self._lock:
                    kept[key] = made
                    while len(kept) > most:
                        kept.popitem(last=False)
            found: Made = kept[key]  # type: ignore[assignment]
            return found

    # What the page asks.

    def solve(self, settings: Settings) -> answers.Solved:
        """Return gate, spectrum, isotropy and quick figures at these settings."""
        solution = self.solution(settings)
        before = self._text_spectrum(None)
        notes: list[str] = []
        if solution is None:
            assert self.other is not None
            after, gate = self._other_spectrum, np.zeros(0)
            slider = None
        else:
            weights = self._weights(settings)
            notes = [
                f"fitted on {weights.description}",
                *([weights.caution] if weights.caution else []),
            ]
            after, gate = self._text_spectrum(solution), solution.gate
            slider = self._slider(settings, solution)
        shares = [values / (values.sum() or 1.0) for values in (before, after)]
        charts = {"spectrum": spectrum_chart({"before": shares[0], "after": shares[1]})}
        if solution is not None:
            charts["gate"] = gate_chart({settings.method: gate})
        return answers.Solved(
            slider=slider,
            gate=gate.tolist(),
            spectrum_before=shares[0].tolist(),
            spectrum_after=shares[1].tolist(),
            participation_before=isotropy(before),
            participation_after=isotropy(after),
            scores=self._scores(solution),
            charts=charts,
            command=self._command(settings, solution),
            notes=[note for note in notes if note],
        )

    def _text_spectrum(self, solution: Solution | None) -> Float64:
        """Return the spectrum of running text as a map leaves it; as it is without one."""
        unit = solution is not None and solution.map.unit
        weights = self._once(
            "weights",
            (Words.USAGE, unit, None),
            lambda: self.options.weights_for(Words.USAGE, self.table.vectors, unit=unit),
            100,
        )
        moments = self._moments_under(weights)
        if solution is None:
            return _eigenvalues(moments.second_moment)
        shift = moments.mean - solution.map.offset
        centred = moments.covariance + np.outer(shift, shift)
        return _eigenvalues(solution.map.matrix.T @ centred @ solution.map.matrix)

    @cached_property
    def _other_spectrum(self) -> Float64:
        assert self.other is not None
        weights = self.options.weights_for(Words.USAGE, self.other.vectors)
        moments = gather(read_chunks(self.other.vectors), [weights]).moments[weights]
        return _eigenvalues(moments.second_moment)

    @cached_property
    def _benchmarks(
        self,
    ) -> list[tuple[WordSimilarity, float | None, WordVectors, WordVectors | None]]:
        """The quick benchmarks, the score as it is, and their words' rows in each table."""
        paths, _ = datasets.gather(
            [FILES[name] for name in _QUICK], self.options.data, offline=True
        )
        found = []
        for name, title in _QUICK.items():
            if FILES[name] in paths:
                task = WordSimilarity.read(title, paths[FILES[name]])
                tables = [_only(each, task.words) for each in self._tables]
                other = tables[1] if len(tables) > 1 else None
                found.append((task, _finite(task.score(tables[0]).score), tables[0], other))
        return found

    def _scores(self, solution: Solution | None) -> list[answers.Score]:
        found = []
        for task, before, table, other in self._benchmarks:
            if solution is not None:
                after = task.score(table.with_vectors(solution.map(table.vectors)))
            else:
                after = task.score(other or table)
            scores = before, _finite(after.score)
            found.append(answers.Score(task.dataset, *scores, after.used, after.total))
        return found

    def _command(self, settings: Settings, solution: Solution | None) -> str:
        if solution is None:
            return ""
        parts = ["conceptor", "postprocess", self.table.command, "better.bin"]
        parts += ["--method", self.method_text(settings)]
        if settings.weights != "auto" and solution.recipe.words is Words.USAGE:
            parts += ["--weights", settings.weights]
        return shlex.join(parts)

    def method_text(self, settings: Settings) -> str:
        """Return a method and its parameters as the command line names them."""
        if self.solution(settings) is None:
            return next(iter(self._recipes), ORIGINAL)
        given = _parameters(settings, self._range(self._base(settings)))
        return ":".join([settings.method, *(f"{name}={value!r}" for name, value in given.items())])

    def neighbours(
        self, settings: Settings, like: Sequence[str], without: Sequence[str], n: int
    ) -> answers.Neighbours:
        """Return the words nearest to some, before and after, but not like others."""
        solution = self.solution(settings)
        views = (View.plain(self.table), self._view(settings, solution))
        searches = [self._search(view, like, without, n) for view in views]
        futures = [self._searchers[id(each.view.table)].ask(each) for each in searches]
        found = []
        for view, future in zip(views, futures, strict=True):
            near = future.result()
            words = [view.table.words[row] for row in near.rows]
            found.append(list(zip(words, near.cosines.tolist(), near.rows.tolist(), strict=True)))
        before, after = ({word for word, _, _ in side} for side in found)
        return answers.Neighbours(
            [answers.Near(w, c, r, "both" if w in after else "gone") for w, c, r in found[0]],
            [answers.Near(w, c, r, "both" if w in before else "new") for w, c, r in found[1]],
            prior=self.about.sorted,
        )

    def _search(self, view: View, like: Sequence[str], without: Sequence[str], n: int) -> Search:
        """Return the search of a `Query` for words like some and not like others."""
        rows = view.rows(view.table.find([*like, *without]))
        words = [view.table.words[row] for row in view.table.find([*like, *without])]
        query = Query(words[: len(like)], words[len(like) :])
        criterion = query.criterion(WordVectors(words, rows))
        left_out = view.table.vectors.rows(dict.fromkeys(words)).tolist()
        return Search(view, criterion, n, left_out)

    def points(
        self, settings: Settings, like: Sequence[str], without: Sequence[str], how: str
    ) -> answers.Points:
        """Return frequent words, the query and its neighbours on a plane, before and after."""
        if how not in projection.projections():
            raise InvalidInputError(f"the projection {how!r} is not installed; use pca")
        solution = self.solution(settings)
        plain, view = View.plain(self.table), self._view(settings, solution)
        near = self.neighbours(settings, like, without, 10) if like else None
        words = [each.word for each in (*near.before, *near.after)] if near else []
        queried = list(dict.fromkeys([*like, *without]))
        known = view.table.vectors
        first = [word for word in self._map_words if word in known]
        more = dict.fromkeys(words + queried).keys() - set(first)
        shown = first + sorted(
            word for word in more if word in known and word in self.table.vectors
        )
        sides = [each.rows(each.table.vectors.rows(shown)) for each in (plain, view)]
        planes = self._planes(sides, len(first), how, (settings, tuple(shown[len(first) :])))
        ranks = self.table.vectors.rows(shown)
        place = {word: i for i, word in enumerate(shown)}
        logs = np.log(ranks[: len(first)] + 1.0)
        return answers.Points(
            words=shown,
            ranks=ranks.tolist(),
            clusters=self._clusters(shown, len(first)).tolist(),
            before=np.round(planes[0], 4).tolist(),
            after=np.round(planes[1], 4).tolist(),
            query=[place[word] for word in queried if word in place],
            neighbours=[place[word] for word in dict.fromkeys(words) if word in place],
            frequency_before=projection.explained(planes[0][: len(first)], logs),
            frequency_after=projection.explained(planes[1][: len(first)], logs),
        )

    @cached_property
    def _map_words(self) -> list[str]:
        last = min(_MAP_REACH, len(self.table))
        rows = np.unique(np.geomspace(1, last, 3 * MAP_WORDS).astype(np.intp)) - 1
        most = np.linspace(0, len(rows) - 1, min(MAP_WORDS, len(rows))).astype(np.intp)
        return [self.table.words[row] for row in rows[most]]

    def _planes(
        self, sides: list[Float64], fitted_on: int, how: str, key: Hashable
    ) -> list[Float64]:
        def lay_out() -> list[Float64]:
            planes = [projection.pca(side, fitted_on) for side in sides]
            if how == "umap":
                planes[0] = projection.umap(sides[0], planes[0])
                planes[1] = projection.umap(sides[1], planes[0])
            first = projection.align(planes[0], planes[0])
            return [first, projection.align(planes[1], first)]

        return self._once("planes", (how, key), lay_out, _PLANES)

    def _clusters(self, words: list[str], first: int) -> NDArray[np.int64]:
        def group() -> NDArray[np.int64]:
            rows = self.table.rows[self.table.vectors.rows(words)].astype(np.float64)
            return projection.cluster(rows, first)

        return self._once("clusters", tuple(words[first:]), group, _PLANES)

    def directions(self, settings: Settings) -> answers.Directions:
        """Return the words at both ends of the leading directions, by the method's own moment."""
        solution = self.solution(settings)
        if solution is None:
            raise InvalidInputError("directions are those of a method; choose one")
        among = min(_ENDS_AMONG, len(self.table))
        rows = np.asarray(self.table.rows[:among], dtype=np.float64)
        if solution.map.unit:
            rows = rows / self.table.lengths[:among, np.newaxis]
        count = min(LEADING, self.table.dimension)
        coordinates = (rows - solution.map.offset) @ solution.spectrum.vectors[:, :count]
        logs = np.log(rank_weights(0, among))
        values = solution.spectrum.values
        total = float(values.sum()) or 1.0
        words = self.table.words
        found = []
        for k in range(count):
            order = np.argsort(coordinates[:, k], kind="stable").tolist()
            found.append(
                answers.Direction(
                    number=k + 1,
                    share=float(values[k]) / total,
                    frequency=_correlation(coordinates[:, k], logs) if self.about.sorted else None,
                    kept=float(solution.gate[k]),
                    low=[words[i] for i in order[:_END_WORDS]],
                    high=[words[i] for i in order[: -_END_WORDS - 1 : -1]],
                )
            )
        return answers.Directions(found, among)

    def concepts(
        self, settings: Settings, lists: dict[str, list[str]], expression: str, aperture: float
    ) -> answers.Concepts:
        """Return how concepts relate, and the words with most evidence for an expression.

        Concepts are conceptors of words' directions as the method leaves them.
        """
        from conceptor.concepts.expressions import Expression, check_name

        view = self._view(settings, self.solution(settings))
        vectors = view.table.vectors
        conceptors = {}
        missing = [word for words in lists.values() for word in words if word not in vectors]
        for name, words in lists.items():
            known = [word for word in words if word in vectors]
            if not known:
                raise InvalidInputError(f"the concept {name} has no word with a vector")
            rows = unit_rows(view.rows(vectors.rows(known)))
            conceptors[check_name(name)] = Conceptor.from_vectors(rows, aperture)
        wanted = Expression(expression or next(iter(lists)))
        combined = wanted(conceptors)
        among = min(_EVIDENCE_AMONG, len(view.table))
        evidence = combined.evidence(view.rows(slice(0, among)))
        order = np.argsort(-evidence, kind="stable")[:_EVIDENCE_WORDS].tolist()
        given = {word for words in lists.values() for word in words}
        names = list(conceptors)
        return answers.Concepts(
            names=names,
            quotas=[conceptors[name].quota for name in names],
            similarity=[[conceptors[a].similarity(conceptors[b]) for b in names] for a in names],
            order=[
                [a, b] for a in names for b in names if a != b and conceptors[a] <= conceptors[b]
            ],
            expression=wanted.text,
            words=[
                answers.Evidence(
                    view.table.words[row], float(evidence[row]), row, view.table.words[row] in given
                )
                for row in order
            ],
            missing=missing,
        )


def _recipe(name: str) -> Recipe:
    recipe = METHODS.get(name)
    if not isinstance(recipe, Recipe) or recipe.swaps:
        shown = ", ".join(
            known for known, each in METHODS.items() if isinstance(each, Recipe) and not each.swaps
        )
        reason = "is unknown" if recipe is None else "moves single words"
        raise InvalidInputError(f"the method {name!r} {reason}; the page can show {shown}")
    return recipe


def _control(recipe: Recipe) -> str:
    """Return the parameter of a method that a slider moves, or `none`."""
    match recipe.gate:
        case Negation():
            return "aperture"
        case DropLeading() | LevelLeading():
            return "directions"
    return "none"


def _chosen(solution: Solution) -> int:
    """Return the number of leading directions that a solution treats."""
    return int(np.count_nonzero(solution.gate != 1.0))


def _parameters(settings: Settings, reach: answers.Slider | None) -> dict[str, float]:
    """Return the parameters that were set; raise for one that is beyond its slider."""
    if reach is None:
        return {}
    value = settings.aperture if reach.name == "aperture" else settings.directions
    if value is None:
        return {}
    if not reach.least * 0.999 <= value <= reach.most * 1.001:
        raise InvalidInputError(
            f"{reach.name} {value:g} is beyond the slider, which goes from {reach.least:.4g} to "
            f"{reach.most:.4g}"
        )
    return {"aperture": float(value)} if reach.name == "aperture" else {"n_directions": int(value)}


def _eigenvalues(matrix: Float64) -> Float64:
    return np.asarray(np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0.0))


def _correlation(a: Float64, b: Float64) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / spread if spread > 0 else None


def _only(table: Table, words: frozenset[str]) -> WordVectors:
    known = [word for word in words if word in table.vectors]
    return WordVectors(known, np.array(table.rows[table.vectors.rows(known)]))


def _finite(score: float) -> float | None:
    return float(score) if np.isfinite(score) else None
