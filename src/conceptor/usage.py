"""How much each word weighs where a moment is estimated, and which words take part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from numpy.typing import NDArray

# Zipf–Mandelbrot: the share of the word at rank r = 0, 1, … of running text goes as 1 / (r + 2.7).
MANDELBROT_SHIFT = 2.7


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

    def of(self, words: Sequence[str], before: int) -> Share:
        """Return the share of consecutive words, `before` of which came earlier in the file."""
        if self.top is not None and before + len(words) > self.top:
            words = words[: max(0, self.top - before)]
            rows = np.arange(len(words))
        else:
            rows = None
        weights: NDArray[np.float64] | None = None
        if self.name == "zipf":
            ranks = before + np.arange(len(words), dtype=np.float64)
            weights = 1.0 / (ranks + MANDELBROT_SHIFT)
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


def usage(weights: str | Mapping[str, float] = "uniform", vocabulary: object = None) -> Usage:
    """Make a `Usage` from what users write.

    Parameters
    ----------
    weights
        `uniform`; `zipf`, by the rank in the file; a file of `word count` lines; or a mapping.
    vocabulary
        None for all words; `top:N` for the first N of the file; a file with one word a line, a
        count after it or not; or a collection of words.
    """
    top, words = _vocabulary(vocabulary)
    if not isinstance(weights, str):
        return Usage("counts", dict(weights), words, top)
    if weights in ("uniform", "zipf"):
        return Usage(weights, None, words, top)
    return Usage("counts", read_counts(weights), words, top)


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
    for number, line in _lines(path):
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
    lines = [line for _, line in _lines(path)]
    if not lines:
        raise InvalidInputError(f"{path}: holds no words")
    parts = [line.rpartition(_separator(line)) for line in lines]
    if all(word and _as_number(count) is not None for word, _, count in parts):
        return [word.strip(" \t") for word, _, _ in parts]
    return lines


def _lines(path: str | Path) -> list[tuple[int, str]]:
    try:
        text = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file (neither uniform nor zipf)") from None
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
