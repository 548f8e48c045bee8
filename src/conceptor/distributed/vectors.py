"""Shards as `Vectors`: the kind of their rows, and whether they are sorted by frequency."""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.distributed.content import Need
from conceptor.vectors.rows import LABELS, LabelledVectors, check_rows, parse_rows
from conceptor.vectors.vectors import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.distributed.shards import Shard

# Later words are longer by this many standard errors, if shards continue one sorted list.
_LONGER = 3.0


class ShardedVectors(LabelledVectors):
    """Shards, one after the other in the order of their names."""

    def __init__(self, shards: Sequence[Shard], rows: str | None = None) -> None:
        self._shards = shards
        self.rows_are = parse_rows(rows)
        check_rows(self, self.rows_are)

    @property
    def name(self) -> str:
        """The first shard."""
        return str(self._shards[0].place)

    @cached_property
    def dimension(self) -> int:
        """The number of dimensions of the first shard."""
        return self._shards[0].content.layout().dimension or 0

    @cached_property
    def has_words(self) -> bool:
        """Whether the first shard has words."""
        return bool(self.first_words())

    def _first_labels(self) -> Sequence[str]:
        return self.first_words()[:LABELS]

    @cached_property
    def ranked(self) -> bool:
        """Whether the shards, in order, may be one list sorted by frequency.

        Frequent words are short. If shards continue one list, the last starts with longer words
        than the first; if rows were distributed over shards, all start alike.
        """
        if len(self._shards) == 1:
            return True
        first, last = (
            np.array([len(word) for word in _some_words(self._shards[i])]) for i in (0, -1)
        )
        if min(len(first), len(last)) < 2:
            return False
        error = np.sqrt(first.var() / len(first) + last.var() / len(last))
        return bool(last.mean() - first.mean() > _LONGER * error)

    @cached_property
    def _first_words(self) -> list[str]:
        return _some_words(self._shards[0])

    def first_words(self) -> list[str]:
        """Return the first words of the first shard; none if it has none or cannot be read."""
        return self._first_words

    def chunks(self) -> Iterator[tuple[Sequence[str], NDArray[Any]]]:
        """Yield the rows of all shards in this process."""
        for shard in self._shards:
            for rows in shard.content.read(0, None, Need(words=True)):
                yield rows.words, rows.vectors


def _some_words(shard: Shard) -> list[str]:
    try:
        with closing(iter(shard.content.read(0, None, Need(words=True)))) as batches:  # type: ignore[type-var]
            return list(next(batches).words[:SAMPLE])
    except (InvalidInputError, OSError, StopIteration):
        return []
