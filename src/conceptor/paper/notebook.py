"""The protocol of the authors' notebook, where it differs from ours.

It separates differences of the protocol from differences of the vectors: `conceptor reproduce
--notebook`, docs/studies/paper.md.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import MissingExtraError
from conceptor.evaluation.battery import Battery
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.statistics import SpearmanCorrelation
from conceptor.evaluation.sts import SentenceSimilarity
from conceptor.evaluation.task import SearchTask, Task, Texts


def as_in_notebook(battery: Battery) -> Battery:
    """Return the benchmarks with the notebook's ranks and tokens (needs NLTK)."""
    split_as_nltk("")  # without NLTK, fail before any work
    tasks: list[Task | SearchTask] = []
    for task in battery.tasks:
        if isinstance(task, WordSimilarity):
            task = _OrderedSimilarity(task.dataset, task.pairs, task.gold)
        elif isinstance(task, SentenceSimilarity):
            task = _TreebankSimilarity(task.dataset, task.pairs, task.task, task.in_mean)
        tasks.append(task)
    return replace(battery, tasks=tasks)


class _OrderedSimilarity(WordSimilarity):
    """Word similarity without shared ranks for ties: tied pairs get consecutive ranks."""

    def correlate(
        self, predicted: NDArray[np.float64], gold: NDArray[np.float64]
    ) -> SpearmanCorrelation:
        """Break ties of human scores by file order, and ties of cosines by those ranks."""
        by_gold = np.argsort(-gold, kind="stable")
        by_cosine = by_gold[np.argsort(-predicted[by_gold], kind="stable")]
        places = np.arange(len(gold), 0, -1, dtype=np.float64)
        ranks = np.empty((2, len(gold)))
        ranks[0, by_cosine] = ranks[1, by_gold] = places
        return SpearmanCorrelation(ranks[0], ranks[1])


class _TreebankSimilarity(SentenceSimilarity):
    """Sentence similarity over the tokens of NLTK."""

    @cached_property
    def texts(self) -> Texts:
        """Every sentence: all left ones, then all right ones."""
        return Texts(super().texts.texts, split_as_nltk)


def split_as_nltk(sentence: str) -> list[str]:
    """Return NLTK's tokens in lower case, except those without a letter."""
    try:
        from nltk import word_tokenize
    except ImportError:
        raise MissingExtraError("The notebook's tokenizer (NLTK)", "notebook") from None
    plain = sentence.replace("\u2018", "'").replace("\u2019", "'")
    # One sentence per line: splitting into sentences would need a model to download.
    tokens: list[Any] = word_tokenize(plain, preserve_line=True)
    return [token.lower() for token in tokens if token.lower().islower()]
