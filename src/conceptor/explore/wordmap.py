"""Frequent words, a query and its neighbours on a plane, before and after."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.explore import projection
from conceptor.explore.answers import Points
from conceptor.explore.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64
    from conceptor.explore.projection import Plane
    from conceptor.explore.views import View

__all__ = ["WordMap"]

# Words are spread evenly over log rank, so that common and rare ones can be told apart.
_WORDS, _REACH = 1800, 100_000
_KEPT = 6


class WordMap:
    """The words of a table on a plane; the last few planes are kept."""

    def __init__(self, plain: View) -> None:
        self._plain, self._vectors = plain, plain.table.vectors
        self._planes: Cache[Plane] = Cache(_KEPT)
        self._clusters: Cache[Callable[[Float64], NDArray[np.int64]]] = Cache(_KEPT)

    def points(
        self, view: View, key: Hashable, query: Sequence[str], near: Sequence[str], how: str
    ) -> Points:
        """Lay out words as they are and in a view, which `key` stands for.

        The planes are those of the frequent words; the query and what is near it are put onto
        them. So a plane stays while words are looked up.
        """
        known = view.table.vectors
        first = [word for word in self._frequent if word in known]
        more = dict.fromkeys([*near, *query]).keys() - set(first)
        shown = first + sorted(word for word in more if word in known and word in self._vectors)
        ranks, count = self._vectors.rows(shown), len(first)
        rows = self._plain.rows(ranks), view.rows(known.rows(shown))
        other = view.table is not self._plain.table  # with other words than methods have

        def lay_out(rows: Float64, reference: Plane | None) -> Plane:
            plane = projection.pca(rows)
            if how == "umap":
                plane = projection.umap(rows, (reference or plane).points)
            return projection.align(plane, (reference or plane).points)

        before = self._planes.get((how, other), lambda: lay_out(rows[0][:count], None))
        after = self._planes.get((how, key), lambda: lay_out(rows[1][:count], before))
        sides = [
            np.concatenate([plane.points, plane.place(each[count:])])
            for plane, each in zip((before, after), rows, strict=True)
        ]
        cluster = self._clusters.get(other, lambda: projection.fit_clusters(rows[0][:count]))
        place = {word: i for i, word in enumerate(shown)}
        logs = np.log(ranks[:count] + 1.0)
        return Points(
            words=shown,
            ranks=ranks.tolist(),
            clusters=cluster(rows[0]).tolist(),
            before=np.round(sides[0], 4).tolist(),
            after=np.round(sides[1], 4).tolist(),
            query=[place[word] for word in query if word in place],
            neighbours=[place[word] for word in dict.fromkeys(near) if word in place],
            frequency_before=projection.explained(before.points, logs),
            frequency_after=projection.explained(after.points, logs),
        )

    @cached_property
    def _frequent(self) -> list[str]:
        words = self._plain.table.words
        rows = np.unique(np.geomspace(1, min(_REACH, len(words)), 3 * _WORDS).astype(np.intp)) - 1
        most = np.linspace(0, len(rows) - 1, min(_WORDS, len(rows))).astype(np.intp)
        return [words[row] for row in rows[most]]
