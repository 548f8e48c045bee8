"""The three terms of counter-fitting as sums over pairs, with their gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.base.arrays import Array, Float64, unit_rows
from conceptor.base.threads import one_blas_thread, ordered_map, processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.base.progress import Progress

    _Hits = tuple[NDArray[np.intp], NDArray[np.intp]]

_PAIRS_AT_ONCE = 1 << 15
# An active hinge pulls with full force, so rounding of an unchanged distance must not activate it.
_ROUNDING = 1e-12
# Words and rows in one block of products.
_WORDS, _ROWS = 2048, 256


class Hinge(NamedTuple):
    """``weight Σ max(0, d − threshold)`` over pairs.

    With a negative weight it is ``|weight| Σ max(0, threshold − d)``.
    Pairs are rows of two numbers (i, j); the gradient goes to i, so a pair of two words that both
    move is listed in both directions, and its loss is shared between them.
    """

    pairs: NDArray[np.intp]
    weight: float
    threshold: float | Float64


class Terms:
    """A sum of hinges over unit vectors: the lexicon's words, followed by fixed anchors."""

    def __init__(self, hinges: Sequence[Hinge], anchors: Float64) -> None:
        self._anchors = anchors
        self._first, self._second = np.concatenate([hinge.pairs for hinge in hinges]).T.copy()
        counts = [len(hinge.pairs) for hinge in hinges]
        self._weight = np.repeat([hinge.weight for hinge in hinges], counts)
        self._threshold = np.concatenate(
            [np.broadcast_to(hinge.threshold, n) for hinge, n in zip(hinges, counts, strict=True)]
        )

    def gradient(self, units: Float64) -> tuple[float, Float64, NDArray[np.intp]]:
        """Return the loss, its gradient on the sphere, and the number of terms on each word.

        For unit vectors ``∂d(u, w)/∂u = (u·w) u − w``, so the sum over a word's pairs is one row
        of a sparse product.
        """
        from scipy import sparse

        count = len(units)
        everything = np.concatenate([units, self._anchors])
        cosines = _cosines(everything, self._first, self._second)
        excess = (1 - cosines - self._threshold) * np.sign(self._weight)
        active = np.flatnonzero(excess > _ROUNDING)
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


class NearPairs(NamedTuple):
    """Pairs of a lexicon word and a word near it, and the near words outside the lexicon.

    A pair's second number indexes the lexicon's words first, then the anchors.
    """

    pairs: NDArray[np.intp]
    distances: Float64
    anchors: Float64

    def without(self, excluded: NDArray[np.intp]) -> tuple[NDArray[np.intp], Float64]:
        """Return pairs and distances without the excluded pairs."""
        size = int(max(self.pairs.max(initial=0), excluded.max(initial=0))) + 1
        keys = self.pairs[:, 0] * size + self.pairs[:, 1]
        kept = ~np.isin(keys, excluded[:, 0] * size + excluded[:, 1])
        return self.pairs[kept], self.distances[kept]


def find_neighbours(
    words: Sequence[str],
    units: Float64,
    chunks: Iterable[tuple[Sequence[str], Array]],
    radius: float,
    progress: Progress,
) -> NearPairs:
    """Find all vectors within a cosine distance of the given words, in one streaming pass.

    Costs one product of the words with all vectors, in single precision; the distances of the
    neighbours are then computed in double precision.
    """
    numbers = {word: number for number, word in enumerate(words)}
    single = units.astype(np.float32)
    blocks = [single[start : start + _WORDS].T for start in range(0, len(units), _WORDS)]

    def near(chunk: tuple[Sequence[str], Array]) -> tuple[Sequence[str], Float64, _Hits]:
        names, rows = chunk
        normed = unit_rows(rows)
        return names, normed, _find_hits(normed.astype(np.float32), blocks, np.float32(1 - radius))

    pairs: list[NDArray[np.intp]] = [np.empty((0, 2), dtype=np.intp)]
    anchors: list[Float64] = [units[:0]]
    total, seen = len(units), 0
    with one_blas_thread():
        for names, normed, (row, word) in ordered_map(near, chunks, processors()):
            met = np.unique(row)
            number = np.full(len(normed), -1, dtype=np.intp)
            number[met] = [numbers.get(names[i], -1) for i in met]
            outside = met[number[met] < 0]
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
    return NearPairs(found, distances, fixed)


def _find_hits(rows: Array, blocks: Sequence[Array], least: np.float32) -> _Hits:
    """Return row and word of every product of at least `least`, in blocks that fit the cache."""
    hits: list[_Hits] = []
    products = np.empty((_ROWS, _WORDS), dtype=np.float32)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        for number, block in enumerate(blocks):
            product = np.matmul(part, block, out=products[: len(part), : block.shape[1]])
            # Few rows have any, so checking the maximum first is three times as fast.
            some = np.flatnonzero(product.max(axis=1) >= least)
            row, word = np.nonzero(product[some] >= least)
            hits.append((some[row] + start, word + number * _WORDS))
    rows_hit, words_hit = zip(*hits, strict=True)
    return np.concatenate(rows_hit), np.concatenate(words_hit)
