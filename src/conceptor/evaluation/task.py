"""The interface of benchmarks: a name, the words it needs, and a `score` method."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from conceptor.evaluation.statistics import Masked, Statistic, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

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

    @classmethod
    def from_items(
        cls,
        task: _Dataset,
        known: NDArray[np.bool_],
        missing: Missing,
        make_statistic: Callable[[NDArray[np.bool_]], Statistic],
        *,
        in_mean: bool = True,
    ) -> Outcome:
        """Score the items to keep: the known ones, or all of them with `Missing.ZERO`."""
        kept = np.ones_like(known) if missing is Missing.ZERO else known
        statistic = Masked(make_statistic(kept), kept)
        return cls.of(task, int(known.sum()), len(known), statistic, in_mean=in_mean)

    @classmethod
    def of(
        cls,
        task: _Dataset,
        used: int,
        total: int,
        statistic: Statistic,
        *,
        in_mean: bool = True,
        remark: str = "",
    ) -> Outcome:
        """Return the outcome of a task."""
        return cls(task.task, task.dataset, task.metric, used, total, statistic, in_mean, remark)

    @cached_property
    def score(self) -> float:
        """The score × 100."""
        return 100 * value(self.statistic)

    @property
    def thin(self) -> bool:
        """Whether too few items were used for the score to take part in a mean."""
        return is_thin(self.used, self.total)


class _Dataset(Protocol):
    """The interface of every benchmark."""

    @property
    def task(self) -> str:
        """The family: similarity, sts, categorization, ..."""

    @property
    def dataset(self) -> str:
        """The dataset's name, as in the paper's tables."""

    @property
    def metric(self) -> str:
        """The name of the score."""

    @property
    def words(self) -> frozenset[str]:
        """Every word form the benchmark may look up."""


@runtime_checkable
class Task(_Dataset, Protocol):
    """A benchmark that needs only the vectors of its own words."""

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Score the vectors."""


class Searched(NamedTuple):
    """A search among all vectors, and a function for the outcome after it has run."""

    search: Search
    outcome: Callable[[], Outcome]


@runtime_checkable
class SearchTask(_Dataset, Protocol):
    """A benchmark that searches all vectors."""

    def begin(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Searched:
        """Return the search to run; `vectors` hold the benchmark's words."""
