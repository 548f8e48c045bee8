"""The Google analogies (a is to b as c is to d), answered by 3CosAdd."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.evaluation.statistics import Mean
from conceptor.evaluation.task import Missing, Outcome, Searched, SearchTask, with_lower
from conceptor.vectors.search import Contest
from conceptor.vectors.table import WordVectors

Question = tuple[str, str, str, str]

FILE = "analogy/questions-words.txt"
FAMILY = "Google family"
# word2vec's own evaluation script searches this many words for the answer.
CANDIDATES = 30_000


@dataclass(frozen=True, eq=False)
class Analogy(SearchTask):
    """Share of questions (a, b, c, d) where d is nearest to b − a + c, with a, b and c excluded.

    All words are searched; with `among`, only the first ones (the most frequent in a file sorted by
    frequency), and a question with any other word counts as missing. Unlike in other tasks, words
    are always looked up in lower case too, as in word2vec's tool and gensim: the questions
    capitalize names.
    """

    dataset: str
    questions: Sequence[Question]
    among: int | None = None
    in_mean: bool = True
    task = "analogy"
    metric = "accuracy"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the questions, and its lower-cased form."""
        return with_lower(word for question in self.questions for word in question)

    def begin(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Searched:
        """Search all words for the answer of every known question."""
        flat = [word for question in self.questions for word in question]
        rows = vectors.rows(flat, lowercase=True).reshape(-1, 4)
        places = vectors.places[rows] if len(vectors) else rows
        covered = np.asarray((rows >= 0).all(axis=1))
        if self.among is not None:
            covered &= (places < self.among).all(axis=1)
        used, questions = np.unique(rows[covered], return_inverse=True)
        contest = Contest(
            vectors.vectors[used], questions.reshape(-1, 4), places[covered], among=self.among
        )

        def outcome() -> Outcome:
            correct = np.zeros(len(rows), dtype=np.bool_)
            correct[covered] = contest.won
            return self.outcome_of_items(covered, missing, lambda scored: Mean(correct[scored]))

        return Searched(contest, outcome)


def read_analogies(path: str | os.PathLike[str]) -> list[Analogy]:
    """Read the questions; sections named `gram…` are syntactic, the others semantic.

    Both kinds are scored twice: among all words, and among the first `CANDIDATES`.
    """
    kinds: dict[str, list[Question]] = {"Google semantic": [], "Google syntactic": []}
    for section, questions in _read_sections(path).items():
        syntactic = section.startswith("gram")
        kinds["Google syntactic" if syntactic else "Google semantic"] += questions
    return [Analogy(dataset, questions) for dataset, questions in kinds.items()] + [
        Analogy(f"{dataset}, first {CANDIDATES:,}", questions, CANDIDATES, in_mean=False)
        for dataset, questions in kinds.items()
    ]


def read_family(path: str | os.PathLike[str]) -> Analogy:
    """Read only the questions about families: man is to woman as king is to queen."""
    return Analogy(FAMILY, _read_sections(path).get("family", []), in_mean=False)


def _read_sections(path: str | os.PathLike[str]) -> dict[str, list[Question]]:
    sections: dict[str, list[Question]] = {}
    section = ""
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(":"):
            section = line[1:].strip()
        elif line.strip():
            try:
                a, b, c, d = line.split()
            except ValueError:
                raise InvalidInputError(f"{path}, line {number}: expected four words") from None
            sections.setdefault(section, []).append((a, b, c, d))
    return sections
