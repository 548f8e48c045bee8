"""Word similarity: how well cosines agree with human rankings of word pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.arrays import cosines
from conceptor.evaluation.statistics import SpearmanCorrelation
from conceptor.evaluation.task import Missing, Outcome, with_lower

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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


@dataclass(frozen=True, eq=False)
class WordSimilarity:
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
        lowercase = missing is Missing.LOWERCASE
        left = vectors.rows((pair[0] for pair in self.pairs), lowercase=lowercase)
        right = vectors.rows((pair[1] for pair in self.pairs), lowercase=lowercase)
        known = (left >= 0) & (right >= 0)
        predicted = np.zeros(len(self.pairs))
        predicted[known] = cosines(vectors.vectors[left[known]], vectors.vectors[right[known]])
        gold = np.asarray(self.gold)
        return Outcome.from_items(
            self, known, missing, lambda kept: self.correlate(predicted[kept], gold[kept])
        )

    def correlate(
        self, predicted: NDArray[np.float64], gold: NDArray[np.float64]
    ) -> SpearmanCorrelation:
        """Return the correlation of these pairs, with average ranks for ties."""
        return SpearmanCorrelation(predicted, gold)
