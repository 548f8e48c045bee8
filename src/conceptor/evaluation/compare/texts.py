"""Comparing what can be done to embeddings of texts: methods, fewer dimensions, smaller numbers."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from conceptor.algebra.background import FEWEST_ROWS, Background, BackgroundWarning
from conceptor.base.arrays import cosines, jsonable, unit_rows
from conceptor.base.notebook import html_table
from conceptor.base.progress import silent
from conceptor.base.threads import one_blas_thread
from conceptor.evaluation.compare.forms import fit_forms, plan_forms
from conceptor.evaluation.compare.verdict import Verdict, decide
from conceptor.evaluation.compare.words import Comparison
from conceptor.evaluation.hubness import occurrence_skew
from conceptor.evaluation.kept import share_kept, without_own
from conceptor.evaluation.labels import PAIRS, RETRIEVAL, read_judgements, read_text_pairs
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.separation import Separation, find_related
from conceptor.evaluation.statistics import RESAMPLES, Mean
from conceptor.evaluation.task import Outcome
from conceptor.methods import ORIGINAL
from conceptor.vectors.chunks import keep_vectors
from conceptor.vectors.search import Nearest, search
from conceptor.vectors.texts import as_texts, read_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress
    from conceptor.evaluation.compare.forms import Form, FormTransform
    from conceptor.evaluation.labels import Judgements, TextPairs
    from conceptor.fitting import FitOptions
    from conceptor.methods import MethodsLike
    from conceptor.vectors.texts import SomeRows
    from conceptor.vectors.vectors import Vectors

__all__ = ["KEPT", "RELATED", "Facts", "TextComparison", "compare_texts"]

# Families of results that need no labels.
KEPT, RELATED = "text-neighbours", "text-related"
NEIGHBOURS = 10
# Rows that neighbours are looked for of, and those of the sample in all.
ASKED, SAMPLE = 1000, 4000
_FEW_ITEMS = 30
# What the queries of all forms of a pass may take.
_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Facts:
    """What can be said of a form without labels.

    Attributes
    ----------
    strongest : float
        Share of the strongest direction in the second moment of rows at length 1.
    hubness : float
        Skewness of how often a row is among the ten nearest of others.
    """

    strongest: float
    hubness: float


@dataclass(frozen=True, eq=False, repr=False)
class TextComparison:
    """Forms of the same rows, side by side.

    Attributes
    ----------
    comparison : Comparison
        Scores of every form, by name, on the same items; gains are over `original`.
    forms : dict of str to Form
    facts : dict of str to Facts
    backgrounds : dict of str to Background
        What cosines mean, by method at full size; empty with fewer than 100 rows.
    labelled : sequence of str
        The families of results that come from the user's labels.
    """

    comparison: Comparison
    forms: Mapping[str, Form]
    facts: Mapping[str, Facts]
    backgrounds: Mapping[str, Background] = field(default_factory=dict)
    labelled: Sequence[str] = ()

    @property
    def vectors(self) -> str:
        """Name of the rows."""
        return self.comparison.vectors

    @property
    def notes(self) -> Sequence[str]:
        """What was measured on how many rows."""
        return self.comparison.notes

    @property
    def cautions(self) -> Sequence[str]:
        """Warnings about the rows."""
        return self.comparison.cautions

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return list(dict.fromkeys(form.method for form in self.forms.values()))

    @property
    def whole(self) -> Comparison:
        """The methods alone: all dimensions, as float32."""
        every = self.comparison.evaluations
        whole = {name: every[name] for name, form in self.forms.items() if form.whole}
        return replace(self.comparison, evaluations=whole)

    @cached_property
    def verdict(self) -> Verdict:
        """What to do with the rows."""
        strongest = self.facts[ORIGINAL].strongest
        return decide(self.comparison, self.forms, self.labelled, KEPT, strongest)

    @property
    def summary(self) -> list[str]:
        """What to do, a sentence each."""
        return self.verdict.lines

    def __repr__(self) -> str:
        return f"TextComparison({self.vectors}; {' '.join(self.summary)})"

    def _repr_html_(self) -> str:
        """Show the methods and the verdict in a notebook."""
        shown = {
            name: ", ".join(f"{family} {mean:.2f}" for family, mean in found.means().items())
            for name, found in self.whole.evaluations.items()
        }
        return html_table(self.vectors, shown | {"verdict": " ".join(self.summary)})

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        forms = [
            {
                "name": name,
                "method": form.method,
                "dimensions": form.dimensions,
                "dtype": form.dtype,
                "bytes": form.bytes,
                "results": [row.to_dict() for row in self.comparison.evaluations[name].rows()],
                "means": self.comparison.evaluations[name].means(),
                "gains": self.comparison.gains_of(name),
                **asdict(self.facts[name]),
                "background": _cosine_scale(self.backgrounds.get(name)),
            }
            for name, form in self.forms.items()
        ]
        found: dict[str, Any] = jsonable(
            {
                "vectors": self.vectors,
                "notes": list(self.notes),
                "cautions": [str(each) for each in self.cautions],
                "summary": self.summary,
                "method": self.verdict.method,
                "smaller": self.verdict.smaller,
                "labelled": list(self.labelled),
                "forms": forms,
            }
        )
        return found


def compare_texts(
    vectors: object,
    methods: MethodsLike | None = None,
    options: FitOptions | None = None,
    *,
    texts: object = None,
    pairs: object = None,
    queries: object = None,
    relevant: object = None,
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] | None = None,
    name: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = silent,
) -> TextComparison:
    """Compare methods, sizes and number types on rows of texts.

    Parameters
    ----------
    vectors : path, array, Vectors, (texts, array), ...
        One row for each text.
    methods : names, or recipes by name
        By default `original`, `gentle`, `renormalization`, `abtt` and `cn`, and plain PCA where
        dimensions are left out.
    options : FitOptions, optional
        What the methods are fitted with.
    texts : path or iterable of str, optional
        The text of each row, one per line of a file; by default the labels that rows have.
    pairs : path, paths, or triples of two rows and a score, optional
        Scored pairs; a row is named by its text, by its number from 1 as a string, or by its index.
    queries, relevant : optional
        Vectors of queries, and the rows that are relevant to each (`read_judgements`).
    sizes : sequence of int, optional
        How many dimensions are kept; by default all, half and a quarter of them.
    dtypes : sequence of `float32`, `float16`, `int8`, `binary`, optional
        As which numbers; by default float32 and int8 at each size, and bits at full size.
    name, resamples, seed, progress
        As for `compare`; the seed also draws the sample of rows.

    Returns
    -------
    TextComparison

    Notes
    -----
    Neighbours are those of 1,000 random rows among all rows, in one pass for all forms; the other
    figures are of 4,000 random rows. Memory does not depend on how many rows there are.
    """
    own = read_text_pairs(pairs)
    judged = read_judgements(queries, relevant)
    opened = keep_vectors(as_texts(vectors, texts))
    forms = plan_forms(opened, methods, sizes, dtypes)
    asked = [each for task in own for each in task.asked] + (judged.asked if judged else [])
    some = read_some(opened, SAMPLE, asked, seed=seed, progress=progress)
    measures = _Measures(opened, some, own, judged, seed)
    transforms, notes = fit_forms(opened, forms, options, progress)
    evaluations, facts = measures.run(transforms, progress)
    backgrounds, cautions = measures.backgrounds(
        {name: transforms[name] for name, form in forms.items() if form.whole}
    )
    labelled = [PAIRS] * bool(own) + [RETRIEVAL] * bool(judged)
    found = Comparison(
        name or opened.name,
        evaluations,
        [*measures.notes, *notes],
        resamples,
        seed,
        cautions=[*cautions, *_few_items(evaluations[ORIGINAL])],
    )
    return TextComparison(found, forms, facts, backgrounds, labelled)


class _Measures:
    """What is measured of every form, on the same rows."""

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
        """What was measured on how many rows."""
        count = self._some.count
        notes = [
            f"{count:,} rows; neighbours of {len(self._asked):,} of them among all, other figures "
            f"on {len(self._sample):,}"
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
        """Return scores and facts of each form, in as many passes as memory asks for."""
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
                strongest = _strongest(transforms[name](self._sample))
                facts[name] = Facts(strongest, occurrence_skew(near, self._some.count))
        return evaluations, facts

    def _search(
        self, transforms: Mapping[str, FormTransform], progress: Progress
    ) -> Iterator[tuple[str, NDArray[np.int64], Sequence[Nearest]]]:
        """Yield the neighbours of each form's rows, and what it finds for the queries."""
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
        """Return what cosines mean for some forms, and warnings about the rows as they are."""
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


def _cosine_scale(background: Background | None) -> dict[str, float] | None:
    """Return the median cosine of random pairs, and that of one pair in a thousand."""
    if background is None:
        return None
    return {"median": float(background.cosine(0.5)), "one_in_1000": float(background.cosine(0.001))}


def _few_items(found: Evaluation) -> list[str]:
    return [
        f"{each.dataset}: {each.used} items are few; intervals on fewer than {_FEW_ITEMS} are too "
        "narrow"
        for each in found.outcomes
        if each.task in (PAIRS, RETRIEVAL) and each.used < _FEW_ITEMS
    ]
