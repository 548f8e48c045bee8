"""What rows weigh, and how the moments of many tasks come together: in a tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from conceptor.algebra.moments import Moments
from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.distributed.cluster import delayed, lost, outcomes
from conceptor.distributed.content import Need
from conceptor.distributed.survey import Failure, complaint
from conceptor.weights import Weights, parse_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.distributed.cluster import Delayed, Tally
    from conceptor.distributed.content import Rows

COLUMN = "column:"
# So many sums are added by one task: a tree of logarithmic depth, a few matrices a worker.
_SPLIT_EVERY = 8


@dataclass(frozen=True)
class RowWeights:
    """What rows of shards weigh: by a column, or by their words and ranks."""

    weights: Weights
    column: str | None = None

    @classmethod
    def from_choice(cls, weights: object, vocabulary: object = None) -> RowWeights:
        """Make it from what users write."""
        if isinstance(weights, Weights):
            return cls(weights)
        if isinstance(weights, str) and weights.startswith(COLUMN):
            return cls(parse_weights("uniform", vocabulary), weights.removeprefix(COLUMN))
        return cls(parse_weights(weights, vocabulary))  # type: ignore[arg-type]

    @property
    def by_rank(self) -> bool:
        """Whether it matters how many rows came before."""
        return self.weights.kind == "zipf" or self.weights.top is not None

    @property
    def need(self) -> Need:
        """What must be read besides the vectors."""
        return Need(self.weights.by_word, self.column)

    def moments_of(self, rows: Rows, before: int) -> Moments | None:
        """Return the moments of consecutive rows, if any of them takes part."""
        taken, weights = self.weights.shares(rows.words, before)
        weights = weights if rows.weights is None else rows.weights
        if taken is None:
            return Moments.from_vectors(rows.vectors, weights)
        if not len(taken):
            return None
        if rows.weights is not None:
            weights = rows.weights[taken]
        return Moments.from_vectors(rows.vectors[taken], weights)


class PartialSum(NamedTuple):
    """Moments of what could be read, and what could not."""

    moments: Moments | None = None
    failures: tuple[Failure, ...] = ()

    def plus(self, other: PartialSum) -> PartialSum:
        """Put two together."""
        both = [part for part in (self.moments, other.moments) if part is not None]
        return PartialSum(reduce(add, both) if both else None, self.failures + other.failures)


def total(leaves: Sequence[Delayed], tally: Tally) -> PartialSum:
    """Add up a tree of tasks."""
    if not leaves:
        return PartialSum()
    level = list(leaves)
    while len(level) > 1:
        groups = [level[i : i + _SPLIT_EVERY] for i in range(0, len(level), _SPLIT_EVERY)]
        level = [delayed(_plus, pure=False)(group) for group in groups]
    result: PartialSum | BaseException
    ((_, result),) = outcomes(level, tally)
    if isinstance(result, BaseException):
        raise ConceptorError(f"the moments could not be gathered: {lost(result)}")
    return result


def _plus(parts: Sequence[PartialSum]) -> PartialSum:
    return reduce(PartialSum.plus, parts)


def complete(gathered: PartialSum, *, despite_failures: bool = False) -> Moments:
    """Return the moments of everything, or of all that is sound; raise if there are none."""
    if gathered.failures and not (despite_failures and gathered.moments):
        kind = InvalidInputError if gathered.failures[0].invalid else ConceptorError
        raise kind(complaint(gathered.failures))
    if gathered.moments is None:
        raise InvalidInputError(
            "none of the rows take part; does the vocabulary or the counts file belong to these "
            "vectors?"
        )
    return gathered.moments
