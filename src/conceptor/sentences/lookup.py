"""Find the word vectors that a sentence averages."""

from __future__ import annotations

import re
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.tokens import RUN_END, split_runs
from conceptor.sentences.spelling import Spelling
from conceptor.vectors.memory import Memory, RowLists, split_at

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64
    from conceptor.vectors.table import WordVectors

__all__ = ["FoundWords", "Lookup", "is_spelt", "split_unknown"]

_SEPARATORS = re.compile("[-/]")
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
# The spelling of a shorter word is not informative; in English, it is a function word.
_SHORTEST_SPELT = 3
# The maximum number of cached vectors of unknown words; it bounds memory.
_MOST_SPELT = 1 << 15


class FoundWords(NamedTuple):
    """Sentences as lists of rows: sentence i has ``columns[ends[i]:ends[i + 1]]``.

    Columns number the `known` words (rows of the vectors) first, then the unknown words that are
    `spelt`, which have their own `vectors`.
    """

    known: NDArray[np.intp]
    spelt: list[str]
    vectors: Float64
    columns: NDArray[np.intp]
    ends: NDArray[np.intp]


class Lookup:
    """The words of sentences, as rows of vectors or by their spelling.

    Parameters
    ----------
    words : WordVectors
    unknown : {"spelling", "split", "skip"}
        As for `SentenceEncoder`.
    probabilities : ndarray
        Each word's share of running text; the spelling model uses the most frequent words.
    """

    def __init__(self, words: WordVectors, unknown: str, probabilities: Float64) -> None:
        self._words, self._unknown, self._probabilities = words, unknown, probabilities
        self._of_runs = Memory(self._read_runs, split_at(_BLANKS))
        self._of_tokens = Memory(self._read_tokens)
        self._spelling: Spelling | None = None
        # Unknown words and their numbers; the vectors that are computed so far.
        self._numbers: dict[str, int] = {}
        self._spelt: list[Float64] = []
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the arguments, without the cache."""
        return Lookup, (self._words, self._unknown, self._probabilities)

    def __call__(self, sentences: Iterable[str | Sequence[str]]) -> FoundWords:
        """Look up the words of sentences, given as texts or lists of tokens."""
        # Only one thread at a time numbers unknown words.
        with self._lock:
            self._forget_if_many()
            found = self._rows(list(sentences))
            distinct, columns = found.distinct()
            place = int(np.searchsorted(distinct, len(self._words)))
            spelt, vectors = self._vectors(distinct[place:] - len(self._words))
        return FoundWords(distinct[:place], spelt, vectors, columns, found.ends)

    def _rows(self, sentences: list[str | Sequence[str]]) -> RowLists:
        are_texts = [isinstance(sentence, str) for sentence in sentences]
        if all(are_texts):
            return self._of_runs.of_texts([str(sentence).lower() for sentence in sentences])
        if not any(are_texts):
            return self._of_tokens.of_lists(list(map(_checked, sentences)))
        return RowLists.concatenate([self._rows([sentence]) for sentence in sentences])

    def _read_runs(self, runs: list[str]) -> RowLists:
        rows: list[int] = []
        ends = [0]
        for token in split_runs(runs):
            if token == RUN_END:
                ends.append(len(rows))
            else:
                rows += self._read_token(token)
        return RowLists(np.array(rows, dtype=np.int64), np.array(ends))

    def _read_tokens(self, tokens: list[str]) -> RowLists:
        return RowLists.from_lists(list(map(self._read_token, tokens)))

    def _read_token(self, token: str) -> tuple[int, ...]:
        row = self._words.row(token)
        if row >= 0:
            return (row,)
        if self._unknown == "skip":
            return ()
        parts = ((part, self._words.row(part)) for part in split_unknown([token], self._words))
        spell = self._unknown == "spelling"
        return tuple(
            self._number(part) if row < 0 else row
            for part, row in parts
            if row >= 0 or (spell and is_spelt(part))
        )

    def _number(self, word: str) -> int:
        return len(self._words) + self._numbers.setdefault(word, len(self._numbers))

    def _vectors(self, numbers: NDArray[np.intp]) -> tuple[list[str], Float64]:
        """Return unknown words and their vectors; compute new ones."""
        words = list(self._numbers)
        fresh = words[len(self._spelt) :]
        if fresh:
            if self._spelling is None:
                self._spelling = Spelling.from_frequent(
                    self._words.words, self._words.vectors, self._probabilities
                )
            self._spelt.extend(self._spelling(fresh))
        taken = numbers.tolist()
        made = np.array([self._spelt[i] for i in taken], dtype=np.float64)
        return [words[i] for i in taken], made.reshape(len(taken), self._words.dimension)

    def _forget_if_many(self) -> None:
        if len(self._numbers) > _MOST_SPELT:
            for each in (self._of_runs, self._of_tokens, self._numbers, self._spelt):
                each.clear()


def split_unknown(tokens: Iterable[str], known: Container[str]) -> list[str]:
    """Return the tokens, with unknown ones split at hyphens and slashes."""
    return [
        part
        for token in tokens
        for part in ([token] if token in known else _SEPARATORS.split(token))
        if part or not token
    ]


def is_spelt(word: str) -> bool:
    """Return whether an unknown word gets a vector from its spelling: not *of*, *'s* or *n't*."""
    return not word.isascii() or sum(map(str.isalnum, word)) >= _SHORTEST_SPELT


def _checked(sentence: Sequence[str]) -> list[str]:
    tokens: list[Any] = list(sentence) if hasattr(sentence, "__iter__") else [None]
    if all(isinstance(token, str) for token in tokens):
        return tokens
    raise InvalidInputError(f"{sentence!r:.60} is not a sentence; pass text or a list of words")
