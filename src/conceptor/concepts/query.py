"""Queries by example: words like these, but not like those."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conceptor.algebra.conceptors import Conceptor
from conceptor.base.arrays import Float64, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import WordVectors

# Words, or several lists of words.
Examples = str | Iterable[str | Iterable[str]]

# From benchmarks/exclusions.py, on categories of words.
STRENGTH = 5.0
MARGIN = 0.8


class Query:
    """A query for words `like` some examples, `without` others, `within` a field of examples.

    Each of several lists has its own conceptor, joined by OR. `options` are `aperture`, `strength`
    and `margin` of `Criterion.from_vectors`.
    """

    def __init__(
        self,
        like: str | Iterable[str],
        without: Examples = (),
        within: Examples = (),
        **options: float,
    ) -> None:
        self.like = tuple(dict.fromkeys([like] if isinstance(like, str) else like))
        self.without = _as_lists(without, "exclude")
        self.within = _as_lists(within, "keep to")
        self._options = options
        if not self.like:
            raise InvalidInputError("a query needs at least one word to look for")
        for word in self.like:
            if any(word in group for group in self.without):
                raise InvalidInputError(f"{word!r} is both wanted and excluded; remove one")

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words in it."""
        groups = (self.like, *self.without, *self.within)
        return tuple(dict.fromkeys(word for group in groups for word in group))

    def __str__(self) -> str:
        parts = [f"without {', '.join(group)}" for group in self.without]
        return " ".join([*self.like, *parts, *(f"within {', '.join(g)}" for g in self.within)])

    def criterion(self, table: WordVectors) -> Criterion:
        """Return the query's criterion for vectors that have all its words."""
        without, within = (
            [table.vectors[table.rows(group)] for group in groups]
            for groups in (self.without, self.within)
        )
        like = table.vectors[table.rows(self.like)]
        return Criterion.from_vectors(like, without, within, **self._options)

    def search(
        self, table: WordVectors, n: int, *, prior: float = 0.0, among: int | None = None
    ) -> Nearest:
        """Return a search for the n best words and its own, by vectors that have all its words."""
        criterion = self.criterion(table)
        return Nearest(
            criterion.direction[np.newaxis],
            n + len(self.words),
            prior=prior,
            among=among,
            penalty=None if criterion.wanted is None else criterion.penalty,
        )


def _as_lists(examples: Examples, purpose: str) -> tuple[tuple[str, ...], ...]:
    """Return lists of words: the given lists, and all single words as one list."""
    items = [examples] if isinstance(examples, str) else list(examples)
    single = [each for each in items if isinstance(each, str)]
    lists = [single] * bool(single) + [list(each) for each in items if not isinstance(each, str)]
    if not all(lists) or not all(word for group in lists for word in group):
        raise InvalidInputError(f"a list of words to {purpose} is empty or contains an empty word")
    return tuple(tuple(dict.fromkeys(group)) for group in lists)


@dataclass(frozen=True, eq=False)
class Criterion:
    """The criterion of a query, in the space of given vectors.

    The score of a unit vector x is its cosine with the mean of the wanted examples, minus

    ``strength · max(0, u(x) − margin · w(x))`` and ``strength · max(0, margin · w(x) − f(x))``

    with its nearness w to the wanted examples, u to the excluded ones, and f to the field. Nearness
    is ``|C x|`` with the conceptor C of the examples, divided by its root mean square over the
    examples. `wanted`, `unwanted` and `field` are matrices F with ``nearness(x) = |x F|``, or None;
    `wanted` is needed only together with one of the others.
    """

    direction: Float64
    wanted: Float64 | None
    unwanted: Float64 | None
    field: Float64 | None
    strength: float
    margin: float

    @classmethod
    def from_vectors(
        cls,
        like: ArrayLike,
        without: Sequence[ArrayLike] = (),
        within: Sequence[ArrayLike] = (),
        *,
        aperture: float = 1.0,
        strength: float = STRENGTH,
        margin: float = MARGIN,
    ) -> Criterion:
        """Return the criterion of examples; a smaller margin excludes more.

        At aperture 1 a conceptor keeps a third of a direction with half of the examples' energy.
        """
        mean = unit_rows(like).mean(axis=0)
        length = float(np.linalg.norm(mean))
        if not length > 0:
            raise InvalidInputError("the vectors of the wanted words cancel each other out")
        beside = [like] if len(without) or len(within) else []
        wanted, unwanted, field = (
            _nearness_factor(groups, aperture) for groups in (beside, without, within)
        )
        return cls(mean / length, wanted, unwanted, field, strength, margin)

    def penalty(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the penalty on the cosine of each row, a unit vector; never negative."""
        total = np.zeros(len(rows), dtype=rows.dtype)
        if self.wanted is None:
            return total
        bar = _nearness(rows, self.wanted) * rows.dtype.type(self.margin)
        if self.unwanted is not None:
            total += np.maximum(_nearness(rows, self.unwanted) - bar, 0)
        if self.field is not None:
            total += np.maximum(bar - _nearness(rows, self.field), 0)
        return np.asarray(total * rows.dtype.type(self.strength))


def _nearness_factor(groups: Sequence[ArrayLike], aperture: float) -> Float64 | None:
    """Return F with ``nearness(x) = |x F|`` for groups of examples, joined by OR."""
    if not len(groups):
        return None
    rows = [unit_rows(group) for group in groups]
    conceptor = reduce(or_, (Conceptor.from_vectors(each, aperture) for each in rows))
    used = conceptor.singular_values > 1e-9  # few examples span few directions
    factor = conceptor.vectors[:, used] * conceptor.singular_values[used]
    own = float(np.sqrt(((np.concatenate(rows) @ factor) ** 2).sum(axis=1).mean()))
    return np.asarray(factor / (own or 1.0))


def _nearness(rows: NDArray[Any], factor: Float64) -> NDArray[Any]:
    inside = rows @ factor.astype(rows.dtype)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", inside, inside)))
