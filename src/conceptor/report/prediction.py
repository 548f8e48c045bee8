"""Predict from the vectors alone whether each family will gain or lose, with a track record.

A gain is predicted if every trait of the vectors lies within the range of sets that gained, or up
to a quarter beyond it, and the same is not true for sets that lost. A loss is predicted in the
opposite case. Otherwise there is no prediction, nor is there one beyond all sets. It takes two sets
to predict a sign; a single set only prevents the prediction of the other sign. Only decided changes
count: their interval is on one side of zero. The sets and their measurements are in record.json,
which benchmarks/inspect_record.py writes. A fixed procedure derives the rules from it, so leaving
out a set and predicting it is a fair test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RECORD = "record.json"
TRAITS = ("participation", "share")
# Decided sets with a sign that are needed to predict this sign.
_FEWEST = 2
# How far beyond their range it is still predicted, as a factor.
_BEYOND = 1.25


@dataclass(frozen=True)
class Rule:
    """The range of each trait in which a gain (1) or a loss (−1) is predicted.

    `lone` has the range around the only set of a sign, which prevents the other sign there.
    """

    ranges: Mapping[int, Mapping[str, tuple[float, float]]]
    lone: Mapping[int, Mapping[str, tuple[float, float]]] = field(default_factory=dict)

    def __call__(self, traits: Mapping[str, float]) -> int:
        """Return the predicted sign of the change, or 0 to abstain."""
        signs = [
            sign
            for sign, ranges in (*self.ranges.items(), *self.lone.items())
            if all(low <= traits[trait] <= high for trait, (low, high) in ranges.items())
        ]
        return signs[0] if len(signs) == 1 and signs[0] in self.ranges else 0


@dataclass(frozen=True)
class Prediction:
    """The prediction for a family, and its track record on sets left out.

    Attributes
    ----------
    sign : int
        1 for a gain, −1 for a loss, 0 for no prediction.
    right, level, wrong, abstained : int
        Counts over all sets, each predicted by a rule fitted without it: the measured interval is
        on the predicted side of zero, contains zero, or is on the other side; or the rule abstains.
    """

    sign: int
    right: int
    level: int
    wrong: int
    abstained: int

    @property
    def said(self) -> str:
        """The sign in words."""
        return {1: "should gain", -1: "should lose", 0: "unclear"}[self.sign]

    @property
    def record(self) -> str:
        """How often such predictions were right; empty without a prediction."""
        found = f"{self.right} right, {self.level} undecided, {self.wrong} wrong"
        return found if self.sign else ""

    def __str__(self) -> str:
        return f"{self.said} ({self.record})" if self.sign else self.said


def describe(predictions: Mapping[str, Prediction]) -> str:
    """Return the predictions in a sentence or two."""
    by_sign = {
        sign: [family for family, each in predictions.items() if each.sign == sign]
        for sign in (1, -1, 0)
    }
    if not by_sign[1] and not by_sign[-1]:
        return "The vectors alone do not show whether this helps; measure it with compare."
    told = [
        f"{said} on {', '.join(by_sign[sign])}"
        for sign, said in ((1, "gain"), (-1, "lose"))
        if by_sign[sign]
    ]
    open_ = f" There is no prediction for {', '.join(by_sign[0])}." if by_sign[0] else ""
    return f"It should {' and '.join(told)}.{open_} Measure it with compare."


@cache
def read_record() -> dict[str, list[dict[str, Any]]]:
    """Return the measured sets of word vectors and of rows of texts."""
    text = resources.files("conceptor.report").joinpath(RECORD).read_text(encoding="utf-8")
    found: dict[str, list[dict[str, Any]]] = json.loads(text)
    return found


def verdict(change: Sequence[float]) -> int:
    """Return the sign of a change (difference, low, high), or 0 if it is not decided."""
    _, low, high = change
    return 1 if low > 0 else -1 if high < 0 else 0


def fit_rule(traits: Sequence[Mapping[str, float]], verdicts: Sequence[int]) -> Rule:
    """Return the rule that follows from sets with these traits and verdicts."""
    ranges: dict[int, dict[str, tuple[float, float]]] = {}
    lone: dict[int, dict[str, tuple[float, float]]] = {}
    for sign in (1, -1):
        agreeing = [each for each, found in zip(traits, verdicts, strict=True) if found == sign]
        if agreeing:
            (ranges if len(agreeing) >= _FEWEST else lone)[sign] = {
                trait: _range([each[trait] for each in agreeing], [each[trait] for each in traits])
                for trait in TRAITS
            }
    return Rule(ranges, lone)


def _range(agreeing: Sequence[float], every: Sequence[float]) -> tuple[float, float]:
    """Return the range of some values and a quarter beyond it, but not beyond all values."""
    return max(min(agreeing) / _BEYOND, min(every)), min(max(agreeing) * _BEYOND, max(every))


def track_record(sets: Sequence[Mapping[str, Any]], method: str, family: str) -> list[int]:
    """Return the prediction for each set by the rule fitted without it; 0 to abstain.

    Only sets on which the family was measured take part, in order.
    """
    known = [each for each in sets if family in each["changes"].get(method, {})]
    said = []
    for i, left_out in enumerate(known):
        others = [each for j, each in enumerate(known) if j != i]
        signs = [verdict(each["changes"][method][family]) for each in others]
        rule = fit_rule([each["traits"] for each in others], signs)
        said.append(rule(left_out["traits"]))
    return said


def predict(
    traits: Mapping[str, float], method: str = "cn", *, kind: str = "words"
) -> dict[str, Prediction]:
    """Predict a method's effect on each family for vectors with these traits.

    Parameters
    ----------
    traits : mapping
        `participation` of running text before, and the `share` of its strongest direction with
        vectors at length 1. For rows without words, every row counts once, at length 1.
    method : str
        A method in the record.
    kind : {"words", "rows"}
        Word vectors, or rows of texts.
    """
    sets = read_record()[kind]
    families = dict.fromkeys(f for each in sets for f in each["changes"].get(method, {}))
    found = {}
    for family in families:
        known = [each for each in sets if family in each["changes"].get(method, {})]
        signs = [verdict(each["changes"][method][family]) for each in known]
        sign = fit_rule([each["traits"] for each in known], signs)(traits)
        # How often the same prediction was right for sets that were not used for the rule.
        said = track_record(sets, method, family)
        pairs = [(mine, true) for mine, true in zip(said, signs, strict=True) if mine == sign]
        found[family] = Prediction(
            sign,
            right=sum(mine == true for mine, true in pairs) if sign else 0,
            level=sum(true == 0 for _, true in pairs) if sign else 0,
            wrong=sum(mine == -true for mine, true in pairs) if sign else 0,
            abstained=said.count(0),
        )
    return found
