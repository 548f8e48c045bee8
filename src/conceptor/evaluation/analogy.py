"""The Google analogies (a is to b as c is to d), answered by 3CosAdd."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.evaluation.statistics import Accuracy
from conceptor.evaluation.task import Missing, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.table import WordVectors

__all__ = ["CANDIDATES", "FILE", "Analogy", "read_analogies"]

FILE = "analogy/questions-words.txt"
# word2vec's own evaluation script searches this many words for the answer.
CANDIDATES = 30_000
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Analogy:
    """Share of questions (a, b, c, d) where d is nearest to b − a + c, with a, b and c excluded.

    Only the first `candidates` words are searched, the most frequent ones in a file sorted by
    frequency; a question with any other word is missing. Unlike in other tasks, words are always
    looked up in lower case too, as word2vec's tool and gensim do: the questions capitalise names.
    """

    dataset: str
    questions: Sequence[tuple[str, str, str, str]]
    candidates: int = CANDIDATES
    task = "analogy"
    metric = "accuracy"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the questions, and its lower-cased form."""
        words = {word for question in self.questions for word in question}
        return frozenset(words | {word.lower() for word in words})

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Answer the questions with one product of questions and candidates, in blocks."""
        flat = [word for question in self.questions for word in question]
        rows = vectors.rows(flat, lowercase=True).reshape(-1, 4)
        limit = min(self.candidates, len(vectors))
        known = np.asarray(((rows >= 0) & (rows < limit)).all(axis=1))
        correct = np.zeros(len(rows), dtype=np.bool_)
        correct[known] = _answer(_unit(vectors.vectors[:limit]), rows[known])
        return Outcome.from_items(self, known, missing, lambda kept: Accuracy(correct[kept]))


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    # Single precision halves the time of this product, which dominates the battery.
    unit = vectors.astype(np.float64)
    norms = np.linalg.norm(unit, axis=1, keepdims=True)
    return (unit / np.where(norms > 0, norms, 1.0)).astype(np.float32)


def _answer(unit: NDArray[np.float32], questions: NDArray[np.intp]) -> NDArray[np.bool_]:
    correct = np.zeros(len(questions), dtype=np.bool_)
    for start in range(0, len(questions), _BLOCK):
        a, b, c, d = questions[start : start + _BLOCK].T
        similarity = (unit[b] - unit[a] + unit[c]) @ unit.T
        asked = np.arange(len(a))
        for given in (a, b, c):
            similarity[asked, given] = -np.inf
        correct[start : start + _BLOCK] = similarity.argmax(axis=1) == d
    return correct


def read_analogies(path: str | os.PathLike[str], candidates: int = CANDIDATES) -> list[Analogy]:
    """Read the questions; sections named `gram…` are syntactic, the others semantic."""
    kinds: dict[str, list[tuple[str, str, str, str]]] = {
        "Google semantic": [],
        "Google syntactic": [],
    }
    section = "Google semantic"
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(":"):
            syntactic = line[1:].strip().startswith("gram")
            section = "Google syntactic" if syntactic else "Google semantic"
        elif line.strip():
            match line.split():
                case [a, b, c, d]:
                    kinds[section].append((a, b, c, d))
                case _:
                    raise InvalidInputError(
                        f"{os.fspath(path)}, line {number}: expected four words"
                    )
    return [Analogy(dataset, questions, candidates) for dataset, questions in kinds.items()]
