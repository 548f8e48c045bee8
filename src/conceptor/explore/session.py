"""The vectors on the page, and the answers to its requests."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor import __version__
from conceptor.algebra.aperture import isotropy
from conceptor.algebra.background import Background, BackgroundWarning, percent_below
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.concepts.found import Unknown, UnknownWordsError, split_known
from conceptor.concepts.query import Query
from conceptor.concepts.text_neighbours import choose_background
from conceptor.explore import answers, projection
from conceptor.explore.cache import Cache
from conceptor.explore.details import combine_concepts, find_directions
from conceptor.explore.fitted import PageMethods
from conceptor.explore.scores import QuickFigures, SearchedFigures, TextFigures
from conceptor.explore.search import Found, RowSearch, Searcher
from conceptor.explore.views import View
from conceptor.explore.wordmap import Shown, WordMap
from conceptor.fitting import FitOptions
from conceptor.methods import ORIGINAL, Method
from conceptor.report.charts import gate_chart, spectrum_chart
from conceptor.vectors.table import MISSING, WordVectors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from conceptor.algebra.recipes import Solution
    from conceptor.explore.answers import Settings
    from conceptor.explore.table import PageTable

# The methods on the page besides the default for the kind of vectors.
_MORE_METHODS = ("cn-paper", "abtt", "pvn", "whitening", "zipf-whitening")
_MORE_FOR_TEXTS = ("renormalization", "abtt", "cn", "whitening")
# The name of the choice for the second file.
OTHER = "file"
_EXAMPLES = ("bank", "doctor", "apple", "river", "music", "paris")
_KEPT_SEARCHES = 1000
# Random rows and pairs to rate cosines of texts; refitted while a slider is dragged.
_SCALE_ROWS, _SCALE_PAIRS = 2000, 100_000
_KEPT_SCALES = 64
# Neighbours on the map, per side.
_PLACED = 10


class Asked(NamedTuple):
    """The known words of a question, as the vectors spell them, and the unknown ones."""

    like: list[str]
    without: list[str]
    unknown: list[Unknown]


@dataclass(frozen=True, eq=False)
class AskedNeighbours:
    """Neighbours before and after, while the search is still running."""

    views: Sequence[View]
    futures: Sequence[Future[Found]]
    scales: Sequence[Background | None]
    asked: Asked
    prior: bool

    def answer(self) -> answers.Neighbours:
        """Wait for the results, and compare the two sides."""
        found = (each.result() for each in self.futures)
        sides = [
            [
                answers.Near(
                    view.table.words[row],
                    score,
                    cosine,
                    row + 1,
                    "both",
                    "" if scale is None else percent_below(float(scale.p(cosine))),
                )
                for row, score, cosine in zip(
                    near.rows.tolist(), near.scores.tolist(), near.cosines.tolist(), strict=True
                )
            ]
            for view, near, scale in zip(self.views, found, self.scales, strict=True)
        ]
        before, after = ({near.word for near in side} for side in sides)
        return answers.Neighbours(
            [near if near.word in after else replace(near, moved="gone") for near in sides[0]],
            [near if near.word in before else replace(near, moved="new") for near in sides[1]],
            *self.asked,
            prior=self.prior,
        )


class Session:
    """One or two tables, and methods fitted to the first on demand.

    Parameters
    ----------
    table : PageTable
    other : PageTable, optional
        A second file, shown as the after side of the first.
    methods : sequence of str
        Spectral methods by name; by default the one that `postprocess` would choose, and others.
        Methods that move single words are not maps and cannot be shown.
    options : FitOptions, optional
        Defaults for fitting, where the page sets nothing.
    progress
        Called with the progress of the first preparations.
    """

    def __init__(
        self,
        table: PageTable,
        other: PageTable | None = None,
        methods: Sequence[str] | None = None,
        options: FitOptions | None = None,
        progress: Progress = silent,
    ) -> None:
        self.table, self.other = table, other
        self.options = options or FitOptions()
        if methods is None:
            more = _MORE_FOR_TEXTS if table.of_texts else _MORE_METHODS
            methods = [str(Method.default_for(table.vectors)), *more]
        self.methods = PageMethods(table, methods, self.options)
        if not self.methods.names and other is None:
            raise InvalidInputError("no method was named")
        self._plain = View.plain(table)
        self._plain_other = None if other is None else View.plain(other)
        self._searchers = {each: Searcher(each) for each in (table, other) if each is not None}
        self._searches: Cache[Future[Found]] = Cache(_KEPT_SEARCHES)
        self._scales: Cache[Background | None] = Cache(_KEPT_SCALES)
        self._quick = QuickFigures(table, other, self.methods, self.options)
        searched = TextFigures if table.of_texts else SearchedFigures
        self._searched = searched(table, other, self.options)
        self._map = WordMap(self._plain)
        self._prepare(progress)

    def _prepare(self, progress: Progress) -> None:
        self.methods.progress = progress
        self.solve(self.default)
        self.neighbours(self.default, self.about.examples[:1], [], 10)
        self.table.complete(self.about.examples[0], 1)
        self.methods.progress = silent

    @cached_property
    def default(self) -> Settings:
        """The initial settings of the page."""
        return answers.Settings(self.methods.names[0] if self.other is None else OTHER)

    @cached_property
    def about(self) -> answers.About:
        """The vectors and the available choices."""
        choices = self.methods.choices
        if self.other is not None:
            choices.insert(0, answers.Choice(OTHER, f"{self.other.name}, unchanged", "none"))
        penalties = self.table.penalties
        return answers.About(
            vectors=self.table.name,
            rows=str(self.table.vectors.kind),
            count=len(self.table),
            dimension=self.table.dimension,
            sorted=bool(penalties[penalties < np.inf].any()),
            other=None if self.other is None else self.other.name,
            methods=choices,
            weights=self.methods.weight_choices,
            projections=projection.projections(len(self.table)),
            examples=self._examples(),
            version=__version__,
        )

    def _examples(self) -> list[str]:
        """Return example words that have a vector in all tables."""

        def has_vector(word: str) -> bool:
            places = {table: int(table.vectors.rows([word])[0]) for table in self._searchers}
            return all(row != MISSING and not table.empty[row] for table, row in places.items())

        found = [] if self.table.of_texts else list(filter(has_vector, _EXAMPLES))
        found = found or list(islice(filter(has_vector, self.table.words), 100))[-1:]
        if not found:
            raise InvalidInputError("the two files have no words in common")
        return found

    def solution(self, settings: Settings) -> Solution | None:
        """Return the method's solution at these settings; None for the second file."""
        if settings.method == OTHER and self.other is not None:
            return None
        return self.methods.solution(settings)

    def is_fitted(self, settings: Settings) -> bool:
        """Return whether the slow work for the method is done."""
        return settings.method == OTHER or self.methods.is_fitted(settings)

    def method_text(self, settings: Settings) -> str:
        """Return a method as on the command line; for the second file, the first method."""
        if self.solution(settings) is None:
            return next(iter(self.methods.names), ORIGINAL)
        return self.methods.text(settings)

    def _view(self, settings: Settings | None) -> View:
        """Return the table after a method, or the second file; None is the table itself."""
        if settings is None:
            return self._plain
        if settings.method == OTHER and self._plain_other is not None:
            return self._plain_other
        return self.methods.view(settings)

    def solve(self, settings: Settings) -> answers.SolvedMethod:
        """Return gate, spectrum, isotropy and quick scores at these settings."""
        solution = self.solution(settings)
        spectra = {"before": self._quick.spectrum_before, "after": self._quick.spectrum(solution)}
        shares = {name: values / (values.sum() or 1.0) for name, values in spectra.items()}
        charts = {"spectrum": spectrum_chart(shares)}
        notes, gate = [], np.zeros(0)
        if solution is not None:
            gate = solution.gate
            charts["gate"] = gate_chart({settings.method: gate})
            weights = self.methods.weights(settings)
            notes = [f"fitted on {weights.description}", weights.caution]
        return answers.SolvedMethod(
            slider=None if solution is None else self.methods.slider(settings),
            gate=gate.tolist(),
            spectrum_before=shares["before"].tolist(),
            spectrum_after=shares["after"].tolist(),
            participation_before=isotropy(spectra["before"]),
            participation_after=isotropy(spectra["after"]),
            scores=self._quick.scores(solution),
            charts=charts,
            command="" if solution is None else self.methods.command(settings),
            notes=[note for note in notes if note],
        )

    def neighbours(
        self, settings: Settings, like: Sequence[str], without: Sequence[str], n: int
    ) -> answers.Neighbours:
        """Return the words nearest to `like` but unlike `without`, before and after."""
        return self.ask_neighbours(settings, like, without, n).answer()

    def ask_neighbours(
        self, settings: Settings, like: Sequence[str], without: Sequence[str], n: int
    ) -> AskedNeighbours:
        """Start a search for neighbours without waiting for it."""
        asked = self._look_up(settings, like, without)
        if not asked.like:
            raise UnknownWordsError(asked.unknown)
        sides = None, settings
        return AskedNeighbours(
            [self._view(each) for each in sides],
            [self._ask(each, asked, n) for each in sides],
            [self.background(each) for each in sides],
            asked,
            self.about.sorted,
        )

    def background(self, settings: Settings | None) -> Background | None:
        """Return the scale of cosines of texts in a view; None for words, and for few rows."""
        view = self._view(settings)
        if not view.table.of_texts:
            return None

        def fit() -> Background | None:
            rows = np.random.default_rng(0).permutation(len(view.table))[:_SCALE_ROWS]
            return choose_background(None, view.rows(rows), pairs=_SCALE_PAIRS)

        with warnings.catch_warnings():  # printed once, when the page starts
            warnings.simplefilter("ignore", BackgroundWarning)
            return self._scales.get(settings, fit)

    def _look_up(self, settings: Settings, like: Sequence[str], without: Sequence[str]) -> Asked:
        """Return the words that all tables have, and suggestions for the others."""
        tables = dict.fromkeys([self.table, self._view(settings).table])
        unknown: list[Unknown] = []

        def known(words: Sequence[str]) -> list[str]:
            found = [self.table.label(word) for word in words]
            for table in tables:
                found, missing = split_known(found, table.vectors)
                unknown.extend(map(table.unknown, missing))
            return found

        return Asked(known(like), known(without), unknown)

    def _ask(self, settings: Settings | None, asked: Asked, n: int) -> Future[Found]:
        """Start a `Query` for words like some and unlike others.

        While a slider is dragged one side does not change, and people return to earlier settings.
        So the last answers are kept, by the settings of the view. A failed one is computed
        again.
        """
        view = self._view(settings)
        question = settings, tuple(asked.like), tuple(asked.without), n

        def ask() -> Future[Found]:
            words = [*asked.like, *asked.without]
            places = view.table.vectors.rows(words)
            rows = view.rows(places)
            for word in (word for word, row in zip(words, rows, strict=True) if not row.any()):
                when = "before" if view.map is None else "after"
                raise InvalidInputError(
                    f"the vector of {word!r} {when} post-processing is zero; it has no neighbours"
                )
            criterion = Query(asked.like, asked.without).criterion(WordVectors(words, rows))
            search = RowSearch(view, criterion, n, np.unique(places).tolist())
            return self._searchers[view.table].ask(search)

        found = self._searches.get(question, ask)
        if found.done() and found.exception():
            self._searches.forget(question)
            found = self._searches.get(question, ask)
        return found

    def points(self, settings: Settings, how: str, count: int) -> answers.Points:
        """Return common words on a plane, before and after."""
        return self._map.points(self._shown(settings, how, count))

    def place(
        self,
        settings: Settings,
        like: Sequence[str],
        without: Sequence[str],
        how: str,
        count: int,
    ) -> answers.Placed:
        """Return a query and its neighbours, before and after, on the planes of `points`."""
        found = self.neighbours(settings, like, without, _PLACED)
        near = [each.word for each in (*found.before, *found.after)]
        query = [*found.like, *found.without]
        return self._map.place(self._shown(settings, how, count), query, near)

    def _shown(self, settings: Settings, how: str, count: int) -> Shown:
        if how not in self.about.projections:
            raise InvalidInputError(f"the projection {how!r} is not available here; use pca")
        own = replace(settings, aperture=None, directions=None)
        return Shown(self._view(settings), self._view(own), settings, how, count)

    def benchmarks(self, settings: Settings) -> list[answers.Score]:
        """Return benchmarks that search all words, before and after; takes seconds."""
        return self._searched.scores(settings, self.solution(settings))

    def directions(self, settings: Settings) -> answers.Directions:
        """Return the words at both ends of the leading directions, by the method's own moment."""
        solution = self.solution(settings)
        if solution is None:
            raise InvalidInputError("the second file has no directions; choose a method")
        return find_directions(self.table, solution, by_rank=self.about.sorted)

    def concepts(
        self, settings: Settings, lists: dict[str, list[str]], expression: str, aperture: float
    ) -> answers.CombinedConcepts:
        """Return the relations between concepts, and words by evidence for an expression."""
        return combine_concepts(self._view(settings), lists, expression, aperture)
