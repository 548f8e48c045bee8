"""A map of common words, before and after, with named clusters and a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import Float64, unit_rows
from conceptor.concepts.text_neighbours import shorten
from conceptor.explore import projection
from conceptor.explore.answers import Placed, Points, Settings
from conceptor.explore.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.explore.projection import Clusters, Plane
    from conceptor.explore.views import View

# Words are spread evenly over log rank, so that the map shows both common and rare words.
MOST_WORDS = 100_000
# UMAP takes seconds for this many words; for more, it takes longer than people wait.
_MOST_BY_UMAP = 5000
_KEPT = 6
_PRECISION = 10_000
_NAMED_AMONG = 5000
# The maximum length of each word, or beginning of a text, in a cluster's name.
_LONGEST_NAME = 24


@dataclass(frozen=True, eq=False)
class Shown:
    """The contents of a map: a view at some settings, PCA or UMAP, and the number of words.

    Clusters are those of `own`, the view at the method's default setting, so they do not change
    while a slider is dragged.
    """

    view: View
    own: View
    settings: Settings
    how: str
    count: int


@dataclass(frozen=True, eq=False)
class _Planes:
    """The words of a map, their planes, and their clusters."""

    words: list[str]
    rows: NDArray[np.intp]
    before: Plane
    after: Plane
    clusters: Clusters


class WordMap:
    """The words of a table on a plane; keeps the last few planes."""

    def __init__(self, plain: View) -> None:
        self._plain, self._vectors = plain, plain.table.vectors
        self._planes: Cache[Plane] = Cache(_KEPT)
        self._clusters: Cache[Clusters] = Cache(_KEPT)

    def points(self, shown: Shown) -> Points:
        """Lay out words before and after, in a view."""
        planes = self._lay_out(shown)
        before, after = planes.before.points, planes.after.points
        logs = np.log(planes.rows + 1.0)
        common, own = planes.words[:_NAMED_AMONG], shown.own
        rows = unit_rows(own.rows(own.table.vectors.rows(common)))
        return Points(
            words=planes.words,
            ranks=(planes.rows + 1).tolist(),
            clusters=planes.clusters.labels.tolist(),
            before=_integers(before),
            after=_integers(after),
            names=planes.clusters.names([shorten(word, _LONGEST_NAME) for word in common], rows),
            frequency_before=projection.explained(before, logs),
            frequency_after=projection.explained(after, logs),
        )

    def place(self, shown: Shown, query: Sequence[str], near: Sequence[str]) -> Placed:
        """Put a query and its neighbours onto the planes of the common words."""
        planes = self._lay_out(shown)
        known = shown.view.table.vectors
        words = [
            word
            for word in dict.fromkeys([*query, *near])
            if word in known and word in self._vectors
        ]
        rows = self._vectors.rows(words)
        own = shown.own.rows(shown.own.table.vectors.rows(words))
        return Placed(
            words=words,
            ranks=(rows + 1).tolist(),
            clusters=planes.clusters.predict(own).tolist(),
            before=_integers(planes.before.place(self._plain.rows(rows))),
            after=_integers(planes.after.place(shown.view.rows(known.rows(words)))),
            query=sum(word in words for word in dict.fromkeys(query)),
        )

    def _lay_out(self, shown: Shown) -> _Planes:
        known, settings = shown.view.table.vectors, shown.settings
        count = min(shown.count, _MOST_BY_UMAP) if shown.how == "umap" else shown.count
        rows = _spread(len(self._vectors), count)
        words = [self._vectors.words[row] for row in rows.tolist()]
        other = shown.view.table is not self._plain.table  # its words differ
        if other:
            kept = [i for i, word in enumerate(words) if word in known]
            rows, words = rows[kept], [words[i] for i in kept]

        def lay_out(side: View, places: NDArray[np.intp], reference: Plane | None) -> Plane:
            vectors = _single(side, places)
            plane = projection.pca(vectors)
            if shown.how == "umap":
                plane = projection.umap(vectors, (reference or plane).points)
            return projection.align(plane, (reference or plane).points)

        def cluster() -> Clusters:
            own = shown.own
            return projection.fit_clusters(_single(own, own.table.vectors.rows(words)))

        before = self._planes.get(
            (shown.how, count, other), lambda: lay_out(self._plain, rows, None)
        )
        after = self._planes.get(
            (shown.how, count, settings), lambda: lay_out(shown.view, known.rows(words), before)
        )
        clusters = self._clusters.get((settings.method, settings.weights, count), cluster)
        return _Planes(words, rows, before, after, clusters)


def _spread(total: int, count: int) -> NDArray[np.intp]:
    """Return the rows of at most `count` words, evenly over log rank."""
    reach = min(MOST_WORDS, total)
    if count >= reach:
        return np.arange(reach)
    rows = np.unique(np.geomspace(1, reach, 3 * count).astype(np.intp)) - 1
    chosen = np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.intp)
    found: NDArray[np.intp] = rows[chosen]
    return found


def _single(view: View, places: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return rows of a view in single precision, computed in blocks."""
    found = np.empty((len(places), view.n_out), dtype=np.float32)
    for start in range(0, len(places), 8192):
        part = slice(start, start + 8192)
        found[part] = view.rows(places[part])
    return found


def _integers(points: Float64) -> list[int]:
    """Return coordinates as whole numbers, which are smaller to send."""
    whole = np.rint(np.clip(points, -1e4, 1e4) * _PRECISION).astype(np.int64)
    found: list[int] = whole.ravel().tolist()
    return found
