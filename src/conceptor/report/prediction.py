"""Will it help? The sign of each family's change, told from the vectors alone, with its record.

A family should gain on vectors that lie, in every trait, between sets that gained, or up to a
quarter beyond them, and not likewise between sets that lost; the other way round it should lose;
elsewhere nothing is said. Only decided changes count, whose interval is on one side of zero. The
sets and what was measured on them are in record.json, which benchmarks/inspect_record.py writes;
rules are made of it here by a fixed procedure, so that leaving a set out and asking about it is a
fair test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "RECORD",
    "Prediction",
    "Rule",
    "describe",
    "fit_rule",
    "predict",
    "read_record",
    "track_record",
]

RECORD = "record.json"
TRAITS = ("participation", "share")
# Decided sets that a sign must have before it is predicted.
_FEWEST = 2
# How far beyond the outermost of them it still is, as a factor.
_BEYOND = 1.25


@dataclass(frozen=True)
class Rule:
    """For a gain (1) and a loss (−1), the range of each trait in which it is to be expected."""

    ranges: Mapping[int, Mapping[str, tuple[float, float]]]

    def __call__(self, traits: Mapping[str, float]) -> int:
        """Return the sign of the change, 0 to abstain."""
        signs = [
            sign
            for sign, ranges in self.ranges.items()
            if all(low <= traits[trait] <= high for trait, (low, high) in ranges.items())
        ]
        return signs[0] if len(signs) == 1 else 0


@dataclass(frozen=True)
class Prediction:
    """What is predicted of a family, and how often that came true on sets left out.

    Attributes
    ----------
    sign : int
        1 for a gain, −1 for a loss, 0 where it cannot be told.
    right, level, wrong, abstained : int
        On each set in turn, by the rule made without it: the interval of what was measured is on
        the predicted side of zero, holds zero, or is on the other; or the rule gave no answer.
    """

    sign: int
    right: int
    level: int
    wrong: int
    abstained: int

    @property
    def said(self) -> str:
        """The sign in words."""
        return {1: "should gain", -1: "should lose", 0: "cannot be told"}[self.sign]

    @property
    def record(self) -> str:
        """How often such answers were right; empty where it cannot be told."""
        found = f"{self.right} right, {self.level} undecided, {self.wrong} wrong"
        return found if self.sign else ""

    def __str__(self) -> str:
        return f"{self.said} ({self.record})" if self.sign else self.said


def describe(predictions: Mapping[str, Prediction]) -> str:
    """Return what is predicted, in a sentence or two."""
    by_sign = {
        sign: [family for family, each in predictions.items() if each.sign == sign]
        for sign in (1, -1, 0)
    }
    if not by_sign[1] and not by_sign[-1]:
        return "Whether this helps cannot be told from the vectors alone; compare measures it."
    told = [
        f"{said} on {', '.join(by_sign[sign])}"
        for sign, said in ((1, "gain"), (-1, "lose"))
        if by_sign[sign]
    ]
    open_ = f" It cannot be told of {', '.join(by_sign[0])}." if by_sign[0] else ""
    return f"It should {' and '.join(told)}.{open_} compare measures it."


@cache
def read_record() -> dict[str, list[dict[str, Any]]]:
    """Return the measured sets: of word vectors, and of rows of texts."""
    text = resources.files("conceptor.report").joinpath(RECORD).read_text(encoding="utf-8")
    found: dict[str, list[dict[str, Any]]] = json.loads(text)
    return found


def verdict(change: Sequence[float]) -> int:
    """Return the sign of a change that is decided: difference, low, high; 0 if it is not."""
    _, low, high = change
    return 1 if low > 0 else -1 if high < 0 else 0


def fit_rule(traits: Sequence[Mapping[str, float]], verdicts: Sequence[int]) -> Rule:
    """Return the rule that sets with these traits and verdicts make."""
    ranges = {}
    for sign in (1, -1):
        agreeing = [each for each, found in zip(traits, verdicts, strict=True) if found == sign]
        if len(agreeing) >= _FEWEST:
            values = {trait: [each[trait] for each in agreeing] for trait in TRAITS}
            ranges[sign] = {
                trait: (min(some) / _BEYOND, max(some) * _BEYOND) for trait, some in values.items()
            }
    return Rule(ranges)


def track_record(sets: Sequence[Mapping[str, Any]], method: str, family: str) -> list[int]:
    """Return what the rule says of each set that it was made without; 0 to abstain.

    Only of sets on which the family was measured, in order.
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
    """Return what a method should do to each family on vectors with these traits.

    Parameters
    ----------
    traits : mapping
        `participation` of running text as it is, and the `share` of its strongest direction with
        vectors at length 1. Of rows without words every row counts once, at length 1.
    method : str
        One that was measured.
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
        # How often the same answer was true, of a set that had no part in the rule.
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
