"""What every benchmark is: a name, the words it asks for, and one `score`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from conceptor.evaluation.statistics import value

if TYPE_CHECKING:
    from conceptor.evaluation.statistics import Statistic
    from conceptor.vectors.table import WordVectors

__all__ = ["Missing", "Outcome", "Task"]


class Missing(StrEnum):
    """What becomes of an item whose words the vectors do not have.

    SKIP leaves it out, as the paper does; LOWERCASE looks the lower-cased word up too, then
    leaves out; ZERO keeps every item and scores a missing one as nothing (cosine 0, a concept
    in no cluster, a wrong answer).
    """

    SKIP = "skip"
    LOWERCASE = "lowercase"
    ZERO = "zero"


@dataclass(frozen=True, eq=False)
class Outcome:
    """One dataset's score with what it rests on.

    `used` counts the items whose words were all found (for sentence pairs, pairs with a known
    token on both sides) out of `total`; `score` is × 100, and nan where it is undefined.
    """

    task: str
    dataset: str
    metric: str
    used: int
    total: int
    statistic: Statistic = field(repr=False)

    @cached_property
    def score(self) -> float:
        """The score × 100."""
        return 100 * value(self.statistic)


class Task(Protocol):
    """A benchmark over one dataset."""

    @property
    def task(self) -> str:
        """The family: similarity, sts, categorization, analogy."""

    @property
    def dataset(self) -> str:
        """The dataset's name, as in the paper's tables."""

    @property
    def words(self) -> frozenset[str]:
        """Every word form the benchmark may look up."""

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Score the vectors."""
