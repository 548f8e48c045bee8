"""How much each word counts where a moment is estimated, and which words take part.

`choose_weights` is the one place that decides it where the user has not: in a file sorted by
frequency by rank; otherwise by counts that are found, or by wordfreq where it is installed; and
equally where nothing is known.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.algebra.methods import Words
from conceptor.algebra.moments import Moments
from conceptor.base.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set

    from numpy.typing import NDArray

# Zipf–Mandelbrot: the share of the word at rank r = 0, 1, … of running text goes as 1 / (r + 2.7).
MANDELBROT_SHIFT = 2.7
WORDFREQ = "wordfreq:"
# The paper's estimation vocabulary, with counts: words of 200 or more occurrences.
PAPER_VOCABULARY = "vocabulary/enwiki_vocab_min200.txt"
# The common words of a sorted file, where the paper's list is not found.
COMMON = 50_000
# How many words tell whether a file is sorted, and whether a list of counts belongs to it.
SAMPLE = 2000
_ALPHABETICAL_SAMPLE = 100
# Share of the words that a list must hold to be about them: of the most frequent words English
# ones reach 0.98 in the paper's list and French ones 0.61; of words in any order far fewer.
_OF_FREQUENT, _OF_ANY = 0.9, 0.25
_REMEDY = 'weights="wordfreq:en" or weights="enwiki_vocab_min200.txt" (any file of counts)'


def rank_weights(before: int, count: int) -> NDArray[np.float64]:
    """Return ``1 / (r + 2.7)`` for the ranks r = before, before + 1, … (Zipf, Mandelbrot)."""
    return 1.0 / (before + np.arange(count, dtype=np.float64) + MANDELBROT_SHIFT)


class Share(NamedTuple):
    """Which rows of a chunk take part (None: all) and what they weigh (None: the same)."""

    rows: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Weights:
    """Which words a moment is taken over and how much each counts.

    Attributes
    ----------
    kind
        `uniform`, `zipf` or `counts`.
    counts
        How often each word occurs in running text; words without a count take no part.
    vocabulary
        The only words that take part.
    top
        Only the first words of the file take part.
    description
        The same in words.
    caution
        What the user should know about the choice, if anything.
    """

    kind: str = "uniform"
    counts: Mapping[str, float] | None = None
    vocabulary: Set[str] | None = None
    top: int | None = None
    description: str = "all words, once each"
    caution: str = ""

    @property
    def by_word(self) -> bool:
        """Whether the words themselves matter, not only their places."""
        return self.counts is not None or self.vocabulary is not None

    def moments(
        self, words: Sequence[str], vectors: NDArray[np.float32], before: int
    ) -> Moments | None:
        """Return the moments of consecutive words under these weights; None if none takes part."""
        rows, weights = self.shares(words, before)
        if rows is not None:
            vectors = vectors[rows]
        return Moments.from_vectors(vectors, weights) if len(vectors) else None

    def shares(self, words: Sequence[str], before: int) -> Share:
        """Return the share of consecutive words, `before` of which came earlier in the file."""
        if self.top is not None and before + len(words) > self.top:
            words = words[: max(0, self.top - before)]
            rows = np.arange(len(words))
        else:
            rows = None
        weights: NDArray[np.float64] | None = None
        if self.kind == "zipf":
            weights = rank_weights(before, len(words))
        elif self.counts is not None:
            weights = np.array([self.counts.get(word, 0.0) for word in words], dtype=np.float64)
        taken = None
        if self.vocabulary is not None:
            known = [word in self.vocabulary for word in words]
            taken = np.array(known, dtype=np.bool_)
        if self.counts is not None and weights is not None:
            taken = weights > 0 if taken is None else taken & (weights > 0)
        if taken is not None and not taken.all():
            rows = np.flatnonzero(taken)
            weights = None if weights is None else weights[rows]
        return Share(rows, weights)


def parse_weights(
    weights: str | os.PathLike[str] | Mapping[str, float] = "uniform", vocabulary: object = None
) -> Weights:
    """Make `Weights` from what users write.

    Parameters
    ----------
    weights
        `uniform`; `zipf`, by the rank in the file; `wordfreq:LANG`, by the frequencies that the
        wordfreq package knows for a language; a file of `word count` lines; or a mapping.
    vocabulary
        None for all words; `top:N` for the first N of the file; a file with one word per line,
        with or without a count after it; or a collection of words.
    """
    top, words = _vocabulary(vocabulary)
    kind, counts, weighted = "counts", None, f"weighted by {weights}"
    if isinstance(weights, str) and weights in ("uniform", "zipf"):
        kind = weights
        weighted = "weighted by rank in the file" if kind == "zipf" else "once each"
    elif isinstance(weights, str) and weights.startswith(WORDFREQ):
        counts = known_frequencies(weights.removeprefix(WORDFREQ))
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
    first_words: Callable[[], Sequence[str]],
    *,
    weights: Weights | str | os.PathLike[str] | Mapping[str, float] | None = None,
    vocabulary: object = None,
    function_words: object = None,
    data: str | os.PathLike[str] | None = None,
    ranked: bool = True,
    where: str = "the vectors",
) -> Weights:
    """Return the weights that a method asks for (`Recipe.words`), for some vectors.

    What the user has said comes first: `weights` (how often words are used) for the methods that
    weigh by usage, `vocabulary` (which words take part) for all but those that are fitted on
    function words.

    Parameters
    ----------
    words
        What the method asks for.
    first_words
        Returns the first words of the vectors, at most `SAMPLE`; called only where they matter.
    weights, vocabulary
        As for `parse_weights`; the name of a known data file will do. None leaves it open.
    function_words
        A file of them, or words; by default scikit-learn's English ones.
    data
        Where the paper's vocabulary is looked for besides the usual places; never downloaded.
    ranked
        Whether the first words are the first of all; of shards nobody knows.
    where
        How an error calls the vectors.
    """
    if words is Words.FUNCTION_WORDS:
        if function_words is not None:
            return parse_weights("uniform", function_words)
        return _english_function_words()
    if isinstance(vocabulary, str):
        vocabulary = _known_file(vocabulary, data)
    if words is Words.ALL or (words is Words.TYPES and vocabulary is not None):
        return parse_weights("uniform", vocabulary)
    if words is Words.TYPES:
        return _types(first_words(), data, ranked=ranked)
    if isinstance(weights, Weights):
        return weights
    if weights is not None:
        chosen = parse_weights(
            _known_file(weights, data) if isinstance(weights, str) else weights, vocabulary
        )
        return chosen if chosen.kind != "zipf" else _check_ranks(chosen, first_words(), where)
    return _usage(first_words(), vocabulary, data, ranked=ranked)


def _usage(
    first: Sequence[str],
    vocabulary: object,
    data: str | os.PathLike[str] | None,
    *,
    ranked: bool,
) -> Weights:
    """Choose how often words are used, where nobody has said so."""
    reason = unsorted(first) if ranked else "shards come in no known order"
    if reason is None:
        return parse_weights("zipf", vocabulary)
    reason = f"{reason}, so ranks say nothing about frequency"
    listed = _find_paper_vocabulary(data)
    if listed is not None and _belongs(counts := read_counts(listed), first, _OF_ANY):
        chosen = parse_weights(counts, vocabulary)
        return replace(
            chosen,
            description=chosen.description.replace(
                "the counts given", "counts in Wikipedia (2015)"
            ),
            caution=f"{reason}; words weigh by their counts in Wikipedia (2015)",
        )
    if importlib.util.find_spec("wordfreq") is not None:
        chosen = parse_weights("wordfreq:en", vocabulary)
        if _belongs(chosen.counts or {}, first, _OF_ANY):
            return replace(chosen, caution=f"{reason}; words weigh by wordfreq:en")
    chosen = parse_weights("uniform", vocabulary)
    return replace(chosen, caution=f"{reason}; all words count the same; better: {_REMEDY}")


def _types(first: Sequence[str], data: str | os.PathLike[str] | None, *, ranked: bool) -> Weights:
    """Choose the common words: the paper's list, or the beginning of a sorted file, or all."""
    frequent = ranked and unsorted(first) is None
    listed = _find_paper_vocabulary(data)
    if listed is not None:
        words, least = frozenset(read_words(listed)), _OF_FREQUENT if frequent else _OF_ANY
        if _belongs(words, first, least):
            named = "the words with 200 or more occurrences in Wikipedia (2015)"
            return Weights(vocabulary=words, description=f"{named}, once each")
    chosen = parse_weights("uniform", f"top:{COMMON}" if frequent else None)
    if listed is not None:
        return chosen
    missing = f"{Path(PAPER_VOCABULARY).name} was not found"
    return replace(chosen, description=f"{chosen.description} ({missing})")


def _check_ranks(chosen: Weights, first: Sequence[str], where: str) -> Weights:
    """Refuse ranks for words in alphabetical order, and warn where they look wrong."""
    if alphabetical(first):
        raise InvalidInputError(
            f"{where}: the words are in alphabetical order, so ranks say nothing about frequency; "
            f"use {_REMEDY}"
        )
    reason = unsorted(first)
    if reason is None:
        return chosen
    return replace(
        chosen, caution=f"{reason}, so ranks say nothing about frequency; better: {_REMEDY}"
    )


def _belongs(known: Set[str] | Mapping[str, float], first: Sequence[str], least: float) -> bool:
    """Tell whether a list is about these words: the given share of those with letters is in it.

    Capitals do not matter; too few words with letters tell nothing.
    """
    words = [word.lower() for word in first if any(map(str.isalpha, word))]
    return len(words) < _ALPHABETICAL_SAMPLE or (
        sum(word in known for word in words) >= least * len(words)
    )


def _find_paper_vocabulary(data: str | os.PathLike[str] | None) -> Path | None:
    from conceptor.data.registry import data_file, find

    found = find(data_file(PAPER_VOCABULARY), data)
    return None if found is None else found[0]


def _known_file(name: str, data: str | os.PathLike[str] | None) -> str:
    """Return where the data file of this name is, unless it means something else."""
    if name in ("uniform", "zipf") or name.startswith((WORDFREQ, "top:")):
        return name
    from conceptor.data.registry import at_hand

    return at_hand(name, data)


def _english_function_words() -> Weights:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return Weights(
        vocabulary=ENGLISH_STOP_WORDS, description="scikit-learn's English function words"
    )


def known_frequencies(language: str) -> Mapping[str, float]:
    """Return how often words occur in a language, as the wordfreq package knows it."""
    try:
        import wordfreq
    except ImportError:
        raise MissingExtraError(f"weights {WORDFREQ}{language}", "wordfreq") from None
    try:
        frequencies: Mapping[str, float] = wordfreq.get_frequency_dict(language)
    except (LookupError, ValueError):
        known = ", ".join(sorted(wordfreq.available_languages()))
        raise InvalidInputError(
            f"wordfreq knows no language {language!r}; it knows {known}"
        ) from None
    return frequencies


def unsorted(words: Sequence[str]) -> str | None:
    """Say why words, the first of a file, are not sorted by frequency; None if they may be.

    Alphabetical order shows in a hundred words. Another order shows in two thousand, by Zipf's
    law of abbreviation, which every language keeps: frequent words are short. Where length does
    not rise with rank (Spearman's ρ within three standard errors of zero), neither does rarity.
    """
    if alphabetical(words):
        return "the words are in alphabetical order"
    sample = list(words[:SAMPLE])
    if len(sample) == SAMPLE:
        # Average ranks by hand: importing scipy.stats takes longer than all the rest.
        _, group, sizes = np.unique(
            [len(word) for word in sample], return_inverse=True, return_counts=True
        )
        if len(sizes) > 1:
            ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
            rho = float(np.corrcoef(np.arange(len(sample)), ranks)[0, 1])
            if rho < 3 / np.sqrt(len(sample)):
                return f"the first words are not the shorter ones (ρ = {rho:.2f})"
    return None


def alphabetical(words: Sequence[str]) -> bool:
    """Tell whether a hundred words stand in alphabetical order; fewer may do so by chance."""
    first = list(words[:_ALPHABETICAL_SAMPLE])
    return len(first) == _ALPHABETICAL_SAMPLE and (
        first == sorted(first) or first == sorted(first, key=str.lower)
    )


def _vocabulary(vocabulary: object) -> tuple[int | None, Set[str] | None]:
    if vocabulary is None:
        return None, None
    if isinstance(vocabulary, str) and vocabulary.startswith("top:"):
        number = vocabulary.removeprefix("top:")
        if not (number.isascii() and number.isdigit() and int(number) > 0):
            raise InvalidInputError(
                f"a vocabulary of the first N words is written top:N, not {vocabulary}"
            )
        return int(number), None
    if isinstance(vocabulary, (str, Path)):
        return None, frozenset(read_words(vocabulary))
    if isinstance(vocabulary, Iterable):
        return None, frozenset(vocabulary)
    raise InvalidInputError(f"a vocabulary is a file, top:N or words, not {vocabulary!r}")


def read_counts(path: str | Path) -> dict[str, float]:
    """Read `word count` lines; the first count of a word holds."""
    counts: dict[str, float] = {}
    for number, line in _lines(path, "uniform, zipf or wordfreq:LANG"):
        word, _, count = line.rpartition(_separator(line))
        value = _as_number(count)
        if not word or value is None or not 0 <= value < float("inf"):
            raise InvalidInputError(
                f"{path}, line {number}: expected a word and a count, found {line[:60]!r}"
            )
        counts.setdefault(word.strip(" \t"), value)
    if not any(counts.values()):
        raise InvalidInputError(f"{path}: no word with a count above zero")
    return counts


def read_words(path: str | Path) -> list[str]:
    """Read a vocabulary: one word per line, or `word count` if every line ends in a number."""
    lines = [line for _, line in _lines(path, "top:N")]
    if not lines:
        raise InvalidInputError(f"{path}: holds no words")
    parts = [line.rpartition(_separator(line)) for line in lines]
    if all(word and _as_number(count) is not None for word, _, count in parts):
        return [word.strip(" \t") for word, _, _ in parts]
    return lines


def _lines(path: str | Path, otherwise: str) -> list[tuple[int, str]]:
    try:
        text = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file (nor is it {otherwise})") from None
    except IsADirectoryError:
        raise InvalidInputError(f"{path}: is a directory, not a file of words") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}, byte {error.start}: not UTF-8") from None
    # Only \n ends a line: str.splitlines would also cut words at U+0085 and U+2028.
    stripped = (line.removesuffix("\r").strip(" \t") for line in text.split("\n"))
    return [(number, line) for number, line in enumerate(stripped, start=1) if line]


def _separator(line: str) -> str:
    return "\t" if "\t" in line else " "


def _as_number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None
