"""Compare methods, fewer dimensions and smaller number types on embeddings of texts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from conceptor.algebra.background import FEWEST_ROWS, Background, BackgroundWarning
from conceptor.algebra.itq import MOST_ROWS, fit_itq
from conceptor.base.arrays import jsonable, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.evaluation import labels
from conceptor.evaluation.comparison import Comparison
from conceptor.evaluation.statistics import CONFIDENCE, RESAMPLES, Interval, Mean
from conceptor.evaluation.task import Evaluation, Outcome, family_name
from conceptor.evaluation.word_tasks import without_own
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import METHODS, ORIGINAL, Method, MethodsLike, Solution, as_methods
from conceptor.vectors.formats.encoding import DTYPES, Encoding
from conceptor.vectors.search import Nearest, search
from conceptor.vectors.texts import as_texts, read_some
from conceptor.vectors.vectors import Transform, Vectors, keep

# A function of rows that returns them in another form.
Change = Callable[[NDArray[Any]], NDArray[Any]]

_FLOAT32, _INT8, _BINARY = "float32", "int8", "binary"
_METHODS = (ORIGINAL, "gentle", "renormalization", "abtt", "cn")
# Plain PCA, the usual way to reduce dimensions.
_PCA = "pca"
# Rotations for bits take minutes to learn, so by default only these methods have them.
_WITH_BITS = (ORIGINAL, "gentle")

# The family of results that needs no labels.
KEPT = "text-neighbors"
_NEIGHBORS = 10
# The number of rows whose neighbors are searched, and of rows in the sample.
_QUERIES, _SAMPLE = 1000, 4000
# Maximum memory for the queries of all forms in a pass.
_MOST_BYTES = 256 << 20
_FEW_ITEMS = 30
# Beyond this many tries, each needs this many resamples for any gain to be significant.
_MANY_TRIES, _RESAMPLES_PER_TRY = 25, 40
# With fewer rows there are no neighbors to compare.
_FEWEST_ROWS = 3
# A smaller form may lose this many points of the user's measure, or of neighbors without labels.
_LABELED_LOSS, _NEIGHBOR_LOSS = 1.0, 10.0
# If the strongest direction has at least this share, texts share something other than meaning.
_SHARED_BY_TEXTS = 0.10
_LEAVE = "Leave them as they are: "


@dataclass(frozen=True)
class Form:
    """A method, and how its output is stored.

    `original` with fewer dimensions keeps the first ones, as embeddings with nested dimensions
    (Matryoshka) are meant to be cut; a method keeps the leading directions of its output.
    """

    method: str
    dimensions: int
    dtype: str = _FLOAT32
    cut: bool = False
    recipe: Method = METHODS[ORIGINAL]  # with its number of dimensions

    @property
    def name(self) -> str:
        """The name in results."""
        size = [str(self.dimensions)] if self.cut else []
        return " ".join([self.method, *size, *([self.dtype] if self.dtype != _FLOAT32 else [])])

    @property
    def bytes(self) -> int:
        """The size of a row in `.npy`, with its scale if it has one."""
        encoding = Encoding(self.dtype, self.dimensions)
        numbers = encoding.width * encoding.stored.itemsize
        return encoding.record.itemsize if encoding.has_scales else numbers

    @property
    def whole(self) -> bool:
        """Whether it is complete: all dimensions, as float32."""
        return not self.cut and self.dtype == _FLOAT32


def plan_forms(
    vectors: Vectors,
    methods: MethodsLike | None = None,
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] | None = None,
) -> dict[str, Form]:
    """Return the forms to compare by name, starting with the unchanged `original`.

    By default: all dimensions, half of them and a quarter; float32 and int8; and bits at full size
    for the original and the default.
    """
    dimension = vectors.dimension
    named = as_methods(_METHODS if methods is None else methods)
    for method in named.values():
        method.check_rows(vectors)
    chosen = {name: each for name, each in named.items() if not each.is_original}
    chosen = {ORIGINAL: METHODS[ORIGINAL]} | chosen
    if sizes is None:
        sizes = [size for part in (1, 2, 4) if (size := dimension // part) >= 1]
    sizes = list(dict.fromkeys([dimension, *sizes]))
    if wrong := [size for size in sizes if not 1 <= size <= dimension]:
        raise InvalidInputError(f"a size is {wrong[0]}, but the rows have {dimension} dimensions")
    kinds = list(dict.fromkeys([_FLOAT32, *(dtypes or (_INT8, _BINARY))]))
    if unknown := [each for each in kinds if each not in DTYPES]:
        names = ", ".join(DTYPES)
        raise InvalidInputError(f"unknown number type {unknown[0]!r}; choose from {names}")
    if len(sizes) > 1 and methods is None:
        chosen[_PCA] = Method.parse("abtt:n_directions=0")
    forms = {}
    for size in sizes:
        for dtype in kinds:
            for name, method in chosen.items():
                cut = size != dimension
                has_bits = not cut and (methods is not None or name in _WITH_BITS)
                own = method.output_dimension(dimension)
                if (
                    (dtype == _BINARY and dtypes is None and not has_bits)
                    or (own != dimension and cut)  # it has its own size
                    # At full size, PCA has the same cosines as the centered rows.
                    or (name == _PCA and methods is None and not cut)
                ):
                    continue
                if cut and not method.is_original:
                    method = method.with_parameters(n_components=size)
                form = Form(name, min(size, own), dtype, cut, method)
                forms[form.name] = form
    return forms


def _fit_forms(
    vectors: Vectors, forms: Mapping[str, Form], options: FitOptions | None, progress: Progress
) -> tuple[dict[str, Change], dict[str, Solution], list[str]]:
    """Fit each method at each size in one pass.

    Return the forms, the solutions of the whole ones, and what they were fitted on.
    """
    learned = [form for form in forms.values() if not form.recipe.is_original]
    maps: dict[str, Any] = {}
    solutions: dict[str, Solution] = {}
    notes = []
    if methods := {f"{each.method} {each.dimensions}": each.recipe for each in learned}:
        fits = fit_methods(vectors, methods, options, doubts=False, progress=progress)
        maps = {name: fitted.map for name, fitted in fits.methods.items()}
        for form in learned:
            solution = fits.methods[f"{form.method} {form.dimensions}"].solution
            if form.whole and solution is not None:
                solutions[form.name] = solution
        weights = (each.weights for each in fits.methods.values())
        names = dict.fromkeys(each.description for each in weights if each)
        notes = [f"methods are fitted on {'; '.join(names)} ({fits.count:,})"]
    if any(form.dtype == _BINARY for form in learned):
        sample = read_some(vectors, MOST_ROWS)
        sampled_rows = sample.vectors[sample.sample]

    def change_of(form: Form) -> Change:
        change: Change = lambda rows: rows[:, : form.dimensions]  # noqa: E731
        if not form.recipe.is_original:
            change = map_ = maps[f"{form.method} {form.dimensions}"]
            if form.dtype == _BINARY:
                progress(f"{form.name}: learning a rotation", None, 0)
                rows = map_(sampled_rows)
                change = map_ @ fit_itq(rows) if len(rows) > form.dimensions else map_
        if form.dtype == _FLOAT32:
            return change
        encoding = Encoding(form.dtype, form.dimensions)
        return lambda rows: encoding.decode(
            *encoding.encode(np.asarray(change(rows), dtype=np.float32))
        )

    return {name: change_of(form) for name, form in forms.items()}, solutions, notes


class Verdict(NamedTuple):
    """A method at full size (`original` if nothing is better), the smallest good form, and why."""

    method: str
    smaller: str | None
    lines: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class TextComparison(Comparison):
    """Forms of the same rows, side by side; evaluations are by the name of the form."""

    forms: Mapping[str, Form] = field(default_factory=dict)
    # By form, the share of the strongest direction in the second moment of unit rows.
    strongest: Mapping[str, float] = field(default_factory=dict)
    labeled: Sequence[str] = ()  # the families of results that come from the user's labels

    @property
    def whole(self) -> TextComparison:
        """The methods at full size: all dimensions, as float32."""
        whole = {name: self.evaluations[name] for name, form in self.forms.items() if form.whole}
        return replace(self, evaluations=whole)

    @property
    def summary(self) -> list[str]:
        """The recommendations, one sentence each."""
        return self.verdict.lines

    def __repr__(self) -> str:
        return f"TextComparison({self.vectors}; {' '.join(self.summary)})"

    def data_of(self, method: str) -> dict[str, Any]:
        """Return the JSON form of a form's results."""
        form = self.forms[method]
        return {
            **super().data_of(method),
            "method": form.method,
            "dimensions": form.dimensions,
            "dtype": form.dtype,
            "bytes": form.bytes,
            "strongest": self.strongest[method],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = {
            "vectors": self.vectors,
            "notes": list(self.notes),
            "cautions": list(self.cautions),
            "summary": self.summary,
            "method": self.verdict.method,
            "smaller": self.verdict.smaller,
            "labeled": list(self.labeled),
            "forms": [self.data_of(name) for name in self.forms],
        }
        return dict(jsonable(data))

    @cached_property
    def verdict(self) -> Verdict:
        """The recommendation.

        A method is better if it gains significantly on one of the user's measures, corrected for
        the number of tries (Bonferroni), and loses significantly on none. A smaller form is good
        enough if the whole interval of its loss is within a point, or of one neighbor in ten.
        """
        if not self.resamples:
            return Verdict(ORIGINAL, None, ["There is no verdict without resamples."])
        method, first = self._choose_method()
        smaller, second = self._choose_smaller()
        return Verdict(method, smaller, [first, second])

    def _choose_method(self) -> tuple[str, str]:
        if not self.labeled:
            strongest = self.strongest[ORIGINAL]
            reason = f"{_LEAVE}without labels nothing shows that a change is better."
            if strongest >= _SHARED_BY_TEXTS:
                reason = (
                    f"Not decided: all rows share a direction, with {strongest:.0%} of their "
                    "squared length. Removing it helps if the model causes it, and harms if all "
                    "texts are about one topic; only labels can show which."
                )
            return ORIGINAL, f"{reason} Measure it with --pairs, or with --queries and --relevant."
        names = [name for name, form in self.forms.items() if form.whole and name != ORIGINAL]
        if not names:
            return ORIGINAL, f"{_LEAVE}no other method was compared."
        gains = {name: self._labeled_gains(name) for name in names}
        confidence = 1 - (1 - CONFIDENCE) / (len(names) * len(self.labeled))
        ranked = sorted(
            names, key=lambda name: np.mean([each.difference for each in gains[name]]), reverse=True
        )
        for name in ranked:
            is_better = any(each.sign > 0 for each in self._labeled_gains(name, confidence))
            if is_better and not any(each.sign < 0 for each in gains[name]):
                return name, f"Use {name}: {self._describe(name)}."
        best = f"The best of them is {ranked[0]}: {self._describe(ranked[0])}."
        return ORIGINAL, f"{_LEAVE}no method gains significantly without a loss. {best}"

    def _labeled_gains(self, name: str, confidence: float = CONFIDENCE) -> list[Interval]:
        """Return a form's gains on the user's labels, one for each family."""
        gains = [self.gains(family, confidence).get(name) for family in self.labeled]
        return [each for each in gains if each]

    def _choose_smaller(self) -> tuple[str | None, str]:
        """Return the form with the fewest bytes that loses little (on ties, the best), and why."""
        whole = self.forms[ORIGINAL].bytes
        smaller = {name: form for name, form in self.forms.items() if form.bytes < whole}
        if not smaller:
            return None, "No smaller form was compared."
        gains = [self.gains(family) for family in self.labeled or [KEPT]]
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
        form, options = smaller[name], ""
        stored = f" --dtype {form.dtype}" if form.dtype != _FLOAT32 else ""
        if not form.recipe.is_original:
            options = f" (--method {form.recipe}{stored})"
        elif not form.cut:
            options = f" (convert to .npy with{stored})"
        instead = f"{size:,} bytes per row instead of {whole:,}"
        return name, f"To save space, {name}: {instead}, {cost}{options}."

    def _describe(self, name: str) -> str:
        pairs = zip(self.labeled, self._labeled_gains(name), strict=False)
        return ", ".join(f"{family_name(family)} {gain}" for family, gain in pairs)


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
    """Compare methods, sizes and number types on rows of texts, as `conceptor.compare` does."""
    pair_sets = labels.read_text_pairs(pairs)
    judgments = labels.read_judgments(queries, relevant)
    opened = keep(as_texts(vectors, texts))
    forms = plan_forms(opened, methods, sizes, dtypes)
    requests = [row for each in pair_sets.values() for pair in each for row in pair[:2]]
    requests += [row for rows in judgments.relevant for row in rows] if judgments else []
    selection = read_some(opened, _SAMPLE, requests, seed=seed, progress=progress)
    if selection.count < _FEWEST_ROWS:
        raise InvalidInputError(
            f"{opened.name}: too few rows ({selection.count}); a comparison needs at least "
            f"{_FEWEST_ROWS}"
        )
    score_pairs = [labels.begin_pairs(*each, selection) for each in pair_sets.items()]
    places = judgments.find(selection, opened.dimension) if judgments else []
    changes, solutions, fit_notes = _fit_forms(opened, forms, options, progress)
    sample = selection.vectors[selection.sample]
    cautions: list[str] = []
    if len(sample) >= FEWEST_ROWS:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always", BackgroundWarning)
            Background.fit(sample, seed=seed)
        cautions += [str(each.message) for each in raised]
    # The neighbors of some rows, and of the user's queries, for several forms in a pass.
    own = selection.places[selection.sample[:_QUERIES]]
    query_count = len(own) + (len(judgments.queries) if judgments else 0)
    step = max(1, _MOST_BYTES // (query_count * opened.dimension * 4))
    before = own[:, np.newaxis]
    evaluations: dict[str, Evaluation] = {}
    for start in range(0, len(forms), step):
        searches: dict[str, list[Nearest]] = {}
        transforms: dict[str, Transform] = {}
        for form in list(forms)[start : start + step]:
            change = changes[form]
            searches[form] = [Nearest(change(sample[:_QUERIES]), _NEIGHBORS + 1)]
            searches[form] += [judgments.search(change)] if judgments else []
            transforms[form] = partial(_apply, change)
        search(opened, searches, transforms, progress)
        for form, (near, *by_query) in searches.items():
            now = without_own(near.rows, own)
            before = now if form == ORIGINAL else before  # the original comes first
            outcomes = [score(changes[form]) for score in score_pairs]
            outcomes += judgments.outcomes(by_query[0], places) if judgments else []
            title = f"ten nearest of {len(own):,} rows"
            shares = Mean(share_kept(now, before))
            outcomes.append(Outcome(KEPT, title, "share kept", len(own), len(own), shares))
            evaluations[form] = Evaluation(form, outcomes, {})
    notes = [
        f"{selection.count:,} rows; neighbors of {len(own):,} of them among all, other figures on "
        f"{len(sample):,}"
    ]
    labeled = [labels.TEXT_PAIRS] * bool(pair_sets)
    labeled += [labels.TEXT_RETRIEVAL] * bool(judgments)
    cautions += [
        f"{each.dataset}: {each.used} items are few; intervals on fewer than {_FEW_ITEMS} are too "
        "narrow"
        for each in evaluations[ORIGINAL].outcomes
        if each.task in labeled and each.used < _FEW_ITEMS
    ]
    # The verdict's interval excludes 0.05 / tries, of which each tail needs some resamples.
    tries = len(labeled) * (sum(form.whole for form in forms.values()) - 1)
    if resamples and tries > _MANY_TRIES:
        resamples = max(resamples, _RESAMPLES_PER_TRY * tries)
    return TextComparison(
        name or opened.name,
        evaluations,
        [*notes, *fit_notes],
        resamples,
        seed,
        solutions,
        cautions=cautions,
        files=opened.files,
        forms=forms,
        strongest={form: _strongest(change(sample)) for form, change in changes.items()},
        labeled=labeled,
    )


def _apply(change: Change, _: Sequence[str], rows: NDArray[Any]) -> NDArray[Any]:
    return change(rows)


def share_kept(now: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each row the share of its nearest rows before that are still nearest now."""
    pairs = zip(now.tolist(), before.tolist(), strict=True)
    both = [({*a} - {-1}, {*b} - {-1}) for a, b in pairs]
    return np.array([len(a & b) / len(b) if b else 1.0 for a, b in both])


def _strongest(rows: NDArray[Any]) -> float:
    """Return the share of the strongest direction in the second moment of unit rows."""
    unit = unit_rows(rows)
    moment = unit.T @ unit
    last = len(moment) - 1
    with one_blas_thread():
        (largest,) = eigh(moment, eigvals_only=True, subset_by_index=(last, last))
    total = float(np.trace(moment))
    return float(largest) / total if total > 0 else float("nan")
