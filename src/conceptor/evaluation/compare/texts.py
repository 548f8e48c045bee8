"""Compare methods, fewer dimensions and smaller number types on embeddings of texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conceptor.base.arrays import jsonable
from conceptor.base.notebook import html_table
from conceptor.base.progress import Progress, silent
from conceptor.evaluation.compare.forms import Form, fit_forms, plan_forms
from conceptor.evaluation.compare.text_measures import KEPT, SAMPLE, Facts, TextMeasures
from conceptor.evaluation.compare.verdict import Verdict, decide
from conceptor.evaluation.compare.words import Comparison
from conceptor.evaluation.labels import PAIRS, RETRIEVAL, read_judgements, read_text_pairs
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.methods import ORIGINAL, MethodsLike
from conceptor.vectors.chunks import keep_vectors
from conceptor.vectors.texts import as_texts, read_some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.algebra.background import Background
    from conceptor.evaluation.result import Evaluation
    from conceptor.fitting import FitOptions

_FEW_ITEMS = 30


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
        The scale of cosines, by method at full size; empty with fewer than 100 rows.
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
        """The number of rows behind each measure."""
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
        """The methods at full size: all dimensions, as float32."""
        every = self.comparison.evaluations
        whole = {name: every[name] for name, form in self.forms.items() if form.whole}
        return replace(self.comparison, evaluations=whole)

    @cached_property
    def verdict(self) -> Verdict:
        """The recommendation for the rows."""
        strongest = self.facts[ORIGINAL].strongest
        return decide(self.comparison, self.forms, self.labelled, KEPT, strongest)

    @property
    def summary(self) -> list[str]:
        """The recommendations, one sentence each."""
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

    Parameters are those of `conceptor.compare`.
    """
    own = read_text_pairs(pairs)
    judged = read_judgements(queries, relevant)
    opened = keep_vectors(as_texts(vectors, texts))
    forms = plan_forms(opened, methods, sizes, dtypes)
    asked = [each for task in own for each in task.asked] + (judged.asked if judged else [])
    some = read_some(opened, SAMPLE, asked, seed=seed, progress=progress)
    measures = TextMeasures(opened, some, own, judged, seed)
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


def _cosine_scale(background: Background | None) -> dict[str, float] | None:
    """Return the median cosine of random pairs, and the cosine that one in a thousand exceeds."""
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
