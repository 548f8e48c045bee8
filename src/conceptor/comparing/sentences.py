"""Comparing sentence encoders, each fitted on the test set's own sentences and on others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from heapq import nlargest
from operator import add
from typing import TYPE_CHECKING, Literal

import numpy as np

from conceptor.algebra.methods import METHODS, ORIGINAL, Recipe, Words
from conceptor.algebra.moments import Moments
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.comparing.words import Comparison
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.evaluation.sts import SentenceSimilarity
from conceptor.fitting import FitOptions, gather, solve
from conceptor.sentences.encoder import SentenceEncoder
from conceptor.sentences.spelling import REFERENCES, Spelling
from conceptor.vectors.chunks import as_vectors, number_chunks, read_chunks
from conceptor.vectors.table import WordVectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from numpy.typing import NDArray

    from conceptor.algebra.methods import Solution
    from conceptor.base.arrays import Float64
    from conceptor.evaluation import Battery
    from conceptor.evaluation.task import Outcome
    from conceptor.vectors.chunks import Chunks

__all__ = [
    "ENCODERS",
    "REGIMES",
    "EncoderRecipe",
    "compare_sentences",
    "sentence_tasks",
    "validate_encoders",
]

OWN, OTHER = "own", "other"
REGIMES = {OWN: "the test set's own sentences", OTHER: "the sentences of the other sets"}


@dataclass(frozen=True)
class EncoderRecipe:
    """The choices of an encoder: word vectors, weights, removal, and unknown words."""

    words: Literal["original", "cn"]
    weights: Literal["average", "sif", "usif"]
    removal: Literal["none", "first", "piecewise", "conceptor"]
    unknown: Literal["spelling", "skip"] = "skip"

    @property
    def needs_sentences(self) -> bool:
        """Whether anything is learned from sentences."""
        return self.removal != "none" or self.weights == "usif"


ENCODERS = {
    "average": EncoderRecipe("original", "average", "none"),
    "sif": EncoderRecipe("original", "sif", "first"),
    "usif": EncoderRecipe("original", "usif", "piecewise"),
    "cn-sif": EncoderRecipe("cn", "sif", "first"),
    "sif-conceptor": EncoderRecipe("original", "sif", "conceptor"),
    # Between SIF and the default encoder: each of its two additions alone.
    "sif-spelling": EncoderRecipe("original", "sif", "first", "spelling"),
    "conceptor-known": EncoderRecipe("cn", "sif", "conceptor"),
    "conceptor": EncoderRecipe("cn", "sif", "conceptor", "spelling"),
}


def validate_encoders(names: Sequence[str]) -> list[str]:
    """Return the encoders' names without duplicates; raise for an unknown name."""
    unknown = [name for name in names if name not in ENCODERS]
    if unknown or not names:
        found = f"unknown sentence encoder {unknown[0]!r}" if unknown else "no sentence encoders"
        raise InvalidInputError(f"{found}; choose from {', '.join(ENCODERS)}")
    return list(dict.fromkeys(names))


def sentence_tasks(battery: Battery) -> list[SentenceSimilarity]:
    """Return the sentence tasks of a battery; raise if there are none."""
    tasks = [task for task in battery.tasks if isinstance(task, SentenceSimilarity)]
    if not tasks:
        raise InvalidInputError('no sentence tasks to compare encoders on; add tasks="sts"')
    return tasks


def compare_sentences(
    vectors: object,
    battery: Battery,
    encoders: Sequence[str] = ("average", "sif", "usif", "conceptor"),
    options: FitOptions | None = None,
    *,
    name: str = "vectors",
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Score sentence encoders on the sentence tasks of a battery.

    A column is called `sif (own)` if the map was fitted on the very sentences it is tested on, as
    SIF's authors do, and `sif (other)` if it was fitted on the sentences of all other tasks,
    without those that also occur in the test set. Encoders that learn nothing from sentences have
    a single column without brackets. Gains are over the first encoder in the same regime.
    """
    recipes = {encoder: ENCODERS[encoder] for encoder in validate_encoders(encoders)}
    tasks = sentence_tasks(battery)
    words, frequencies, usage_cn = _gather(vectors, tasks, options or FitOptions(), progress)
    negated = words.with_vectors(usage_cn.map(words.vectors))
    forms = {ORIGINAL: words, "cn": negated}
    strange = sorted({token for task in tasks for token in task.words if token not in words})
    tokens = sum(len(sentence) for task in tasks for sentence in task.texts.tokens)
    possible = list(REGIMES) if len(tasks) > 1 else [OWN]
    evaluations = {}
    firsts: dict[str | None, str] = {}
    baselines = {}
    with one_blas_thread():
        for done, (encoder, recipe) in enumerate(recipes.items()):
            progress("encoding", done / len(recipes), done * tokens)
            form = forms[recipe.words]
            if recipe.unknown == "spelling" and strange:
                # Once for all tasks, rather than in each encoder created below.
                form = _add_spelt(form, strange, frequencies)
            start = SentenceEncoder(
                form,
                weights=recipe.weights,
                removal=recipe.removal,
                unknown="skip",
                # Without frequencies, all words count as equally frequent.
                frequencies=frequencies or "uniform",
            )
            regimes: Sequence[str | None] = possible if recipe.needs_sentences else [None]
            for regime, outcomes in zip(regimes, _score_tasks(start, tasks, regimes), strict=True):
                label = encoder if regime is None else f"{encoder} ({regime})"
                evaluations[label] = Evaluation(f"{name} ({label})", outcomes, battery.missing)
                if not done:
                    firsts[regime] = label
                baselines[label] = firsts.get(regime, next(iter(firsts.values())))
    notes = [f"({regime}): fitted on {REGIMES[regime]}" for regime in possible]
    if any(recipe.words == "cn" for recipe in recipes.values()):
        notes.append(f"word vectors of conceptor: cn, aperture {usage_cn.aperture:.4g}")
    if any(recipe.unknown == "spelling" for recipe in recipes.values()):
        share = _unknown_share(tasks, words)
        notes.append(f"{share:.1%} of the tokens have no vector: {_describe_unknown(recipes)}")
    first = next(iter(evaluations))
    return Comparison(
        name, evaluations, notes, resamples, seed, baseline=first, baselines=baselines
    )


def _gather(
    vectors: object, tasks: Sequence[SentenceSimilarity], options: FitOptions, progress: Progress
) -> tuple[WordVectors, dict[str, float], Solution]:
    """Read the vectors once: the tasks' words, all frequencies, and the usage-weighted CN."""
    opened = as_vectors(vectors)
    usage = options.weights_for(Words.USAGE, opened)
    wanted = frozenset().union(*(task.words for task in tasks))
    # Counts may include words without a vector; ranks are collected while reading.
    frequencies = dict(usage.counts or {})

    def note_frequencies() -> Chunks:
        for before, packed, rows in number_chunks(read_chunks(opened, progress)):
            names = list(packed)
            taken, weights = usage.shares(names, before)
            if usage.counts is None and weights is not None:
                of = names if taken is None else [names[i] for i in taken]
                for word, weight in zip(of, weights.tolist(), strict=True):
                    frequencies.setdefault(word, weight)
            yield names, rows

    # Vectors of unknown words derive from the most frequent words; by rank, the first ones.
    first = REFERENCES if usage.counts is None else 0
    if usage.counts is not None:
        known = (word for words, _ in read_chunks(opened) for word in words)
        wanted |= set(nlargest(REFERENCES, known, key=lambda word: frequencies.get(word, 0.0)))
    gathered = gather(note_frequencies(), [usage], wanted, first=first)
    recipe = METHODS["cn"]
    assert isinstance(recipe, Recipe)
    return gathered.rows, frequencies, solve(recipe, gathered.moments[usage])


def _add_spelt(
    words: WordVectors, strange: Sequence[str], frequencies: Mapping[str, float]
) -> WordVectors:
    """Add unknown words, with vectors from their spelling."""
    known = np.array([frequencies.get(word, 0.0) for word in words.words])
    spelling = Spelling.from_frequent(words.words, words.vectors, known)
    vectors = np.concatenate([words.vectors, spelling(strange)])
    return WordVectors([*words.words, *strange], vectors)


def _unknown_share(tasks: Sequence[SentenceSimilarity], words: WordVectors) -> float:
    tokens = [token for task in tasks for sentence in task.texts.tokens for token in sentence]
    return sum(token not in words for token in tokens) / max(len(tokens), 1)


def _describe_unknown(recipes: Mapping[str, EncoderRecipe]) -> str:
    """Describe which encoders skip unknown words and which use their spelling."""
    skip = [name for name, recipe in recipes.items() if recipe.unknown == "skip"]
    spell = [name for name, recipe in recipes.items() if recipe.unknown == "spelling"]
    spelt = f"{', '.join(spell)} derive{'s' * (len(spell) == 1)} one from their spelling"
    return f"{spelt}; {', '.join(skip)} skip{'s' * (len(skip) == 1)} them" if skip else spelt


def _score_tasks(
    encoder: SentenceEncoder, tasks: Sequence[SentenceSimilarity], regimes: Sequence[str | None]
) -> list[list[Outcome]]:
    """Score all tasks in each regime."""
    distinct = [[tuple(sentence) for sentence in task.texts.tokens] for task in tasks]
    if encoder.weights == "usif":
        return [_score_refitted(encoder, tasks, distinct, regime) for regime in regimes]
    # The averages do not depend on the fit: compute them once, and fit from their moments.
    made = [encoder.averages(task.texts.tokens) for task in tasks]
    moments = [Moments.from_vectors(averages, known.astype(np.float64)) for averages, known in made]
    outcomes: list[list[Outcome]] = [[] for _ in regimes]
    for i, task in enumerate(tasks):
        seen = set(distinct[i])
        for regime, found in zip(regimes, outcomes, strict=True):
            fitted_on = moments[i]
            if regime == OTHER:
                fitted_on = reduce(
                    add,
                    (
                        _without(seen, distinct[j], made[j], moments[j])
                        for j in range(len(tasks))
                        if j != i
                    ),
                )
            vectors = encoder.fit_moments(fitted_on).transform_averages(*made[i])
            found.append(task.score_texts(vectors, made[i][1]))
    return outcomes


def _without(
    seen: Set[tuple[str, ...]],
    sentences: Sequence[tuple[str, ...]],
    made: tuple[Float64, NDArray[np.bool_]],
    moments: Moments,
) -> Moments:
    """Return the moments of the sentences that are not in `seen`; usually all of them."""
    if seen.isdisjoint(sentences):
        return moments
    averages, known = made
    fresh = np.array([sentence not in seen for sentence in sentences])
    return Moments.from_vectors(averages, (known & fresh).astype(np.float64))


def _score_refitted(
    start: SentenceEncoder,
    tasks: Sequence[SentenceSimilarity],
    distinct: Sequence[Sequence[tuple[str, ...]]],
    regime: str | None,
) -> list[Outcome]:
    """Score with an encoder whose word weights depend on the sentences it is fitted on."""
    outcomes = []
    for i, task in enumerate(tasks):
        fitted_on = distinct[i]
        if regime == OTHER:
            seen = set(fitted_on)
            others = (s for j, each in enumerate(distinct) if j != i for s in each)
            fitted_on = [sentence for sentence in others if sentence not in seen]
        encoder = SentenceEncoder(**start.get_params(deep=False)).fit(fitted_on)
        averages, known = encoder.averages(task.texts.tokens)
        outcomes.append(task.score_texts(encoder.transform_averages(averages, known), known))
    return outcomes
