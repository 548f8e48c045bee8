"""Many trials together: every run, means and spreads, and differences between methods."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.evaluation.statistics import CONFIDENCE, Interval, holm
from conceptor.paper.dialogue.woz import (
    JOINT_WHEN_SET,
    SLOTS,
    GoalAccuracy,
    goal_counts,
    string_match_accuracies,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.paper.dialogue.trials import Trial
    from conceptor.paper.dialogue.woz import Corpus

RESAMPLES = 5000


@dataclass(frozen=True)
class Run:
    """A method and a seed, all slots together.

    `counts` has the correct turns and the turns that count in each test dialogue, by goal. For each
    slot, `kept` is the epoch whose weights were kept, and `curves` has each epoch's training loss,
    held-out accuracy and held-out loss. `seconds` of processor time are summed.
    """

    counts: Mapping[str, NDArray[np.int64]]
    kept: Mapping[str, int]
    seconds: float
    curves: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)

    @property
    def accuracies(self) -> dict[str, GoalAccuracy]:
        """The accuracy of each goal, over all dialogues."""
        return {goal: GoalAccuracy(*map(int, c.sum(1))) for goal, c in self.counts.items()}

    @classmethod
    def from_trials(cls, corpus: Corpus, trials: Sequence[Trial]) -> Run:
        """Score the trials of one method and seed."""
        states = {trial.slot: trial.states for trial in trials}
        return cls(
            goal_counts(corpus.test, states),
            {trial.slot: trial.kept for trial in trials},
            sum(trial.seconds for trial in trials),
            {trial.slot: [asdict(epoch) for epoch in trial.curve] for trial in trials},
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference over paired runs, and its uncertainty.

    `training` is the interval over seeds alone, for these test dialogues; `interval` is over seeds
    and dialogues; `p` is the probability of a difference this large by chance.
    """

    training: Interval
    interval: Interval
    p: float


@dataclass(frozen=True, eq=False)
class Study:
    """Runs on one corpus, by method and seed, and the accuracy of string matching.

    `notes` describe the data the methods were fitted on, and the vectors' coverage of the corpus.
    """

    vectors: str
    string_match: Mapping[str, GoalAccuracy]
    runs: Mapping[str, Mapping[int, Run]]
    notes: Sequence[str] = ()

    @classmethod
    def from_trials(
        cls, vectors: str, corpus: Corpus, trials: Iterable[Trial], notes: Sequence[str] = ()
    ) -> Study:
        """Score trials; leave out runs that lack a slot."""
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
        return [goal for goal in self.string_match if goal != JOINT_WHEN_SET]

    def _any_run(self) -> Run:
        runs = (run for by_seed in self.runs.values() for run in by_seed.values())
        return next(runs, Run({}, {}, 0.0))

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

    def difference(self, method: str, goal: str) -> Difference | None:
        """Return the mean difference from the first method over the seeds of both.

        None if fewer than two seeds are shared.

        The variance of the mean has two parts: the variance over seeds, divided by their number
        (the randomness of training), and the variance over resampled test dialogues (bootstrap; the
        choice of dialogues). Both include the interaction of seeds and dialogues, so their sum is
        slightly too large. The interval is Student's with Satterthwaite's degrees of freedom.
        """
        other = self.methods[0]
        mine, theirs = self.runs[method], self.runs[other]
        seeds = sorted(mine.keys() & theirs.keys())
        if method == other or len(seeds) < 2:
            return None
        gains = np.stack([mine[s].counts[goal][0] - theirs[s].counts[goal][0] for s in seeds])
        turns = mine[seeds[0]].counts[goal][1]
        total = int(turns.sum())
        if not total:
            return None
        paired = 100 * gains.sum(1) / total
        middle, count = float(paired.mean()), len(turns)
        trained = float(paired.var(ddof=1)) / len(seeds)
        # The same draws for every comparison.
        drawn = np.random.default_rng(0).multinomial(
            count, np.full(count, 1 / count), size=RESAMPLES
        )
        chosen = float(np.var(100 * (drawn @ gains.mean(0)) / (drawn @ turns)))
        training, _ = _student(middle, trained, len(seeds) - 1)
        freedom = (trained + chosen) ** 2 / max(
            trained**2 / (len(seeds) - 1) + chosen**2 / max(count - 1, 1), 1e-300
        )
        return Difference(training, *_student(middle, trained + chosen, max(freedom, 1.0)))

    def adjusted(self) -> dict[tuple[str, str], float]:
        """Return the p of every method and goal against the first method, adjusted by Holm."""
        found = {
            (method, goal): difference.p
            for method in self.methods[1:]
            for goal in self.goals
            if (difference := self.difference(method, goal)) is not None
        }
        return dict(zip(found, holm(list(found.values())), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
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
                "runs": [
                    {
                        "seed": seed,
                        "accuracies": _counts(run.accuracies),
                        "by dialogue": {goal: _digits(c[0]) for goal, c in run.counts.items()},
                        "kept": run.kept,
                        "seconds": round(run.seconds, 1),
                        "curves": run.curves,
                    }
                    for seed, run in runs.items()
                ],
            }
            methods.append(entry)
        study: dict[str, Any] = {
            "vectors": self.vectors,
            "notes": self.notes,
            "string match": _counts(self.string_match),
            "turns by dialogue": {
                goal: _digits(c[1]) for goal, c in self._any_run().counts.items()
            },
            "adjusted p": [[*key, p] for key, p in self.adjusted().items()],
            "methods": methods,
        }
        return dict(jsonable(study))


def _student(middle: float, variance: float, freedom: float) -> tuple[Interval, float]:
    """Return the interval of a mean with this variance, and the p of its distance from 0."""
    from scipy.stats import t as student

    error = math.sqrt(variance)
    reach = float(student.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    p = 2 * float(student.sf(abs(middle) / error, freedom)) if error else float(middle == 0)
    return Interval(middle, middle - reach, middle + reach), p


# Dialogues have a handful of turns: a character for each keeps 400 of them on a line of JSON.
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def _digits(counts: NDArray[np.int64]) -> str | list[int]:
    few = int(counts.max(initial=0)) < len(_DIGITS)
    return "".join(_DIGITS[n] for n in counts) if few else counts.tolist()


def _counts(found: Mapping[str, GoalAccuracy]) -> dict[str, dict[str, float]]:
    return {goal: asdict(each) | {"percent": each.percent} for goal, each in found.items()}
