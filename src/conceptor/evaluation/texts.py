"""Texts as averages of word vectors, and benchmarks about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from conceptor.base.tokens import tokenize
from conceptor.evaluation.task import Missing, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.table import WordVectors


class Texts:
    """Texts, split into tokens once."""

    def __init__(self, texts: Sequence[str], split: Callable[[str], list[str]] = tokenize) -> None:
        self.texts = texts
        self._split = split

    @cached_property
    def tokens(self) -> list[list[str]]:
        """The tokens of every text."""
        return [self._split(text) for text in self.texts]

    @cached_property
    def counts(self) -> tuple[list[str], sparse.csr_array]:
        """The distinct tokens, and how often each occurs in each text."""
        column: dict[str, int] = {}
        columns = [column.setdefault(token, len(column)) for text in self.tokens for token in text]
        starts = np.cumsum([0, *(len(text) for text in self.tokens)])
        matrix = sparse.csr_array(
            (np.ones(len(columns)), columns, starts), shape=(len(self.tokens), len(column))
        )
        return list(column), matrix

    @cached_property
    def words(self) -> frozenset[str]:
        """Every token of the texts."""
        return frozenset(self.counts[0])

    def averages(self, vectors: WordVectors) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the average vector of each text (one sparse product), and which have one."""
        words, counts = self.counts
        rows = vectors.rows(words)
        known = np.flatnonzero(rows >= 0)
        counts = counts[:, known]
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        sums = counts @ vectors.vectors[rows[known]].astype(np.float64)
        return sums / np.maximum(lengths, 1)[:, None], lengths > 0

    def known_tokens(self, vectors: WordVectors) -> tuple[int, int]:
        """Return the number of tokens with a vector, and the number of all tokens."""
        words, counts = self.counts
        per_word = np.asarray(counts.sum(axis=0)).ravel()
        return int(per_word[vectors.rows(words) >= 0].sum()), int(per_word.sum())


class TextTask(ABC):
    """A benchmark that scores vectors of texts: STS, classification, retrieval."""

    task: str
    dataset: str

    @property
    @abstractmethod
    def texts(self) -> Texts:
        """The texts, split into tokens."""

    @property
    def words(self) -> frozenset[str]:
        """Every token of the texts."""
        return self.texts.words

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Score averages of words; tokens are in lower case, so `missing` has no effect."""
        outcome = self.score_texts(*self.texts.averages(vectors))
        return replace(outcome, known_tokens=self.texts.known_tokens(vectors))

    @abstractmethod
    def score_texts(self, made: NDArray[Any], known: NDArray[np.bool_], /) -> Outcome:
        """Score vectors of `texts`, however they were made; `known`: which had a known word."""
