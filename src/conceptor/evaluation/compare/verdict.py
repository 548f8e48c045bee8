"""Recommend what to do with embeddings of texts, given the measurements: often nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import Message, Setting
from conceptor.base.numbers import format_signed
from conceptor.evaluation.compare.forms import FLOAT32, Form
from conceptor.evaluation.statistics import CONFIDENCE, Interval, holm
from conceptor.methods import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.evaluation.compare.words import Comparison


# A smaller form may lose this many points of the user's measure, or of neighbours without labels.
LABELLED_LOSS, NEIGHBOUR_LOSS = 1.0, 10.0
_NAMES = {"text-pairs": "your pairs", "text-retrieval": "your queries"}
# If the strongest direction has at least this share, texts share something other than meaning.
SHARED_BY_TEXTS = 0.10
_LEAVE = "Leave them as they are: "


@dataclass(frozen=True)
class Verdict:
    """A method at full size (`original` if nothing is better), and the smallest good form, if any.

    A method is better if it gains beyond chance on one of the user's measures, corrected for the
    number of tries (Holm), and loses beyond chance on none. A smaller form is good enough if the
    whole interval of its loss is within a point; without labels, if it keeps nine of ten
    neighbours.
    """

    method: str
    smaller: str | None
    lines: list[str]


def decide(
    comparison: Comparison,
    forms: Mapping[str, Form],
    labelled: Sequence[str],
    neighbours: str,
    strongest: float,
) -> Verdict:
    """Return the recommendation.

    `labelled` and `neighbours` are families of results; `strongest` is the share of the strongest
    direction of the original rows.
    """
    if not comparison.resamples:
        return Verdict(ORIGINAL, None, ["There is no verdict without resamples."])
    if labelled:
        method, first = _choose_method(comparison, forms, labelled)
    else:
        method, first = ORIGINAL, _without_labels(strongest)
    families = labelled or [neighbours]
    smaller = _smallest(comparison, forms, families, LABELLED_LOSS if labelled else NEIGHBOUR_LOSS)
    return Verdict(method, smaller, [first, _say_smaller(comparison, forms, smaller, families)])


def _choose_method(
    comparison: Comparison, forms: Mapping[str, Form], labelled: Sequence[str]
) -> tuple[str, str]:
    gains = {family: comparison.gains(family) for family in labelled}
    tried = [(name, f) for name, form in forms.items() for f in labelled if form.whole]
    tried = [(name, family) for name, family in tried if name in gains[family]]
    if not tried:
        return ORIGINAL, f"{_LEAVE}no other method was compared."
    adjusted = holm([_p_value(comparison, name, family) for name, family in tried])
    better = {
        name
        for (name, family), p in zip(tried, adjusted, strict=True)
        if p < 1 - CONFIDENCE and gains[family][name].difference > 0
    }
    harmed = {name for name, family in tried if gains[family][name].high < 0}

    def mean(name: str) -> float:
        return float(np.mean([gains[f][name].difference for f in labelled if name in gains[f]]))

    ranked = sorted({name for name, _ in tried}, key=mean, reverse=True)
    good = [name for name in ranked if name in better - harmed]
    if good:
        return good[0], f"Use {good[0]}: {_describe(comparison, good[0], labelled)}."
    best = _describe(comparison, ranked[0], labelled)
    return ORIGINAL, (
        f"{_LEAVE}no method is better beyond chance. The best of them is {ranked[0]}: {best}."
    )


def _p_value(comparison: Comparison, name: str, family: str) -> float:
    """Return the two-sided p-value of a gain by the bootstrap."""
    over = [each.dataset for each in comparison.evaluations[ORIGINAL].mean_outcomes(family)]
    found = comparison.differences(name, over)
    samples = np.zeros(0) if found is None else found.resampled[0]
    samples = samples[np.isfinite(samples)]
    tail = min(int((samples <= 0).sum()), int((samples >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (len(samples) + 1))


def _without_labels(strongest: float) -> str:
    ask = Message(
        "Measure it with ", Setting("pairs"), ", or with ", Setting("queries"), " and ",
        Setting("relevant"), ".",
    )  # fmt: skip
    if strongest >= SHARED_BY_TEXTS:
        return Message(
            f"Not decided: all rows share a direction, with {strongest:.0%} of their squared "
            "length. Removing it helps if the model causes it, and harms if all texts are "
            "about one topic; only labels can show which. ",
            ask,
        )
    return Message(f"{_LEAVE}without labels nothing shows that a change is better. ", ask)


def _smallest(
    comparison: Comparison, forms: Mapping[str, Form], families: Sequence[str], loss: float
) -> str | None:
    """Return the form with the fewest bytes that loses no more than this; on ties, the best."""
    gains = [comparison.gains(family) for family in families]
    whole = forms[ORIGINAL].bytes
    good = [
        (form.bytes, -min(each[name].difference for each in gains), name)
        for name, form in forms.items()
        if form.bytes < whole and all(name in each and each[name].low >= -loss for each in gains)
    ]
    return min(good)[2] if good else None


def _say_smaller(
    comparison: Comparison, forms: Mapping[str, Form], name: str | None, families: Sequence[str]
) -> str:
    if not any(form.bytes < forms[ORIGINAL].bytes for form in forms.values()):
        return "No smaller form was compared."
    labelled = families[0] in _NAMES
    if name is None:
        what = "within a point of the original" if labelled else "nine of ten neighbours"
        return f"No smaller form keeps {what}."
    form = forms[name]
    if labelled:
        cost = _describe(comparison, name, families)
    else:
        kept = 100 + comparison.gains(families[0])[name].difference
        cost = f"{kept:.0f}% of the neighbours kept"
    return Message(
        f"To save space, {name}: {form.bytes:,} bytes per row instead of {forms[ORIGINAL].bytes:,},"
        f" {cost}",
        *_how_to(form),
        ".",
    )


def _how_to(form: Form) -> list[object]:
    """Return the settings of `postprocess` that write a form; none for the original."""
    if form.method == ORIGINAL:
        return []
    stored = [", ", Setting("dtype", form.dtype)] if form.dtype != FLOAT32 else []
    return [" (", Setting("method", str(form.recipe)), *stored, ")"]


def _describe(comparison: Comparison, name: str, families: Sequence[str]) -> str:
    gains = {family: comparison.gains(family).get(name) for family in families}
    return ", ".join(
        f"{_NAMES[family]} {show_gain(gain)}" for family, gain in gains.items() if gain is not None
    )


def show_gain(gain: Interval) -> str:
    """Return a gain with its interval: `+0.4 [−0.1, +0.9]`."""
    difference, low, high = (
        format_signed(each, 1) for each in (gain.difference, gain.low, gain.high)
    )
    return f"{difference} [{low}, {high}]"
