"""Measures that need no labels: neighbors kept, hubness, and the separation of related rows.

Two texts that share several rare words are about the same thing more often than two random ones.
That is a weak sign and favors wording over meaning, but it needs no labels. If such pairs are no
closer than random ones, the embedding has lost something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conceptor.evaluation.statistics import ItemWeights, Vector, weighted_ranks
from conceptor.evaluation.task import Texts
from conceptor.vectors.search import Nearest

# A rare word is in at most this share of the texts.
_MOST_COMMON = 0.01
# Two texts are related if they share at least two rare words and the cosine of their rare words is
# at least the first number; above the second they are near duplicates, which any embedding finds.
_ALIKE, _SAME = 0.2, 0.9
_FEWEST, _MOST = 50, 1000


def without_own(near: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Remove each query row from its own nearest rows, so that one fewer is left.

    If it is not among them, as with many equal rows, the last is dropped instead.
    """
    is_other = near != own[:, np.newaxis]
    is_other[is_other.all(axis=1), -1] = False
    return np.asarray(near[is_other].reshape(len(near), near.shape[1] - 1))


def share_kept(now: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each row the share of its nearest rows before that are still nearest now."""
    pairs = zip(now.tolist(), before.tolist(), strict=True)
    both = [({*a} - {-1}, {*b} - {-1}) for a, b in pairs]
    return np.array([len(a & b) / len(b) if b else 1.0 for a, b in both])


def hubness(rows: NDArray[Any], k: int = 10) -> float:
    """Return the skewness of k-occurrences: how often each row is among the k nearest of others.

    It is near 0 if all rows are neighbors about equally often, and large if a few hubs are
    neighbors of everything; Radovanović, Nanopoulos & Ivanović (2010), JMLR 11. It is NaN if all
    rows are neighbors exactly equally often.

    For a large file, use a random sample and search the neighbors of all its rows: a few rows
    searched among all would hit most rows never and some once, which does not show hubs.
    """
    count = len(rows)
    if count < 2:
        return float("nan")
    search = Nearest(rows, min(k, count - 1) + 1)
    search.take(search.look(rows, 0))
    near = without_own(search.rows, np.arange(count))
    times = np.bincount(near[near >= 0], minlength=count).astype(np.float64)
    spread = times.std()
    if not spread > 1e-9:
        return float("nan")
    return float(np.mean(((times - times.mean()) / spread) ** 3))


@dataclass(frozen=True, eq=False)
class Separation:
    """The probability that a related pair has a higher cosine than an unrelated one (ROC AUC)."""

    cosines: Vector
    related: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of pairs."""
        return len(self.cosines)

    def __call__(self, weights: ItemWeights) -> Vector:
        """Return the probability for each column of weights; nan without pairs of both kinds."""
        ranks = weighted_ranks(self.cosines, weights)
        of = weights[self.related]
        positives, negatives = of.sum(axis=0), weights[~self.related].sum(axis=0)
        above = np.einsum("ij,ij->j", of, ranks[self.related]) - positives * (positives + 1) / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(above / (positives * negatives))


class RelatedPairs(NamedTuple):
    """Pairs of texts, marked by whether they share rare words; the others share none."""

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    related: NDArray[np.bool_]


def find_related(texts: Sequence[str], seed: int = 0) -> RelatedPairs | None:
    """Return pairs of texts that share rare words, and as many random pairs that share none.

    Return None if fewer than 50 pairs share any, as in texts of a single word, or without spaces.
    """
    distinct, counts = Texts(texts).counts
    present = sparse.csr_array(counts > 0).astype(np.float64)
    times = np.asarray(present.sum(axis=0)).ravel()
    rare = np.flatnonzero(times <= max(2, _MOST_COMMON * len(texts)))
    if not distinct or not len(rare):
        return None
    # Rare words of each text, weighted by how rare they are.
    words = sparse.csr_array(
        present[:, rare] @ sparse.diags_array(np.log(len(texts) / times[rare]))
    )
    lengths = np.sqrt(np.asarray(words.multiply(words).sum(axis=1)).ravel())
    unit = sparse.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ words
    shared = ((words > 0).astype(np.int32) @ (words > 0).astype(np.int32).T).tocoo()
    cosines = np.asarray((unit.tocsr() @ unit.T.tocsr())[shared.row, shared.col]).ravel()
    left, right = shared.row, shared.col
    good = (left < right) & (shared.data >= 2) & (cosines >= _ALIKE) & (cosines <= _SAME)
    pairs = np.stack([left[good], right[good]], axis=1)
    rng = np.random.default_rng(seed)
    pairs = pairs[rng.permutation(len(pairs))]
    # A text that shares words with many others is used once.
    _, first = np.unique(pairs[:, 0], return_index=True)
    pairs = pairs[np.sort(first)][:_MOST]
    if len(pairs) < _FEWEST:
        return None
    random = rng.integers(0, len(texts), size=(4 * len(pairs), 2))
    apart = np.asarray(shared.tocsr()[random[:, 0], random[:, 1]]).ravel() == 0
    random = random[apart & (random[:, 0] != random[:, 1])][: len(pairs)]
    if len(random) < len(pairs):
        return None
    both = np.concatenate([pairs, random]).astype(np.intp)
    return RelatedPairs(both[:, 0], both[:, 1], np.arange(len(both)) < len(pairs))
