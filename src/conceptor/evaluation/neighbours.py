"""SynonymRecall: how many of a word's synonyms are among the nearest of all words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.evaluation.statistics import Masked, Mean
from conceptor.evaluation.task import Missing, Outcome, Searched
from conceptor.evaluation.unlabelled import without_own
from conceptor.lexicon.files import symmetric_pairs
from conceptor.vectors.search import Nearest

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

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
class SynonymRecall:
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
    task = "neighbours"
    metric = "recall"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every listed word; the relation is symmetric."""
        return frozenset(self.synonyms)

    def begin(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Searched:
        """Search the nearest of all words; `missing` has no effect."""
        listed = list(self.synonyms)
        rows = vectors.rows(listed)
        known = ((word, row) for word, row in zip(listed, rows, strict=True) if row >= 0)
        place = {word: int(vectors.places[row]) for word, row in known}
        right: dict[int, set[int]] = {}
        for i, word in enumerate(listed):
            if place.get(word, _QUERIES_AMONG) < _QUERIES_AMONG:
                found = {place[other] for other in self.synonyms[word] if other in place}
                if found:
                    right[i] = found
            if len(right) == QUERIES:
                break
        asked = np.array(list(right), dtype=np.intp)
        # Each word is its own nearest word.
        nearest = Nearest(
            vectors.vectors[rows[asked]], NEAREST + 1, prior=self.prior, among=self.among
        )

        def outcome() -> Outcome:
            own = vectors.places[rows[asked]]
            near = without_own(nearest.rows, own)
            scores = np.array(
                [
                    len(right[i].intersection(places)) / min(NEAREST, len(right[i]))
                    for i, places in zip(asked.tolist(), near.tolist(), strict=True)
                ]
            )
            # Resamples draw from the whole list, so that they are the same for all vectors.
            kept = np.zeros(len(listed), dtype=np.bool_)
            kept[asked] = True
            far = "" if self.among else _describe(near[near >= 0])
            found = Masked(Mean(scores), kept)
            return Outcome.of(self, len(asked), QUERIES, found, in_mean=self.in_mean, remark=far)

        return Searched(nearest, outcome)


def _describe(places: NDArray[np.int64]) -> str:
    """Describe how rare the neighbours are."""
    if not len(places):
        return ""
    beyond = float(np.mean(places >= _FAR))
    share = f", {beyond:.1%} of them beyond {_FAR:,}" if beyond else ""
    return f"neighbours at median rank {int(np.median(places)) + 1:,}{share}"


def read_neighbours(path: str | os.PathLike[str]) -> list[SynonymRecall]:
    """Read pairs of synonyms in the format of a lexicon."""
    synonyms: dict[str, set[str]] = {}
    for word, other in symmetric_pairs(path):
        synonyms.setdefault(word, set()).add(other)
    order = np.random.default_rng(0).permutation(len(synonyms))
    listed = sorted(synonyms)
    fixed = {listed[i]: frozenset(synonyms[listed[i]]) for i in order}
    name = f"synonyms@{NEAREST}"
    return [
        SynonymRecall(name, fixed),
        SynonymRecall(f"{name}, first {COMMON:,}", fixed, COMMON, in_mean=False),
    ]
