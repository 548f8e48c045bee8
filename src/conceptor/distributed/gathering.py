"""Row weights, and the tree that adds up the moments of many tasks."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from dask.delayed import Delayed, delayed

from conceptor.base.errors import ConceptorError, InvalidInputError
from conceptor.distributed.cluster import describe_error, run_tasks
from conceptor.distributed.survey import Failure, summarize
from conceptor.weights import RARE, FrequentWords, Weights, parse_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.algebra.moments import Moments
    from conceptor.distributed.cluster import Tally

COLUMN = "column:"
# One task adds this many sums: a tree of logarithmic depth, a few matrices per worker.
_SPLIT_EVERY = 8


def parse_row_weights(weights: object, vocabulary: object = None, *, unit: bool = False) -> Weights:
    """Return the weights of shard rows: from a column, or from words and ranks."""
    if isinstance(weights, str) and weights.startswith(COLUMN):
        return replace(weigh_by_column(weights, vocabulary), unit=unit)
    if not isinstance(weights, Weights):
        weights = parse_weights(weights, vocabulary)  # type: ignore[arg-type]
    return replace(weights, unit=True) if unit else weights


def weigh_by_column(weights: str, vocabulary: object = None) -> Weights:
    """Return weights from a column of Parquet shards."""
    chosen = parse_weights("uniform", vocabulary)
    described = chosen.description.replace("once each", f"weighted by {weights}")
    return replace(chosen, column=weights.removeprefix(COLUMN), description=described)


class PartialSum(NamedTuple):
    """Moments of the readable rows, the failures, and frequent words if requested."""

    moments: Moments | None = None
    failures: tuple[Failure, ...] = ()
    frequent: FrequentWords | None = None

    def plus(self, other: PartialSum) -> PartialSum:
        """Combine two sums."""
        both = [part for part in (self.moments, other.moments) if part is not None]
        often = [part for part in (self.frequent, other.frequent) if part is not None]
        return PartialSum(
            reduce(add, both) if both else None,
            self.failures + other.failures,
            # Into a new sum, so that a task that runs again finds its parts unchanged.
            reduce(FrequentWords.add, often, FrequentWords(least=RARE)) if often else None,
        )


def sum_tree(leaves: Sequence[Delayed], tally: Tally) -> PartialSum:
    """Add up the results of tasks in a tree."""
    if not leaves:
        return PartialSum()
    level = list(leaves)
    while len(level) > 1:
        groups = [level[i : i + _SPLIT_EVERY] for i in range(0, len(level), _SPLIT_EVERY)]
        level = [delayed(_add_parts, pure=False)(group) for group in groups]
    result: PartialSum | BaseException
    ((_, result),) = run_tasks(level, tally)
    if isinstance(result, BaseException):
        raise ConceptorError(f"computing the moments failed: {describe_error(result)}")
    return result


def _add_parts(parts: Sequence[PartialSum]) -> PartialSum:
    return reduce(PartialSum.plus, parts)


def require_moments(gathered: PartialSum, *, despite_failures: bool = False) -> Moments:
    """Return the moments; raise if some rows failed (unless allowed) or none were selected."""
    if gathered.failures and not (despite_failures and gathered.moments):
        kind = InvalidInputError if gathered.failures[0].invalid else ConceptorError
        raise kind(summarize(gathered.failures))
    if gathered.moments is None:
        raise InvalidInputError(
            "no rows were selected; check that the vocabulary or counts file matches these vectors"
        )
    return gathered.moments
