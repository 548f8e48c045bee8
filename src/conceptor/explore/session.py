"""The vectors on the page, and the answers to everything it asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from conceptor import __version__
from conceptor.algebra.aperture import isotropy
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.methods import ORIGINAL
from conceptor.base.arrays import unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.concepts.query import Query
from conceptor.explore import answers, projection
from conceptor.explore.cache import Cache
from conceptor.explore.fitted import FittedMethods
from conceptor.explore.quick import QuickFigures
from conceptor.explore.search import Search, Searcher
from conceptor.explore.views import View
from conceptor.explore.wordmap import WordMap
from conceptor.fitting import FitOptions
from conceptor.report.charts import gate_chart, spectrum_chart
from conceptor.vectors.table import MISSING, WordVectors
from conceptor.weights import rank_weights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from conceptor.algebra.methods import Solution
    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.explore.answers import Settings
    from conceptor.explore.search import Found
    from conceptor.explore.table import Table

__all__ = ["DEFAULT_METHODS", "AskedNeighbours", "Session"]

DEFAULT_METHODS = ("cn", "cn-paper", "abtt", "pvn", "whitening", "zipf-whitening")
# The choice that stands for the second file.
OTHER = "file"
# First words among which the ends of directions, and the words of concepts, are looked for.
_ENDS_AMONG = 20_000
_EVIDENCE_AMONG = 50_000
_LEADING = 10
_END_WORDS = 8
_EVIDENCE_WORDS = 40
# The aperture of conceptors made of a few words at length 1.
CONCEPT_APERTURE = 3.0
_EXAMPLES = ("bank", "doctor", "apple", "river", "music", "paris")
_KEPT_SEARCHES = 1000


@dataclass(frozen=True, eq=False)
class AskedNeighbours:
    """Neighbours before and after, for which the tables are still being searched."""

    views: tuple[View, View]
    futures: Sequence[Future[Found]]
    prior: bool

    def answer(self) -> answers.Neighbours:
        """Wait for what is found, and compare the two sides."""
        sides = []
        for view, future in zip(self.views, self.futures, strict=True):
            near = future.result()
            words = [view.table.words[row] for row in near.rows]
            sides.append(list(zip(words, near.cosines.tolist(), near.rows.tolist(), strict=True)))
        before, after = ({word for word, _, _ in side} for side in sides)
        return answers.Neighbours(
            [answers.Near(w, c, r, "both" if w in after else "gone") for w, c, r in sides[0]],
            [answers.Near(w, c, r, "both" if w in before else "new") for w, c, r in sides[1]],
            prior=self.prior,
        )


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
        self.methods = FittedMethods(table, methods, self.options)
        if not self.methods.names and other is None:
            raise InvalidInputError("no method was named")
        self._plain = View.plain(table)
        self._plain_other = None if other is None else View.plain(other)
        self._searchers = {each: Searcher(each) for each in (table, other) if each is not None}
        self._searches: Cache[Future[Found]] = Cache(_KEPT_SEARCHES)
        self._quick = QuickFigures(table, other, self.methods, self.options)
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
        """The settings the page opens with."""
        return answers.Settings(self.methods.names[0] if self.other is None else OTHER)

    @cached_property
    def about(self) -> answers.About:
        """What the vectors are and what can be chosen."""
        choices = self.methods.choices
        if self.other is not None:
            choices.insert(0, answers.Choice(OTHER, f"{self.other.name} as it is", "none"))
        penalties = self.table.penalties
        return answers.About(
            vectors=self.table.name,
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
        """Return words to begin with, which all tables have a vector for."""

        def has_vector(word: str) -> bool:
            places = {table: int(table.vectors.rows([word])[0]) for table in self._searchers}
            return all(row != MISSING and not table.empty[row] for table, row in places.items())

        found = list(filter(has_vector, _EXAMPLES))
        found = found or list(islice(filter(has_vector, self.table.words), 100))[-1:]
        if not found:
            raise InvalidInputError("the two files have no word in common")
        return found

    def solution(self, settings: Settings) -> Solution | None:
        """Return the method's solution at these settings; None for the second file."""
        if settings.method == OTHER and self.other is not None:
            return None
        return self.methods.solution(settings)

    def is_fitted(self, settings: Settings) -> bool:
        """Return whether all that takes long has been done for the method."""
        return settings.method == OTHER or self.methods.is_fitted(settings)

    def method_text(self, settings: Settings) -> str:
        """Return a method as the command line names it; the first one for the second file."""
        if self.solution(settings) is None:
            return next(iter(self.methods.names), ORIGINAL)
        return self.methods.text(settings)

    def _view(self, settings: Settings) -> View:
        if settings.method == OTHER and self._plain_other is not None:
            return self._plain_other
        return self.methods.view(settings)

    def solve(self, settings: Settings) -> answers.Solved:
        """Return gate, spectrum, isotropy and quick figures at these settings."""
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
        return answers.Solved(
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
        """Return the words nearest to some, before and after, but not like others."""
        return self.ask_neighbours(settings, like, without, n).answer()

    def ask_neighbours(
        self, settings: Settings, like: Sequence[str], without: Sequence[str], n: int
    ) -> AskedNeighbours:
        """Ask for neighbours without waiting for the search."""
        views = self._plain, self._view(settings)
        futures = [
            self._ask(view, key, tuple(like), tuple(without), n)
            for view, key in zip(views, (None, settings), strict=True)
        ]
        return AskedNeighbours(views, futures, prior=self.about.sorted)

    def _ask(
        self,
        view: View,
        key: Settings | None,
        like: tuple[str, ...],
        without: tuple[str, ...],
        n: int,
    ) -> Future[Found]:
        """Ask for what answers a `Query` for words like some and not like others.

        One side stays as it is while a slider is dragged, and people come back to what they saw:
        so the last answers are kept, by what the view stands for; one that failed is made
        anew.
        """
        question = key, like, without, n

        def ask() -> Future[Found]:
            places = view.table.find([*like, *without])
            words = [view.table.words[row] for row in places]
            rows = view.rows(places)
            for word in (word for word, row in zip(words, rows, strict=True) if not row.any()):
                when = "as it is" if view.map is None else "as the method leaves it"
                raise InvalidInputError(
                    f"the vector of {word!r} {when} is zero; no word is near it"
                )
            query = Query(words[: len(like)], words[len(like) :])
            criterion = query.criterion(WordVectors(words, rows))
            search = Search(view, criterion, n, np.unique(places).tolist())
            return self._searchers[view.table].ask(search)

        found = self._searches.get(question, ask)
        if found.done() and found.exception():
            self._searches.forget(question)
            found = self._searches.get(question, ask)
        return found

    def points(
        self, settings: Settings, like: Sequence[str], without: Sequence[str], how: str
    ) -> answers.Points:
        """Return frequent words, the query and its neighbours on a plane, before and after."""
        if how not in self.about.projections:
            raise InvalidInputError(f"the projection {how!r} is not installed; use pca")
        near: list[str] = []
        if like:
            found = self.neighbours(settings, like, without, 10)
            near = [each.word for each in (*found.before, *found.after)]
        query = [self.table.words[row] for row in self.table.find([*like, *without])]
        return self._map.points(self._view(settings), settings, query, near, how)

    def directions(self, settings: Settings) -> answers.Directions:
        """Return the words at both ends of the leading directions, by the method's own moment."""
        solution = self.solution(settings)
        if solution is None:
            raise InvalidInputError("directions are those of a method; choose one")
        among = min(_ENDS_AMONG, len(self.table))
        rows = np.asarray(self.table.rows[:among], dtype=np.float64)
        if solution.map.unit:
            rows = rows / self.table.lengths[:among, np.newaxis]
        count = min(_LEADING, self.table.dimension)
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

        view = self._view(settings)
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


def _correlation(a: Float64, b: Float64) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / spread if spread > 0 else None
