"""Measure the loss of an attached encoder, on questions from held-out documents or judgements."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.arrays import unit_rows32
from conceptor.evaluation.attached.survey import mark
from conceptor.evaluation.statistics import Interval, Mean, paired_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors

    Encode = Callable[[list[str]], NDArray[Any]]

DEPTH = 10
# Questions come from at most this many documents, and this many from each.
MOST_DOCUMENTS = 300
EACH = 2
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SHORTEST, _LONGEST = 5, 30
# Thresholds for the lower end of the interval, from the best verdict down. Calibrated on two
# collections and checked on a third (docs/studies/attach.md).
USE, WITH_BM25, DO_NOT = "use it", "use it together with BM25", "do not use it"
_LINES = {"model": (75.0, 50.0), "document": (60.0, 45.0)}
# After a fit to fewer documents, the verdict is never the best one: on the same two collections,
# even samples of 300 kept 90 to 94% of the model's nDCG@10, and of 600 on average 95%.
_ENOUGH = 600


@dataclass(frozen=True)
class Loss:
    """How often an encoder finds the right document, in percent, with its 95% interval.

    Attributes
    ----------
    against : {"model", "document"}
        The document that must be among the first ten: the model's own first hit, or the document
        that the question was taken from.
    documents : int
        The number of documents in the measured fit.
    questions : int
    share, low, high : float
    """

    against: str
    documents: int
    questions: int
    share: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """A recommendation.

        After a fit to few documents it is never the best one: the questions then do not show what
        is missing, as the start already answers them.
        """
        best, good = _LINES[self.against]
        if self.low >= best and self.documents >= _ENOUGH:
            return USE
        return WITH_BM25 if self.low >= good else DO_NOT

    def sentence(self) -> str:
        """Return the measurement in words."""
        goal = (
            "the document that the model ranks first"
            if self.against == "model"
            else "the document that the question was taken from"
        )
        return (
            f"for {self.share:.0f}% [{self.low:.0f}, {self.high:.0f}] of {self.questions} "
            f"questions {goal} is among the first {DEPTH}"
        )


@dataclass
class Questions:
    """Sentences of held-out documents; if there are many, of those with the smallest hashes."""

    _kept: list[tuple[int, int, list[str]]] = field(default_factory=list)

    def add(self, row: int, text: str) -> None:
        """Add the document of a row, if it qualifies."""
        found = make_questions(text)
        if found:
            entry = (-int.from_bytes(mark(text)), row, found)
            if len(self._kept) < MOST_DOCUMENTS:
                heapq.heappush(self._kept, entry)
            else:
                heapq.heappushpop(self._kept, entry)

    def __len__(self) -> int:
        return len(self._kept)

    def texts(self) -> list[str]:
        """Return the questions."""
        return [text for _, _, found in self._kept for text in found]

    def rows(self) -> NDArray[np.int64]:
        """Return the row of the document of each question."""
        return np.array([row for _, row, found in self._kept for _ in found], dtype=np.int64)


def make_questions(text: str) -> list[str]:
    """Return up to `EACH` sentences spread over a text, or words from its middle."""
    sentences = [each.strip() for each in _SENTENCE.split(text)]
    fit = [each for each in sentences if _SHORTEST <= len(each.split()) <= _LONGEST]
    if not fit:
        words = text.split()
        middle = max(0, (len(words) - 20) // 2)
        fit = [" ".join(words[middle : middle + 20])] if len(words) >= _SHORTEST else []
    step = max(1, len(fit) // EACH)
    return fit[step // 2 :: step][:EACH]


def search(store: Vectors, queries: NDArray[Any], depth: int = DEPTH) -> NDArray[np.int64]:
    """Return the rows of the stored vectors with the largest inner products, best first.

    The store is read in one pass; ties are broken by row.
    """
    found = np.full((len(queries), depth), -1, dtype=np.int64)
    best = np.full((len(queries), depth), -np.inf, dtype=np.float32)
    start = 0
    for _, vectors in store.chunks():
        scores = queries @ np.asarray(vectors, dtype=np.float32).T
        rows = np.arange(start, start + scores.shape[1])
        every = np.concatenate([best, scores], axis=1)
        numbers = np.concatenate([found, np.broadcast_to(rows, scores.shape)], axis=1)
        order = np.argsort(-every, axis=1, kind="stable")[:, :depth]
        best = np.take_along_axis(every, order, axis=1)
        found = np.take_along_axis(numbers, order, axis=1)
        start += scores.shape[1]
    return found


def measure(
    store: Vectors, questions: Questions, encode: Encode, model: Encode | None, documents: int
) -> Loss:
    """Return how often an encoder, fitted to `documents`, finds the goal among the first ten."""
    texts = questions.texts()
    # Search with the model's vectors at length 1, as the model is used.
    asked = [encode(texts)] + ([] if model is None else [unit_rows32(model(texts))])
    hits = search(store, np.concatenate(asked).astype(np.float32))
    wanted = questions.rows() if model is None else hits[len(texts) :, 0]
    right = (hits[: len(texts)] == wanted[:, np.newaxis]).any(axis=1)
    interval = _interval(right, questions.rows())
    against = "document" if model is None else "model"
    return Loss(against, documents, len(texts), interval.difference, interval.low, interval.high)


def _interval(right: NDArray[np.bool_], documents: NDArray[np.int64]) -> Interval:
    """Return the mean and its interval; the bootstrap draws documents, not questions."""
    _, groups = np.unique(documents, return_inverse=True)
    means = np.bincount(groups, right) / np.bincount(groups)
    nothing = {"questions": Mean(np.zeros(len(means)))}
    found = paired_differences(nothing, [{"questions": Mean(means)}])
    return found["questions"].interval(0)


def fuse(rankings: Sequence[NDArray[np.int64]], depth: int, constant: float = 60.0) -> list[int]:
    """Fuse rankings by reciprocal ranks: the sum of 1 / (60 + rank) (Cormack et al. 2009)."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking.tolist(), 1):
            if row >= 0:  # -1 marks places without a result
                scores[row] = scores.get(row, 0.0) + 1 / (constant + rank)
    # Ties keep the order of the first ranking, as dictionaries keep their order.
    return sorted(scores, key=scores.__getitem__, reverse=True)[:depth]
