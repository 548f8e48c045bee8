"""Train and test trackers, one after another or in parallel processes."""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
import os
import queue
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import one_blas_thread
from conceptor.paper.dialogue.tracker import score_turns, track
from conceptor.paper.dialogue.training import Epoch, Examples, TrainingSet, train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from conceptor.paper.dialogue.embedding import Embedding
    from conceptor.paper.dialogue.options import TrackerOptions
    from conceptor.paper.dialogue.woz import Corpus

    TrackerWeights = dict[str, NDArray[np.float32]]
    Watch = Callable[["Job", int, Epoch], None]


@dataclass(frozen=True, eq=False)
class Job:
    """A tracker to train: method, seed, slot and vectors."""

    method: str
    seed: int
    slot: str
    embedding: Embedding

    def __str__(self) -> str:
        return f"{self.method}, seed {self.seed}, {self.slot}"


@dataclass(frozen=True)
class Trial:
    """The result of training one tracker: its predictions and its learning curve.

    `states` are the predicted values after every turn of the test dialogues, in order; `kept` is
    the epoch whose weights were kept, from 1; `seconds` is processor time.
    """

    method: str
    seed: int
    slot: str
    states: tuple[str | None, ...]
    curve: tuple[Epoch, ...]
    kept: int
    seconds: float

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Trial:
        """Return the trial from its JSON form."""
        curve = tuple(Epoch(**epoch) for epoch in found["curve"])
        return cls(**{**found, "states": tuple(found["states"]), "curve": curve})


@dataclass(frozen=True, eq=False)
class TrialLog:
    """A file of finished trials, one JSON object per line, so that a study can be resumed.

    Each line also holds the tracker's options and the signature of its vectors, so that trials of
    another study are not mistaken for this one's.
    """

    path: Path
    options: TrackerOptions

    def finished(self, jobs: Sequence[Job]) -> dict[Job, Trial]:
        """Return the trials of these jobs in the file; raise if it holds other studies' trials."""
        if not self.path.exists():
            return {}
        found: dict[Job, Trial] = {}
        by_name = {(job.method, job.seed, job.slot): job for job in jobs}
        lines = self.path.read_text(encoding="utf-8").split("\n")
        # Text after the last line end was cut off when the process was killed.
        for number, line in enumerate(lines[:-1], 1):
            try:
                entry = json.loads(line)
                options, signature = entry.pop("options"), entry.pop("signature")
                trial = Trial.from_dict(entry)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InvalidInputError(
                    f"{self.path}, line {number}: not a finished trial; name another file"
                ) from None
            job = by_name.get((trial.method, trial.seed, trial.slot))
            if job is None:
                continue
            if options != asdict(self.options) or not _close(signature, job.embedding.signature()):
                raise InvalidInputError(
                    f"{self.path}, line {number}: {job} was trained on other vectors or with other "
                    "options; name another file"
                )
            found[job] = trial
        return found

    def append(self, job: Job, trial: Trial) -> None:
        """Add a trial in one write, after removing an unfinished line of a killed process."""
        entry = {"options": asdict(self.options), "signature": job.embedding.signature()}
        line = json.dumps(asdict(trial) | entry) + "\n"
        written = self.path.read_bytes() if self.path.exists() else b""
        if cut := len(written) - (written.rfind(b"\n") + 1):
            os.truncate(self.path, len(written) - cut)
        with self.path.open("ab") as file:
            file.write(line.encode())


def _close(some: Sequence[float], others: Sequence[float]) -> bool:
    # Methods are fitted by BLAS; its last digits depend on the machine and its threads.
    return len(some) == len(others) and all(
        math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-3) for a, b in zip(some, others, strict=True)
    )


def ignore(job: Job, number: int, epoch: Epoch) -> None:
    """Do nothing: the default for `watch`."""


def run_trial(
    corpus: Corpus, job: Job, options: TrackerOptions, watch: Watch = ignore
) -> tuple[Trial, TrackerWeights]:
    """Train a tracker on a corpus and run it on the test dialogues, on one thread."""
    began = time.process_time()
    with _one_thread():
        task = TrainingSet.from_corpus(corpus, job.slot, job.embedding)
        tracker, curve, kept = train(
            task, options, job.seed, lambda number, epoch: watch(job, number, epoch)
        )
        values = corpus.values[job.slot]
        turns = list(itertools.chain.from_iterable(corpus.test))
        tested = Examples.from_turns(turns, job.slot, values, task.table)
        scores = score_turns(tracker, tested.turns, task.table.tensor())
        start = torch.full((len(corpus.test),), tracker.none)
        states = track(tracker, scores, [len(dialogue) for dialogue in corpus.test], start)
    named = (*values, None)
    said = tuple(named[state] for state in states.tolist())
    seconds = time.process_time() - began
    trial = Trial(job.method, job.seed, job.slot, said, tuple(curve), kept, seconds)
    return trial, {name: part.numpy() for name, part in tracker.state_dict().items()}


def run_trials(
    corpus: Corpus,
    jobs: Sequence[Job],
    options: TrackerOptions,
    *,
    workers: int = 1,
    watch: Watch = ignore,
) -> Iterator[tuple[Job, Trial, TrackerWeights]]:
    """Run trials in this many processes; yield them as they finish.

    Every trial runs on one thread, so its result does not depend on the number of workers.
    """
    if workers == 1 or len(jobs) == 1:
        for job in jobs:
            yield job, *run_trial(corpus, job, options, watch)
        return
    # Slots with many values take longest; starting them first leaves no processor idle at the end.
    # Seeds come before that: a stopped study has fewer seeds, not fewer methods.
    ordered = sorted(jobs, key=lambda job: (job.seed, -len(corpus.values[job.slot])))
    context = multiprocessing.get_context("spawn")
    events: multiprocessing.Queue[tuple[int, int, Epoch]] = context.Queue()
    with ProcessPoolExecutor(workers, context, _init_worker, (corpus, options, events)) as pool:
        going = {pool.submit(_run_job, i, job): job for i, job in enumerate(ordered)}
        try:
            while going:
                done, _ = wait(going, timeout=0.2, return_when=FIRST_COMPLETED)
                with suppress(queue.Empty):
                    while True:
                        place, number, epoch = events.get_nowait()
                        watch(ordered[place], number, epoch)
                for future in done:
                    yield going.pop(future), *future.result()
        finally:
            pool.shutdown(cancel_futures=True)


_SHARED: dict[str, Any] = {}


def _init_worker(
    corpus: Corpus, options: TrackerOptions, events: multiprocessing.Queue[tuple[int, int, Epoch]]
) -> None:
    _SHARED.update(corpus=corpus, options=options, events=events)


def _run_job(place: int, job: Job) -> tuple[Trial, TrackerWeights]:
    def watch(_: Job, number: int, epoch: Epoch) -> None:
        _SHARED["events"].put((place, number, epoch))

    return run_trial(_SHARED["corpus"], job, _SHARED["options"], watch)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_blas_thread():
            yield
    finally:
        torch.set_num_threads(before)
