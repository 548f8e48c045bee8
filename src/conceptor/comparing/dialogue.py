"""Post-processors side by side in a downstream task: dialogue state tracking (paper, Table 5)."""

from __future__ import annotations

import importlib.util
import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.algebra.methods import DEFAULT_METHODS, ORIGINAL, parse_method
from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.progress import Progress, silent
from conceptor.dialogue.embedding import Embedding
from conceptor.dialogue.options import TrackerOptions
from conceptor.dialogue.woz import SLOTS
from conceptor.fitting import fit_methods

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conceptor.dialogue.study import Study
    from conceptor.dialogue.trials import Job, TrackerWeights, Trial, Watch
    from conceptor.dialogue.woz import Corpus
    from conceptor.fitting import FitOptions

__all__ = [
    "RANDOM",
    "FewWordsWarning",
    "Prepared",
    "checked_methods",
    "checked_slots",
    "compare_dialogue",
    "prepare",
]

RANDOM = "random"
# Below this share of the words said, a tracker mostly sees random vectors.
ENOUGH = 0.9


class FewWordsWarning(UserWarning):
    """The vectors lack many of the words that are said in the dialogues."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """The words of a corpus as each method leaves them."""

    embeddings: Mapping[str, Embedding]
    dimension: int
    notes: Sequence[str]

    def jobs(self, methods: Sequence[str], seeds: Sequence[int], slots: Sequence[str]) -> list[Job]:
        """Return a job for each tracker, all methods of a seed together.

        The control has other random vectors for each seed.
        """
        from conceptor.dialogue.trials import Job

        return [
            Job(
                method,
                seed,
                slot,
                Embedding.random(self.dimension, seed)
                if method == RANDOM
                else self.embeddings[method],
            )
            for seed in seeds
            for method in methods
            for slot in slots
        ]


def checked_methods(methods: Sequence[str]) -> list[str]:
    """Return the methods, each once; `random` is one of them here."""
    if not methods:
        raise InvalidInputError("no method was named")
    for method in methods:
        if method != RANDOM:
            parse_method(method)
    return list(dict.fromkeys(methods))


def checked_slots(slots: Sequence[str]) -> list[str]:
    """Return the slots, each once, in their order; an error for a name that is none."""
    for slot in slots:
        if slot not in SLOTS:
            raise InvalidInputError(f"no slot is called {slot!r}; there are {', '.join(SLOTS)}")
    if not slots:
        raise InvalidInputError("no slot was named")
    return [slot for slot in SLOTS if slot in slots]


def prepare(
    vectors: object,
    corpus: Corpus,
    methods: Sequence[str],
    fitting: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> Prepared:
    """Fit methods to vectors, in one pass, and keep the corpus's words of each."""
    fitted = [method for method in checked_methods(methods) if method != RANDOM] or [ORIGINAL]
    found = fit_methods(vectors, fitted, fitting, wanted=corpus.words, progress=progress)
    embeddings = {
        method: Embedding.from_vectors(found.transformed(method), corpus.words)
        for method in found.methods
    }
    first = next(iter(embeddings.values()))
    coverage = first.coverage(corpus)
    if coverage.share < ENOUGH:
        warnings.warn(
            f"the vectors hold {coverage} in the dialogues; the rest get random vectors",
            FewWordsWarning,
            stacklevel=2,
        )
    return Prepared(embeddings, first.dimension, [f"the vectors hold {coverage}", *found.notes])


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
) -> Study:
    """Train trackers on each method's vectors, several times, and compare their goals.

    Parameters
    ----------
    vectors : path, open source, WordVectors, (words, array), ...
    corpus : Corpus
        From `conceptor.dialogue.load_corpus`.
    methods : names
        As in `conceptor.comparing.words.compare`, and `random` for random vectors.
    fitting : FitOptions, optional
        What the methods are fitted with.
    slots : names
        Out of food, price range, area; all three give the joint goal as well.
    seeds : int or sequence of int
        How many runs, or their seeds.
    options : TrackerOptions, optional
        The model and its training.
    workers : int, optional
        Processes; by default one for each processor. The result does not depend on it.
    name : str
        How the result calls the vectors.
    progress, watch
        Told how far the reading is, and of every epoch.
    keep
        Given the weights of each tracker, to save them.

    Notes
    -----
    Needs the `dialogue` extra (PyTorch).
    """
    need_torch()
    from conceptor.dialogue.study import Study
    from conceptor.dialogue.trials import ignore, run_trials

    chosen = range(seeds) if isinstance(seeds, int) else seeds
    if not len(chosen):
        raise InvalidInputError("at least one seed is needed")
    prepared = prepare(vectors, corpus, methods, fitting, progress=progress)
    jobs = prepared.jobs(checked_methods(methods), chosen, checked_slots(slots))
    done: dict[Job, Trial] = {}
    for job, trial, weights in run_trials(
        corpus,
        jobs,
        options or TrackerOptions(),
        workers=workers or os.cpu_count() or 1,
        watch=watch or ignore,
    ):
        done[job] = trial
        if keep is not None:
            keep(job, weights)
    trials = [done[job] for job in jobs]
    return Study.from_trials(name, corpus, trials, prepared.notes)


def need_torch() -> None:
    """Raise an error that says how to get PyTorch where it is missing."""
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("Dialogue state tracking", "dialogue")
