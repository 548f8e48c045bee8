"""Word frequencies in running text, and the sentence weights derived from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conceptor.algebra.recipes import Words
from conceptor.base.errors import InvalidInputError
from conceptor.weights import choose_weights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conceptor.base.arrays import Float64
    from conceptor.vectors.table import WordVectors
    from conceptor.weights import WeightsLike

__all__ = ["Frequencies", "usif_a", "usif_weights"]

_USIF_LENGTH = 11


class Frequencies:
    """Shares of running text, for words with and without a vector.

    Parameters
    ----------
    vectors : WordVectors
        Words with a vector.
    source : str, path or mapping, optional
        Ranks, a file of counts, `wordfreq:LANG`, or a mapping; by default the choice of
        `conceptor.weights.choose_weights` for the vectors.

    Attributes
    ----------
    name : str
        `zipf`, `uniform` or `counts`.
    of_words, of_all : ndarray
        The shares of `words`, and of all words in the source.
    counts : dict
        The counts in the source, including words without a vector; empty for ranks.
    """

    def __init__(self, vectors: WordVectors, source: WeightsLike | None = None) -> None:
        chosen = choose_weights(Words.USAGE, vectors, weights=source)
        words = vectors.words
        self.name, self.caution = chosen.kind, chosen.caution
        self.counts = {word: n for word, n in (chosen.counts or {}).items() if n > 0}
        if chosen.counts is None:
            weights = chosen.shares(words, 0).weights
            every: Float64 = np.ones(len(words)) if weights is None else weights
        else:
            every = np.fromiter(self.counts.values(), dtype=np.float64)
        if not len(every):
            raise InvalidInputError("all frequencies are zero; at least one must be positive")
        if not np.isfinite(every).all():
            raise InvalidInputError("a frequency is infinite; all must be finite")
        if self.counts and not any(word in self.counts for word in words):
            raise InvalidInputError(
                "no word with a vector has a frequency; check that frequencies and vectors match"
            )
        self._total, self._rarest = float(every.sum()), float(every.min())
        self.of_all: Float64 = every / self._total
        self.of_words = self.of(words) if self.counts else self.of_all

    def of(self, words: Iterable[str]) -> Float64:
        """Return the shares of any words; a word without a count gets the lowest share."""
        counts = [self.counts.get(word, self._rarest) for word in words]
        return np.array(counts, dtype=np.float64) / self._total


def usif_weights(probabilities: Float64, a: float) -> Float64:
    """Return ``a / (a/2 + p)``, the weights of uSIF (Ethayarajh 2018)."""
    return a / (a / 2 + probabilities)


def usif_a(probabilities: Float64) -> float:
    """Return the constant a of uSIF's ``a / (a/2 + p)``, derived as in Ethayarajh (2018).

    With V words and sentences of n words, ``t = 1 − (1 − 1/V)^n`` is the probability that a random
    walk visits a word, α the share of words with ``p > t``, and ``a = (1 − α) / (α V / 2)``. As in
    the author's code, n is 11, the mean length of the sentences of STS.
    """
    count = len(probabilities)
    threshold = -np.expm1(_USIF_LENGTH * np.log1p(-1 / count)) if count > 1 else 1.0
    # At least one word on either side of the threshold, so that a is neither ∞ nor 0.
    above = min(max(int((probabilities > threshold).sum()), 1), max(count - 1, 1))
    alpha = above / (count if count > 1 else 2)
    return float((1 - alpha) / (alpha * count / 2))
