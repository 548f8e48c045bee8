"""Compare methods: fit each to the same vectors, score all on the same items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.display import format_signed, html_grid
from conceptor.base.progress import Progress, silent
from conceptor.concepts.neighbors import Neighbors, as_data, name_neighbors, plan_searches
from conceptor.evaluation.battery import Battery, load_battery
from conceptor.evaluation.statistics import (
    CONFIDENCE,
    RESAMPLES,
    Differences,
    Interval,
    paired_differences,
)
from conceptor.evaluation.task import Evaluation, family_name
from conceptor.evaluation.word_tasks import WordSimilarity
from conceptor.fit import FitOptions, fit_methods
from conceptor.integrations.objects import open_rows
from conceptor.methods import DEFAULT_METHODS, ORIGINAL, MethodsLike, Solution
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import RowKind, keep, refuse_settings

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
    files: Sequence[Path] = ()  # of the vectors

    @property
    def methods(self) -> list[str]:
        """The methods' names."""
        return list(self.evaluations)

    @property
    def families(self) -> list[str]:
        """The tasks that were run."""
        return next(iter(self.evaluations.values())).families

    @property
    def main_method(self) -> str | None:
        """The method that a report is about: `cn`, else the last one except the baseline."""
        names = [name for name in self.methods if name != self.baseline]
        return _choose_main(names) if names else None

    def __repr__(self) -> str:
        return f"Comparison({self.vectors}; {'; '.join(map(repr, self.evaluations.values()))})"

    def _repr_html_(self) -> str:
        """Show each method's means and the verdicts in a notebook."""
        means = {name: each.means() for name, each in self.evaluations.items()}
        rows = [(name, *(each.get(f, "") for f in self.families)) for name, each in means.items()]
        table = html_grid(self.vectors, ("method", *map(family_name, self.families)), rows)
        return f"{table}<p>{escape(' '.join(self.summary))}</p>"

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

    def differences(self, method: str, datasets: Sequence[str]) -> Differences | None:
        """Return a method's mean gain on these datasets, as measured and in each resample."""
        names = [name for name in self.methods if name != self.baseline]
        parts = [self._differences[name] for name in datasets if name in self._differences]
        if method not in names or not parts:
            return None
        mean, place = Differences.mean(parts), [names.index(method)]
        return Differences(mean.measured[place], mean.resampled[place])

    def interval(
        self, method: str, datasets: Sequence[str], confidence: float = CONFIDENCE
    ) -> Interval | None:
        """Return the interval of a method's mean gain over the baseline on these datasets."""
        differences = self.differences(method, datasets)
        return None if differences is None else differences.interval(0, confidence)

    def gains(self, family: str, confidence: float = CONFIDENCE) -> dict[str, Interval]:
        """Return each method's gain over the baseline on a family's mean, with its interval."""
        if self.baseline not in self.evaluations:
            return {}
        over = [o.dataset for o in self.evaluations[self.baseline].mean_outcomes(family)]
        gains = {}
        for name, evaluation in self.evaluations.items():
            datasets = [each for each in over if each not in evaluation.left_out]
            if (interval := self.interval(name, datasets, confidence)) is not None:
                gains[name] = interval
        return gains

    def gains_of(self, method: str) -> dict[str, Interval]:
        """Return a method's gains over the baseline, by family."""
        gains = {family: self.gains(family).get(method) for family in self.families}
        return {family: gain for family, gain in gains.items() if gain}

    @cached_property
    def verdicts(self) -> dict[str, str]:
        """The gains and losses of each method in a sentence; significant if zero is outside."""
        sentences = {}
        for method in self.methods:
            gains, parts = self.gains_of(method), list[str]()
            for sign, verdict in _VERDICTS.items():
                families = [
                    family_name(family) + (f" ({format_signed(gain.difference, 1)})" * bool(sign))
                    for family, gain in gains.items()
                    if gain.sign == sign and not math.isnan(gain.difference)
                ]
                if families:
                    whom = verdict.rpartition(" ")[0] if parts else f"{verdict} {self.baseline}"
                    listed = " and ".join(filter(None, [", ".join(families[:-1]), families[-1]]))
                    parts.append(f"{whom} on {listed}")
            if parts:
                sentences[method] = f"{method} is {'; '.join(parts)}."
        return sentences

    @property
    def summary(self) -> list[str]:
        """The verdicts, one sentence for each method."""
        return list(self.verdicts.values())

    def data_of(self, method: str) -> dict[str, Any]:
        """Return the JSON form of a method's results."""
        evaluation = self.evaluations[method]
        return {
            "name": method,
            "results": [asdict(row) for row in evaluation.rows()],
            "means": evaluation.means(),
            "gains": {family: asdict(gain) for family, gain in self.gains_of(method).items()},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = {
            "vectors": self.vectors,
            "notes": list(self.notes),
            "summary": self.summary,
            "methods": [self.data_of(name) for name in self.evaluations],
            "left_out": next(iter(self.evaluations.values())).left_out,
            "examples": as_data(self.examples),
            "missing": next(iter(self.evaluations.values())).missing,
        }
        return dict(jsonable(data))


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
    lowercase: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
    examples: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Fit methods to vectors and measure each on the same items, words or texts.

    Words are scored on benchmarks, in two passes over the vectors. Rows of texts are scored on your
    own pairs or queries; without them, on measures that need no labels: neighbors kept (of 1,000
    random rows), shared directions (of 4,000). The scored vectors are those that `postprocess`
    writes for the same method and options. Memory does not depend on the number of rows.

    Parameters
    ----------
    vectors : path, array, data frame, open source, WordVectors, (labels, array), ...
        A plain array has rows of texts.
    methods : names, or `Method` by name
        From `original` and `conceptor.methods`. By default the usual ones for the kind of rows.
    tasks : names from `conceptor.evaluation.FAMILIES`, or a Battery
        For words, as in `conceptor.evaluate`. A battery loaded once can serve many comparisons.
    texts : optional
        The text of each row, as a path (one per line) or strings.
    column : optional
        The column of a table that holds the vectors.
    rows : optional
        Whether rows are `words` or `texts`; by default, the labels decide.
    pairs : path, paths, or triples of two rows and a score, optional
        For texts: scored pairs; a row is named by its text, by its number from 1 as a string, or by
        its index.
    queries : optional
        For texts: vectors of queries (path, array or Vectors).
    relevant : optional
        For texts: the rows that are relevant to each query: a path, a mapping, or a sequence of
        rows for each query.
    sizes : optional
        For texts: numbers of dimensions, by default all, half and a quarter of them.
    dtypes : optional
        For texts: number types (`float32`, `float16`, `int8`, `binary`), by default float32, int8,
        and bits at full size.
    lowercase
        For words: whether those without a vector are also looked up in lower case.
    examples
        For words: the number of example words whose neighbors are shown, for the first method and
        `cn` (or the last).
    name
        Name of the vectors in the result.
    resamples
        Of the paired bootstrap; 0 for no intervals.
    seed
        Of the bootstrap, and of the sample of texts.

    Examples
    --------
    >>> from conceptor import compare
    >>> compare("glove.6B.300d.txt", ["original", "cn"])  # doctest: +SKIP
    >>> compare("emb.parquet", pairs="pairs.tsv").summary  # doctest: +SKIP
    """
    opened = open_rows(vectors, texts, column=column, rows=rows)
    of_texts: Any = {"pairs": pairs, "queries": queries, "relevant": relevant}
    of_texts |= {"sizes": sizes, "dtypes": dtypes}
    if opened.kind is RowKind.TEXTS:
        from conceptor.evaluation.text_comparison import compare_texts

        refuse_settings(opened, "words", tasks=tasks, examples=examples or None)
        of_texts |= {"name": name, "resamples": resamples, "seed": seed, "progress": progress}
        return compare_texts(opened, methods, options, **of_texts)
    refuse_settings(opened, "texts", **of_texts)
    options = options or FitOptions()
    battery = tasks if isinstance(tasks, Battery) else load_battery(tasks, options.data)
    opened = keep(opened)
    fits = fit_methods(
        opened,
        DEFAULT_METHODS if methods is None else methods,
        options,
        wanted=battery.words,
        first=_FIRST if examples else 0,
        progress=progress,
    )
    words: list[str] = []
    searches: dict[str, Nearest] = {}
    if examples:
        words = _choose_examples(next(iter(fits.rows.values())), battery, examples)
        names = list(fits.methods)
        ends = {names[0], _choose_main(names)} if words else set()
        tables = {name: rows for name, rows in fits.rows.items() if name in ends}
        searches = plan_searches(opened, tables, words, _NEIGHBORS)
    evaluations, near = battery.run_all(
        fits.rows, opened, fits.methods, lowercase, progress, searches
    )
    remarks = [f"{name}: {one}" for name, each in evaluations.items() for one in each.remarks]
    return Comparison(
        name or opened.name,
        evaluations,
        [*fits.notes, *remarks],
        resamples,
        seed,
        {name: each.solution for name, each in fits.methods.items() if each.solution},
        cautions=fits.cautions,
        examples=name_neighbors(searches, near, words, _NEIGHBORS),
        files=opened.files,
    )


def _choose_main(names: Sequence[str]) -> str:
    return next((name for name in names if name.split(":")[0] == "cn"), names[-1])


def _choose_examples(rows: WordVectors, battery: Battery, number: int) -> list[str]:
    """Return words of pairs, as they mean something by themselves, denser at the file's start."""
    pairs = (task for task in battery.tasks if isinstance(task, WordSimilarity))
    of_pairs = frozenset().union(*(task.words for task in pairs))
    pool = [word for word in rows.words if word in of_pairs and word.isalpha()]
    if len(pool) < number:  # as in another language
        pool = [word for word in rows.words if word.isalpha()]
    # The first few words of a pool are often function words; they make poor examples.
    start = min(100, len(pool) // 10 + 1)
    ends = np.geomspace(start, len(pool), number).tolist() if pool else []
    return list(dict.fromkeys(pool[int(end) - 1] for end in ends))
