"""Measures for every form of rows of texts, on the same rows, in bounded memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from conceptor.algebra.background import FEWEST_ROWS, Background, BackgroundWarning
from conceptor.base.arrays import cosines, unit_rows
from conceptor.base.threads import one_blas_thread
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.task import Outcome
from conceptor.evaluation.unlabelled import (
    Separation,
    find_related,
    hubness,
    share_kept,
    without_own,
)
from conceptor.methods import ORIGINAL
from conceptor.vectors.search import Nearest, search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.evaluation.compare.forms import FormTransform
    from conceptor.evaluation.labels import Judgements, TextPairs
    from conceptor.vectors.texts import SomeRows
    from conceptor.vectors.vectors import Vectors


# Families of results that need no labels.
KEPT, RELATED = "text-neighbours", "text-related"
NEIGHBOURS = 10
# The number of rows whose neighbours are searched, and of all rows in the sample.
ASKED, SAMPLE = 1000, 4000
# The number of sample rows for measuring hubness among each other.
HUBS = 2000
# Maximum memory for the queries of all forms in a pass.
_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Facts:
    """Measures of a form that need no labels.

    Attributes
    ----------
    strongest : float
        Share of the strongest direction in the second moment of rows at length 1.
    hubness : float
        Skewness of the counts of how often each of 2,000 random rows is among the ten nearest of
        others.
    """

    strongest: float
    hubness: float


class TextMeasures:
    """The measures of every form, on the same rows."""

    def __init__(
        self,
        vectors: Vectors,
        some: SomeRows,
        pairs: Sequence[TextPairs],
        judged: Judgements | None,
        seed: int,
    ) -> None:
        self._vectors, self._some, self._judged, self._seed = vectors, some, judged, seed
        self._scores = [task.begin(some) for task in pairs]
        self._relevant = judged.begin(some, vectors.dimension) if judged else []
        self._asked = some.sample[:ASKED]
        self._sample = some.vectors[some.sample]
        texts = [some.texts[i] for i in some.sample.tolist()] if vectors.has_words else []
        self._related = find_related(texts, seed)

    @property
    def notes(self) -> list[str]:
        """The number of rows behind each measure."""
        count = self._some.count
        notes = [
            f"{count:,} rows; neighbours of {len(self._asked):,} of them among all, hubness on "
            f"{len(self._sample[:HUBS]):,}, other figures on {len(self._sample):,}"
        ]
        if self._related is not None:
            notes.append(
                f"related rows: {int(self._related.related.sum()):,} pairs whose texts share rare "
                "words, against as many random pairs that share none"
            )
        return notes

    def run(
        self, transforms: Mapping[str, FormTransform], progress: Progress
    ) -> tuple[dict[str, Evaluation], dict[str, Facts]]:
        """Return scores and facts of each form, in as many passes as memory requires."""
        queries = 0 if self._judged is None else len(self._judged.queries)
        each = (len(self._asked) + queries) * self._vectors.dimension * 4
        step = max(1, _MOST_BYTES // max(each, 1))
        evaluations, facts = {}, {}
        names = list(transforms)
        before: NDArray[np.int64] | None = None
        for start in range(0, len(names), step):
            some = {name: transforms[name] for name in names[start : start + step]}
            for name, near, judged in self._search(some, progress):
                before = near if before is None else before  # the original comes first
                outcomes = [*self._labelled(transforms[name], judged)]
                outcomes += self._unlabelled(transforms[name], near, before)
                evaluations[name] = Evaluation(name, outcomes, {})
                rows = transforms[name](self._sample)
                facts[name] = Facts(_strongest(rows), hubness(rows[:HUBS], NEIGHBOURS))
        return evaluations, facts

    def _search(
        self, transforms: Mapping[str, FormTransform], progress: Progress
    ) -> Iterator[tuple[str, NDArray[np.int64], Sequence[Nearest]]]:
        """Yield the neighbours of each form's rows, and its results for the queries."""
        asked = self._some.vectors[self._asked]
        near = {n: Nearest(change(asked), NEIGHBOURS + 1) for n, change in transforms.items()}
        judged = {
            name: self._judged.searches(change) if self._judged else []
            for name, change in transforms.items()
        }
        search(
            self._vectors,
            {name: [near[name], *judged[name]] for name in transforms},
            {name: change.steps for name, change in transforms.items()},
            progress,
        )
        for name in transforms:
            yield name, without_own(near[name].rows, self._some.places[self._asked]), judged[name]

    def _labelled(self, change: FormTransform, judged: Sequence[Nearest]) -> Iterator[Outcome]:
        for score in self._scores:
            yield score(change)
        if self._judged is not None:
            yield from self._judged.outcomes(judged, self._relevant)

    def _unlabelled(
        self, change: FormTransform, near: NDArray[np.int64], before: NDArray[np.int64]
    ) -> Iterator[Outcome]:
        count = len(near)
        kept = Mean(share_kept(near, before))
        yield Outcome(KEPT, f"ten nearest of {count:,} rows", "share kept", count, count, kept)
        if (pairs := self._related) is not None:
            rows = change(self._sample)
            found = Separation(cosines(rows[pairs.left], rows[pairs.right]), pairs.related)
            yield Outcome(RELATED, "rare words in common", "AUC", found.size, found.size, found)

    def backgrounds(
        self, transforms: Mapping[str, FormTransform]
    ) -> tuple[dict[str, Background], list[str]]:
        """Return the scale of cosines for some forms, and warnings about the original rows."""
        if len(self._sample) < FEWEST_ROWS:
            return {}, []
        found = {}
        cautions: list[str] = []
        for name, change in transforms.items():
            with warnings.catch_warnings(record=True) as raised:
                warnings.simplefilter("always", BackgroundWarning)
                found[name] = Background.fit(change(self._sample), seed=self._seed)
            if name == ORIGINAL:
                cautions = [str(each.message) for each in raised]
        return found, cautions


def _strongest(rows: NDArray[Any]) -> float:
    """Return the share of the strongest direction in the second moment of rows at length 1."""
    unit = unit_rows(rows)
    moment = unit.T @ unit
    last = len(moment) - 1
    with one_blas_thread():
        (largest,) = eigh(moment, eigvals_only=True, subset_by_index=(last, last))
    total = float(np.trace(moment))
    return float(largest) / total if total > 0 else float("nan")
