"""Word similarity: how well cosines agree with human rankings of word pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from conceptor.base.arrays import cosines
from conceptor.evaluation.labels import read_pairs
from conceptor.evaluation.statistics import SpearmanCorrelation
from conceptor.evaluation.task import Missing, Outcome, Task, with_lower
from conceptor.vectors.table import WordVectors

FILES = {
    "RG65": "word-similarity/EN-RG-65.txt",
    "WS": "word-similarity/EN-WS-353-ALL.txt",
    "RW": "word-similarity/EN-RW-STANFORD.txt",
    "MEN": "word-similarity/EN-MEN-TR-3k.txt",
    "MTurk": "word-similarity/EN-MTurk-287.txt",
    "SimLex": "word-similarity/EN-SIMLEX-999.txt",
    "SimVerb": "word-similarity/EN-SimVerb-3500.txt",
}
# The files of sets in other languages, by family and dataset.
LANGUAGES = {
    f"similarity-{code}": {
        f"SimLex {code}": f"word-similarity/{code.upper()}-SIMLEX-999.txt",
        f"WS {code}": f"word-similarity/{code.upper()}-WS-353.txt",
    }
    for code in ("de", "it", "ru")
}


@dataclass(frozen=True, eq=False)
class WordSimilarity(Task):
    """Spearman's ρ between human scores and cosines, over the pairs the vectors cover."""

    dataset: str
    pairs: Sequence[tuple[str, str]]
    gold: Sequence[float]
    task: str = "similarity"
    metric = "spearman"

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the pairs, and its lower-cased form."""
        return with_lower(word for pair in self.pairs for word in pair)

    def score(self, vectors: WordVectors, missing: Missing = Missing.SKIP) -> Outcome:
        """Score the vectors; O(pairs × dimension)."""
        flat = (word for pair in self.pairs for word in pair)
        rows = vectors.rows(flat, lowercase=missing is Missing.LOWERCASE).reshape(-1, 2)
        covered = np.asarray((rows >= 0).all(axis=1))
        left, right = rows[covered].T
        predicted = np.zeros(len(self.pairs))
        predicted[covered] = cosines(vectors.vectors[left], vectors.vectors[right])
        gold = np.asarray(self.gold)
        return self.outcome_of_items(
            covered, missing, lambda scored: self.correlate(predicted[scored], gold[scored])
        )

    def correlate(
        self, predicted: NDArray[np.float64], gold: NDArray[np.float64]
    ) -> SpearmanCorrelation:
        """Return the correlation of these pairs, with average ranks for ties."""
        return SpearmanCorrelation(predicted, gold)


def read_words(
    dataset: str, path: str | os.PathLike[str], family: str = "similarity", *, once: bool = False
) -> WordSimilarity:
    """Read word pairs as a benchmark of a family; with `once`, raise for a repeated pair."""
    pairs = read_pairs(path, once=once)
    return WordSimilarity(dataset, [pair[:2] for pair in pairs], [p.gold for p in pairs], family)
