"""Compare methods on a downstream task: dialogue state tracking (paper, Table 5).

Trackers are trained on each method's vectors, several times, and run on the test dialogues. Needs
the `dialogue` extra (PyTorch).
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
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.base.arrays import jsonable
from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_object, replace_atomically
from conceptor.base.numbers import format_signed
from conceptor.base.progress import Progress, silent
from conceptor.evaluation.statistics import CONFIDENCE, Interval
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import DEFAULT_METHODS, ORIGINAL
from conceptor.paper.tracker import Embedding, Key, TrackerOptions, Trial, run_trial
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


def _trial_file(directory: Path, key: Key, embedding: Embedding, options: TrackerOptions) -> Path:
    """Return where a finished trial is kept; the name depends on settings and vectors."""
    digest = hashlib.blake2b(repr((key, options)).encode(), digest_size=8)
    digest.update(f"{embedding.salt}\0{embedding.dimension}".encode())
    for word, unit in embedding.units.items():
        digest.update(word.encode() + unit.tobytes())
    name = re.sub(r"\W+", "-", "-".join(map(str, key)))
    return directory / f"{name}-{digest.hexdigest()}.json"


def embed_corpus(
    vectors: object,
    corpus: Corpus,
    methods: Sequence[str],
    fitting: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> tuple[dict[str, Embedding], list[str]]:
    """Fit methods to vectors in one pass; return the vectors of the corpus's words, and notes."""
    names = [method for method in methods if method != RANDOM] or [ORIGINAL]
    words, spoken = corpus.words, corpus.spoken
    fits = fit_methods(vectors, names, fitting, wanted=words, progress=progress)
    embeddings = {name: Embedding.from_vectors(fits.rows[name], words) for name in fits.methods}
    units = next(iter(embeddings.values())).units
    share = sum(word in units for word in spoken) / max(len(spoken), 1)
    coverage = (
        f"the vectors cover {len(units):,} of {len(words):,} words, {share:.1%} of the "
        f"{len(spoken):,} spoken"
    )
    if share < ENOUGH:
        message = f"{coverage} in the dialogues; all other words get random vectors"
        warnings.warn(message, FewWordsWarning, stacklevel=2)
    return embeddings, [coverage, *fits.notes]


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
    """Train trackers on each method's vectors, several times, and compare their accuracy.

    Parameters
    ----------
    vectors, methods, fitting
        As in `conceptor.compare`; the method `random` has random vectors.
    slots, seeds
        All three slots also give the joint goal; the number of runs of each method.
    workers : int, optional
        Number of processes; by default one per processor. The result does not depend on it.
    name : str
        Name of the vectors in the result.
    resume : path, optional
        A directory for the results of finished trackers, which are not trained again.
    """
    unknown = [slot for slot in slots if slot not in SLOTS]
    if unknown or not slots:
        problem = f"unknown slot {unknown[0]!r}" if unknown else "no slots were named"
        raise InvalidInputError(f"{problem}; choose from {', '.join(SLOTS)}")
    if seeds < 1 or not methods:
        raise InvalidInputError("name at least one method, and at least one seed")
    options = options or TrackerOptions()
    embeddings, notes = embed_corpus(vectors, corpus, methods, fitting, progress=progress)
    dimension = next(iter(embeddings.values())).dimension
    jobs: dict[Key, Embedding] = {
        # The random control draws new vectors for each seed.
        (method, seed, slot): embeddings.get(method) or Embedding.random(dimension, seed)
        for seed, method, slot in itertools.product(range(seeds), dict.fromkeys(methods), slots)
    }
    trials: dict[Key, Trial] = {}
    paths: dict[Key, Path] = {}
    if resume is not None:
        paths = {key: _trial_file(Path(resume), key, jobs[key], options) for key in jobs}
        Path(resume).mkdir(parents=True, exist_ok=True)
        for key, path in paths.items():
            if path.exists():
                trials[key] = Trial(**read_object(path))
    missing = {key: embedding for key, embedding in jobs.items() if key not in trials}
    for trial in _run_trials(corpus, missing, options, workers or os.cpu_count() or 1):
        key = (trial.method, trial.seed, trial.slot)
        trials[key] = trial
        if resume is not None:
            with replace_atomically(paths[key]) as beside:
                beside.write_text(json.dumps(vars(trial)) + "\n", encoding="utf-8")
        progress("training", len(trials) / len(jobs), len(trials))
    return Study.from_trials(name, corpus, [trials[key] for key in jobs], notes)


def _run_trials(
    corpus: Corpus, jobs: Mapping[Key, Embedding], options: TrackerOptions, workers: int
) -> Iterator[Trial]:
    """Run trials in this many processes; yield them as they finish.

    Every trial runs on one thread, so its result does not depend on the number of workers.
    """
    if workers == 1 or len(jobs) < 2:
        for key, embedding in jobs.items():
            yield run_trial(corpus, key, embedding, options)
        return
    # Slots with many values take longest; starting them first leaves no processor idle at the end.
    # Seeds come before that: a stopped study has fewer seeds, not fewer methods.
    ordered = sorted(jobs, key=lambda key: (key[1], -len(corpus.values[key[2]])))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(jobs)), context) as pool:
        futures = [pool.submit(run_trial, corpus, key, jobs[key], options) for key in ordered]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


class Run(NamedTuple):
    """A method and a seed: its trials by slot, and its counts of correct turns by goal."""

    trials: Mapping[str, Trial]
    counts: Mapping[str, Counts]


def paired_difference(gains: NDArray[np.int64], turns: NDArray[np.int64]) -> Interval | None:
    """Return the mean difference in accuracy, with 95% interval over seeds and dialogues.

    `gains` (seeds × dialogues) are the additional correct turns of one method over another, and
    `turns` the turns of each dialogue. None for fewer than two seeds, or no turns.

    The variance of the mean has two parts: the variance over seeds, divided by their number (the
    randomness of training), and the variance over resampled test dialogues (bootstrap; the choice
    of dialogues). Both include the interaction of seeds and dialogues, so their sum is slightly too
    large. The interval is Student's with Satterthwaite's degrees of freedom.
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
    """Runs on one corpus, by method and seed, and the counts of string matching by goal.

    `notes` describe the vectors' coverage of the corpus, and how the methods were fitted.
    """

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
            counts = goal_counts(corpus.test, states)
            runs.setdefault(method, {})[seed] = Run({s: by_slot[s] for s in slots}, counts)
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

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        first = next(iter(self.runs))
        methods = []
        for method, runs in self.runs.items():
            differences = {goal: self.difference(method, goal) for goal in self.goals}
            entry: dict[str, Any] = {
                "name": method,
                "mean": {goal: self.mean(method, goal) for goal in self.goals},
                "deviation": {goal: self.deviation(method, goal) for goal in self.goals},
                f"over {first}": {goal: asdict(d) for goal, d in differences.items() if d},
                "runs": [],
            }
            for seed, run in runs.items():
                trials = run.trials.items()
                entry["runs"].append(
                    {
                        "seed": seed,
                        "accuracies": _accuracies(run.counts),
                        "kept": {slot: trial.kept for slot, trial in trials},
                        "seconds": round(sum(trial.seconds for _, trial in trials), 1),
                        "curves": {slot: trial.curve for slot, trial in trials},
                    }
                )
            methods.append(entry)
        matched = _accuracies(self.string_match)
        head = {"vectors": self.vectors, "notes": self.notes, "string match": matched}
        return dict(jsonable(head | {"methods": methods}))


def _accuracies(counts: Mapping[str, Counts]) -> dict[str, dict[str, float]]:
    return {
        goal: {"right": int(c[0].sum()), "total": int(c[1].sum()), "percent": percent(c)}
        for goal, c in counts.items()
    }


def dialogue_result(study: Study) -> Result:
    """Return a study in every output format."""
    notes = [study.vectors, *study.notes]
    return Result(
        study.to_dict(), dialogue_tables(study), notes, own_csv=lambda: dialogue_csv(study)
    )


def dialogue_csv(study: Study) -> str:
    """Return CSV with one line per run and goal, and string matching as a run without a seed.

    `kept` is the best epoch of a slot's tracker; the joint goal has none.
    """
    rows: list[list[object]] = []
    for goal, accuracy in _accuracies(study.string_match).items():
        rows.append([study.vectors, "string match", "", goal, *accuracy.values(), ""])
    for method, runs in study.runs.items():
        for seed, run in runs.items():
            for goal, accuracy in _accuracies(run.counts).items():
                epoch = run.trials[goal].kept if goal in run.trials else ""
                rows.append([study.vectors, method, seed, goal, *accuracy.values(), epoch])
    head = ["vectors", "method", "seed", "goal", "right", "total", "percent", "kept"]
    return csv_text(head, rows)


def dialogue_tables(study: Study) -> list[Table]:
    """Return mean and spread, differences from the first method, and every run."""
    goals, matched = study.goals, study.string_match
    best = [max(study.mean(method, goal) for method in study.runs) for goal in goals]
    means, differences, every = [], [], []
    for number, (method, runs) in enumerate(study.runs.items()):
        cells = []
        for goal, top in zip(goals, best, strict=True):
            mean, spread = f"{study.mean(method, goal):.1f}", study.deviation(method, goal)
            text = mean if math.isnan(spread) else f"{mean} ± {spread:.1f}"
            cells.append(Cell(text, best=len(study.runs) > 1 and mean == f"{top:.1f}"))
        means.append(Line(f"{method} ({len(runs)})", cells))
        if number and len(runs) > 1:
            cells = []
            for goal in goals:
                interval, text = study.difference(method, goal), "—"
                if interval is not None:
                    numbers = (interval.difference, interval.low, interval.high)
                    text = "{} ({} … {})".format(*(format_signed(each, 1) for each in numbers))
                cells.append(Cell(text))
            differences.append(Line(method, cells))
        for seed, run in runs.items():
            cells = [Cell(f"{percent(run.counts[goal]):.1f}") for goal in goals]
            epochs = "/".join(str(trial.kept) for trial in run.trials.values())
            every.append(Line(f"{method}, seed {seed}", [*cells, Cell(epochs, faint=True)]))
    accuracies = [Cell(f"{percent(matched[goal]):.1f}") for goal in goals]
    turns = [Cell(str(matched[goal][1].sum()), faint=True) for goal in goals]
    means += [Line("string match", accuracies, summary=True), Line("turns", turns, summary=True)]
    first = next(iter(study.runs))
    title = f"Difference from {first}, with 95% interval over seeds and test dialogues"
    tables = [
        Table("Goal accuracy %, mean ± standard deviation (runs)", goals, means),
        Table(title, goals, differences),
        Table("Every run", [*goals, "epochs"], every),
    ]
    return [table for table in tables if table.lines]
