"""Compare methods, fewer dimensions and smaller number types on embeddings of texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from conceptor.algebra.background import FEWEST_ROWS, Background, BackgroundWarning
from conceptor.base.arrays import jsonable, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.numbers import format_signed
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.evaluation import labels, unlabeled
from conceptor.evaluation.comparison import Comparison
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.statistics import CONFIDENCE, RESAMPLES, Interval, Mean, holm
from conceptor.evaluation.task import Outcome
from conceptor.evaluation.text_forms import Change, Form, fit_forms, plan_forms
from conceptor.fit import FitOptions
from conceptor.methods import ORIGINAL, MethodsLike
from conceptor.vectors.search import Nearest, search
from conceptor.vectors.texts import SomeRows, as_texts, read_some
from conceptor.vectors.vectors import Transform, Vectors, keep

# The family of results that needs no labels.
KEPT = "text-neighbors"
_NEIGHBORS = 10
# The number of rows whose neighbors are searched, of all rows in the sample, and of those of the
# sample for measuring hubness among each other.
_QUERIES, _SAMPLE, _HUBS = 1000, 4000, 2000
# Maximum memory for the queries of all forms in a pass.
_MOST_BYTES = 256 << 20
_FEW_ITEMS = 30
# Beyond so many tries, each needs so many resamples for any gain to be significant.
_MANY_TRIES, _RESAMPLES_PER_TRY = 25, 40
# With fewer rows there are no neighbors to compare.
_FEWEST_ROWS = 3
# A smaller form may lose this many points of the user's measure, or of neighbors without labels.
_LABELED_LOSS, _NEIGHBOR_LOSS = 1.0, 10.0
NAMES = {labels.TEXT_PAIRS: "your pairs", labels.TEXT_RETRIEVAL: "your queries"}
# If the strongest direction has at least this share, texts share something other than meaning.
_SHARED_BY_TEXTS = 0.10
_LEAVE = "Leave them as they are: "


class Facts(NamedTuple):
    """Measures of a form that need no labels and have no items.

    `strongest` is the share of the strongest direction in the second moment of unit rows;
    `hubness` is that of 2,000 random rows.
    """

    strongest: float
    hubness: float


class Verdict(NamedTuple):
    """A method at full size (`original` if nothing is better), the smallest good form, and why."""

    method: str
    smaller: str | None
    lines: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class TextComparison:
    """Forms of the same rows, side by side."""

    comparison: Comparison  # scores of every form on the same items; gains are over `original`
    forms: Mapping[str, Form]
    facts: Mapping[str, Facts]
    # The scale of cosines, by method at full size; empty with fewer than 100 rows.
    backgrounds: Mapping[str, Background] = field(default_factory=dict)
    labeled: Sequence[str] = ()  # the families of results that come from the user's labels

    @property
    def vectors(self) -> str:
        """Name of the rows."""
        return self.comparison.vectors

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return list(dict.fromkeys(form.method for form in self.forms.values()))

    @property
    def whole(self) -> Comparison:
        """The methods at full size: all dimensions, as float32."""
        every = self.comparison.evaluations
        whole = {name: every[name] for name, form in self.forms.items() if form.whole}
        return replace(self.comparison, evaluations=whole)

    @property
    def summary(self) -> list[str]:
        """The recommendations, one sentence each."""
        return self.verdict.lines

    def __repr__(self) -> str:
        return f"TextComparison({self.vectors}; {' '.join(self.summary)})"

    def _repr_html_(self) -> str:
        """Show the methods and the verdict in a notebook."""
        return f"{self.whole._repr_html_()}<p>{escape(' '.join(self.summary))}</p>"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        comparison = self.comparison
        scales = {
            name: {"median": float(each.cosine(0.5)), "one_in_1000": float(each.cosine(0.001))}
            for name, each in self.backgrounds.items()
        }
        forms = [
            {
                "name": name,
                "method": form.method,
                "dimensions": form.dimensions,
                "dtype": form.dtype,
                "bytes": form.bytes,
                "results": comparison.evaluations[name].to_dict()["results"],
                "means": comparison.evaluations[name].means(),
                "gains": comparison.gains_of(name),
                **self.facts[name]._asdict(),
                "background": scales.get(name),
            }
            for name, form in self.forms.items()
        ]
        data: dict[str, Any] = jsonable(
            {
                "vectors": self.vectors,
                "notes": list(comparison.notes),
                "cautions": list(comparison.cautions),
                "summary": self.summary,
                "method": self.verdict.method,
                "smaller": self.verdict.smaller,
                "labeled": list(self.labeled),
                "forms": forms,
            }
        )
        return data

    @cached_property
    def verdict(self) -> Verdict:
        """The recommendation: often to do nothing.

        A method is better if it gains significantly on one of the user's measures, corrected for
        the number of tries (Holm), and loses significantly on none. A smaller form is good enough
        if the whole interval of its loss is within a point; without labels, if it keeps nine of ten
        neighbors.
        """
        if not self.comparison.resamples:
            return Verdict(ORIGINAL, None, ["There is no verdict without resamples."])
        method, first = self._choose_method()
        smaller, second = self._choose_smaller()
        return Verdict(method, smaller, [first, second])

    def _choose_method(self) -> tuple[str, str]:
        if not self.labeled:
            strongest = self.facts[ORIGINAL].strongest
            reason = f"{_LEAVE}without labels nothing shows that a change is better."
            if strongest >= _SHARED_BY_TEXTS:
                reason = (
                    f"Not decided: all rows share a direction, with {strongest:.0%} of their "
                    "squared length. Removing it helps if the model causes it, and harms if all "
                    "texts are about one topic; only labels can show which."
                )
            return ORIGINAL, f"{reason} Measure it with --pairs, or with --queries and --relevant."
        gains = {family: self.comparison.gains(family) for family in self.labeled}
        tried = [
            (name, family)
            for name, form in self.forms.items()
            for family in self.labeled
            if form.whole and name in gains[family]
        ]
        if not tried:
            return ORIGINAL, f"{_LEAVE}no other method was compared."
        adjusted = holm([self._p_value(name, family) for name, family in tried])
        better = {
            name
            for (name, family), p in zip(tried, adjusted, strict=True)
            if p < 1 - CONFIDENCE and gains[family][name].difference > 0
        }
        harmed = {name for name, family in tried if gains[family][name].high < 0}

        def mean(name: str) -> float:
            of_name = [each[name].difference for each in gains.values() if name in each]
            return float(np.mean(of_name))

        ranked = sorted({name for name, _ in tried}, key=mean, reverse=True)
        for name in ranked:
            if name in better - harmed:
                return name, f"Use {name}: {self._describe(name)}."
        best = f"The best of them is {ranked[0]}: {self._describe(ranked[0])}."
        return ORIGINAL, f"{_LEAVE}no method is significantly better. {best}"

    def _p_value(self, name: str, family: str) -> float:
        """Return the two-sided p-value of a gain by the bootstrap."""
        originals = self.comparison.evaluations[ORIGINAL].mean_outcomes(family)
        differences = self.comparison.differences(name, [each.dataset for each in originals])
        samples = np.zeros(0) if differences is None else differences.resampled[0]
        samples = samples[np.isfinite(samples)]
        tail = min(int((samples <= 0).sum()), int((samples >= 0).sum()))
        return min(1.0, 2 * (tail + 1) / (len(samples) + 1))

    def _choose_smaller(self) -> tuple[str | None, str]:
        """Return the form with the fewest bytes that loses little (on ties, the best), and why."""
        whole = self.forms[ORIGINAL].bytes
        smaller = {name: form for name, form in self.forms.items() if form.bytes < whole}
        if not smaller:
            return None, "No smaller form was compared."
        gains = [self.comparison.gains(family) for family in self.labeled or [KEPT]]
        loss = _LABELED_LOSS if self.labeled else _NEIGHBOR_LOSS
        good = [
            (form.bytes, -min(each[name].difference for each in gains), name)
            for name, form in smaller.items()
            if all(name in each and each[name].low >= -loss for each in gains)
        ]
        if not good:
            what = "within a point of the original" if self.labeled else "nine of ten neighbors"
            return None, f"No smaller form keeps {what}."
        size, _, name = min(good)
        cost = f"{100 + gains[0][name].difference:.0f}% of the neighbors kept"
        cost = self._describe(name) if self.labeled else cost
        options = f" ({smaller[name].options})" if smaller[name].options else ""
        instead = f"{size:,} bytes per row instead of {whole:,}"
        return name, f"To save space, {name}: {instead}, {cost}{options}."

    def _describe(self, name: str) -> str:
        gains = {family: self.comparison.gains(family).get(name) for family in self.labeled}
        return ", ".join(f"{NAMES[each]} {show_gain(gain)}" for each, gain in gains.items() if gain)


def show_gain(gain: Interval) -> str:
    """Return a gain with its interval: `+0.4 [−0.1, +0.9]`."""
    numbers = (gain.difference, gain.low, gain.high)
    difference, low, high = (format_signed(each, 1) for each in numbers)
    return f"{difference} [{low}, {high}]"


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

    Parameters are those of `conceptor.compare`.
    """
    pair_sets = labels.read_text_pairs(pairs)
    judgments = labels.read_judgments(queries, relevant)
    opened = keep(as_texts(vectors, texts))
    forms = plan_forms(opened, methods, sizes, dtypes)
    requests = [row for each in pair_sets.values() for pair in each for row in pair[:2]]
    requests += judgments.rows if judgments else []
    selection = read_some(opened, _SAMPLE, requests, seed=seed, progress=progress)
    if selection.count < _FEWEST_ROWS:
        raise InvalidInputError(
            f"{opened.name}: too few rows ({selection.count}); a comparison needs at least "
            f"{_FEWEST_ROWS}"
        )
    score_pairs = [labels.begin_pairs(*each, selection) for each in pair_sets.items()]
    places = judgments.find(selection, opened.dimension) if judgments else []
    sample = selection.vectors[selection.sample]
    changes, fit_notes = fit_forms(opened, forms, options, progress)
    evaluations, facts, backgrounds = {}, {}, {}
    cautions: list[str] = []
    before: NDArray[np.int64] | None = None
    for form, near, by_query in _search(opened, selection, judgments, changes, progress):
        before = near if before is None else before  # the original comes first
        count, rows = len(near), changes[form](sample)
        outcomes = [score(changes[form]) for score in score_pairs]
        if judgments is not None and by_query is not None:
            outcomes += judgments.outcomes(by_query, places)
        shares, title = Mean(unlabeled.share_kept(near, before)), f"ten nearest of {count:,} rows"
        outcomes.append(Outcome(KEPT, title, "share kept", count, count, shares))
        evaluations[form] = Evaluation(form, outcomes, {})
        facts[form] = Facts(_strongest(rows), unlabeled.hubness(rows[:_HUBS], _NEIGHBORS))
        if forms[form].whole and len(sample) >= FEWEST_ROWS:
            with warnings.catch_warnings(record=True) as raised:
                warnings.simplefilter("always", BackgroundWarning)
                backgrounds[form] = Background.fit(rows, seed=seed)
            cautions += [str(each.message) for each in raised if form == ORIGINAL]
    notes = [
        f"{selection.count:,} rows; neighbors of {len(sample[:_QUERIES]):,} of them among all, "
        f"hubness on {len(sample[:_HUBS]):,}, other figures on {len(sample):,}"
    ]
    labeled = [labels.TEXT_PAIRS] * bool(pair_sets)
    labeled += [labels.TEXT_RETRIEVAL] * bool(judgments)
    cautions += [
        f"{each.dataset}: {each.used} items are few; intervals on fewer than {_FEW_ITEMS} are too "
        "narrow"
        for each in evaluations[ORIGINAL].outcomes
        if each.task in labeled and each.used < _FEW_ITEMS
    ]
    # The smallest p-value is 2 / (resamples + 1), and Holm multiplies it by the number of tries.
    tries = len(labeled) * (sum(form.whole for form in forms.values()) - 1)
    if resamples and tries > _MANY_TRIES:
        resamples = max(resamples, _RESAMPLES_PER_TRY * tries)
    comparison = Comparison(
        name or opened.name, evaluations, [*notes, *fit_notes], resamples, seed, cautions=cautions
    )
    return TextComparison(comparison, forms, facts, backgrounds, labeled)


def _search(
    vectors: Vectors,
    selection: SomeRows,
    judgments: labels.Judgments | None,
    changes: Mapping[str, Change],
    progress: Progress,
) -> Iterator[tuple[str, NDArray[np.int64], Nearest | None]]:
    """Yield each form's neighbors and search for the queries; memory decides how many passes."""
    sample = selection.sample[:_QUERIES]
    queries = 0 if judgments is None else len(judgments.queries)
    step = max(1, _MOST_BYTES // ((len(sample) + queries) * vectors.dimension * 4))
    names = list(changes)
    for start in range(0, len(names), step):
        searches: dict[str, list[Nearest]] = {}
        transforms: dict[str, Transform] = {}
        for name in names[start : start + step]:
            change = changes[name]
            searches[name] = [Nearest(change(selection.vectors[sample]), _NEIGHBORS + 1)]
            searches[name] += [judgments.search(change)] if judgments else []
            transforms[name] = partial(_apply, change)
        search(vectors, searches, transforms, progress)
        for name, (near, *by_query) in searches.items():
            others = unlabeled.without_own(near.rows, selection.places[sample])
            yield name, others, next(iter(by_query), None)


def _apply(change: Change, _: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
    return change(rows)


def _strongest(rows: NDArray[Any]) -> float:
    """Return the share of the strongest direction in the second moment of unit rows."""
    unit = unit_rows(rows)
    moment = unit.T @ unit
    last = len(moment) - 1
    with one_blas_thread():
        (largest,) = eigh(moment, eigvals_only=True, subset_by_index=(last, last))
    total = float(np.trace(moment))
    return float(largest) / total if total > 0 else float("nan")
