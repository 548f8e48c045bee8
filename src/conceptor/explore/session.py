"""The vectors on the page, methods at any setting of its controls, and the answers to it."""

from __future__ import annotations

import csv
import io
import json
import shlex
import signal
import warnings
from base64 import b64encode
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from importlib.util import find_spec
from itertools import islice, pairwise
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from conceptor.algebra.background import BackgroundWarning, percent_below
from conceptor.algebra.gates import DropLeading, LevelLeading, Negation, scale_free_aperture
from conceptor.base.arrays import unit_rows, unit_rows32
from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.base.progress import silent
from conceptor.concepts.neighbors import UnknownWordsError, choose_background, choose_prior, shorten
from conceptor.concepts.query import Query
from conceptor.explore import plane, scores
from conceptor.explore.plane import Planes
from conceptor.explore.table import PageTable, Side
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import as_methods, default_method
from conceptor.report.charts import color_places
from conceptor.vectors.search import rank_penalties
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.background import Background
    from conceptor.base.arrays import Float64
    from conceptor.base.progress import Progress
    from conceptor.concepts.query import Criterion
    from conceptor.fit import Fitted
    from conceptor.methods import Method

__all__ = ["Cache", "Near", "Session", "Settings", "Slider"]

# The methods on the page besides the default for the kind of rows.
_WORD_METHODS = ("cn-paper", "abtt", "pvn", "whitening", "zipf-whitening")
_TEXT_METHODS = ("renormalization", "abtt", "cn", "whitening")
# The range of the slider: this factor around the automatic aperture, or this many directions.
APERTURE_SPAN, _MOST_DIRECTIONS = 30.0, 20
# The map is computed at this many apertures; between them the page interpolates.
_APERTURES = 33
# How many words or texts the map shows, and how many neighbors on each side.
_ON_MAP, _NEAR_ON_MAP = 20_000, 10
# Random rows and pairs that show what a cosine of texts means.
_SCALE_ROWS, _SCALE_PAIRS = 2000, 100_000
# The longest word, or beginning of a text, in the name of a cluster.
_LONGEST_NAME = 24
# How many directions are described, by how many of the first words at each end; of texts by two.
_DIRECTIONS, _AT_END, _END_AMONG, _LONGEST_END = 60, 6, 10_000, 56
# A column has at most this many groups on the map; of numbers, at most this many.
_GROUPS, _NUMBER_GROUPS = 8, 5
# The most texts that a search for words inside texts returns.
_FIND = 20_000

Made = TypeVar("Made")


@dataclass(frozen=True)
class Settings:
    """A method of the page and its slider: an aperture, or a number of directions.

    A value of None is the method's default.
    """

    method: str
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
    """A neighbor of a query on one side, by score: the cosine, minus the penalties of `Query`.

    `rank` is its place in the file and `was` in the list of the other side, both from 1. For texts,
    `above` is the share of random pairs with a lower cosine, as in `99.9%`.
    """

    word: str
    score: float
    cosine: float
    rank: int
    was: int
    above: str


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
    """What all methods share on the map: its words, their plane before, and clusters."""

    words: list[str]
    places: NDArray[np.intp]
    before: Planes
    clusters: NDArray[np.intp]
    names: list[str]


class Session:
    """Vectors, and methods fitted to them.

    `vectors` are a path, `Vectors`, (words, array), ...; the methods are by default that of
    `postprocess`, and others. `flags` are the options that the vectors were opened with, for the
    command that the page shows.
    """

    def __init__(
        self,
        vectors: object,
        methods: Sequence[str] | None = None,
        options: FitOptions | None = None,
        *,
        flags: Sequence[str] = (),
        progress: Progress = silent,
    ) -> None:
        self.table = PageTable(vectors, progress)
        self._options, self._flags = options or FitOptions(), flags
        if methods is None:
            more = _TEXT_METHODS if self.table.is_texts else _WORD_METHODS
            methods = [str(default_method(self.table.vectors)), *more]
        self._methods = as_methods(methods)
        for name, method in self._methods.items():
            if method.is_original:
                raise InvalidInputError(f"{name} changes nothing; name other methods")
        self._cache, self._large = Cache(), Cache(12)  # answers; numbers for every row
        self._prior = choose_prior(None, self.table.vectors)
        self._examples = self._find_examples()
        self.default = Settings(next(iter(self._methods)))
        fits = fit_methods(self.table.vectors, self._methods, self._options, progress=progress)
        self._fits = fits.methods

    def about(self) -> dict[str, object]:
        """Return the vectors and the available choices."""
        choices = {name: method.description for name, method in self._methods.items()}
        return {
            "vectors": self.table.name,
            "rows": str(self.table.vectors.kind),
            "count": len(self.table),
            "dimension": self.table.vectors.dimension,
            "sorted": self._prior > 0,
            "methods": choices,
            "colors": color_places(choices),
            "examples": self._examples,
            "columns": list(self.table.columns),
        }

    def _find_examples(self) -> list[str]:
        """Return the vetted words that have a vector, or else a common word.

        `benchmarks/explore.py words` chooses the vetted ones.
        """
        table = self.table

        def has_vector(word: str) -> bool:
            return word in table and bool(table.rows[table.places([word])].any())

        file = resources.files("conceptor.explore").joinpath("examples.json")
        vetted = [] if table.is_texts else json.loads(file.read_text(encoding="utf-8"))["words"]
        examples = list(filter(has_vector, vetted))
        return examples or list(islice(filter(has_vector, table.words), 100))[-1:]

    # Methods.

    def _base(self, settings: Settings) -> Fitted:
        if settings.method not in self._methods:
            names = ", ".join(self._methods)
            raise InvalidInputError(f"unknown method {settings.method!r}; choose from {names}")
        return self._fits[settings.method]

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
            marks = {"automatic": automatic}
            if base.method.name == "cn-paper":  # α = 2 of another method is not the paper's
                marks["paper"] = own
            return Slider("aperture", own, own, least, most, marks)
        if "n_directions" in parameters and solution.map.n_out == solution.map.n_in:
            own = float(np.count_nonzero(solution.gate != 1.0))
            most = max(own, float(min(_MOST_DIRECTIONS, len(solution.gate) - 1)))
            return Slider("n_directions", own, own, 0.0, most, {"default": own})
        return None

    def solve(self, settings: Settings) -> dict[str, object]:
        """Return the slider, the gates of all methods, and the command.

        `formula` is how the gate follows from the eigenvalues `values` and the slider: the power of
        a negation, or the name of a rule for a number of directions.
        """
        fitted, slider = self.fitted(settings), self._range(self._base(settings))
        solution, weights = fitted.solution, fitted.weights
        assert solution is not None  # only the original vectors have none
        assert weights is not None
        if slider is not None and settings.value is not None:
            slider = replace(slider, value=settings.value)
        formula: object = None
        match solution.method.gate:
            case Negation(power=power):
                formula = power
            case LevelLeading():
                formula = "level"
            case DropLeading():
                formula = "drop"
        notes = (f"fitted on {weights.description}", weights.caution, fitted.doubt)
        return {
            "slider": slider,
            "formula": formula if slider else None,
            "gate": solution.gate,
            "values": solution.spectrum.values,
            "gates": {
                name: each.solution.gate[:_DIRECTIONS]
                for name, each in self._fits.items()
                if each.solution is not None
            },
            "command": self._command(settings, fitted.method),
            "notes": list(filter(None, notes)),
        }

    def _command(self, settings: Settings, method: Method) -> str:
        """Return the command that writes the vectors of the after side."""
        source = self.table.vectors.name
        target = "better.bin" if Path(source).name != "better.bin" else "best.bin"
        parts = ["conceptor", "postprocess", source, target, "--method", str(method)]
        options = {
            "--weights": self._options.weights if method.weighs_by_usage else None,
            "--vocabulary": self._options.vocabulary,
        }
        for flag, value in options.items():
            parts += [] if value is None else [flag, str(value)]
        return shlex.join([*parts, *self._flags])

    def _sides(self, settings: Settings) -> tuple[Side, Side]:
        """Return the sides before and after."""
        solution = self.fitted(settings).solution
        assert solution is not None
        return Side(self.table), Side(self.table, solution.map, settings)

    # Words.

    def complete(self, prefix: str, n: int = 8) -> list[dict[str, object]]:
        """Return words with a prefix and their ranks."""
        rows = self.table.complete(prefix, n)
        return [{"word": self.table.words[row], "rank": row + 1} for row in rows]

    def find(self, words: str) -> dict[str, object]:
        """Return the texts that contain all of some words."""
        rows = list(self.table.containing(words))
        texts = [{"word": self.table.words[row], "rank": row + 1} for row in rows[:_FIND]]
        return {"count": len(rows), "texts": texts}

    def read(self, query: str) -> dict[str, object]:
        """Return the number of a row, its whole text and all its columns."""
        labels, unknown = self.table.look_up([query])
        if not labels:
            raise UnknownWordsError(unknown)
        row = int(self.table.places(labels)[0])
        columns = {
            name: "missing" if values[row] is None else str(values[row])
            for name, values in self.table.columns.items()
        }
        return {"row": row + 1, "text": self.table.texts[row], "columns": columns}

    def save_rows(self, numbers: Sequence[int]) -> str:
        """Return rows as CSV: number, word or whole text, and all columns."""
        table, file = self.table, io.StringIO()
        kind = "text" if table.is_texts else "word"
        writer = csv.writer(file)
        writer.writerow(["row" if table.is_texts else "rank", kind, *table.columns])
        for row in numbers:
            if 1 <= row <= len(table):
                values = [each[row - 1] for each in table.columns.values()]
                writer.writerow([row, table.texts[row - 1], *values])
        return file.getvalue()

    def neighbors(
        self, settings: Settings, like: Sequence[str], without: Sequence[str] = (), n: int = 10
    ) -> dict[str, Any]:
        """Return the words nearest to `like` but unlike `without`, before and after.

        `places` has the words and their first neighbors on the map.
        """
        like, unknown = self.table.look_up(like)
        without, more = self.table.look_up(without)
        unknown += more
        if not like:
            raise UnknownWordsError(unknown)
        query = Query(like, without)
        before, after = self._sides(settings)
        near = [self._near(before, after, query, n), self._near(after, before, query, n)]
        shown = [each.word for side in near for each in side[:_NEAR_ON_MAP]]
        words = list(dict.fromkeys([*query.words, *shown]))
        return {
            "before": near[0],
            "after": near[1],
            "like": like,
            "without": without,
            "unknown": unknown,
            "places": self._place(settings, words) | {"query": len(query.words)},
        }

    def _near(self, side: Side, other: Side, query: Query, n: int) -> list[Near]:
        """Find the best rows of one side for a query, and their places on the other side."""
        scores, others = self._scores(side, query), self._scores(other, query)
        best = np.argpartition(-scores, min(n, len(scores) - 1))[: n + 1]
        best = best[np.isfinite(scores[best])]
        best = best[np.lexsort((best, -scores[best]))][:n]
        words = [self.table.words[row] for row in best]
        was = [1 + int((others > others[row]).sum()) for row in best]
        criterion = self._criterion(side, query)
        cosines = unit_rows(side.rows(best)) @ criterion.direction
        scale = self._background(side)
        above = [""] * len(best) if scale is None else map(percent_below, scale.p(cosines))
        columns = words, scores[best].tolist(), cosines.tolist(), (best + 1).tolist(), was, above
        return [Near(*each) for each in zip(*columns, strict=True)]

    def _criterion(self, side: Side, query: Query) -> Criterion:
        rows = side.rows(side.table.places(query.words))
        for word, row in zip(query.words, rows, strict=True):
            if not row.any():
                when = "before" if side.settings is None else "after"
                raise InvalidInputError(
                    f"the vector of {word!r} {when} post-processing is zero; it has no neighbors"
                )
        return query.criterion(WordVectors(query.words, rows))

    def _scores(self, side: Side, query: Query) -> NDArray[Any]:
        """Return the score of every row of a side; that of the query's own words is −∞."""
        criterion = self._criterion(side, query)

        def score() -> NDArray[Any]:
            lengths = self._large.get(("lengths", side.settings), side.lengths)
            result = side.cosines(criterion.direction, lengths)
            result -= self._large.get(
                ("prior", len(result)),
                lambda: rank_penalties(np.arange(len(result)), self._prior),
            )
            if criterion.wanted is not None:
                blocks = (unit_rows32(side.rows(each)) for each in side.table.blocks)
                result -= np.concatenate([criterion.penalty(block) for block in blocks])
            result[np.isinf(lengths)] = -np.inf
            result[side.table.places(query.words)] = -np.inf
            return result

        return self._large.get(("scores", side.settings, query.like, query.without), score)

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
        background = self._background(self._sides(settings)[1])
        self.fitted(settings).map.save(path, background=background)

    # The map.

    def _layout(self) -> _Layout:
        def lay_out() -> _Layout:
            places = plane.spread(len(self.table), _ON_MAP)
            words = [self.table.words[row] for row in places.tolist()]
            before, after = self._sides(self.default)
            cosines = plane.cluster(after.rows(places))
            clusters = cosines.argmax(axis=1)
            names = None
            if self.table.is_texts:
                texts = [self.table.texts[row] for row in places]
                names = plane.distinctive_words(texts, clusters)
            short = [shorten(word, _LONGEST_NAME) for word in words]
            names = names or plane.common_words(short, cosines)
            return _Layout(words, places, Planes.fit(before.rows(places)), clusters, names)

        return self._cache.get("layout", lay_out)

    def layout(self) -> dict[str, Any]:
        """Return what all methods share on the map: words, ranks, clusters, and points before."""
        layout = self._layout()
        return {
            "words": layout.words,
            "ranks": layout.places + 1,
            "clusters": layout.clusters,
            "names": layout.names,
            "before": _packed(layout.before(self.table.rows[layout.places])),
        }

    def _planes(self, settings: Settings) -> tuple[list[float], Planes]:
        """Return the values of a method's slider, and the planes of the map at each of them."""

        def fit() -> tuple[list[float], Planes]:
            layout, (before, after) = self._layout(), self._sides(settings)
            reference = layout.before(before.rows(layout.places))
            rows = after.enter(layout.places)
            base = self._base(settings)
            slider, solution = self._range(base), base.solution
            assert solution is not None
            if slider is None:
                return [], Planes.fit(rows, [solution.map.matrix], reference)
            if slider.name == "aperture":
                grid = np.geomspace(slider.least, slider.most, _APERTURES)
                values = np.unique([*grid[1:-1], slider.least, slider.default, slider.most])
            else:
                values = np.arange(slider.most + 1)
            size, matrices = len(solution.gate), []
            for value in values.tolist():
                setting = value if slider.name == "aperture" else int(value)
                gate = base.method.with_parameters(**{slider.name: setting}).gate
                coefficients = gate.coefficients(solution.spectrum.values, size)
                matrices.append(solution.spectrum.matrix(coefficients))
            return values.tolist(), Planes.fit(rows, matrices, reference)

        own = replace(settings, value=None)
        return self._cache.get(("planes", own), fit)

    def path(self, settings: Settings) -> dict[str, Any]:
        """Return the map after a method at every value of its slider, and what its directions mean.

        The points at `values[j]` are ``components turns[j]``; a method without a slider has one
        turn. Each direction has its correlation with log rank and the words at its two ends.
        """
        values, planes = self._planes(settings)
        _, after = self._sides(settings)
        return {
            "values": values,
            "turns": planes.turns.tolist(),
            "components": _packed(planes.components(after.enter(self._layout().places))),
            "directions": self._directions(settings),
        }

    @cached_property
    def _worker(self) -> ProcessPoolExecutor:
        # Ctrl+C in a terminal stops it at once, without a traceback.
        interrupt = signal.SIGINT, signal.SIG_DFL
        return ProcessPoolExecutor(1, get_context("spawn"), signal.signal, interrupt)

    def neighborhoods(self, settings: Settings) -> dict[str, Any]:
        """Return UMAP of the map's rows before and after, as a path with one turn.

        It takes up to a minute for 20,000 rows, so a process of its own computes it.
        """
        if find_spec("umap") is None:
            raise MissingExtraError("The map of neighborhoods (UMAP)", "explore")
        layout, (before, after) = self._layout(), self._sides(settings)

        def embed(side: Side, start: Float64 | None = None) -> Float64:
            rows = side.rows(layout.places)
            start = layout.before(rows) if start is None else start
            try:
                return self._worker.submit(
                    plane.neighborhoods, rows.astype(np.float32), start
                ).result()
            except BrokenProcessPool:
                self.__dict__.pop("_worker", None)  # the next request starts another
                raise ConceptorError("UMAP was stopped, perhaps for lack of memory") from None

        old = self._cache.get("neighborhoods", lambda: embed(before))
        # The same start and no chance: what moves is what the method changes.
        new = self._cache.get(("neighborhoods", settings), lambda: embed(after, old))
        turns = [np.eye(2).tolist()]
        return {"before": _packed(old), "components": _packed(new), "turns": turns, "values": []}

    def _directions(self, settings: Settings) -> list[dict[str, object]]:
        layout, (_, after) = self._layout(), self._sides(settings)
        solution = self._base(settings).solution
        assert solution is not None
        along = after.enter(layout.places) @ solution.spectrum.vectors[:, :_DIRECTIONS]
        logs = np.log(layout.places + 1.0)
        logs -= logs.mean()
        scales = np.maximum(along.std(axis=0) * (logs.std() or 1.0), np.finfo(float).tiny)
        correlations = logs @ (along - along.mean(axis=0)) / len(logs) / scales
        common = np.flatnonzero(layout.places < _END_AMONG)
        if not self.table.is_texts:
            common = common[[layout.words[i].isalpha() for i in common]]
        order = common[np.argsort(along[common], axis=0, kind="stable")]
        count = 2 if self.table.is_texts else _AT_END
        return [
            {
                "r": r if self._prior else None,
                "ends": [
                    [shorten(layout.words[i], _LONGEST_END) for i in end]
                    for end in (rows[:count], rows[::-1][:count])
                ],
            }
            for r, rows in zip(correlations.tolist(), order.T, strict=True)
        ]

    def _place(self, settings: Settings, words: list[str]) -> dict[str, Any]:
        """Return words on the map."""
        layout, (before, after) = self._layout(), self._sides(settings)
        places = before.table.places(words)
        _, planes = self._planes(settings)
        return {
            "words": words,
            "ranks": (places + 1).tolist(),
            "before": layout.before(before.rows(places)).tolist(),
            "components": _packed(planes.components(after.enter(places))),
        }

    def column(self, name: str) -> dict[str, object]:
        """Return the groups of a column's values and the group of each text on the map."""
        if name not in self.table.columns:
            raise InvalidInputError(f"there is no column {name!r}")
        column = self.table.columns[name]
        numbers = [x for x in column if isinstance(x, (int, float)) and not isinstance(x, bool)]
        is_number = len(numbers) == len(column) - column.count(None) and len(set(numbers)) > _GROUPS
        if is_number:
            values = np.array([np.nan if x is None else float(x) for x in column])
            edges = np.unique(
                np.nanquantile(values, np.linspace(0, 1, _NUMBER_GROUPS + 1), method="nearest")
            )
            groups = np.searchsorted(edges[1:-1], values, side="right")
            groups[np.isnan(values)] = len(edges) - 1
            names = [f"{a:.6g} – {b:.6g}" for a, b in pairwise(edges)]
            names += ["missing"] if np.isnan(values).any() else []
        else:
            texts = ["missing" if x is None else shorten(str(x), 40) for x in column]
            common = Counter(texts).most_common()
            keep = len(common) if len(common) <= _GROUPS else _GROUPS - 1
            names = [text for text, _ in common[:keep]]
            number = {text: i for i, text in enumerate(names)}
            groups = np.array([number.get(text, keep) for text in texts])
            names += ["other"] if keep < len(common) else []
        return {"names": names, "groups": groups[self._layout().places], "is_number": is_number}

    # Scores.

    def scores(self, settings: Settings) -> list[scores.Score]:
        """Return what a method gains and loses on words; takes about a second."""
        before, after = self._sides(settings)
        if self.table.is_texts:
            return []
        battery = self._cache.get(
            "battery", lambda: scores.load_sample(self.table, self._options.data)
        )
        first = self._cache.get("evaluation", lambda: scores.evaluate(before, battery))
        return self._cache.get(
            ("scores", settings),
            lambda: scores.word_scores(first, scores.evaluate(after, battery)),
        )


def _packed(columns: Float64) -> dict[str, object]:
    """Return columns of numbers as 16-bit integers in base64, and the unit of each column."""
    units = np.maximum(np.abs(columns).max(axis=0, initial=0.0), 1e-12) / 32_767
    integers = np.rint(columns / units).astype("<i2")
    return {"units": units.tolist(), "data": b64encode(integers.tobytes()).decode()}
