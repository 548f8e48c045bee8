"""The three terms of counter-fitting as sums over pairs, with their gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.arrays import Array, Float64
    from conceptor.progress import Progress

_PAIRS_AT_ONCE = 1 << 15
_PRODUCTS_AT_ONCE = 1 << 24


class Hinge(NamedTuple):
    """``weight Σ max(0, d − threshold)`` over pairs, or for a negative weight
    ``|weight| Σ max(0, threshold − d)``.

    Pairs are rows of two numbers (i, j); the gradient goes to i, so a pair of two words that both
    move stands there in both directions, and its loss is shared between them.
    """

    pairs: NDArray[np.intp]
    weight: float
    threshold: float | Float64


class Terms:
    """A sum of hinges over unit vectors: the lexicon's words, and behind them fixed anchors."""

    def __init__(self, hinges: Sequence[Hinge], anchors: Float64) -> None:
        self._anchors = anchors
        self._first = np.concatenate([hinge.pairs[:, 0] for hinge in hinges])
        self._second = np.concatenate([hinge.pairs[:, 1] for hinge in hinges])
        counts = [len(hinge.pairs) for hinge in hinges]
        self._weight = np.repeat([hinge.weight for hinge in hinges], counts)
        self._threshold = np.concatenate(
            [np.broadcast_to(hinge.threshold, n) for hinge, n in zip(hinges, counts, strict=True)]
        )

    def gradient(self, units: Float64) -> tuple[float, Float64, NDArray[np.intp]]:
        """Return the loss, its gradient on the sphere, and how many terms act on each word.

        For unit vectors ``∂d(u, w)/∂u = (u·w) u − w``, so the sum over a word's pairs is one row
        of a sparse product.
        """
        from scipy import sparse

        count = len(units)
        everything = np.concatenate([units, self._anchors])
        cosines = _cosines(everything, self._first, self._second)
        excess = (1 - cosines - self._threshold) * np.sign(self._weight)
        active = np.flatnonzero(excess > 0)
        first, weight = self._first[active], self._weight[active]
        both = self._second[active] < count
        loss = float((np.abs(weight) * excess[active] * np.where(both, 0.5, 1.0)).sum())
        pulls = sparse.csr_array(
            (weight, (first, self._second[active])), shape=(count, len(everything))
        )
        along = np.bincount(first, weights=weight * cosines[active], minlength=count)
        gradient = along[:, np.newaxis] * units - pulls @ everything
        return loss, gradient, np.bincount(first, minlength=count)


def _cosines(units: Float64, first: NDArray[np.intp], second: NDArray[np.intp]) -> Float64:
    cosines = np.empty(len(first))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        np.einsum("ij,ij->i", units[first[part]], units[second[part]], out=cosines[part])
    return cosines


class Neighbours(NamedTuple):
    """Pairs of a lexicon word and a word near it, and the near words outside the lexicon.

    A pair's second number counts the lexicon's words first, then the anchors.
    """

    pairs: NDArray[np.intp]
    distances: Float64
    anchors: Float64

    def without(self, excluded: NDArray[np.intp]) -> tuple[NDArray[np.intp], Float64]:
        """Return pairs and distances but for some pairs."""
        size = int(max(self.pairs.max(initial=0), excluded.max(initial=0))) + 1
        keys = self.pairs[:, 0] * size + self.pairs[:, 1]
        kept = ~np.isin(keys, excluded[:, 0] * size + excluded[:, 1])
        return self.pairs[kept], self.distances[kept]


def neighbours(
    words: Sequence[str],
    units: Float64,
    chunks: Iterable[tuple[Sequence[str], Array]],
    radius: float,
    progress: Progress,
) -> Neighbours:
    """Find all vectors within a cosine distance of the words' own, in one pass over a stream.

    Costs a product of the words with all vectors, in single precision; the distances of what is
    found are then taken in double precision.
    """
    numbers = {word: number for number, word in enumerate(words)}
    probe = np.ascontiguousarray(units.T, dtype=np.float32)
    pairs: list[NDArray[np.intp]] = []
    anchors: list[Float64] = []
    total = len(units)
    step = max(1, _PRODUCTS_AT_ONCE // len(units))
    seen = 0
    for names, rows in chunks:
        for start in range(0, len(names), step):
            part = slice(start, start + step)
            normed = unit_rows(rows[part])
            row, word = np.nonzero(normed.astype(np.float32) @ probe >= 1 - radius)
            near = np.unique(row)
            number = np.full(len(normed), -1, dtype=np.intp)
            number[near] = [numbers.get(names[start + i], -1) for i in near]
            outside = near[number[near] < 0]
            number[outside] = total + np.arange(len(outside))
            total += len(outside)
            anchors.append(normed[outside])
            pairs.append(np.column_stack([word, number[row]]))
        seen += len(names)
        progress("neighbours", None, seen)
    found = np.concatenate(pairs)
    found = found[found[:, 0] != found[:, 1]]
    fixed = np.concatenate(anchors)
    distances = 1 - _cosines(np.concatenate([units, fixed]), found[:, 0], found[:, 1])
    return Neighbours(found, distances, fixed)


def unit_rows(vectors: Array) -> Float64:
    """Return rows of length one; rows of zeros stay."""
    rows = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
