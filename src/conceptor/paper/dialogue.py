"""Compare methods on a downstream task: dialogue state tracking (paper, Table 5).

Needs the `dialogue` extra (PyTorch).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.display import format_signed
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_object, replace_atomically
from conceptor.base.progress import Progress, silent
from conceptor.evaluation.statistics import CONFIDENCE, Interval
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import DEFAULT_METHODS, ORIGINAL
from conceptor.paper.tracker import (
    Embedding,
    Key,
    TrackerOptions,
    Trial,
    known_units,
    random_units,
    run_trial,
)
from conceptor.paper.woz import SLOTS, Corpus, FewWordsWarning, goal_counts, percent, string_match
from conceptor.report.result import Result
from conceptor.report.tables import Cell, Line, Table, csv_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.paper.woz import Counts

RANDOM = "random"
# If vectors cover a smaller share of the spoken words, a tracker gets too many random vectors.
ENOUGH = 0.9
RESAMPLES = 5000


def embed_corpus(
    vectors: object,
    corpus: Corpus,
    methods: Sequence[str],
    fitting: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> tuple[dict[str, Embedding], list[str]]:
    """Return, by method, vectors of the corpus's words, random where there is none; and notes."""
    names = [method for method in methods if method != RANDOM] or [ORIGINAL]
    words, spoken = corpus.words, corpus.spoken
    fits = fit_methods(vectors, names, fitting, wanted=words, progress=progress)
    units = {name: known_units(fits.rows[name], words) for name in fits.methods}
    first = next(iter(units.values()))
    if not first:
        raise InvalidInputError("the vectors contain none of the dialogues' words, in English")
    unknown = random_units(words, len(next(iter(first.values()))))
    share = sum(word in first for word in spoken) / max(len(spoken), 1)
    part = f"{share:.1%} of the {len(spoken):,} spoken"
    coverage = f"the vectors cover {len(first):,} of {len(words):,} words, {part}"
    if share < ENOUGH:
        message = f"{coverage} in the dialogues; all other words get random vectors"
        warnings.warn(message, FewWordsWarning, stacklevel=2)
    return {name: {**unknown, **known} for name, known in units.items()}, [coverage, *fits.notes]


def compare_dialogue(
    vectors: object,
    corpus: Corpus,
    methods: Sequence[str] = DEFAULT_METHODS,
    fitting: FitOptions | None = None,
    *,
    slots: Sequence[str] = SLOTS,
    seeds: int = 5,
    options: TrackerOptions | None = None,
    workers: int | None = None,
    name: str = "vectors",
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Study:
    """Train trackers on each method's vectors, once per seed, and compare their accuracy.

    The method `random` has random vectors. All three slots also give the joint goal. The result
    does not depend on the number of processes (by default one per processor). `resume` is a
    directory for the results of finished trackers, which are not trained again.
    """
    unknown = [slot for slot in slots if slot not in SLOTS]
    if unknown or not slots:
        problem = f"unknown slot {unknown[0]!r}" if unknown else "no slots were named"
        raise InvalidInputError(f"{problem}; choose from {', '.join(SLOTS)}")
    if seeds < 1 or not methods:
        raise InvalidInputError("name at least one method, and at least one seed")
    embeddings, notes = embed_corpus(vectors, corpus, methods, fitting, progress=progress)
    dimension = len(next(iter(next(iter(embeddings.values())).values())))
    if resume is not None:
        Path(resume).mkdir(parents=True, exist_ok=True)
    tasks = []
    # Slots with many values take longest; starting them first leaves no processor idle at the end.
    # Seeds come before that: a stopped study has fewer seeds, not fewer methods.
    longest = sorted(slots, key=lambda slot: -len(corpus.values[slot]))
    for seed, slot, method in itertools.product(range(seeds), longest, dict.fromkeys(methods)):
        # The random control draws new vectors for each seed.
        rows = embeddings.get(method) or random_units(corpus.words, dimension, f"random {seed}")
        tasks.append((corpus, (method, seed, slot), rows, options or TrackerOptions(), resume))
    trials = {}
    for trial in _run_all(tasks, min(workers or os.cpu_count() or 1, len(tasks))):
        trials[trial.method, trial.seed, trial.slot] = trial
        progress("training", len(trials) / len(tasks), len(trials))
    order = itertools.product(dict.fromkeys(methods), range(seeds), slots)
    return Study.from_trials(name, corpus, [trials[key] for key in order], notes)


Task = tuple[Corpus, Key, Embedding, TrackerOptions, "str | os.PathLike[str] | None"]


def _run_all(tasks: Sequence[Task], workers: int) -> Iterator[Trial]:
    """Yield every trial. Each runs on one thread, so the number of processes changes nothing."""
    if workers == 1:
        yield from map(_train_or_read, tasks)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(_train_or_read, tasks)
        finally:
            pool.shutdown(cancel_futures=True)


def _train_or_read(task: Task) -> Trial:
    """Run a trial, or read its result if an earlier study of these settings and vectors left it."""
    corpus, key, embedding, options, directory = task
    if directory is None:
        return run_trial(corpus, key, embedding, options)
    digest = hashlib.blake2b(repr((key, options)).encode(), digest_size=8)
    for word in sorted(embedding):
        digest.update(word.encode() + embedding[word].tobytes())
    name = re.sub(r"\W+", "-", "-".join(map(str, key)))
    path = Path(directory) / f"{name}-{digest.hexdigest()}.json"
    if path.exists():
        return Trial(**read_object(path))
    trial = run_trial(corpus, key, embedding, options)
    with replace_atomically(path) as beside:
        beside.write_text(json.dumps(vars(trial)) + "\n", encoding="utf-8")
    return trial


class Run(NamedTuple):
    """A method and a seed: its counts of correct turns by goal, and the best epoch of each slot."""

    counts: Mapping[str, Counts]
    kept: Mapping[str, int]


def paired_difference(gains: NDArray[np.int64], turns: NDArray[np.int64]) -> Interval | None:
    """Return the mean difference in accuracy, with 95% interval over seeds and dialogues.

    `gains` (seeds × dialogues) are the additional correct turns of one method over another, and
    `turns` the turns of each dialogue. The variance of the mean is that over seeds, divided by
    their number, plus that over resampled test dialogues (bootstrap). Both include the interaction
    of seeds and dialogues, so the sum is slightly too large. The interval is Student's with
    Satterthwaite's degrees of freedom.
    """
    from scipy.stats import t as student

    seeds, count = gains.shape
    if seeds < 2 or not turns.any():
        return None
    paired = 100 * gains.sum(1) / turns.sum()
    trained = paired.var(ddof=1) / seeds
    # The same draws for every comparison.
    shares = np.full(count, 1 / count)
    drawn = np.random.default_rng(0).multinomial(count, shares, size=RESAMPLES)
    chosen = np.var(100 * (drawn @ gains.mean(0)) / (drawn @ turns))
    parts = trained**2 / (seeds - 1) + chosen**2 / max(count - 1, 1)
    freedom = max((trained + chosen) ** 2 / max(parts, 1e-300), 1.0)
    reach = float(student.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(trained + chosen)
    middle = float(paired.mean())
    return Interval(middle, middle - reach, middle + reach)


@dataclass(frozen=True, eq=False)
class Study:
    """Runs on one corpus, by method and seed, and the counts of string matching by goal."""

    vectors: str
    string_match: Mapping[str, Counts]
    runs: Mapping[str, Mapping[int, Run]]
    notes: Sequence[str] = ()

    @classmethod
    def from_trials(
        cls, vectors: str, corpus: Corpus, trials: Iterable[Trial], notes: Sequence[str] = ()
    ) -> Study:
        """Score trials; every run has the same slots."""
        by_run: dict[tuple[str, int], dict[str, Trial]] = {}
        for trial in trials:
            by_run.setdefault((trial.method, trial.seed), {})[trial.slot] = trial
        slots = [slot for slot in SLOTS if slot in next(iter(by_run.values()))]
        matched = {slot: string_match(corpus.test, corpus.values[slot]) for slot in slots}
        runs: dict[str, dict[int, Run]] = {}
        for (method, seed), by_slot in by_run.items():
            states = {slot: by_slot[slot].states for slot in slots}
            kept = {slot: by_slot[slot].kept for slot in slots}
            runs.setdefault(method, {})[seed] = Run(goal_counts(corpus.test, states), kept)
        return cls(vectors, goal_counts(corpus.test, matched), runs, notes)

    @property
    def goals(self) -> list[str]:
        """The slots, and the joint goal if all slots were tracked."""
        return list(self.string_match)

    def percents(self, method: str, goal: str) -> list[float]:
        """Return the accuracy of each run."""
        return [percent(run.counts[goal]) for run in self.runs[method].values()]

    def mean(self, method: str, goal: str) -> float:
        """Return the mean over runs."""
        return float(np.mean(self.percents(method, goal)))

    def deviation(self, method: str, goal: str) -> float:
        """Return the standard deviation over runs; nan for a single run."""
        percents = self.percents(method, goal)
        return float(np.std(percents, ddof=1)) if len(percents) > 1 else math.nan

    def difference(self, method: str, goal: str) -> Interval | None:
        """Return the mean difference from the first method over the same seeds, if there is one."""
        mine, theirs = self.runs[method], next(iter(self.runs.values()))
        if mine is theirs:
            return None
        gains = [mine[seed].counts[goal][0] - theirs[seed].counts[goal][0] for seed in mine]
        return paired_difference(np.stack(gains), self.string_match[goal][1])

    def records(self) -> list[dict[str, Any]]:
        """Return every run and goal, and string matching as a run without a seed."""
        matching = {"string match": {None: Run(self.string_match, {})}}
        return [
            {
                "vectors": self.vectors,
                "method": method,
                "seed": seed,
                "goal": goal,
                "right": int(counts[0].sum()),
                "total": int(counts[1].sum()),
                "percent": percent(counts),
                "kept": run.kept.get(goal),
            }
            for method, runs in (matching | dict(self.runs)).items()
            for seed, run in runs.items()
            for goal, counts in run.counts.items()
        ]


def dialogue_result(study: Study) -> Result:
    """Return a study in every output format."""
    first, records = next(iter(study.runs)), study.records()
    methods = []
    for method in study.runs:
        differences = {goal: study.difference(method, goal) for goal in study.goals}
        over = {goal: asdict(gain) for goal, gain in differences.items() if gain}
        mean = {goal: study.mean(method, goal) for goal in study.goals}
        spread = {goal: study.deviation(method, goal) for goal in study.goals}
        methods.append({"name": method, "mean": mean, "deviation": spread, f"over {first}": over})
    head = {"vectors": study.vectors, "notes": study.notes}
    return Result(
        jsonable(head | {"methods": methods, "runs": records}),
        dialogue_tables(study),
        [study.vectors, *study.notes],
        csv=lambda: csv_text(list(records[0]), [list(each.values()) for each in records]),
    )


def dialogue_tables(study: Study) -> list[Table]:
    """Return mean and spread, differences from the first method, and every run."""
    goals, matched = study.goals, study.string_match
    best = {goal: max(study.mean(method, goal) for method in study.runs) for goal in goals}
    means, differences, every = [], [], []
    for method, runs in study.runs.items():
        cells, gains = [], []
        for goal in goals:
            mean, spread = f"{study.mean(method, goal):.1f}", study.deviation(method, goal)
            text = mean if math.isnan(spread) else f"{mean} ± {spread:.1f}"
            cells.append(Cell(text, best=len(study.runs) > 1 and mean == f"{best[goal]:.1f}"))
            gain, text = study.difference(method, goal), "—"
            if gain is not None:
                numbers = (gain.difference, gain.low, gain.high)
                text = "{} ({} … {})".format(*(format_signed(each, 1) for each in numbers))
            gains.append(Cell(text))
        means.append(Line(f"{method} ({len(runs)})", cells))
        if means[1:] and len(runs) > 1:
            differences.append(Line(method, gains))
        for seed, run in runs.items():
            cells = [Cell(f"{percent(run.counts[goal]):.1f}") for goal in goals]
            epochs = "/".join(map(str, run.kept.values()))
            every.append(Line(f"{method}, seed {seed}", [*cells, Cell(epochs, faint=True)]))
    accuracies = [Cell(f"{percent(matched[goal]):.1f}") for goal in goals]
    turns = [Cell(str(matched[goal][1].sum()), faint=True) for goal in goals]
    means += [Line("string match", accuracies, summary=True), Line("turns", turns, summary=True)]
    first, over = next(iter(study.runs)), "with 95% interval over seeds and test dialogues"
    tables = [
        Table("Goal accuracy %, mean ± standard deviation (runs)", goals, means),
        Table(f"Difference from {first}, {over}", goals, differences),
        Table("Every run", [*goals, "epochs"], every),
    ]
    return [table for table in tables if table.lines]
