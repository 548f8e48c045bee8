"""How much each word counts when moments are estimated, and which words take part.

If the user does not choose, `FitOptions` does: by the counts that come with the vectors, else
by rank if they are sorted by frequency, else by known counts, by wordfreq if installed, or equally.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeAlias

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

# Zipf–Mandelbrot: the word at rank r = 0, 1, … makes up a share of text proportional to
# 1 / (r + 2.7).
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
# Marks and particles of Chinese and Japanese. Length says little there, but of a file sorted by
# frequency these are among the first rows; of ten thousand words in any order, hardly any three.
_CJK_FREQUENT = frozenset(",.，。、的是在了一和有のはにをたがでと")
_CJK_LEAST = 3
_ALPHABETICAL = "the words are in alphabetical order"
_NO_RANKS = "so ranks do not reflect frequency"
_REMEDY = "--weights wordfreq:en or --weights enwiki_vocab_min200.txt (any file of counts)"


def rank_weights(before: int, count: int) -> NDArray[np.float64]:
    """Return ``1 / (r + 2.7)`` for the ranks r = before, before + 1, … (Zipf, Mandelbrot)."""
    return 1.0 / (before + np.arange(count, dtype=np.float64) + MANDELBROT_SHIFT)


def sif_weights(shares: NDArray[np.float64], a: float = SIF_A) -> NDArray[np.float64]:
    """Return ``a / (a + p)`` for shares p of running text (Arora, Liang & Ma 2017)."""
    return a / (a + shares)


@dataclass(frozen=True, eq=False)
class Weights:
    """Which words take part in a moment, and how much each counts.

    `kind` is `uniform`, `zipf` or `counts`. With `counts`, how often words occur in text, words
    without a count are left out. Only the words of `vocabulary`, or the first `top` words of the
    file, take part. `description` is a summary for users; `caution` is an optional warning.
    With `unit`, vectors are brought to length 1 first.
    """

    kind: str = "uniform"
    counts: Mapping[str, float] | None = None
    vocabulary: Set[str] | None = None
    top: int | None = None
    description: str = "all words, once each"
    caution: str = ""
    unit: bool = False

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


class TextShares:
    """The weights of words in running text, added up chunk by chunk; rare words are left out.

    Chunks are added in file order. If a word occurs twice, its first row counts.
    """

    def __init__(self) -> None:
        self.total = 0.0
        self.weights: dict[str, float] = {}

    def add(self, usage: Weights, words: Sequence[str], before: int) -> None:
        """Take the next words; nothing happens if all words count equally."""
        rows, weights = usage.shares(words, before)
        if weights is None:
            return
        self.total += float(weights.sum())
        # The total only grows, so a word that is rare now stays rare.
        for place in np.flatnonzero(weights > RARE * self.total).tolist():
            word = words[place if rows is None else rows[place]]
            self.weights.setdefault(word, float(weights[place]))

    def __iadd__(self, other: TextShares) -> Self:
        """Add the words of the next part of the vectors."""
        self.total += other.total
        self.weights |= {word: w for word, w in other.weights.items() if word not in self.weights}
        return self

    def lengths(self, usage: Weights) -> dict[str, float] | None:
        """Return SIF's weight of each frequent word; None if there are none.

        Shares are of all counted text, including words without a vector.
        """
        counted = 0.0 if usage.counts is None else sum(usage.counts.values())
        total = max(self.total, counted)
        shares = {word: w / total for word, w in self.weights.items() if w > RARE * total}
        factors = sif_weights(np.array(list(shares.values())))
        return dict(zip(shares, factors.tolist(), strict=True)) or None


def parse_weights(
    weights: WeightsLike = "uniform", vocabulary: object = None, source: str = "the counts given"
) -> Weights:
    """Make `Weights` from the arguments of the user.

    Parameters
    ----------
    weights
        `uniform`; `zipf`, by rank in the file; `wordfreq:LANG`, by the wordfreq package's
        frequencies for a language; a file of `word count` lines; or a mapping.
    vocabulary
        None for all words; `top:N` for the first N of the file; a file with one word per line,
        with or without a count after it; or a collection of words.
    source
        Where the counts of a mapping come from, for the description.
    """
    top = words = None
    which = f"the words of {vocabulary}"
    if vocabulary is None:
        which = "all words"
    elif isinstance(vocabulary, str) and vocabulary.startswith("top:"):
        number = vocabulary.removeprefix("top:")
        if not (number.isascii() and number.isdigit() and int(number) > 0):
            raise InvalidInputError(
                f"expected a vocabulary of the first N words as top:N, not {vocabulary}"
            )
        top = int(number)
        which = f"the first {top:,} words"
    elif isinstance(vocabulary, (str, Path)):
        words = read_word_set(vocabulary)
    elif isinstance(vocabulary, Iterable):
        words = frozenset(vocabulary)
        which = "the words of the vocabulary given"
    else:
        raise InvalidInputError(f"vocabulary must be a file, top:N or words, not {vocabulary!r}")
    kind, counts, weighted = "counts", None, f"weighted by {weights}"
    if isinstance(weights, str) and weights in ("uniform", "zipf"):
        kind = weights
        weighted = "weighted by rank in the file" if kind == "zipf" else "once each"
    elif isinstance(weights, str) and weights.startswith(WORDFREQ):
        counts = read_wordfreq(weights.removeprefix(WORDFREQ))
    elif isinstance(weights, (str, os.PathLike)):
        counts = read_counts(os.fspath(weights))
    else:
        counts, weighted = dict(weights), f"weighted by {source}"
        for word, count in counts.items():
            if not 0 <= count < np.inf:
                raise InvalidInputError(
                    f"the count of {word!r} must be finite and 0 or more, not {count}"
                )
    return Weights(kind, counts, words, top, f"{which}, {weighted}")


@dataclass(frozen=True, eq=False)
class FitOptions:
    """The user's choices for fitting; None leaves a choice to `weights_for`.

    Attributes
    ----------
    weights
        How often words are used, for the methods that weight by usage: as for `parse_weights`,
        the name of a known data file, or `Weights`.
    vocabulary
        Which words take part, for all methods except those fitted on function words; as for
        `parse_weights`.
    function_words
        A file of function words, or the words; by default NLTK's English stop words.
    data
        The directory to search first for known data files, which are never downloaded here.
    """

    weights: Weights | WeightsLike | None = None
    vocabulary: object = None
    function_words: object = None
    data: Directory = None

    def weights_for(self, words: Words, vectors: Vectors, *, unit: bool = False) -> Weights:
        """Return the weights that a method needs (`Method.words`), for some vectors.

        The vectors give the kind of their rows, their counts if any, and their first words. With
        `unit`, vectors are brought to length 1 first.
        """
        weights, vocabulary, data = self.weights, self.vocabulary, self.data
        is_text = vectors.kind is RowKind.TEXTS or not vectors.has_words
        if is_text:
            for name, value in vars(self).items():
                if name != "data" and value is not None and value != "uniform":
                    reason = "are texts" if vectors.has_words else "have no words"
                    flag = f"--{name.replace('_', '-')}"
                    raise InvalidInputError(
                        f"{vectors.name}: its rows {reason}, so {flag} does not apply"
                    )
        if isinstance(vocabulary, str):
            vocabulary = find_data_file(vocabulary, data)
        if isinstance(weights, str):
            weights = find_data_file(weights, data)
        if is_text:
            chosen = Weights(description="all rows, once each")
        elif words is Words.FUNCTION_WORDS and self.function_words is None:
            chosen = Weights(vocabulary=FUNCTION_WORDS, description="NLTK's English stop words")
        elif words is Words.FUNCTION_WORDS:
            chosen = parse_weights("uniform", self.function_words)
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
    """Choose the weights of a tokenizer's tokens, derived from the frequency of words."""
    if weights == "uniform":
        return parse_weights("uniform", vocabulary)
    if weights == "zipf":
        raise InvalidInputError(
            f"{vectors.name}: the order of a tokenizer's tokens does not reflect frequency; use "
            f"{_REMEDY}"
        )
    if weights is None:
        is_installed = importlib.util.find_spec("wordfreq") is not None
        weights = f"{WORDFREQ}en" if is_installed else find_paper_vocabulary(data)
    if weights is None:
        raise InvalidInputError(
            f"{vectors.name}: token frequencies are unknown; use {_REMEDY}, or install "
            "wordfreq: pip install 'conceptor[wordfreq]'"
        )
    chosen = parse_weights(weights, vocabulary)
    counts = chosen.counts or {}
    counted = vectors.token_counts(counts) if vectors.token_counts else counts
    return replace(
        chosen, counts=counted, description=f"{chosen.description}, in the tokenizer's tokens"
    )


def _choose_usage(
    vectors: Vectors, weights: WeightsLike | None, vocabulary: object, data: Directory
) -> Weights:
    """Choose usage weights: from the user, the counts or the order of the vectors, or elsewhere."""
    if weights == "zipf":
        chosen = parse_weights("zipf", vocabulary)
        reason = why_unsorted(vectors.first_words())
        if reason == _ALPHABETICAL:
            raise InvalidInputError(f"{vectors.name}: {reason}, {_NO_RANKS}; use {_REMEDY}")
        return replace(
            chosen, caution=f"{reason}, {_NO_RANKS}; better: {_REMEDY}" if reason else ""
        )
    if weights is not None:
        return parse_weights(weights, vocabulary)
    if vectors.counts is not None:
        return parse_weights(vectors.counts, vocabulary, f"the counts in {vectors.name}")
    reason = why_not_ranked(vectors)
    if reason is None:
        return parse_weights("zipf", vocabulary)
    reason = f"{reason}, {_NO_RANKS}"
    first = vectors.first_words()
    has_wordfreq = importlib.util.find_spec("wordfreq") is not None
    if has_wordfreq and vectors.language:
        with suppress(InvalidInputError):  # wordfreq lacks the language
            return parse_weights(f"{WORDFREQ}{vectors.language}", vocabulary)
    path = find_paper_vocabulary(data)
    if path is not None and _covers(counts := read_counts(path), first, _OF_ANY):
        source = "counts in Wikipedia (2015)"
        caution = f"{reason}; words are weighted by their {source}"
        return replace(parse_weights(counts, vocabulary, source), caution=caution)
    if has_wordfreq:
        chosen = parse_weights("wordfreq:en", vocabulary)
        if _covers(chosen.counts or {}, first, _OF_ANY):
            return replace(chosen, caution=f"{reason}; words are weighted by wordfreq:en")
    chosen = parse_weights("uniform", vocabulary)
    return replace(chosen, caution=f"{reason}; all words count equally; better: {_REMEDY}")


def _choose_types(vectors: Vectors, data: Directory) -> Weights:
    """Choose the common words: the paper's list, else the start of a sorted file, else all."""
    is_ranked = why_not_ranked(vectors) is None
    path = find_paper_vocabulary(data)
    if path is not None:
        first, words = vectors.first_words(), read_word_set(path)
        share = _OF_FREQUENT if is_ranked else _OF_ANY
        if not words.isdisjoint(first) and _covers(words, first, share):
            name = "the words with 200 or more occurrences in Wikipedia (2015)"
            return Weights(vocabulary=words, description=f"{name}, once each")
    chosen = parse_weights("uniform", f"top:{COMMON}" if is_ranked else None)
    if path is not None:
        return chosen
    missing = f"{Path(PAPER_VOCABULARY).name} was not found"
    return replace(chosen, description=f"{chosen.description} ({missing})")


def _covers(list_: Set[str] | Mapping[str, float], first: Sequence[str], least: float) -> bool:
    """Return whether a list contains at least this share of the words that have letters.

    Case does not matter. With too few such words the test is meaningless, so any list passes.
    """
    words = [word.lower() for word in first if any(map(str.isalpha, word))]
    return len(words) < _ALPHABETICAL_SAMPLE or (
        sum(word in list_ for word in words) >= least * len(words)
    )


def why_not_ranked(vectors: Vectors) -> str | None:
    """Return why rows are not sorted by frequency; None if they may be."""
    if not vectors.ranked:
        return "the order of the shards is unknown"
    return why_unsorted(vectors.first_words())


def why_unsorted(words: Sequence[str]) -> str | None:
    """Return why the first words of a file are not sorted by frequency; None if they may be.

    A hundred words show alphabetical order; fewer may be in order by chance. Two thousand show any
    other order, by Zipf's law of abbreviation, which holds in every language: frequent words are
    short. If length does not rise with rank (Spearman's ρ within three standard errors of zero),
    neither does rarity. Chinese and Japanese words are short throughout: there, marks and particles
    among the first hundred words show order by frequency.
    """
    first = list(words[:_ALPHABETICAL_SAMPLE])
    if len(first) == _ALPHABETICAL_SAMPLE and (
        first in (sorted(first), sorted(first, key=str.lower))
    ):
        return _ALPHABETICAL
    if len(_CJK_FREQUENT.intersection(first)) >= _CJK_LEAST and _is_cjk(words[:SAMPLE]):
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


def _is_cjk(words: Sequence[str]) -> bool:
    """Return whether most words have Han characters or kana."""
    # From hiragana to the end of the common Han characters.
    return sum(any("\u3041" <= c <= "\u9fff" for c in word) for word in words) > len(words) / 2
