"""The results of searches as words or texts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from conceptor.base.notebook import html_grid
from conceptor.base.progress import silent
from conceptor.vectors.chunks import read_chunks
from conceptor.vectors.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conceptor.base.progress import Progress
    from conceptor.fitting import FittedMethods
    from conceptor.vectors.search import Nearest
    from conceptor.vectors.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbouring word or text, its cosine (minus the prior, if any), and its rank, from 1.

    For texts, `p` is the share of random pairs of rows with a cosine at least this high.
    """

    word: str
    score: float
    rank: int
    p: float | None = None


class FoundNeighbours(dict[str, dict[str, list[Neighbour]]]):
    """Neighbours by method, then by word or text; a notebook shows them as tables."""

    def _repr_html_(self) -> str:
        head = [name for method in self for name in (method, "score", "rank")]
        tables = []
        for word in next(iter(self.values()), {}):
            rows = zip_longest(*(self[method][word] for method in self))
            cells = ([part for one in row for part in _parts(one)] for row in rows)
            tables.append(html_grid(word, head, cells))
        return "".join(tables)


def _parts(one: Neighbour | None) -> tuple[object, ...]:
    return ("", "", "") if one is None else (one.word, round(one.score, 3), one.rank)


def all_words(vectors: Vectors) -> Iterator[str]:
    """Yield the labels of all rows."""
    return (word for words, _ in read_chunks(vectors) for word in words)


def find_words(
    vectors: Vectors,
    fitted: FittedMethods,
    searches: Mapping[str, Nearest],
    progress: Progress = silent,
) -> dict[str, list[list[Neighbour]]]:
    """Run a search for each method, and return the words found for each of its queries."""
    names = search(
        vectors,
        {name: [each] for name, each in searches.items()},
        {name: fitted.methods[name].transforms for name in searches},
        progress,
    )
    return name_rows(searches, names)


def name_rows(
    searches: Mapping[str, Nearest], names: Mapping[int, str]
) -> dict[str, list[list[Neighbour]]]:
    """Return the results of searches as words."""
    return {
        method: [
            [
                Neighbour(names[row], float(score), int(row) + 1)
                for row, score in zip(rows.tolist(), scores, strict=True)
                if row >= 0
            ]
            for rows, scores in zip(found.rows, found.scores, strict=True)
        ]
        for method, found in searches.items()
    }
