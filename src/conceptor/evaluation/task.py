"""The interface of benchmarks, the outcome of one, and texts as averages of word vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.base.tokens import tokenize
from conceptor.evaluation.statistics import Masked, Statistic, value
from conceptor.vectors.search import Search
from conceptor.vectors.table import WordVectors

# A result on fewer items than this, or on a smaller share of its set, is unreliable.
FEWEST_ITEMS, LEAST_COVERAGE = 50, 0.3
# A set that has fewer items in total must be covered almost completely.
_NEARLY_WHOLE = 0.9


class Missing(StrEnum):
    """How items with out-of-vocabulary words are handled.

    SKIP leaves them out, as the paper does; LOWERCASE also looks up the lower-cased words before
    leaving them out; ZERO keeps every item and gives a missing one no credit (cosine 0, a concept
    in no cluster, a wrong answer).
    """

    SKIP = "skip"
    LOWERCASE = "lowercase"
    ZERO = "zero"


def with_lower(words: Iterable[str]) -> frozenset[str]:
    """Return words, and their lower-cased forms."""
    both = set(words)
    return frozenset(both | {word.lower() for word in both})


def is_thin(used: int, total: int) -> bool:
    """Return whether a result rests on too few items to take part in a mean."""
    return used < LEAST_COVERAGE * total or used < min(FEWEST_ITEMS, _NEARLY_WHOLE * total)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The score on one dataset, and how many of its items were used.

    `used` counts the items whose words were all found (for sentence pairs, pairs with a known
    token on both sides) out of `total`; `score` is × 100, and nan if it is undefined. `in_mean`
    is true if it belongs to the mean of its family. `known_tokens`, for benchmarks about texts, is
    the number of tokens that have a vector, out of all tokens.
    """

    task: str
    dataset: str
    metric: str
    used: int
    total: int
    statistic: Statistic = field(repr=False)
    in_mean: bool = True
    remark: str = ""
    known_tokens: tuple[int, int] | None = None

    @cached_property
    def score(self) -> float:
        """The score × 100."""
        return 100 * value(self.statistic)

    @property
    def thin(self) -> bool:
        """Whether too few items were used for the score to take part in a mean."""
        return is_thin(self.used, self.total)


class Searched(NamedTuple):
    """A search among all vectors, if it needs one, and a function for the outcome after it."""

    search: Search | None
    outcome: Callable[[], Outcome]


class SearchTask(ABC):
    """A benchmark: `task` is its family, and `dataset` its name as in the paper's tables."""

    task: str
    dataset: str
    metric: str
    in_mean: bool = True

    @property
    @abstractmethod
    def words(self) -> frozenset[str]:
        """Every word form the benchmark may look up."""

    @abstractmethod
    def begin(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Searched:
        """Return the search to run; `vectors` hold the benchmark's words."""

    def outcome(self, statistic: Statistic, used: int, total: int, remark: str = "") -> Outcome:
        """Return the outcome of this benchmark."""
        names = self.task, self.dataset, self.metric
        return Outcome(*names, used, total, statistic, self.in_mean, remark)

    def outcome_of_items(
        self,
        covered: NDArray[np.bool_],
        missing: Missing,
        make_statistic: Callable[[NDArray[np.bool_]], Statistic],
    ) -> Outcome:
        """Score the covered items, or all of them with `Missing.ZERO`."""
        scored = np.ones_like(covered) if missing is Missing.ZERO else covered
        statistic = Masked(make_statistic(scored), scored)
        return self.outcome(statistic, int(covered.sum()), len(covered))


class Task(SearchTask):
    """A benchmark that needs only the vectors of its own words."""

    @abstractmethod
    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Score the vectors."""

    def begin(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Searched:
        """Return the score, without a search."""
        return Searched(None, lambda: self.score(vectors, missing))


class Texts:
    """Texts, split into tokens once."""

    def __init__(self, texts: Sequence[str], split: Callable[[str], list[str]] = tokenize) -> None:
        self.texts = texts
        self._split = split

    @cached_property
    def counts(self) -> tuple[list[str], sparse.csr_array]:
        """The distinct tokens, and how often each occurs in each text."""
        column: dict[str, int] = {}
        tokens = [self._split(text) for text in self.texts]
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

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Score averages of words; tokens are in lower case, so `missing` has no effect."""
        outcome = self.score_texts(*self.texts.averages(vectors))
        words, counts = self.texts.counts
        times = np.asarray(counts.sum(axis=0)).ravel()
        known_tokens = int(times[vectors.rows(words) >= 0].sum()), int(times.sum())
        return replace(outcome, known_tokens=known_tokens)

    @abstractmethod
    def score_texts(self, vectors: NDArray[Any], covered: NDArray[np.bool_], /) -> Outcome:
        """Score vectors of `texts`, however they were made; `covered` are those with a vector."""
