"""What many trials say together: every run, mean and spread, and methods against each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.evaluation.dialogue.goals import (
    JOINT,
    Accuracy,
    goal_accuracies,
    string_match_accuracies,
)
from conceptor.evaluation.dialogue.woz import SLOTS
from conceptor.evaluation.statistics import CONFIDENCE, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.evaluation.dialogue.trials import Trial
    from conceptor.evaluation.dialogue.woz import Corpus

__all__ = ["Study"]


@dataclass(frozen=True, eq=False)
class Study:
    """Trials of methods, seeds and slots on one corpus.

    Attributes
    ----------
    vectors : str
        What was post-processed.
    corpus : Corpus
    trials : sequence of Trial
    notes : sequence of str
        What the methods were fitted on, and how much of the corpus the vectors cover.
    """

    vectors: str
    corpus: Corpus
    trials: Sequence[Trial]
    notes: Sequence[str] = ()

    @property
    def methods(self) -> list[str]:
        """The methods, in order of appearance."""
        return list(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def slots(self) -> list[str]:
        """The slots that were tracked."""
        return [slot for slot in SLOTS if any(trial.slot == slot for trial in self.trials)]

    @property
    def goals(self) -> list[str]:
        """The slots, and the joint goal if all slots were tracked."""
        return [*self.slots, JOINT] if len(self.slots) == len(SLOTS) else self.slots

    @cached_property
    def string_match(self) -> dict[str, Accuracy]:
        """What string matching gets, for each goal."""
        return string_match_accuracies(self.corpus, self.slots)

    @cached_property
    def runs(self) -> dict[str, dict[int, dict[str, Accuracy]]]:
        """Accuracies by method, seed and goal, of runs that have all slots."""
        runs: dict[str, dict[int, dict[str, Accuracy]]] = {}
        for method in self.methods:
            runs[method] = {}
            for seed in sorted({t.seed for t in self.trials if t.method == method}):
                states = {
                    trial.slot: trial.states
                    for trial in self.trials
                    if (trial.method, trial.seed) == (method, seed)
                }
                if set(states) == set(self.slots):
                    runs[method][seed] = goal_accuracies(self.corpus.test, states)
        return runs

    def percents(self, method: str, goal: str) -> list[float]:
        """Return the accuracy of each run."""
        return [found[goal].percent for found in self.runs[method].values()]

    def mean(self, method: str, goal: str) -> float:
        """Return the mean over runs."""
        found = self.percents(method, goal)
        return float(np.mean(found)) if found else math.nan

    def deviation(self, method: str, goal: str) -> float:
        """Return the standard deviation over runs; nan of a single one."""
        found = self.percents(method, goal)
        return float(np.std(found, ddof=1)) if len(found) > 1 else math.nan

    def difference(self, method: str, goal: str, against: str | None = None) -> Interval | None:
        """Return the mean difference from another method over the seeds both have.

        The interval is Student's for paired runs; it tells of training, not of other dialogues.
        """
        from scipy.stats import t as student

        other = against or self.methods[0]
        shared = sorted(self.runs[method].keys() & self.runs[other].keys())
        if method == other or len(shared) < 2:
            return None
        paired = [
            self.runs[method][s][goal].percent - self.runs[other][s][goal].percent for s in shared
        ]
        error = float(np.std(paired, ddof=1)) / math.sqrt(len(paired))
        reach = float(student.ppf((1 + CONFIDENCE) / 2, len(paired) - 1)) * error
        middle = float(np.mean(paired))
        return Interval(middle, middle - reach, middle + reach)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, learning curves included."""
        return {
            "vectors": self.vectors,
            "notes": list(self.notes),
            "string match": _percents(self.string_match),
            "methods": [self._method(method) for method in self.methods],
        }

    def _method(self, method: str) -> dict[str, Any]:
        first = self.methods[0]
        differences = {goal: self.difference(method, goal) for goal in self.goals}
        return {
            "name": method,
            "mean": {goal: _jsonable(self.mean(method, goal)) for goal in self.goals},
            "deviation": {goal: _jsonable(self.deviation(method, goal)) for goal in self.goals},
            f"over {first}": {
                goal: {"difference": d.difference, "low": d.low, "high": d.high}
                for goal, d in differences.items()
                if d is not None
            },
            "runs": [
                {"seed": seed, **_percents(found)} for seed, found in self.runs[method].items()
            ],
            "trials": [
                {key: value for key, value in trial.to_dict().items() if key != "states"}
                for trial in self.trials
                if trial.method == method
            ],
        }


def _percents(found: Mapping[str, Accuracy]) -> dict[str, float | None]:
    return {goal: _jsonable(accuracy.percent) for goal, accuracy in found.items()}


def _jsonable(number: float) -> float | None:
    return None if math.isnan(number) else number
