"""The interface of benchmarks, texts as averages of word vectors, and results."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.base.arrays import jsonable
from conceptor.base.display import html_grid
from conceptor.evaluation.statistics import Masked, Statistic, value
from conceptor.vectors.search import Search
from conceptor.vectors.table import WordVectors
from conceptor.vectors.tokenizer import tokenize

TITLES = {
    "similarity": "Word similarity (Spearman × 100)",
    "sts": "Sentence similarity (Pearson × 100)",
    "categorization": "Categorization (purity × 100)",
    "synonyms": "Synonym retrieval (synonyms among the ten nearest, %)",
    "analogy": "Analogies (accuracy %)",
    "retrieval": "Retrieval (nDCG@10 × 100)",
    "classification": "Text classification (accuracy %)",
    "sts-b": "STS benchmark (Pearson × 100)",
    "similarity-de": "Word similarity in German (Spearman × 100)",
    "similarity-it": "Word similarity in Italian (Spearman × 100)",
    "similarity-ru": "Word similarity in Russian (Spearman × 100)",
    "pairs": "Your word pairs (Spearman × 100)",
    "sentence-pairs": "Your sentence pairs (Pearson × 100)",
    "text-pairs": "Your scored pairs (Spearman × 100)",
    "text-retrieval": "Your queries (nDCG@10 × 100)",
    "text-neighbors": "Neighbors kept (%)",
}
# A result on fewer items than this, or on a smaller share of its set, is unreliable.
FEWEST_ITEMS, LEAST_COVERAGE = 50, 0.3
# A set that has fewer items in total must be covered almost completely.
_NEARLY_WHOLE = 0.9


def family_name(family: str) -> str:
    """Return the name of a family of results in a sentence, as in `sentence similarity`."""
    title = TITLES.get(family, family).partition(" (")[0]
    return title if title.startswith("STS") else title[:1].lower() + title[1:]


def with_lower(words: Iterable[str]) -> frozenset[str]:
    """Return words, and their lower-cased forms."""
    both = set(words)
    return frozenset(both | {word.lower() for word in both})


def is_thin(used: int, total: int) -> bool:
    """Return whether a result rests on too few items to take part in a mean."""
    return used < LEAST_COVERAGE * total or used < min(FEWEST_ITEMS, _NEARLY_WHOLE * total)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The score on one dataset, and how many of its items were used."""

    task: str
    dataset: str
    metric: str
    used: int  # items whose words all have vectors, or sentences with a known token
    total: int
    statistic: Statistic = field(repr=False)
    in_mean: bool = True  # of its family
    remark: str = ""
    known_tokens: tuple[int, int] | None = None  # of texts: with a vector, out of all

    @cached_property
    def score(self) -> float:
        """The score × 100; nan if it is undefined."""
        return 100 * value(self.statistic)

    @property
    def thin(self) -> bool:
        """Whether too few items were used for the score to take part in a mean."""
        return is_thin(self.used, self.total)


class Searched(NamedTuple):
    """A search among all vectors, if one is needed, and a function for the outcome after it."""

    search: Search | None
    outcome: Callable[[], Outcome]


class Task(ABC):
    """A benchmark: `task` is its family, and `dataset` its name as in the paper's tables."""

    task: str
    dataset: str
    metric: str
    in_mean: bool = True

    @property
    @abstractmethod
    def words(self) -> frozenset[str]:
        """Every word form the benchmark may look up."""

    def score(self, vectors: WordVectors, *, lowercase: bool = False) -> Outcome:
        """Score the vectors, if that needs no others than those of the benchmark's words."""
        raise NotImplementedError

    def begin(self, vectors: WordVectors, *, lowercase: bool = False) -> Searched:
        """Return the search to run; with `lowercase`, also look up unknown words in lower case."""
        return Searched(None, lambda: self.score(vectors, lowercase=lowercase))

    def outcome(self, statistic: Statistic, used: int, total: int, remark: str = "") -> Outcome:
        """Return the outcome of this benchmark."""
        names = self.task, self.dataset, self.metric
        return Outcome(*names, used, total, statistic, self.in_mean, remark)

    def outcome_of_items(self, covered: NDArray[np.bool_], statistic: Statistic) -> Outcome:
        """Return the outcome of a statistic over the covered items."""
        return self.outcome(Masked(statistic, covered), int(covered.sum()), len(covered))


class Texts:
    """Texts, split into tokens once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @cached_property
    def counts(self) -> tuple[list[str], sparse.csr_array]:
        """The distinct tokens, and how often each occurs in each text."""
        column: dict[str, int] = {}
        tokens = [tokenize(text) for text in self.texts]
        columns = [column.setdefault(token, len(column)) for text in tokens for token in text]
        starts = np.cumsum([0, *(len(text) for text in tokens)])
        shape = len(tokens), len(column)
        return list(column), sparse.csr_array((np.ones(len(columns)), columns, starts), shape=shape)

    def averages(self, vectors: WordVectors) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the average vector of each text (one sparse product), and which have one."""
        words, counts = self.counts
        rows = vectors.rows(words)
        columns = np.flatnonzero(rows >= 0)
        counts = counts[:, columns]
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        sums = counts @ vectors.vectors[rows[columns]].astype(np.float64)
        return sums / np.maximum(lengths, 1)[:, None], lengths > 0


class TextTask(Task):
    """A benchmark that scores vectors of texts: STS, classification, retrieval."""

    @property
    @abstractmethod
    def texts(self) -> Texts:
        """The texts, split into tokens."""

    @property
    def words(self) -> frozenset[str]:
        """Every token of the texts."""
        return frozenset(self.texts.counts[0])

    def score(self, vectors: WordVectors, *, lowercase: bool = False) -> Outcome:
        """Score averages of words; tokens are in lower case, so `lowercase` has no effect."""
        outcome = self.score_texts(*self.texts.averages(vectors))
        words, counts = self.texts.counts
        times = np.asarray(counts.sum(axis=0)).ravel()
        known_tokens = int(times[vectors.rows(words) >= 0].sum()), int(times.sum())
        return replace(outcome, known_tokens=known_tokens)

    @abstractmethod
    def score_texts(self, vectors: NDArray[Any], covered: NDArray[np.bool_], /) -> Outcome:
        """Score vectors of `texts`, however they were made; `covered` are those with a vector."""


# Rows that are the means of their tasks.
YEARS = ("STS 2012", "STS 2013", "STS 2014", "STS 2015")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of results; a year's row is the plain mean of its tasks."""

    task: str
    dataset: str
    metric: str
    score: float
    used: int
    total: int

    @property
    def thin(self) -> bool:
        """As for an outcome."""
        return is_thin(self.used, self.total)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of one set of vectors."""

    vectors: str  # their name
    outcomes: Sequence[Outcome]  # one for each dataset
    missing: dict[str, str]  # datasets that were not found, and why

    @property
    def families(self) -> list[str]:
        """The tasks that were run, in order."""
        return list(dict.fromkeys(outcome.task for outcome in self.outcomes))

    def rows(self) -> list[Row]:
        """Return a row for each dataset, then for each year of STS."""
        rows = [Row(o.task, o.dataset, o.metric, o.score, o.used, o.total) for o in self.outcomes]
        for year in YEARS:
            if parts := [o for o in self.outcomes if o.dataset.startswith(f"{year[4:]}/")]:
                score = fmean(o.score for o in self.tasks_of(year))
                used, total = sum(o.used for o in parts), sum(o.total for o in parts)
                rows.append(Row("sts", year, "pearson", score, used, total))
        return rows

    def tasks_of(self, row: str) -> list[Outcome]:
        """Return the outcomes behind a row; those of a year without thin ones, if possible."""
        if row not in YEARS:
            return [o for o in self.outcomes if o.dataset == row]
        parts = [o for o in self.outcomes if o.dataset.startswith(f"{row[4:]}/")]
        return [o for o in parts if not o.thin] or parts

    def of_family(self, family: str) -> list[Outcome]:
        """Return the outcomes that belong to a family's mean; SICK, for example, does not."""
        return [o for o in self.outcomes if o.task == family and o.in_mean]

    def mean_outcomes(self, family: str) -> list[Outcome]:
        """Return the outcomes in a family's mean: those defined, on enough items."""
        return [o for o in self.of_family(family) if not (math.isnan(o.score) or o.thin)]

    @property
    def left_out(self) -> dict[str, str]:
        """Datasets left out of the means because the vectors cover too little of them."""
        return {o.dataset: f"{o.used} of {o.total} items" for o in self.outcomes if o.thin}

    def means(self) -> dict[str, float]:
        """Return each family's plain mean over the sets that belong to it."""
        parts = {family: self.mean_outcomes(family) for family in self.families}
        return {family: fmean(o.score for o in each) for family, each in parts.items() if each}

    @property
    def remarks(self) -> list[str]:
        """Remarks of outcomes, besides their scores."""
        return [f"{o.dataset}: {o.remark}" for o in self.outcomes if o.remark]

    def __getitem__(self, dataset: str) -> Row:
        """Return the row of a dataset or a year."""
        return {row.dataset: row for row in reversed(self.rows())}[dataset]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = {
            "vectors": self.vectors,
            "results": [asdict(row) for row in self.rows()],
            "means": self.means(),
            "left_out": self.left_out,
            "remarks": self.remarks,
            "missing": self.missing,
        }
        return dict(jsonable(data))

    def __repr__(self) -> str:
        means = (f"{family} {mean:.2f}" for family, mean in self.means().items())
        return f"{self.vectors}: {', '.join(means)}"

    def _repr_html_(self) -> str:
        """Show a row for each dataset in a notebook."""
        head = ("task", "dataset", "metric", "score", "used", "total")
        return html_grid(self.vectors, head, map(astuple, self.rows()))
