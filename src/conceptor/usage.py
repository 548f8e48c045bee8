"""How much each word weighs where a moment is estimated, and which words take part."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.errors import InvalidInputError, MissingExtraError
from conceptor.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from numpy.typing import NDArray

# Zipf–Mandelbrot: the share of the word at rank r = 0, 1, … of running text goes as 1 / (r + 2.7).
MANDELBROT_SHIFT = 2.7
WORDFREQ = "wordfreq:"
# What to do where ranks say nothing.
OFFER = "--weights wordfreq:en or --weights enwiki_vocab_min200.txt (any file of counts)"
# So many words in alphabetical order are no accident.
_ALPHABETICAL_SAMPLE = 100
LENGTH_SAMPLE = 2000


def rank_weights(before: int, count: int) -> NDArray[np.float64]:
    """Return ``1 / (r + 2.7)`` for the ranks r = before, before + 1, … (Zipf, Mandelbrot)."""
    return 1.0 / (before + np.arange(count, dtype=np.float64) + MANDELBROT_SHIFT)


class Share(NamedTuple):
    """Which rows of a chunk take part (None: all) and what they weigh (None: the same)."""

    rows: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None


@dataclass(frozen=True)
class Usage:
    """Weights and vocabulary for the estimation of a moment.

    Attributes
    ----------
    name
        `uniform`, `zipf` or `counts`.
    counts
        How often each word occurs in running text; words without a count take no part.
    vocabulary
        The only words that take part.
    top
        Only the first words of the file take part.
    """

    name: str = "uniform"
    counts: Mapping[str, float] | None = None
    vocabulary: Set[str] | None = None
    top: int | None = None

    def moments(
        self, words: Sequence[str], vectors: NDArray[np.float32], before: int
    ) -> Moments | None:
        """Return the moments of consecutive words under these weights; None if none takes part."""
        rows, weights = self.of(words, before)
        if rows is not None:
            vectors = vectors[rows]
        return Moments.of(vectors, weights) if len(vectors) else None

    def of(self, words: Sequence[str], before: int) -> Share:
        """Return the share of consecutive words, `before` of which came earlier in the file."""
        if self.top is not None and before + len(words) > self.top:
            words = words[: max(0, self.top - before)]
            rows = np.arange(len(words))
        else:
            rows = None
        weights: NDArray[np.float64] | None = None
        if self.name == "zipf":
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


def usage(
    weights: str | os.PathLike[str] | Mapping[str, float] = "uniform", vocabulary: object = None
) -> Usage:
    """Make a `Usage` from what users write.

    Parameters
    ----------
    weights
        `uniform`; `zipf`, by the rank in the file; `wordfreq:LANG`, by the frequencies that the
        wordfreq package knows for a language; a file of `word count` lines; or a mapping.
    vocabulary
        None for all words; `top:N` for the first N of the file; a file with one word a line, a
        count after it or not; or a collection of words.
    """
    top, words = _vocabulary(vocabulary)
    if isinstance(weights, os.PathLike):
        return Usage("counts", read_counts(os.fspath(weights)), words, top)
    if not isinstance(weights, str):
        return Usage("counts", dict(weights), words, top)
    if weights in ("uniform", "zipf"):
        return Usage(weights, None, words, top)
    if weights.startswith(WORDFREQ):
        return Usage("counts", known_frequencies(weights.removeprefix(WORDFREQ)), words, top)
    return Usage("counts", read_counts(weights), words, top)


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
        return "its words are in alphabetical order"
    sample = list(words[:LENGTH_SAMPLE])
    if len(sample) == LENGTH_SAMPLE:
        # Average ranks by hand: importing scipy.stats takes longer than all the rest.
        _, group, sizes = np.unique(
            [len(word) for word in sample], return_inverse=True, return_counts=True
        )
        if len(sizes) > 1:
            ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
            rho = float(np.corrcoef(np.arange(len(sample)), ranks)[0, 1])
            if rho < 3 / np.sqrt(len(sample)):
                return f"its first words are not the shorter ones (ρ = {rho:.2f})"
    return None


def check_ranks(words: Sequence[str], where: object) -> None:
    """Raise where ranks were asked for and a file's first words are in alphabetical order."""
    if alphabetical(words):
        raise InvalidInputError(
            f"{where}: its words are in alphabetical order, so ranks say nothing about frequency; "
            f"use {OFFER}"
        )


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
    """Read a vocabulary: one word a line, or `word count` if every line ends in a number."""
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
