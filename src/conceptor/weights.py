"""How much each word counts when moments are estimated, and which words take part.

If the user does not choose, `choose_weights` does: by the counts that come with the vectors, else
by rank if they are sorted by frequency, else by known counts, by wordfreq if installed, or equally.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from conceptor.algebra.lengths import LengthTable
from conceptor.algebra.moments import Moments
from conceptor.algebra.recipes import Words
from conceptor.base.errors import InvalidInputError, Message, Setting
from conceptor.data.word_lists import (
    FUNCTION_WORDS,
    PAPER_VOCABULARY,
    WORDFREQ,
    find_data_file,
    find_paper_vocabulary,
    read_counts,
    read_once,
    read_wordfreq,
    word_set,
)
from conceptor.vectors.vectors import SAMPLE, RowKind
from conceptor.vectors.words import take_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from numpy.typing import NDArray

    from conceptor.data.word_lists import Directory
    from conceptor.vectors.vectors import Vectors

    WeightsLike = str | os.PathLike[str] | Mapping[str, float]

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
# How many of the commonest content words predict the function words.
CONTENT_WORDS = 1000
_ALPHABETICAL = "the words are in alphabetical order"
_NO_RANKS = "so ranks do not reflect frequency"
_REMEDY = Message(
    Setting("weights", "wordfreq:en"),
    " or ",
    Setting("weights", "enwiki_vocab_min200.txt"),
    " (any file of counts)",
)


def rank_weights(before: int, count: int) -> NDArray[np.float64]:
    """Return ``1 / (r + 2.7)`` for the ranks r = before, before + 1, … (Zipf, Mandelbrot)."""
    return 1.0 / (before + np.arange(count, dtype=np.float64) + MANDELBROT_SHIFT)


def sif_weights(shares: NDArray[np.float64], a: float = SIF_A) -> NDArray[np.float64]:
    """Return ``a / (a + p)`` for shares p of running text (Arora, Liang & Ma 2017)."""
    return a / (a + shares)


class Share(NamedTuple):
    """Which rows of a chunk take part (None: all), and their weights (None: equal)."""

    rows: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Weights:
    """Which words take part in a moment, and how much each counts.

    `kind` is `uniform`, `zipf` or `counts`. With `counts`, how often words occur in text, words
    without a count are left out. Only the words of `vocabulary`, or the first `top` words of the
    file, take part. `description` is a summary for users; `caution` is an optional warning.
    With `unit`, vectors are brought to length 1 first. `column` names a column of Parquet shards
    that holds the weights. With `single`, float32 products are precise enough (`Moments`).
    """

    kind: str = "uniform"
    counts: Mapping[str, float] | None = None
    vocabulary: Set[str] | None = None
    top: int | None = None
    description: str = "all words, once each"
    caution: str = ""
    unit: bool = False
    column: str | None = None
    single: bool = False

    @property
    def by_rank(self) -> bool:
        """Whether weights depend on how many rows came before."""
        return self.kind == "zipf" or self.top is not None

    @property
    def by_word(self) -> bool:
        """Whether weights depend on the words themselves, not only on their positions."""
        return self.counts is not None or self.vocabulary is not None

    def moments(
        self,
        words: Sequence[str],
        vectors: NDArray[Any],
        before: int,
        given: NDArray[np.float64] | None = None,
    ) -> Moments | None:
        """Return the weighted moments of consecutive words; None if no word takes part."""
        rows, weights = self.shares(words, before, given)
        if rows is not None:
            vectors = vectors[rows]
        if not len(vectors):
            return None
        return Moments.from_vectors(
            vectors, weights, unit=self.unit, single=self.single, before=before
        )

    def shares(
        self, words: Sequence[str], before: int, given: NDArray[np.float64] | None = None
    ) -> Share:
        """Return the share of consecutive words; `before` words precede them in the file.

        `given` are the weights of rows from another column; they replace ours.
        """
        rows = weights = taken = None
        if self.top is not None and before + len(words) > self.top:
            words = words[: max(0, self.top - before)]
            rows = np.arange(len(words))
        if self.vocabulary is not None:
            taken = np.array([word in self.vocabulary for word in words], dtype=np.bool_)
        if self.kind == "zipf":
            weights = rank_weights(before, len(words))
        elif self.counts is not None:
            weights = np.array([self.counts.get(word, 0.0) for word in words], dtype=np.float64)
            taken = weights > 0 if taken is None else taken & (weights > 0)
        if taken is not None and not taken.all():
            rows = np.flatnonzero(taken)
            weights = None if weights is None else weights[rows]
        if given is not None:
            weights = given if rows is None else given[rows]
        return Share(rows, weights)


@dataclass
class FrequentWords:
    """Words and their weights in running text, without rare words, added up part by part.

    Parts are added in file order. If a word occurs twice, its first row counts.
    """

    total: float = 0.0
    parts: list[tuple[Sequence[str], NDArray[np.float64]]] = field(default_factory=list)
    least: float = 0.0

    @classmethod
    def of(
        cls,
        usage: Weights,
        words: Sequence[str],
        before: int,
        least: float = RARE,
        given: NDArray[np.float64] | None = None,
    ) -> Self | None:
        """Return the frequent words among consecutive ones; None if all count equally."""
        taken, weights = usage.shares(words, before, given)
        if weights is None:
            return None
        some = words if taken is None else take_words(words, taken)
        return cls(0.0, [], least).add(cls(float(weights.sum()), [(some, weights)], least))

    def add(self, more: FrequentWords) -> Self:
        """Add the next words."""
        self.total += more.total
        self.parts += more._above(self.least * self.total)
        return self

    def _above(self, bar: float) -> list[tuple[Sequence[str], NDArray[np.float64]]]:
        """Return the words above a weight. As the total grows, a rare word stays rare."""
        found = []
        for words, weights in self.parts:
            some = np.flatnonzero(weights > bar)
            if len(some) == len(weights):
                found.append((words, weights))
            elif len(some):
                found.append((take_words(words, some), weights[some]))
        return found

    @property
    def shares(self) -> dict[str, float]:
        """The share of running text of each word that is not rare."""
        found: dict[str, float] = {}
        for words, weights in self._above(self.least * self.total):
            for word, share in zip(words, (weights / self.total).tolist(), strict=True):
                found.setdefault(word, share)
        return found

    def lengths(self, usage: Weights) -> LengthTable | None:
        """Return SIF's weight of each of these words; None if there are none.

        Shares are of all counted text, including words without a vector.
        """
        counted = 0.0 if usage.counts is None else sum(usage.counts.values())
        found = replace(self, total=max(self.total, counted)).shares
        shares = np.fromiter(found.values(), dtype=np.float64, count=len(found))
        return LengthTable(tuple(found), sif_weights(shares)) if found else None


def shares_of_text(usage: Weights, vectors: Vectors, least: float = 0.0) -> dict[str, float]:
    """Return the share of running text of each word, in file order; empty if all count equally.

    Words whose share is not above `least` are left out.
    """
    found = FrequentWords(least=least)
    before = 0
    for packed, _ in vectors.chunks():
        words = list(packed)
        part = FrequentWords.of(usage, words, before, least)
        before += len(words)
        if part is None:
            return {}
        found.add(part)
    return found.shares


def parse_weights(weights: WeightsLike = "uniform", vocabulary: object = None) -> Weights:
    """Make `Weights` from the arguments of the user.

    Parameters
    ----------
    weights
        `uniform`; `zipf`, by rank in the file; `wordfreq:LANG`, by the wordfreq package's
        frequencies for a language; a file of `word count` lines; or a mapping.
    vocabulary
        None for all words; `top:N` for the first N of the file; a file with one word per line,
        with or without a count after it; or a collection of words.
    """
    top, words = _parse_vocabulary(vocabulary)
    kind, counts, weighted = "counts", None, f"weighted by {weights}"
    if isinstance(weights, str) and weights in ("uniform", "zipf"):
        kind = weights
        weighted = "weighted by rank in the file" if kind == "zipf" else "once each"
    elif isinstance(weights, str) and weights.startswith(WORDFREQ):
        counts = read_wordfreq(weights.removeprefix(WORDFREQ))
    elif isinstance(weights, (str, os.PathLike)):
        counts = read_counts(os.fspath(weights))
    else:
        counts, weighted = dict(weights), "weighted by the counts given"
    named = vocabulary if isinstance(vocabulary, (str, os.PathLike)) else "the vocabulary given"
    which = "all words" if vocabulary is None else f"the words of {named}"
    which = f"the first {top:,} words" if top is not None else which
    return Weights(kind, counts, words, top, f"{which}, {weighted}")


def choose_weights(
    words: Words,
    vectors: Vectors,
    *,
    weights: Weights | WeightsLike | None = None,
    vocabulary: object = None,
    function_words: object = None,
    data: Directory = None,
    unit: bool = False,
) -> Weights:
    """Return the weights that a method needs (`Recipe.words`), for some vectors.

    Parameters
    ----------
    words : Words
        The words that the method needs.
    vectors : Vectors
        They give the kind of their rows, their counts if any, and their first words.
    weights
        How often words are used, for methods that weight by usage: as for `parse_weights`, or the
        name of a known data file. None leaves the choice to this function.
    vocabulary
        Which words take part, for all methods except those fitted on function words; as for
        `parse_weights`.
    function_words
        A file of function words, or the words; by default NLTK's English stop words.
    data
        The directory to search for the paper's vocabulary; it is never downloaded.
    unit
        Bring vectors to length 1 first.
    """
    if vectors.kind is RowKind.TEXTS or not vectors.has_words:
        chosen = _weigh_texts(vectors, weights, vocabulary, function_words)
    elif vectors.kind is RowKind.TOKENS:
        chosen = _choose_tokens(words, vectors, weights, vocabulary, data)
    elif words is Words.FUNCTION_WORDS:
        chosen = _choose_function_words(function_words)
    else:
        if isinstance(vocabulary, str):
            vocabulary = find_data_file(vocabulary, data)
        if words is Words.ALL or (words is Words.TYPES and vocabulary is not None):
            chosen = parse_weights("uniform", vocabulary)
        elif words is Words.TYPES:
            chosen = _choose_types(vectors, data)
        else:
            chosen = _choose_usage(vectors, weights, vocabulary, data)
    return replace(chosen, unit=True) if unit else chosen


def _weigh_texts(
    vectors: Vectors, weights: object, vocabulary: object, function_words: object
) -> Weights:
    """Weight rows that are not words equally; raise for settings that need words."""
    given = {
        "weights": weights is not None and weights != "uniform",
        "vocabulary": vocabulary is not None,
        "function_words": function_words is not None,
    }
    for name, is_given in given.items():
        if is_given:
            what = "have no words" if not vectors.has_words else "are texts"
            raise InvalidInputError(
                f"{vectors.name}: its rows {what}, so ", Setting(name), " does not apply"
            )
    return Weights(description="all rows, once each")


def _choose_function_words(function_words: object) -> Weights:
    if function_words is not None:
        return parse_weights("uniform", function_words)
    return Weights(vocabulary=FUNCTION_WORDS, description="NLTK's English stop words")


def _choose_tokens(
    words: Words,
    vectors: Vectors,
    weights: Weights | WeightsLike | None,
    vocabulary: object,
    data: Directory,
) -> Weights:
    """Choose the weights of a tokenizer's tokens, derived from the frequency of words."""
    if words is not Words.USAGE or weights == "uniform":
        return parse_weights("uniform", vocabulary)
    if isinstance(weights, Weights):
        return weights
    if weights == "zipf":
        raise InvalidInputError(
            f"{vectors.name}: the order of a tokenizer's tokens does not reflect frequency; use ",
            _REMEDY,
        )
    if weights is None:
        listed = find_paper_vocabulary(data)
        installed = importlib.util.find_spec("wordfreq") is not None
        weights = f"{WORDFREQ}en" if installed else listed
        if weights is None:
            raise InvalidInputError(
                f"{vectors.name}: token frequencies are unknown; use ",
                _REMEDY,
                ", or install wordfreq: pip install 'conceptor[wordfreq]'",
            )
    named = find_data_file(weights, data) if isinstance(weights, str) else weights
    chosen = parse_weights(named, vocabulary)
    counted = vectors.token_counts(chosen.counts or {})
    return replace(
        chosen, counts=counted, description=f"{chosen.description}, in the tokenizer's tokens"
    )


def common_content_words(
    words: Iterable[str], function_words: Set[str], data: str | os.PathLike[str] | None = None
) -> Weights:
    """Return the commonest of some words that are not function words, once each.

    The order is by counts in Wikipedia if those are found locally; else the first words are taken.
    """
    content = [word for word in words if word not in function_words]
    listed = find_paper_vocabulary(data)
    if listed is not None:
        counts = read_once(read_counts, listed)
        known = [word for word in dict.fromkeys(content) if word in counts]
        content = sorted(known, key=counts.__getitem__, reverse=True) or content
    chosen = frozenset(content[:CONTENT_WORDS])
    return Weights(vocabulary=chosen, description=f"the {len(chosen):,} commonest content words")


def _choose_usage(
    vectors: Vectors, weights: Weights | WeightsLike | None, vocabulary: object, data: Directory
) -> Weights:
    """Choose usage weights: from the user, from the counts of the vectors, or from their order."""
    if isinstance(weights, Weights):
        return weights
    if weights is not None:
        named = find_data_file(weights, data) if isinstance(weights, str) else weights
        chosen = parse_weights(named, vocabulary)
        return chosen if chosen.kind != "zipf" else _check_ranks(chosen, vectors)
    if vectors.counts is not None:
        chosen = parse_weights(vectors.counts, vocabulary)
        named = f"the counts in {vectors.name}"
        return replace(chosen, description=chosen.description.replace("the counts given", named))
    reason = why_not_ranked(vectors)
    if reason is None:
        return parse_weights("zipf", vocabulary)
    return _choose_known_counts(f"{reason}, {_NO_RANKS}", vectors, vocabulary, data)


def why_not_ranked(vectors: Vectors) -> str | None:
    """Return why rows are not sorted by frequency; None if they may be."""
    if not vectors.ranked:
        return "the order of the shards is unknown"
    return why_unsorted(vectors.first_words())


def _choose_known_counts(
    reason: str, vectors: Vectors, vocabulary: object, data: Directory
) -> Weights:
    """Choose counts for words that are not sorted by frequency; `reason` is for the warning."""
    first = vectors.first_words()
    installed = importlib.util.find_spec("wordfreq") is not None
    if installed and vectors.language:
        with suppress(InvalidInputError):  # wordfreq lacks the language
            return parse_weights(f"{WORDFREQ}{vectors.language}", vocabulary)
    listed = find_paper_vocabulary(data)
    if listed is not None and _covers(counts := read_once(read_counts, listed), first, _OF_ANY):
        chosen = parse_weights(counts, vocabulary)
        source = "counts in Wikipedia (2015)"
        described = chosen.description.replace("the counts given", source)
        caution = Message(f"{reason}; words are weighted by their {source}")
        return replace(chosen, description=described, caution=caution)
    if installed:
        chosen = parse_weights("wordfreq:en", vocabulary)
        if _covers(chosen.counts or {}, first, _OF_ANY):
            caution = Message(f"{reason}; words are weighted by wordfreq:en")
            return replace(chosen, caution=caution)
    chosen = parse_weights("uniform", vocabulary)
    caution = Message(f"{reason}; all words count equally; better: ", _REMEDY)
    return replace(chosen, caution=caution)


def _choose_types(vectors: Vectors, data: Directory) -> Weights:
    """Choose the common words: the paper's list, else the start of a sorted file, else all."""
    frequent = why_not_ranked(vectors) is None
    first = vectors.first_words()
    listed = find_paper_vocabulary(data)
    if listed is not None:
        words, least = read_once(word_set, listed), _OF_FREQUENT if frequent else _OF_ANY
        if not words.isdisjoint(first) and _covers(words, first, least):
            named = "the words with 200 or more occurrences in Wikipedia (2015)"
            return Weights(vocabulary=words, description=f"{named}, once each")
    chosen = parse_weights("uniform", f"top:{COMMON}" if frequent else None)
    if listed is not None:
        return chosen
    missing = f"{Path(PAPER_VOCABULARY).name} was not found"
    return replace(chosen, description=f"{chosen.description} ({missing})")


def _check_ranks(chosen: Weights, vectors: Vectors) -> Weights:
    """Raise for ranks of words in alphabetical order; warn if ranks look wrong otherwise."""
    reason = why_unsorted(vectors.first_words())
    if reason == _ALPHABETICAL:
        raise InvalidInputError(f"{vectors.name}: {reason}, {_NO_RANKS}; use ", _REMEDY)
    if reason is None:
        return chosen
    return replace(chosen, caution=Message(f"{reason}, {_NO_RANKS}; better: ", _REMEDY))


def _covers(known: Set[str] | Mapping[str, float], first: Sequence[str], least: float) -> bool:
    """Return whether a list contains at least this share of the words that have letters.

    Case does not matter. With too few such words the test is meaningless, so any list passes.
    """
    words = [word.lower() for word in first if any(map(str.isalpha, word))]
    return len(words) < _ALPHABETICAL_SAMPLE or (
        sum(word in known for word in words) >= least * len(words)
    )


def why_unsorted(words: Sequence[str]) -> str | None:
    """Return why the first words of a file are not sorted by frequency; None if they may be.

    A hundred words show alphabetical order. Two thousand show any other order, by Zipf's law of
    abbreviation, which holds in every language: frequent words are short. If length does not
    rise with rank (Spearman's ρ within three standard errors of zero), neither does rarity.
    """
    if is_alphabetical(words):
        return _ALPHABETICAL
    lengths = [len(word) for word in words[:SAMPLE]]
    # Ranks are averaged by hand, because importing scipy.stats takes longer than all the rest.
    _, group, sizes = np.unique(lengths, return_inverse=True, return_counts=True)
    if len(lengths) == SAMPLE and len(sizes) > 1:
        ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
        rho = float(np.corrcoef(np.arange(SAMPLE), ranks)[0, 1])
        if rho < 3 / np.sqrt(SAMPLE):
            return f"the first words are not shorter than later ones (ρ = {rho:.2f})"
    return None


def is_alphabetical(words: Sequence[str]) -> bool:
    """Return whether a hundred words are in alphabetical order; fewer may be by chance."""
    first = list(words[:_ALPHABETICAL_SAMPLE])
    in_order = first in (sorted(first), sorted(first, key=str.lower))
    return in_order and len(first) == _ALPHABETICAL_SAMPLE


def _parse_vocabulary(vocabulary: object) -> tuple[int | None, Set[str] | None]:
    if vocabulary is None:
        return None, None
    if isinstance(vocabulary, str) and vocabulary.startswith("top:"):
        number = vocabulary.removeprefix("top:")
        if not (number.isascii() and number.isdigit() and int(number) > 0):
            raise InvalidInputError(
                f"expected a vocabulary of the first N words as top:N, not {vocabulary}"
            )
        return int(number), None
    if isinstance(vocabulary, (str, Path)):
        return None, read_once(word_set, Path(vocabulary))
    if isinstance(vocabulary, Iterable):
        return None, frozenset(vocabulary)
    raise InvalidInputError(f"vocabulary must be a file, top:N or words, not {vocabulary!r}")
