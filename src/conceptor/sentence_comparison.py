"""Sentence encoders side by side, each fitted on the test set's own sentences and on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from threadpoolctl import threadpool_limits

from conceptor.comparison import Comparison
from conceptor.errors import InvalidInputError
from conceptor.estimation import gather
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.rows import chunks_of
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.evaluation.sts import SentenceSimilarity
from conceptor.methods import ORIGINAL, Settings
from conceptor.progress import Progress, silent
from conceptor.sentences import SentenceEncoder
from conceptor.spectral import ConceptorNegation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.evaluation import Battery, WordVectors
    from conceptor.evaluation.rows import Chunks
    from conceptor.evaluation.task import Outcome

__all__ = ["ENCODERS", "REGIMES", "Recipe", "checked_encoders", "compare_sentences"]

OWN, OTHER = "own", "other"
REGIMES = {OWN: "the test set's own sentences", OTHER: "the sentences of the other sets"}


@dataclass(frozen=True)
class Recipe:
    """Which word vectors, how they weigh, and what is taken off the sentences."""

    words: Literal["original", "cn-zipf"]
    weights: Literal["average", "sif", "usif"]
    removal: Literal["none", "first", "conceptor"]

    @property
    def needs_sentences(self) -> bool:
        """Whether anything is learnt from sentences."""
        return self.removal != "none" or self.weights == "usif"


ENCODERS = {
    "average": Recipe("original", "average", "none"),
    "sif": Recipe("original", "sif", "first"),
    "usif": Recipe("original", "usif", "first"),
    "cn-sif": Recipe("cn-zipf", "sif", "first"),
    "sif-conceptor": Recipe("original", "sif", "conceptor"),
    "conceptor": Recipe("cn-zipf", "sif", "conceptor"),
}


def checked_encoders(names: Sequence[str]) -> list[str]:
    """Return the encoders' names, each once; an error for a name that is none."""
    for name in names:
        if name not in ENCODERS:
            raise InvalidInputError(
                f"no sentence encoder is called {name!r}; there are {', '.join(ENCODERS)}"
            )
    if not names:
        raise InvalidInputError("no sentence encoder was named")
    return list(dict.fromkeys(names))


def compare_sentences(
    vectors: object,
    battery: Battery,
    encoders: Sequence[str] = ("average", "sif", "usif", "conceptor"),
    settings: Settings | None = None,
    *,
    name: str = "vectors",
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Score sentence encoders on the sentence tasks of a battery.

    A column reads `sif (own)` where the map was fitted on the very sentences it is tested on, as
    SIF's authors do, and `sif (other)` where it was fitted on the sentences of all other tasks;
    sentences that also stand in the test set are taken out of the latter. What learns nothing
    from sentences has one column and no bracket. Gains are over the first column.
    """
    settings = settings or Settings()
    recipes = {encoder: ENCODERS[encoder] for encoder in checked_encoders(encoders)}
    tasks = [task for task in battery.tasks if isinstance(task, SentenceSimilarity)]
    if not tasks:
        raise InvalidInputError("sentence vectors need sentence tasks: --tasks sts")
    words, frequencies, usage_cn = _gathered(vectors, tasks, settings, progress)
    forms = {ORIGINAL: words}
    if any(recipe.words == "cn-zipf" for recipe in recipes.values()):
        forms["cn-zipf"] = words.with_vectors(usage_cn.map_(words.vectors))
    evaluations = {}
    with threadpool_limits(1, "blas"):
        for encoder, recipe in recipes.items():
            start = SentenceEncoder(
                forms[recipe.words],
                weights=recipe.weights,
                removal=recipe.removal,
                frequencies=frequencies,
            )
            for regime in REGIMES if recipe.needs_sentences else (None,):
                label = encoder if regime is None else f"{encoder} ({regime})"
                outcomes = _scored(start, tasks, regime)
                evaluations[label] = Evaluation(f"{name} ({label})", outcomes, battery.missing)
    notes = [f"({regime}): fitted on {meaning}" for regime, meaning in REGIMES.items()]
    if "cn-zipf" in forms:
        notes.append(f"words of conceptor: cn-zipf, aperture {usage_cn.aperture_:.4g}")
    first = next(iter(evaluations))
    return Comparison(name, evaluations, notes, resamples, seed, baseline=first)


def _gathered(
    vectors: object, tasks: Sequence[SentenceSimilarity], settings: Settings, progress: Progress
) -> tuple[WordVectors, dict[str, float], ConceptorNegation]:
    """Read the vectors once: the tasks' words, every word's use, and the usage-weighted CN."""
    usage = settings.usage.usage
    wanted = frozenset().union(*(task.words for task in tasks))
    frequencies: dict[str, float] = {}

    def noted() -> Chunks:
        before = 0
        for packed, rows in chunks_of(vectors, progress):
            names = list(packed)
            taken, weights = usage.of(names, before)
            if weights is not None:
                of = names if taken is None else [names[i] for i in taken]
                frequencies.update(zip(of, weights.tolist(), strict=True))
            before += len(names)
            yield names, rows

    gathered = gather(noted(), [settings.usage], wanted)
    negation = ConceptorNegation(aperture=settings.usage_aperture)
    negation.fit_moments(gathered.moments[0])
    return gathered.vectors, frequencies, negation


def _scored(
    start: SentenceEncoder, tasks: Sequence[SentenceSimilarity], regime: str | None
) -> list[Outcome]:
    outcomes = []
    for task in tasks:
        seen = {tuple(sentence) for sentence in task.tokens} if regime == OTHER else set()
        fitted_on = (
            [
                s
                for other in tasks
                if other is not task
                for s in other.tokens
                if tuple(s) not in seen
            ]
            if regime == OTHER
            else task.tokens
        )
        encoder = SentenceEncoder(**start.get_params(deep=False)).fit(fitted_on)
        outcomes.append(task.score_sentences(*encoder.encode(task.tokens)))
    return outcomes
