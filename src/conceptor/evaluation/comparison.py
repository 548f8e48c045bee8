"""Compare methods: fit each to the same vectors, score all on the same items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.notebook import html_grid
from conceptor.base.numbers import format_signed
from conceptor.base.progress import Progress, silent
from conceptor.concepts.neighbors import Neighbors, as_data, name_neighbors, plan_searches
from conceptor.evaluation.battery import Battery, load_battery
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.statistics import RESAMPLES, Differences, Interval, paired_differences
from conceptor.evaluation.task import Missing
from conceptor.fit import FitOptions, fit_methods
from conceptor.integrations.reading import open_rows
from conceptor.methods import DEFAULT_METHODS, ORIGINAL, MethodsLike, Solution
from conceptor.vectors.files import as_vectors
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowKind, keep, refuse_settings

if TYPE_CHECKING:
    from conceptor.evaluation.text_comparison import TextComparison  # which imports this module

# The number of neighbors shown for an example word, and the number of first words of a file that
# may be examples if no benchmark has its words.
_NEIGHBORS, _FIRST = 5, 5000
_VERDICTS = {1: "better than", -1: "worse than", 0: "not significantly different from"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Scores of every method on the same items."""

    vectors: str  # their name
    evaluations: Mapping[str, Evaluation]  # by method; `original` is without post-processing
    notes: Sequence[str] = ()  # what the methods were fitted on
    resamples: int = RESAMPLES
    seed: int = 0
    solutions: Mapping[str, Solution] = field(default_factory=dict)
    baseline: str = ORIGINAL  # the method that gains are measured against
    cautions: Sequence[str] = ()  # warnings about the word weights
    examples: Neighbors = field(default_factory=Neighbors)  # by method and example word

    @property
    def methods(self) -> list[str]:
        """The methods' names, in order."""
        return list(self.evaluations)

    @property
    def families(self) -> list[str]:
        """The tasks that were run, in order."""
        return next(iter(self.evaluations.values())).families

    @property
    def missing(self) -> dict[str, str]:
        """Datasets that were not found, and why."""
        return next(iter(self.evaluations.values())).missing

    @property
    def main_method(self) -> str | None:
        """The method that a report is about: `cn`, else the last one except the baseline."""
        names = [name for name in self.methods if name != self.baseline]
        last = names[-1] if names else None
        return next((name for name in names if name.split(":")[0] == "cn"), last)

    def __repr__(self) -> str:
        return f"Comparison({self.vectors}; {'; '.join(map(repr, self.evaluations.values()))})"

    def _repr_html_(self) -> str:
        """Show each method's means in a notebook."""
        means = {name: each.means() for name, each in self.evaluations.items()}
        rows = [(name, *(each.get(f, "") for f in self.families)) for name, each in means.items()]
        return html_grid(self.vectors, ("method", *self.families), rows)

    @cached_property
    def _differences(self) -> dict[str, Differences]:
        """The gains of all other methods over the baseline, by dataset."""
        statistics = {
            name: {o.dataset: o.statistic for o in evaluation.outcomes}
            for name, evaluation in self.evaluations.items()
        }
        baseline = statistics.pop(self.baseline, None)
        if baseline is None or not statistics or self.resamples == 0:
            return {}
        methods = list(statistics.values())
        return paired_differences(baseline, methods, resamples=self.resamples, seed=self.seed)

    def interval(self, method: str, datasets: Sequence[str]) -> Interval | None:
        """Return the interval of a method's mean gain over the baseline on these datasets."""
        differences = self.differences(method, datasets)
        return None if differences is None else differences.interval(0)

    def differences(self, method: str, datasets: Sequence[str]) -> Differences | None:
        """Return a method's mean gain on these datasets, as measured and in each resample."""
        names = [name for name in self.methods if name != self.baseline]
        parts = [self._differences[name] for name in datasets if name in self._differences]
        if method not in names or not parts:
            return None
        mean, place = Differences.mean(parts), [names.index(method)]
        return Differences(mean.measured[place], mean.resampled[place])

    def gains(self, family: str) -> dict[str, Interval]:
        """Return each method's gain over the baseline on a family's mean, with its interval."""
        if self.baseline not in self.evaluations:
            return {}
        over = [o.dataset for o in self.evaluations[self.baseline].mean_outcomes(family)]
        intervals = {
            name: self.interval(name, [each for each in over if each not in evaluation.left_out])
            for name, evaluation in self.evaluations.items()
        }
        return {name: interval for name, interval in intervals.items() if interval is not None}

    def gains_of(self, method: str) -> dict[str, Any]:
        """Return the JSON form of a method's gains over the baseline, by family."""
        gains = {family: self.gains(family).get(method) for family in self.families}
        return {family: jsonable(asdict(gain)) for family, gain in gains.items() if gain}

    @cached_property
    def verdicts(self) -> dict[str, str]:
        """The gains and losses of each method in a sentence; significant if zero is outside."""
        by_family = {family: self.gains(family) for family in self.families}
        sentences = {}
        for method in self.methods:
            parts: list[str] = []
            for sign, verdict in _VERDICTS.items():
                families = []
                for family, gains in by_family.items():
                    gain = gains.get(method)
                    if gain and gain.sign == sign and not math.isnan(gain.difference):
                        size = f" ({format_signed(gain.difference, 1)})" if sign else ""
                        families.append(f"{family}{size}")
                if families:
                    whom = verdict.rpartition(" ")[0] if parts else f"{verdict} {self.baseline}"
                    listed = ", ".join(families[:-1])
                    parts.append(f"{whom} on {listed}{' and ' if listed else ''}{families[-1]}")
            if parts:
                sentences[method] = f"{method} is {'; '.join(parts)}."
        return sentences

    @property
    def summary(self) -> list[str]:
        """The verdicts, one sentence for each method."""
        return list(self.verdicts.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "vectors": self.vectors,
            "notes": list(self.notes),
            "summary": self.summary,
            "methods": [
                {
                    "name": name,
                    "results": evaluation.to_dict()["results"],
                    "means": evaluation.means(),
                    "gains": self.gains_of(name),
                }
                for name, evaluation in self.evaluations.items()
            ],
            "left_out": next(iter(self.evaluations.values())).left_out,
            "examples": as_data(self.examples),
            "missing": self.missing,
        }


def compare(
    vectors: object,
    methods: MethodsLike | None = None,
    tasks: Iterable[str] | Battery | None = None,
    options: FitOptions | None = None,
    *,
    texts: object = None,
    column: Columns = None,
    rows: str | None = None,
    pairs: object = None,
    queries: object = None,
    relevant: object = None,
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] | None = None,
    name: str | None = None,
    missing: Missing | str = Missing.SKIP,
    resamples: int = RESAMPLES,
    seed: int = 0,
    examples: int = 0,
    progress: Progress = silent,
) -> Comparison | TextComparison:
    """Fit methods to vectors and measure each on the same items, words or texts.

    Words are scored on benchmarks. Rows of texts are scored on your own pairs or queries; without
    them, on measures that need no labels: neighbors kept, hubness, shared directions.

    The scored vectors are those that `postprocess` writes for the same method and options.

    Parameters
    ----------
    vectors : path, array, data frame, open source, WordVectors, (labels, array), ...
        A plain array has rows of texts.
    methods : names, or `Method` by name
        From `original` and `conceptor.methods`. By default the usual ones for the kind of rows.
    tasks : names from `conceptor.evaluation.FAMILIES`, or a Battery
        For words, as in `conceptor.evaluate`. A battery loaded once can serve many comparisons.
    options : FitOptions, optional
        Word weights, and the vocabulary to fit on.
    texts, column, rows : optional
        The text of each row, as a path (one per line) or strings; the column of a table that holds
        the vectors; whether rows are `words` or `texts`. By default, the labels decide.
    pairs : path, paths, or triples of two rows and a score, optional
        Scored pairs; a row is named by its text, by its number from 1 as a string, or by its index.
    queries, relevant : optional
        Vectors of queries (path, array or Vectors), and the rows that are relevant to each: a path,
        a mapping, or a sequence of rows for each query.
    sizes, dtypes : optional
        For texts: numbers of dimensions, by default all, half and a quarter of them; and number
        types (`float32`, `float16`, `int8`, `binary`), by default bits at full size only.
    missing, examples
        For words: how out-of-vocabulary words are handled, and the number of example words whose
        neighbors are shown, for the first and last method.
    name, resamples, seed, progress
        Name of the vectors in the result; the paired bootstrap (0 resamples for no intervals; the
        seed also draws the sample of texts); called while reading.

    Returns
    -------
    Comparison or TextComparison

    Notes
    -----
    Words take two passes over the vectors: one gathers moments and the benchmarks' words, the other
    searches all rows. For texts, neighbors are those of 1,000 random rows among all rows, and the
    other figures use 4,000 random rows. Memory does not depend on the number of rows.

    Examples
    --------
    >>> from conceptor import compare
    >>> compare("glove.6B.300d.txt", ["original", "cn"])  # doctest: +SKIP
    >>> compare("emb.parquet", pairs="pairs.tsv").summary  # doctest: +SKIP
    """
    opened = open_rows(vectors, texts, column=column, rows=rows)
    common: Any = {"name": name, "resamples": resamples, "seed": seed, "progress": progress}
    labels: Any = {"pairs": pairs, "queries": queries, "relevant": relevant}
    if opened.kind is RowKind.TEXTS:
        from conceptor.evaluation.text_comparison import compare_texts

        refuse_settings(opened, "words", tasks=tasks, examples=examples or None)
        forms: Any = {"sizes": sizes, "dtypes": dtypes}
        return compare_texts(opened, methods, options, **labels, **forms, **common)
    refuse_settings(opened, "texts", **labels, sizes=sizes, dtypes=dtypes)
    chosen = DEFAULT_METHODS if methods is None else methods
    return compare_words(
        opened, chosen, tasks, options, missing=missing, examples=examples, **common
    )


def compare_words(
    vectors: object,
    methods: MethodsLike = DEFAULT_METHODS,
    tasks: Iterable[str] | Battery | None = None,
    options: FitOptions | None = None,
    *,
    name: str | None = None,
    missing: Missing | str = Missing.SKIP,
    resamples: int = RESAMPLES,
    seed: int = 0,
    examples: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Fit methods to vectors of words and score each on the same items, in two passes.

    Parameters are those of `conceptor.compare`.
    """
    options = options or FitOptions()
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, options.data)
    opened = keep(as_vectors(vectors))
    first = _FIRST if examples else 0
    fits = fit_methods(
        opened, methods, options, wanted=battery.words, first=first, progress=progress
    )
    words: list[str] = []
    searches: dict[str, Nearest] = {}
    if examples:
        words = _choose_examples(next(iter(fits.rows.values())), battery, examples)
        names = list(fits.methods)
        ends = dict.fromkeys((names[0], names[-1])) if words else {}
        searches = plan_searches(opened, fits, words, ends, n=_NEIGHBORS)
    evaluations, near = battery.run_all(
        fits.rows, opened, fits.methods, Missing(missing), progress, searches
    )
    remarks = [f"{name}: {one}" for name, each in evaluations.items() for one in each.remarks]
    solutions = {name: each.solution for name, each in fits.methods.items() if each.solution}
    return Comparison(
        name or opened.name,
        evaluations,
        [*fits.notes, *remarks],
        resamples,
        seed,
        solutions,
        cautions=fits.cautions,
        examples=name_neighbors(searches, near, words, _NEIGHBORS),
    )


def _choose_examples(rows: WordVectors, battery: Battery, number: int) -> list[str]:
    """Return words from the start of the file to its end, denser at the start.

    They come from word pairs, since such words mean something by themselves; if the vectors have
    too few of them, as in another language, from all words.
    """
    pairs = (task for task in battery.tasks if isinstance(task, WordSimilarity))
    of_pairs = frozenset().union(*(task.words for task in pairs))
    pool = [word for word in rows.words if word in of_pairs and word.isalpha()]
    if len(pool) < number:
        pool = [word for word in rows.words if word.isalpha()]
    # The first few words of a pool are often function words; they make poor examples.
    start = min(100, len(pool) // 10 + 1)
    ends = np.geomspace(start, len(pool), number).tolist() if pool else []
    return list(dict.fromkeys(pool[int(end) - 1] for end in ends))
