"""Compare sentence encoders, each fitted on the test set's own sentences and on others."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from heapq import nlargest
from operator import add
from typing import TYPE_CHECKING, Literal

import numpy as np

from conceptor.algebra.gates import DropLeading
from conceptor.algebra.moments import Moments
from conceptor.algebra.recipes import METHODS, Recipe, Words, spectral_recipe
from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.evaluation.compare.words import Comparison
from conceptor.evaluation.result import Evaluation
from conceptor.evaluation.statistics import RESAMPLES
from conceptor.evaluation.texts import Texts, TextTask
from conceptor.fitting import FitOptions, fit_methods
from conceptor.methods import Method
from conceptor.sentences.encoder import WORD_METHOD, SentenceEncoder
from conceptor.sentences.lookup import is_spelt, split_unknown
from conceptor.sentences.spelling import REFERENCES, Spelling
from conceptor.vectors.chunks import as_vectors, keep_vectors, read_chunks
from conceptor.vectors.table import WordVectors
from conceptor.weights import SIF_A, shares_of_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64
    from conceptor.evaluation import Battery
    from conceptor.evaluation.task import Outcome


OWN, OTHER = "own", "other"
REGIMES = {OWN: "the test set's own sentences", OTHER: "the sentences of the other sets"}
# model2vec's defaults: the number of principal components kept, and the a of a/(a + p).
_MODEL2VEC_DIMENSIONS, _MODEL2VEC_A = 256, 1e-4


@dataclass(frozen=True)
class EncoderRecipe:
    """The choices of an encoder: word vectors, weights, removal, unknown words, tokens.

    Sentences are changed either by the removal of `SentenceEncoder`, or by a method for rows
    without words.
    """

    words: Literal["original", "cn", "abtt", "pca"]
    weights: Literal["average", "sif", "usif"]
    removal: int | Literal["piecewise", "conceptor", "renormalization", "whitening"]
    unknown: Literal["spelling", "split", "skip"] = "skip"
    tokens: Literal["sts", "usif"] = "sts"
    a: float = SIF_A

    @property
    def needs_sentences(self) -> bool:
        """Whether anything is learned from sentences."""
        return self.removal != 0

    @property
    def method(self) -> Recipe | None:
        """The method that maps sentences, if it is one for any kind of rows."""
        named = isinstance(self.removal, str) and self.removal in METHODS
        return spectral_recipe(str(self.removal)) if named else None


ENCODERS = {
    "average": EncoderRecipe("original", "average", 0),
    "sif": EncoderRecipe("original", "sif", 1),
    # The default of fse (Fast Sentence Embeddings).
    "sif-10": EncoderRecipe("original", "sif", 10),
    "usif": EncoderRecipe("original", "usif", "piecewise", tokens="usif"),
    "model2vec": EncoderRecipe("pca", "sif", 0, a=_MODEL2VEC_A),
    "pca": EncoderRecipe("pca", "average", 0),
    "abtt": EncoderRecipe("abtt", "average", 0),
    "renormalization": EncoderRecipe("original", "average", "renormalization"),
    # As in BERT-whitening, with all dimensions.
    "whitening": EncoderRecipe("original", "average", "whitening"),
    "cn-sif": EncoderRecipe("cn", "sif", 1),
    "sif-conceptor": EncoderRecipe("original", "sif", "conceptor"),
    # Between SIF and the default encoder: each of the two additions alone.
    "sif-spelling": EncoderRecipe("original", "sif", 1, "spelling"),
    "conceptor-known": EncoderRecipe("cn", "sif", "conceptor", "split"),
    "conceptor": EncoderRecipe("cn", "sif", "conceptor", "spelling"),
}

# The places where uSIF's author splits: separate tokens of NLTK's word_tokenize, contractions,
# and hyphens.
_USIF_SPLIT = re.compile(
    r"""[\s"“”‘’«»…`*?!;@#$%&()\[\]{}<>-]+|\.{2,}|[,:](?!\d)"""
    r"""|(?<=can)(?=not\b)|(?=n't\b)|(?='(?:s|m|d|ll|re|ve)\b)"""
)


def usif_tokens(text: str) -> list[str]:
    """Return the tokens of a text as in the code of uSIF's author; numbers are tokens."""
    parts = (part.strip("';.:") for part in _USIF_SPLIT.split(text.lower()))
    return ["not" if part == "n't" else part for part in parts if re.search("[a-z0-9]", part)]


def validate_encoders(names: Sequence[str]) -> list[str]:
    """Return the encoders' names without duplicates; raise for an unknown name."""
    unknown = [name for name in names if name not in ENCODERS]
    if unknown or not names:
        found = f"unknown sentence encoder {unknown[0]!r}" if unknown else "no sentence encoders"
        raise InvalidInputError(f"{found}; choose from {', '.join(ENCODERS)}")
    return list(dict.fromkeys(names))


def sentence_tasks(battery: Battery) -> list[TextTask]:
    """Return the text tasks of a battery; raise if there are none."""
    tasks: list[TextTask] = [task for task in battery.tasks if isinstance(task, TextTask)]
    if not tasks:
        raise InvalidInputError(
            "no sentence tasks to compare encoders on; add ", Setting("tasks", "sts")
        )
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
    """Score sentence encoders on the text tasks of a battery.

    A column is named `sif (own)` if the map was fitted on the same sentences it is tested on, as
    SIF's authors do, and `sif (other)` if it was fitted on the sentences of all other tasks of the
    same family, except those that also occur in the test set. Encoders that learn nothing from
    sentences have a single column without brackets. Gains are over the first encoder in the same
    regime.
    """
    recipes = {encoder: ENCODERS[encoder] for encoder in validate_encoders(encoders)}
    tasks = sentence_tasks(battery)
    tokens = {
        kind: [_tokens(task.texts, kind) for task in tasks]
        for kind in {recipe.tokens for recipe in recipes.values()}
    }
    kinds = {recipe.words for recipe in recipes.values()}
    met = {token for each in tokens.values() for texts in each for text in texts for token in text}
    forms, frequencies = _gather(vectors, kinds, met, options or FitOptions(), progress)
    possible = list(REGIMES) if _have_others(tasks) else [OWN]
    evaluations = {}
    firsts: dict[str | None, str] = {}
    baselines = {}
    with one_blas_thread():
        for done, (encoder, recipe) in enumerate(recipes.items()):
            sentences = tokens[recipe.tokens]
            count = sum(len(sentence) for task in sentences for sentence in task)
            progress("encoding", done / len(recipes), done * count)
            form = forms[recipe.words]
            if recipe.unknown == "spelling":
                # Once for all tasks, rather than in each encoder created below.
                form = _add_spelt(form, sentences, frequencies)
            start = SentenceEncoder(
                form,
                words="original",
                weights=recipe.weights,
                removal=0 if recipe.method else recipe.removal,  # type: ignore[arg-type]
                unknown="split" if recipe.unknown == "spelling" else recipe.unknown,
                # Without frequencies, all words count as equally frequent.
                frequencies=frequencies or "uniform",
                a=recipe.a,
            )
            regimes: Sequence[str | None] = possible if recipe.needs_sentences else [None]
            scored = _score_tasks(start, recipe.method, tasks, sentences, regimes)
            for regime, outcomes in zip(regimes, scored, strict=True):
                label = encoder if regime is None else f"{encoder} ({regime})"
                evaluations[label] = Evaluation(f"{name} ({label})", outcomes, battery.missing)
                if not done:
                    firsts[regime] = label
                baselines[label] = firsts.get(regime, next(iter(firsts.values())))
    notes = [f"({regime}): fitted on {REGIMES[regime]}" for regime in possible]
    if any(recipe.unknown == "spelling" for recipe in recipes.values()):
        share = _unknown_share(tokens["sts"], next(iter(forms.values())))
        notes.append(f"{share:.1%} of the tokens have no vector: {_describe_unknown(recipes)}")
    first = next(iter(evaluations))
    return Comparison(
        name, evaluations, notes, resamples, seed, baseline=first, baselines=baselines
    )


def _tokens(texts: Texts, kind: str) -> list[list[str]]:
    return texts.tokens if kind == "sts" else [usif_tokens(text) for text in texts.texts]


def _have_others(tasks: Sequence[TextTask]) -> bool:
    """Return whether the family of each task has another task with other texts."""
    sets = Counter(family for family, _ in {(task.task, id(task.texts)) for task in tasks})
    return min(sets.values()) > 1


def _gather(
    vectors: object, kinds: Set[str], met: Set[str], options: FitOptions, progress: Progress
) -> tuple[dict[str, WordVectors], dict[str, float]]:
    """Return the tokens found, as each kind of recipe averages them, and word frequencies."""
    opened = keep_vectors(as_vectors(vectors))
    usage = options.weights_for(Words.USAGE, opened)
    # Counts may include words without a vector.
    frequencies = dict(usage.counts or shares_of_text(usage, opened))
    # Vectors of unknown words derive from the most frequent words; by rank, the first ones.
    wanted = {*met, *split_unknown(met, ())}
    if usage.counts is not None:
        known = (word for words, _ in read_chunks(opened) for word in words)
        wanted |= set(nlargest(REFERENCES, known, key=lambda word: frequencies.get(word, 0.0)))
    methods = {kind: _word_method(kind, opened.dimension) for kind in kinds}
    first = REFERENCES if usage.counts is None else 0
    found = fit_methods(opened, methods, options, wanted=wanted, first=first, progress=progress)
    return dict(found.rows), frequencies


def _word_method(kind: str, dimension: int) -> Method:
    """Return the transform of word vectors before averaging."""
    if kind != "pca":
        return Method.parse(WORD_METHOD if kind == "cn" else kind)
    size = min(_MODEL2VEC_DIMENSIONS, dimension)
    kept = DropLeading(0)
    centred = Recipe("pca", "as model2vec", Words.ALL, "covariance", kept, n_components=size)
    return Method.of(centred)


def _add_spelt(
    words: WordVectors,
    tokens: Sequence[Sequence[Sequence[str]]],
    frequencies: Mapping[str, float],
) -> WordVectors:
    """Add the unknown words of texts, with vectors from their spelling."""
    met = {token for task in tokens for text in task for token in text}
    strange = {part for part in split_unknown(met, words) if part not in words and is_spelt(part)}
    if not strange:
        return words
    known = np.array([frequencies.get(word, 0.0) for word in words.words])
    spelling = Spelling.from_frequent(words.words, words.vectors, known)
    vectors = np.concatenate([words.vectors, spelling(sorted(strange))])
    return WordVectors([*words.words, *sorted(strange)], vectors)


def _unknown_share(tokens: Sequence[Sequence[Sequence[str]]], words: WordVectors) -> float:
    every = [token for task in tokens for sentence in task for token in sentence]
    return sum(token not in words for token in every) / max(len(every), 1)


def _describe_unknown(recipes: Mapping[str, EncoderRecipe]) -> str:
    """Describe which encoders skip unknown words and which use their spelling."""
    skip = [name for name, recipe in recipes.items() if recipe.unknown != "spelling"]
    spell = [name for name, recipe in recipes.items() if recipe.unknown == "spelling"]
    spelt = f"{', '.join(spell)} derive{'s' * (len(spell) == 1)} one from their spelling"
    return f"{spelt}; {', '.join(skip)} skip{'s' * (len(skip) == 1)} them" if skip else spelt


def _score_tasks(
    encoder: SentenceEncoder,
    method: Recipe | None,
    tasks: Sequence[TextTask],
    tokens: Sequence[Sequence[Sequence[str]]],
    regimes: Sequence[str | None],
) -> list[list[Outcome]]:
    """Score all tasks in each regime; sentences are mapped by the encoder, or by a method."""
    distinct = [[tuple(sentence) for sentence in sentences] for sentences in tokens]
    # The averages do not depend on the fit: compute them once, and fit on their moments.
    made = [encoder.averages(sentences) for sentences in tokens]
    unit = method is not None and method.unit
    moments = [_moments(averages, known, unit) for averages, known in made]
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
                        for j, other in enumerate(tasks)
                        if other.task == task.task and other.texts is not task.texts
                    ),
                )
            if method is None:
                vectors = encoder.fit_moments(fitted_on).transform_averages(*made[i])
            else:
                averages, known = made[i]
                vectors = np.where(known[:, None], method.solve(fitted_on).map(averages), 0.0)
            found.append(task.score_texts(vectors, made[i][1]))
    return outcomes


def _without(
    seen: Set[tuple[str, ...]],
    sentences: Sequence[tuple[str, ...]],
    made: tuple[Float64, NDArray[np.bool_]],
    moments: Moments,
) -> Moments:
    """Return the moments of the sentences that are not in `seen` (usually all of them)."""
    if seen.isdisjoint(sentences):
        return moments
    averages, known = made
    fresh = np.array([sentence not in seen for sentence in sentences])
    return _moments(averages, known & fresh, moments.unit)


def _moments(averages: Float64, counted: NDArray[np.bool_], unit: bool) -> Moments:
    return Moments.from_vectors(averages, counted.astype(np.float64), unit=unit)
