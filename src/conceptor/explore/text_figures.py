"""Scores of a method for texts without labels, on a sample of rows, before and after."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.evaluation.unlabelled import hubness, share_kept, without_own
from conceptor.explore.answers import Score
from conceptor.explore.cache import Cache
from conceptor.vectors.search import Nearest, search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.recipes import Solution
    from conceptor.explore.answers import Settings
    from conceptor.explore.table import PageTable
    from conceptor.fitting import FitOptions


_ASKED, _HUBS, _NEAR = 1000, 2000, 10
_KEPT = 64


class TextFigures:
    """Neighbours kept, and hubness; caches the last few results."""

    def __init__(self, table: PageTable, other: PageTable | None, options: FitOptions) -> None:
        self._table, self._other = table, other
        self._order = np.random.default_rng(0).permutation(len(table))
        self._asked = self._order[:_ASKED]
        self._scores: Cache[list[Score]] = Cache(_KEPT)

    def scores(self, settings: Settings, solution: Solution | None) -> list[Score]:
        """Return the scores at some settings; none for a second file, which has other rows."""
        if solution is None:
            return []
        return self._scores.get(settings, lambda: self._make(solution.map))

    def _make(self, change: AffineMap) -> list[Score]:
        near = self._near(change)
        kept = 100 * float(share_kept(near, self._before).mean())
        note = f"a sample of {len(near):,} rows, searched among all"
        hubs = f"skewness of neighbour counts, among {len(self._hubs):,} rows"
        after = _finite(hubness(change(self._hubs), _NEAR))
        return [
            Score("Neighbours kept", 100.0, kept, f"% of the ten nearest; {note}"),
            Score("Hubness", self._hubness, after, hubs),
        ]

    @cached_property
    def _hubs(self) -> NDArray[np.float32]:
        return np.asarray(self._table.rows[self._order[:_HUBS]])

    @cached_property
    def _hubness(self) -> float | None:
        return _finite(hubness(self._hubs, _NEAR))

    @cached_property
    def _before(self) -> NDArray[np.int64]:
        return self._near(None)

    def _near(self, change: AffineMap | None) -> NDArray[np.int64]:
        def transform(_: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
            return rows if change is None else np.asarray(change(rows), dtype=np.float32)

        asked = np.asarray(self._table.rows[self._asked])
        found = Nearest(transform((), asked), _NEAR + 1)
        search(self._table.vectors, {"": [found]}, {"": (transform,)})
        return without_own(found.rows, self._asked.astype(np.int64))


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None
