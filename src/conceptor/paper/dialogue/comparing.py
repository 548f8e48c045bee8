"""Compare methods on a downstream task: dialogue state tracking (paper, Table 5)."""

from __future__ import annotations

import importlib.util
import itertools
import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.progress import Progress, silent
from conceptor.fitting import FitOptions, fit_methods
from conceptor.methods import DEFAULT_METHODS, ORIGINAL, Method
from conceptor.paper.dialogue.embedding import Embedding
from conceptor.paper.dialogue.options import TrackerOptions
from conceptor.paper.dialogue.woz import SLOTS, Corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from conceptor.paper.dialogue.study import Study
    from conceptor.paper.dialogue.trials import Job, TrackerWeights, Trial, Watch

RANDOM = "random"
# If vectors cover a smaller share of the spoken words, a tracker gets too many random vectors.
ENOUGH = 0.9


class FewWordsWarning(UserWarning):
    """Many of the words spoken in the dialogues have no vector."""


@dataclass(frozen=True, eq=False)
class MethodEmbeddings:
    """The vectors of a corpus's words, by method."""

    embeddings: Mapping[str, Embedding]
    dimension: int
    notes: Sequence[str]

    def jobs(self, methods: Sequence[str], seeds: Sequence[int], slots: Sequence[str]) -> list[Job]:
        """Return a job for each tracker, grouped by seed.

        The random control draws new vectors for each seed.
        """
        from conceptor.paper.dialogue.trials import Job

        jobs = []
        for seed, method in itertools.product(seeds, methods):
            drawn = Embedding.random(self.dimension, seed) if method == RANDOM else None
            jobs += [Job(method, seed, slot, drawn or self.embeddings[method]) for slot in slots]
        return jobs


def validate_methods(methods: Sequence[str]) -> list[str]:
    """Return the methods without duplicates; raise for an unknown name. `random` is allowed."""
    if not methods:
        raise InvalidInputError("no methods were given; name at least one")
    for method in methods:
        if method != RANDOM:
            Method.parse(method)
    return list(dict.fromkeys(methods))


def validate_slots(slots: Sequence[str]) -> list[str]:
    """Return the slots without duplicates, in order; raise for an unknown name."""
    for slot in slots:
        if slot not in SLOTS:
            raise InvalidInputError(f"unknown slot {slot!r}; choose from {', '.join(SLOTS)}")
    if not slots:
        raise InvalidInputError(f"no slots were given; choose from {', '.join(SLOTS)}")
    return [slot for slot in SLOTS if slot in slots]


def embed_corpus(
    vectors: object,
    corpus: Corpus,
    methods: Sequence[str],
    fitting: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> MethodEmbeddings:
    """Fit methods to vectors in one pass; return each method's vectors of the corpus's words."""
    fitted = [method for method in validate_methods(methods) if method != RANDOM] or [ORIGINAL]
    found = fit_methods(vectors, fitted, fitting, wanted=corpus.words, progress=progress)
    embeddings = {
        method: Embedding.from_vectors(found.rows[method], corpus.words) for method in found.methods
    }
    first = next(iter(embeddings.values()))
    coverage = first.coverage(corpus)
    held = f"the vectors cover {coverage}"
    if coverage.share < ENOUGH:
        message = f"{held} in the dialogues; all other words get random vectors"
        warnings.warn(message, FewWordsWarning, stacklevel=2)
    return MethodEmbeddings(embeddings, first.dimension, [held, *found.notes])


def compare_dialogue(
    vectors: object,
    corpus: Corpus,
    methods: Sequence[str] = DEFAULT_METHODS,
    fitting: FitOptions | None = None,
    *,
    slots: Sequence[str] = SLOTS,
    seeds: int | Sequence[int] = 5,
    options: TrackerOptions | None = None,
    workers: int | None = None,
    name: str = "vectors",
    progress: Progress = silent,
    watch: Watch | None = None,
    keep: Callable[[Job, TrackerWeights], None] | None = None,
    log: Path | None = None,
) -> Study:
    """Train trackers on each method's vectors, several times, and compare their accuracy.

    Needs the `dialogue` extra (PyTorch).

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    corpus : Corpus
        From `conceptor.paper.dialogue.load_corpus`.
    methods : names
        As in `conceptor.compare`, and `random` for random vectors.
    fitting, options : FitOptions and TrackerOptions, optional
        How the methods are fitted, and how trackers are built and trained.
    slots : names
        From food, price range and area; all three also give the joint goal.
    seeds : int or sequence of int
        Number of runs, or their seeds.
    workers : int, optional
        Number of processes; by default one per processor. The result does not depend on it.
    name : str
        Name of the vectors in the result.
    progress, watch, keep
        Called while reading the vectors, after every epoch, and with the weights of each tracker.
    log : path, optional
        A file for finished trials. Trials in it are not run again, so a study can be stopped and
        continued.
    """
    require_torch()
    from conceptor.paper.dialogue.study import Study
    from conceptor.paper.dialogue.trials import TrialLog, ignore, run_trials

    chosen = range(seeds) if isinstance(seeds, int) else seeds
    if not len(chosen):
        raise InvalidInputError("no seeds were given; pass at least one")
    prepared = embed_corpus(vectors, corpus, methods, fitting, progress=progress)
    jobs = prepared.jobs(validate_methods(methods), chosen, validate_slots(slots))
    options = options or TrackerOptions()
    kept = TrialLog(log, options) if log is not None else None
    done: dict[Job, Trial] = kept.finished(jobs) if kept else {}
    left = [job for job in jobs if job not in done]
    for job, trial, weights in run_trials(
        corpus, left, options, workers=workers or os.cpu_count() or 1, watch=watch or ignore
    ):
        done[job] = trial
        if kept is not None:
            kept.append(job, trial)
        if keep is not None:
            keep(job, weights)
    return Study.from_trials(name, corpus, [done[job] for job in jobs], prepared.notes)


def require_torch() -> None:
    """Raise an error that shows how to install PyTorch if it is missing."""
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("dialogue state tracking", "dialogue")
