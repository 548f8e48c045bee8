"""How much each word counts when moments are estimated, and which words take part."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.data.word_lists import (
    FUNCTION_WORDS,
    PAPER_VOCABULARY,
    WORDFREQ,
    Directory,
    find_data_file,
    find_paper_vocabulary,
    read_counts,
    read_word_set,
    read_wordfreq,
)
from conceptor.methods import Words
from conceptor.vectors.vectors import SAMPLE, RowKind, Vectors

WeightsLike: TypeAlias = str | os.PathLike[str] | Mapping[str, float]

MANDELBROT_SHIFT = 2.7
# The a of SIF's weights a/(a + p), and the share of text below which they make no difference.
SIF_A = 1e-3
RARE = SIF_A / 1000
# How many words of a sorted file count as common if the paper's list is not found.
COMMON = 50_000
_ALPHABETICAL_SAMPLE = 100
# The share of words that a matching list must contain. The paper's list has 0.98 of frequent
# English words and 0.61 of frequent French ones; of words in any order it has far fewer.
_OF_FREQUENT, _OF_ANY = 0.9, 0.25
# Marks and particles of Chinese and Japanese: at least three of them are among the first hundred
# words of a file sorted by frequency, and hardly ever in another order.
_CJK_FREQUENT = frozenset(",.，。、的是在了一和有のはにをたがでと")
_CJK_LEAST = 3
_ALPHABETICAL = "the words are in alphabetical order"
_NO_RANKS = "so ranks do not reflect frequency"


def rank_weights(before: int, count: int) -> NDArray[np.float64]:
    """Return ``1 / (r + 2.7)``, shares of text at ranks r = before, … (Zipf–Mandelbrot)."""
    return 1.0 / (before + np.arange(count, dtype=np.float64) + MANDELBROT_SHIFT)


def sif_weights(shares: NDArray[np.float64], a: float = SIF_A) -> NDArray[np.float64]:
    """Return ``a / (a + p)`` for shares p of running text (Arora, Liang & Ma 2017)."""
    return a / (a + shares)


@dataclass(frozen=True, eq=False)
class Weights:
    """Which words take part in a moment, and how much each counts."""

    kind: str = "uniform"  # or `zipf`, or `counts`
    counts: Mapping[str, float] | None = None  # in text; words without a count are left out
    vocabulary: Set[str] | None = None  # only these words take part
    top: int | None = None  # only so many first words of the file take part
    description: str = "all words, once each"
    caution: str = ""  # a warning for users
    unit: bool = False  # whether vectors are brought to length 1 first

    def shares(
        self, words: Sequence[str], before: int
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
        """Return which of consecutive words take part (None: all) and their weights (None: equal).

        `before` words precede them in the file.
        """
        rows = weights = part = None
        if self.top is not None and before + len(words) > self.top:
            words = words[: max(0, self.top - before)]
            rows = np.arange(len(words))
        if self.vocabulary is not None:
            part = np.array([word in self.vocabulary for word in words], dtype=np.bool_)
        if self.kind == "zipf":
            weights = rank_weights(before, len(words))
        elif self.counts is not None:
            weights = np.array([self.counts.get(word, 0.0) for word in words], dtype=np.float64)
            part = weights > 0 if part is None else part & (weights > 0)
        if part is not None and not part.all():
            rows = np.flatnonzero(part)
            weights = None if weights is None else weights[rows]
        return rows, weights


def parse_weights(
    weights: WeightsLike = "uniform", vocabulary: object = None, source: str = "the counts given"
) -> Weights:
    """Make `Weights` from the arguments of the user.

    Parameters
    ----------
    weights
        `uniform`; `zipf`, by rank in the file; `wordfreq:LANG`; a file of `word count` lines; or a
        mapping, whose `source` is for the description.
    vocabulary
        None for all words; `top:N` for the first N of the file; a file with one word per line,
        with or without a count after it; or a collection of words.
    """
    top = words = None
    which = f"the words of {vocabulary}"
    match vocabulary:
        case None:
            which = "all words"
        case str() if re.fullmatch("top:0*[1-9][0-9]*", vocabulary):
            top = int(vocabulary.removeprefix("top:"))
            which = f"the first {top:,} words"
        case str() | Path():
            words = read_word_set(vocabulary)
        case Iterable():
            words = frozenset(vocabulary)
            which = "the words of the vocabulary given"
        case _:
            raise InvalidInputError(f"vocabulary is a file, top:N or words, not {vocabulary!r}")
    kind, counts, how = "counts", None, f"weighted by {weights}"
    match weights:
        case "uniform":
            kind, how = weights, "once each"
        case "zipf":
            kind, how = weights, "weighted by rank in the file"
        case str() if weights.startswith(WORDFREQ):
            counts = read_wordfreq(weights.removeprefix(WORDFREQ))
        case Mapping():
            counts, how = dict(weights), f"weighted by {source}"
            for word, count in counts.items():
                if not (isinstance(count, Real) and 0 <= count < np.inf):
                    raise InvalidInputError(
                        f"the count of {word!r} must be finite and 0 or more, not {count!r}"
                    )
        case _:
            counts = read_counts(os.fspath(weights))
    return Weights(kind, counts, words, top, f"{which}, {how}")


@dataclass(frozen=True, eq=False)
class FitOptions:
    """The user's choices for fitting; None leaves a choice to `weights_for`.

    Attributes
    ----------
    weights
        How often words are used, for the methods that weight by usage: as for `parse_weights`,
        the name of a known data file, or `Weights`. By default the counts that come with the
        vectors, else ranks if they are sorted by frequency, else known counts, wordfreq, or equal.
    vocabulary
        Which words take part, except in methods fitted on function words; as for `parse_weights`.
    data
        The directory to search first for known data files, which are never downloaded here.
    """

    weights: Weights | WeightsLike | None = None
    vocabulary: object = None
    data: Directory = None

    def weights_for(self, words: Words, vectors: Vectors, *, unit: bool = False) -> Weights:
        """Return the weights that a method needs (`Method.words`), for some vectors."""
        weights, vocabulary, data = self.weights, self.vocabulary, self.data
        is_text = vectors.kind is RowKind.TEXTS or not vectors.has_words
        if is_text:
            for name, value in vars(self).items():
                if name != "data" and value is not None and value != "uniform":
                    reason = "are texts" if vectors.has_words else "have no words"
                    raise InvalidInputError(
                        f"{vectors.name}: its rows {reason}, so --{name} does not apply"
                    )
        if isinstance(vocabulary, str):
            vocabulary = find_data_file(vocabulary, data)
        if isinstance(weights, str):
            weights = find_data_file(weights, data)
        if is_text:
            chosen = Weights(description="all rows, once each")
        elif words is Words.FUNCTION_WORDS:
            chosen = Weights(vocabulary=FUNCTION_WORDS, description="NLTK's English stop words")
        elif words is Words.USAGE and isinstance(weights, Weights):
            chosen = weights
        elif words is Words.USAGE:
            choose = _choose_tokens if vectors.kind is RowKind.TOKENS else _choose_usage
            chosen = choose(vectors, weights, vocabulary, data)  # type: ignore[arg-type]
        elif words is Words.TYPES and vocabulary is None and vectors.kind is RowKind.WORDS:
            chosen = _choose_types(vectors, data)
        else:
            chosen = parse_weights("uniform", vocabulary)
        return replace(chosen, unit=True) if unit else chosen


def _choose_tokens(
    vectors: Vectors, weights: WeightsLike | None, vocabulary: object, data: Directory
) -> Weights:
    """Choose the weights of tokens, derived from the frequency of words."""
    if weights == "uniform":
        return parse_weights("uniform", vocabulary)
    if weights == "zipf":
        raise InvalidInputError(
            f"{vectors.name}: the order of a tokenizer's tokens does not reflect frequency; use "
            f"{_remedy()}"
        )
    if weights is None:
        weights = f"{WORDFREQ}en" if _has_wordfreq() else find_paper_vocabulary(data)
    if weights is None:
        raise InvalidInputError(
            f"{vectors.name}: token frequencies are unknown; use {_remedy()}, or install wordfreq: "
            "pip install 'conceptor[wordfreq]'"
        )
    chosen = parse_weights(weights, vocabulary)
    count = vectors.token_counts or dict
    description = f"{chosen.description}, in the tokenizer's tokens"
    return replace(chosen, counts=count(chosen.counts or {}), description=description)


def _choose_usage(
    vectors: Vectors, weights: WeightsLike | None, vocabulary: object, data: Directory
) -> Weights:
    """Choose usage weights: from the user, the counts or the order of the vectors, or elsewhere."""
    if weights is not None and weights != "zipf":
        return parse_weights(weights, vocabulary)
    if weights is None and vectors.counts is not None:
        return parse_weights(vectors.counts, vocabulary, f"the counts in {vectors.name}")
    first = vectors.first_words
    reason = why_not_ranked(vectors) if weights is None else why_unsorted(first)
    if reason is None:
        return parse_weights("zipf", vocabulary)
    remedy = _remedy(vectors.language or _guess_language(first))
    if reason == _ALPHABETICAL and weights == "zipf":
        raise InvalidInputError(f"{vectors.name}: {reason}, {_NO_RANKS}; use {remedy}")
    reason = f"{reason}, {_NO_RANKS}"
    if weights == "zipf":
        return replace(parse_weights("zipf", vocabulary), caution=f"{reason}; better: {remedy}")
    if vectors.language and _has_wordfreq():
        with suppress(InvalidInputError):  # wordfreq lacks the language
            return parse_weights(f"{WORDFREQ}{vectors.language}", vocabulary)
        remedy = "--weights FILE with counts"
    path = find_paper_vocabulary(data)
    if path is not None and _covers(counts := read_counts(path), first, _OF_ANY):
        source = "counts in Wikipedia (2015)"
        caution = f"{reason}; words are weighted by their {source}"
        return replace(parse_weights(counts, vocabulary, source), caution=caution)
    if _has_wordfreq():
        name = f"{WORDFREQ}{_guess_language(first)}"
        chosen = parse_weights(name, vocabulary)
        if _covers(chosen.counts or {}, first, _OF_ANY):
            return replace(chosen, caution=f"{reason}; words are weighted by {name}")
    caution = f"{reason}; all words count equally; better: {remedy}"
    return replace(parse_weights("uniform", vocabulary), caution=caution)


def _choose_types(vectors: Vectors, data: Directory) -> Weights:
    """Choose the common words: the paper's list, else the start of a sorted file, else all."""
    is_ranked = why_not_ranked(vectors) is None
    path = find_paper_vocabulary(data)
    if path is not None:
        first, words = vectors.first_words, read_word_set(path)
        share = _OF_FREQUENT if is_ranked else _OF_ANY
        if not words.isdisjoint(first) and _covers(words, first, share):
            name = "the words with 200 or more occurrences in Wikipedia (2015)"
            return Weights(vocabulary=words, description=f"{name}, once each")
    chosen = parse_weights("uniform", f"top:{COMMON}" if is_ranked else None)
    if path is not None:
        return chosen
    missing = f"{Path(PAPER_VOCABULARY).name} was not found"
    return replace(chosen, description=f"{chosen.description} ({missing})")


def _has_wordfreq() -> bool:
    return importlib.util.find_spec("wordfreq") is not None


def _remedy(language: str = "en") -> str:
    """Return the options that give weights to words of a language."""
    paper = f" or --weights {Path(PAPER_VOCABULARY).name}" if language == "en" else ""
    return f"--weights {WORDFREQ}{language}{paper} (any file of counts)"


def _covers(list_: Set[str] | Mapping[str, float], first: Sequence[str], least: float) -> bool:
    """Return whether a list has this share of the words with letters; any passes if too few."""
    words = [word.lower() for word in first if any(map(str.isalpha, word))]
    is_few = len(words) < _ALPHABETICAL_SAMPLE
    return is_few or sum(word in list_ for word in words) >= least * len(words)


def why_not_ranked(vectors: Vectors) -> str | None:
    """Return why rows are not sorted by frequency; None if they may be."""
    if not vectors.ranked:
        return "the order of the shards is unknown"
    return why_unsorted(vectors.first_words)


def why_unsorted(words: Sequence[str]) -> str | None:
    """Return why the first words of a file are not sorted by frequency; None if they may be.

    A hundred words show alphabetical order. Two thousand show any other order, by Zipf's law of
    abbreviation: if length does not rise with rank (Spearman's ρ within three standard errors of
    zero), neither does rarity. Chinese and Japanese words are short throughout: there, marks and
    particles among the first hundred words show order by frequency.
    """
    first = list(words[:_ALPHABETICAL_SAMPLE])
    is_alphabetical = first in (sorted(first), sorted(first, key=str.lower))
    if is_alphabetical and len(first) == _ALPHABETICAL_SAMPLE:
        return _ALPHABETICAL
    particles = _CJK_FREQUENT.intersection(first)
    if len(particles) >= _CJK_LEAST and _guess_language(words) != "en":
        return None
    lengths = [len(word) for word in words[:SAMPLE]]
    # Ranks are averaged by hand, because importing scipy.stats takes longer than all the rest.
    _, group, sizes = np.unique(lengths, return_inverse=True, return_counts=True)
    if len(lengths) == SAMPLE and len(sizes) > 1:
        ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
        rho = float(np.corrcoef(np.arange(SAMPLE), ranks)[0, 1])
        if rho < 3 / np.sqrt(SAMPLE):
            return f"the first words are not shorter than later ones (ρ = {rho:.2f})"
    return None


def _guess_language(words: Sequence[str]) -> str:
    """Return `zh` or `ja` if most characters are Han or kana, else `en`."""
    text = "".join(words[:SAMPLE])
    kana = sum("\u3041" <= each <= "\u30ff" for each in text)
    han = sum("\u3400" <= each <= "\u9fff" for each in text)
    if 2 * (kana + han) <= len(text):
        return "en"
    return "ja" if 10 * kana > len(text) else "zh"
