"""Many trials together: every run, means and spreads, and differences between methods."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.dialogue.goals import GoalAccuracy, goal_accuracies, string_match_accuracies
from conceptor.dialogue.woz import SLOTS
from conceptor.evaluation.statistics import CONFIDENCE, Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.dialogue.trials import Trial
    from conceptor.dialogue.woz import Corpus


@dataclass(frozen=True)
class Run:
    """A method and a seed, all slots together.

    For each slot, `kept` is the epoch whose weights were kept, and `curves` has each epoch's
    training loss, held-out accuracy and held-out loss. `seconds` of processor time are summed.
    """

    accuracies: Mapping[str, GoalAccuracy]
    kept: Mapping[str, int]
    seconds: float
    curves: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)

    @classmethod
    def from_trials(cls, corpus: Corpus, trials: Sequence[Trial]) -> Run:
        """Score the trials of one method and seed."""
        states = {trial.slot: trial.states for trial in trials}
        return cls(
            goal_accuracies(corpus.test, states),
            {trial.slot: trial.kept for trial in trials},
            sum(trial.seconds for trial in trials),
            {trial.slot: [asdict(epoch) for epoch in trial.curve] for trial in trials},
        )


@dataclass(frozen=True, eq=False)
class Study:
    """Runs on one corpus, by method and seed, and the accuracy of matching strings instead.

    `notes` say what the methods were fitted on, and how much of the corpus the vectors cover.
    """

    vectors: str
    string_match: Mapping[str, GoalAccuracy]
    runs: Mapping[str, Mapping[int, Run]]
    notes: Sequence[str] = ()

    @classmethod
    def from_trials(
        cls, vectors: str, corpus: Corpus, trials: Iterable[Trial], notes: Sequence[str] = ()
    ) -> Study:
        """Score trials; a run that lacks a slot that others have is left out."""
        grouped: dict[str, dict[int, list[Trial]]] = {}
        for trial in trials:
            grouped.setdefault(trial.method, {}).setdefault(trial.seed, []).append(trial)
        found = {t.slot for seeds in grouped.values() for group in seeds.values() for t in group}
        slots = [slot for slot in SLOTS if slot in found]
        runs: dict[str, dict[int, Run]] = {method: {} for method in grouped}
        for method, seeds in grouped.items():
            for seed, group in sorted(seeds.items()):
                if len(group) == len(slots):
                    ordered = sorted(group, key=lambda trial: slots.index(trial.slot))
                    runs[method][seed] = Run.from_trials(corpus, ordered)
        return cls(vectors, string_match_accuracies(corpus, slots), runs, notes)

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return list(self.runs)

    @property
    def goals(self) -> list[str]:
        """The slots, and the joint goal if all slots were tracked."""
        return list(self.string_match)

    def percents(self, method: str, goal: str) -> list[float]:
        """Return the accuracy of each run."""
        return [run.accuracies[goal].percent for run in self.runs[method].values()]

    def mean(self, method: str, goal: str) -> float:
        """Return the mean over runs."""
        found = self.percents(method, goal)
        return float(np.mean(found)) if found else math.nan

    def deviation(self, method: str, goal: str) -> float:
        """Return the standard deviation over runs; nan for a single run."""
        found = self.percents(method, goal)
        return float(np.std(found, ddof=1)) if len(found) > 1 else math.nan

    def difference(self, method: str, goal: str, against: str | None = None) -> Interval | None:
        """Return the mean difference from another method over the seeds both have.

        The interval is Student's for paired runs; it covers the randomness of training, not the
        choice of dialogues. `against` is the first method by default.
        """
        from scipy.stats import t as student

        other = against or self.methods[0]
        mine, theirs = self.runs[method], self.runs[other]
        paired = [
            mine[seed].accuracies[goal].percent - theirs[seed].accuracies[goal].percent
            for seed in sorted(mine.keys() & theirs.keys())
        ]
        if method == other or len(paired) < 2:
            return None
        error = float(np.std(paired, ddof=1)) / math.sqrt(len(paired))
        reach = float(student.ppf((1 + CONFIDENCE) / 2, len(paired) - 1)) * error
        middle = float(np.mean(paired))
        return Interval(middle, middle - reach, middle + reach)

    def to_dict(self, *, history: bool = True) -> dict[str, Any]:
        """Return the JSON form, with or without times and curves."""
        methods = []
        for method, runs in self.runs.items():
            entry: dict[str, Any] = {
                "name": method,
                "mean": {goal: self.mean(method, goal) for goal in self.goals},
                "deviation": {goal: self.deviation(method, goal) for goal in self.goals},
                f"over {self.methods[0]}": {
                    goal: asdict(found)
                    for goal in self.goals
                    if (found := self.difference(method, goal)) is not None
                },
                "runs": [],
            }
            for seed, run in runs.items():
                counts = {"seed": seed, "accuracies": _counts(run.accuracies), "kept": run.kept}
                times = {"seconds": round(run.seconds, 1), "curves": run.curves}
                entry["runs"].append(counts | (times if history else {}))
            methods.append(entry)
        study: dict[str, Any] = {
            "vectors": self.vectors,
            "notes": self.notes,
            "string match": _counts(self.string_match),
            "methods": methods,
        }
        return dict(jsonable(study))

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Study:
        """Return the study from its JSON form."""
        runs = {
            method["name"]: {
                run["seed"]: Run(
                    _accuracies(run["accuracies"]),
                    run["kept"],
                    run.get("seconds", math.nan),
                    run.get("curves", {}),
                )
                for run in method["runs"]
            }
            for method in found["methods"]
        }
        return cls(found["vectors"], _accuracies(found["string match"]), runs, found["notes"])


def _counts(found: Mapping[str, GoalAccuracy]) -> dict[str, dict[str, float]]:
    return {goal: asdict(each) | {"percent": each.percent} for goal, each in found.items()}


def _accuracies(found: Mapping[str, Mapping[str, int]]) -> dict[str, GoalAccuracy]:
    return {goal: GoalAccuracy(counts["right"], counts["total"]) for goal, counts in found.items()}
