"""Synonym retrieval: how many of a word's synonyms are among the nearest of all words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import read_lines
from conceptor.evaluation.statistics import Masked, Mean
from conceptor.evaluation.task import Missing, Outcome, Searched, SearchTask
from conceptor.evaluation.unlabeled import without_own
from conceptor.vectors.search import Nearest
from conceptor.vectors.table import WordVectors

FILE = "lexicon/ppdb_synonyms.txt"
# The second score is among this many first words.
COMMON = 20_000
NEAREST = 10
QUERIES = 2_000
# Queries are among the first words: people look up words they know.
_QUERIES_AMONG = 50_000
_FAR = 100_000


@dataclass(frozen=True, eq=False)
class SynonymRecall(SearchTask):
    """Share of a word's listed synonyms among its ten nearest words, mean over 2,000 words.

    For a word with n synonyms among the vectors, min(10, n) can be found. The words are the first
    in a fixed random order of the list that have a vector among the first 50,000, and a synonym
    with a vector. `prior` prefers frequent words: see `Nearest`.
    """

    dataset: str
    synonyms: Mapping[str, frozenset[str]]
    among: int | None = None
    in_mean: bool = True
    prior: float = 0.0
    task = "synonyms"
    metric = "recall"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every listed word; the relation is symmetric."""
        return frozenset(self.synonyms)

    def begin(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Searched:
        """Search the nearest of all words; `missing` has no effect."""
        listed = list(self.synonyms)
        rows = vectors.rows(listed)
        pairs = zip(listed, rows.tolist(), strict=True)
        place = {word: int(vectors.places[row]) for word, row in pairs if row >= 0}
        synonyms: dict[int, set[int]] = {}
        for i, word in enumerate(listed):
            places = {place[other] for other in self.synonyms[word] if other in place}
            if places and place.get(word, _QUERIES_AMONG) < _QUERIES_AMONG:
                synonyms[i] = places
            if len(synonyms) == QUERIES:
                break
        queries = np.array(list(synonyms), dtype=np.intp)
        # Each word is its own nearest word.
        nearest = Nearest(
            vectors.vectors[rows[queries]], NEAREST + 1, prior=self.prior, among=self.among
        )

        def outcome() -> Outcome:
            near = without_own(nearest.rows, vectors.places[rows[queries]])
            pairs = zip(synonyms.values(), near.tolist(), strict=True)
            shares = [len(right & {*places}) / min(NEAREST, len(right)) for right, places in pairs]
            # Resamples draw from the whole list, so that they are the same for all vectors.
            used = np.zeros(len(listed), dtype=np.bool_)
            used[queries] = True
            remark, places = "", near[near >= 0]
            if not self.among and len(places):
                remark = f"neighbors at median rank {int(np.median(places)) + 1:,}"
                if beyond := float(np.mean(places >= _FAR)):
                    remark += f", {beyond:.1%} of them beyond {_FAR:,}"
            return self.outcome(Masked(Mean(np.array(shares)), used), len(queries), QUERIES, remark)

        return Searched(nearest, outcome)


def read_synonyms(path: str | os.PathLike[str]) -> list[SynonymRecall]:
    """Read two words per line; a prefix `en_` of a word is dropped."""
    synonyms: dict[str, set[str]] = {}
    for number, line in read_lines(path, "word pairs", "of word pairs"):
        words = [word.removeprefix("en_") or word for word in line.split()]
        if len(words) != 2:
            raise InvalidInputError(f"{path}, line {number}: expected two words, not {line[:60]!r}")
        if words[0] != words[1]:
            synonyms.setdefault(words[0], set()).add(words[1])
            synonyms.setdefault(words[1], set()).add(words[0])
    listed = sorted(synonyms)
    order = np.random.default_rng(0).permutation(len(listed)).tolist()
    shuffled = {listed[i]: frozenset(synonyms[listed[i]]) for i in order}
    name = f"synonyms@{NEAREST}"
    return [
        SynonymRecall(name, shuffled),
        SynonymRecall(f"{name}, first {COMMON:,}", shuffled, COMMON, in_mean=False),
    ]
