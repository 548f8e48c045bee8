"""What rows weigh, and how the moments of many tasks come together: in a tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from conceptor.distributed.cluster import delayed, lost, outcomes
from conceptor.distributed.content import Need
from conceptor.distributed.survey import Failure, complaint
from conceptor.errors import ConceptorError, InvalidInputError
from conceptor.moments import Moments
from conceptor.usage import Usage, usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.distributed.cluster import Delayed, Run
    from conceptor.distributed.content import Rows

COLUMN = "column:"
# So many sums are added by one task: a tree of logarithmic depth, a few matrices a worker.
_SPLIT_EVERY = 8


@dataclass(frozen=True)
class Weighting:
    """What rows of shards weigh: by a column, or by what `usage` says of their words and ranks."""

    usage: Usage
    column: str | None = None

    @classmethod
    def of(cls, weights: object, vocabulary: object = None) -> Weighting:
        """Make it from what users write."""
        if isinstance(weights, Usage):
            return cls(weights)
        if isinstance(weights, str) and weights.startswith(COLUMN):
            return cls(usage("uniform", vocabulary), weights.removeprefix(COLUMN))
        return cls(usage(weights, vocabulary))  # type: ignore[arg-type]

    @property
    def by_rank(self) -> bool:
        """Whether it matters how many rows came before."""
        return self.usage.name == "zipf" or self.usage.top is not None

    @property
    def need(self) -> Need:
        """What must be read besides the vectors."""
        by_word = self.usage.counts is not None or self.usage.vocabulary is not None
        return Need(by_word, self.column)

    def moments_of(self, rows: Rows, before: int) -> Moments | None:
        """Return the moments of consecutive rows, if any of them takes part."""
        taken, weights = self.usage.of(rows.words, before)
        weights = weights if rows.weights is None else rows.weights
        if taken is None:
            return Moments.of(rows.vectors, weights)
        if not len(taken):
            return None
        if rows.weights is not None:
            weights = rows.weights[taken]
        return Moments.of(rows.vectors[taken], weights)


class Gathered(NamedTuple):
    """Moments of what could be read, and what could not."""

    moments: Moments | None = None
    failures: tuple[Failure, ...] = ()

    def plus(self, other: Gathered) -> Gathered:
        """Put two together."""
        both = [part for part in (self.moments, other.moments) if part is not None]
        return Gathered(reduce(add, both) if both else None, self.failures + other.failures)


def total(leaves: Sequence[Delayed], run: Run) -> Gathered:
    """Add up a tree of tasks."""
    if not leaves:
        return Gathered()
    level = list(leaves)
    while len(level) > 1:
        groups = [level[i : i + _SPLIT_EVERY] for i in range(0, len(level), _SPLIT_EVERY)]
        level = [delayed(_plus, pure=False)(group) for group in groups]
    result: Gathered | BaseException
    ((_, result),) = outcomes(level, run)
    if isinstance(result, BaseException):
        raise ConceptorError(f"the moments could not be gathered: {lost(result)}")
    return result


def _plus(parts: Sequence[Gathered]) -> Gathered:
    return reduce(Gathered.plus, parts)


def complete(gathered: Gathered, *, despite_failures: bool = False) -> Moments:
    """Return the moments of everything, or of all that is sound; raise if there are none."""
    if gathered.failures and not (despite_failures and gathered.moments):
        kind = InvalidInputError if gathered.failures[0].invalid else ConceptorError
        raise kind(complaint(gathered.failures))
    if gathered.moments is None:
        raise InvalidInputError(
            "none of the rows takes part: does the vocabulary or the counts file belong to these "
            "vectors?"
        )
    return gathered.moments
