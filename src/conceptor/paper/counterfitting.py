"""Counter-fitting: antonyms apart, synonyms together, neighbors kept (Mrkšić et al. 2016).

It gives the supervised rows of the paper's Table 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.base.arrays import Float64, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.data import registry
from conceptor.vectors.files import as_vectors
from conceptor.vectors.vectors import collect_rows, keep

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors

    Pair = tuple[str, str]
    Rows = NDArray[np.floating]
    # Two numbers of words in each row.
    Indices = NDArray[np.intp]

LEXICON = {
    "synonyms": ("lexicon/ppdb_synonyms.txt",),
    "antonyms": ("lexicon/ppdb_antonyms.txt", "lexicon/wordnet_antonyms.txt"),
}
WEIGHT = 0.1
_PAIRS_AT_ONCE = 1 << 15
# An active hinge pulls with full force, so rounding of an unchanged distance must not activate it.
_ROUNDING = 1e-12
# Words and rows in one block of products.
_WORDS, _ROWS = 2048, 256


def load_lexicon(
    data: str | os.PathLike[str] | None = None, *, offline: bool = False
) -> dict[str, list[Pair]]:
    """Return the paper's synonyms and antonyms, downloading their files if necessary.

    A line is a pair of words, with a prefix `en_` in some files, whose bytes the registry has
    verified.
    """
    lexicon: dict[str, list[Pair]] = {}
    for kind, names in LEXICON.items():
        paths = [registry.fetch(name, data, offline=offline) for name in names]
        lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
        pairs = [[word.removeprefix("en_") for word in line.split()] for line in lines]
        lexicon[kind] = [(left, right) for left, right in pairs]
    return lexicon


def counterfit(
    vectors: object,
    synonyms: Iterable[Pair] = (),
    antonyms: Iterable[Pair] = (),
    *,
    radius: float = 0.2,
    epochs: int = 20,
    progress: Progress = silent,
) -> Vectors:
    """Return the vectors, with those of the lexicon's words changed and all others as they were.

    Minimizes, over unit vectors u and with the cosine distance d,

        Σ max(0, 1 − d(u, w))           over antonyms, which are pushed apart until orthogonal
      + Σ max(0, d(u, w))               over synonyms
      + Σ max(0, d(u, w) − d⁰(u, w))    over w that were within `radius` of u,

    each weighted by 0.1, by full-batch steps: a word moves by the mean gradient of its active
    terms, then is scaled. A pair counts in both directions; one listed as both counts as antonyms.

    The authors' program differs in three ways. It also moves words outside the lexicon; here they
    only hold their neighbors in place. Its preserving term acts by mistake on only one word of a
    pair of lexicon words; here on both. It makes all vectors unit vectors; here every word keeps
    its length, so that averages of words keep their weights.

    References
    ----------
    Mrkšić et al. (2016), Counter-fitting Word Vectors to Linguistic Constraints, NAACL.
    """
    opened = keep(as_vectors(vectors))
    apart = _both_ways(antonyms)
    together = _both_ways(synonyms) - apart
    wanted = {word for pair in together | apart for word in pair}
    table = collect_rows(opened, wanted)
    # A zero vector has no direction to change.
    usable = {word for word, row in zip(table.words, table.vectors, strict=True) if row.any()}
    together, apart = ({p for p in pairs if usable.issuperset(p)} for pairs in (together, apart))
    paired = {word for pair in together | apart for word in pair}
    if not paired:
        raise InvalidInputError(
            f"no pair of the lexicon has non-zero vectors for both words ({len(usable)} of its "
            f"{len(wanted)} words were found); check that lexicon and vectors match"
        )
    words = [word for word in dict.fromkeys(table.words) if word in paired]
    numbers = {word: i for i, word in enumerate(words)}
    originals = table.vectors[table.rows(words)].astype(np.float64)
    units = before = unit_rows(originals)
    hinges = [
        Hinge(_indices(apart, numbers), -WEIGHT, 1.0),
        Hinge(_indices(together, numbers), WEIGHT, 0.0),
    ]
    near, anchors = find_neighbors(opened, words, units, radius, progress)
    size = len(units) + len(anchors)
    near = near[~np.isin(near @ [size, 1], hinges[0].pairs @ [size, 1])]
    distances = 1 - _cosines(np.concatenate([units, anchors]), near)
    hinges.append(Hinge(near, WEIGHT, distances))
    for epoch in range(epochs):
        gradient, active = loss_gradient(units, anchors, hinges)
        stepped = unit_rows(units - gradient / np.maximum(active, 1)[:, np.newaxis])
        units = np.where(active[:, np.newaxis] > 0, stepped, units)
        progress("fitting", (epoch + 1) / epochs, len(units))
    moved = np.flatnonzero((units != before).any(axis=1))
    lengths = np.linalg.norm(originals, axis=1)
    changed = {words[i]: units[i] * lengths[i] for i in moved.tolist()}

    def replace_rows(labels: Sequence[str], rows: Rows) -> Rows:
        places = [row for row, word in enumerate(labels) if word in changed]
        replaced = np.array(rows)
        if places:
            replaced[places] = [changed[labels[row]] for row in places]
        return replaced

    return opened.mapped(replace_rows)


def _both_ways(pairs: Iterable[Pair]) -> set[Pair]:
    return {p for a, b in pairs if a != b for p in ((a, b), (b, a))}


def _indices(pairs: set[Pair], numbers: dict[str, int]) -> Indices:
    return np.array(sorted((numbers[a], numbers[b]) for a, b in pairs), dtype=np.intp).reshape(
        -1, 2
    )


class Hinge(NamedTuple):
    """``weight Σ max(0, d − threshold)`` over pairs.

    With a negative weight it is ``|weight| Σ max(0, threshold − d)``.
    Pairs are rows of two numbers (i, j); the gradient goes to i, so a pair of two words that both
    move is listed in both directions.
    """

    pairs: Indices
    weight: float
    threshold: float | Float64


def loss_gradient(
    units: Float64, anchors: Float64, hinges: Sequence[Hinge]
) -> tuple[Float64, NDArray[np.intp]]:
    """Return the gradient of a sum of hinges on the sphere, and the number of terms on each word.

    Pairs index the moving unit vectors, and then the anchors, which stay. For unit vectors
    ``∂d(u, w)/∂u = (u·w) u − w``, so the sum over a word's pairs is one row of a sparse product.
    """
    from scipy import sparse

    count, everything = len(units), np.concatenate([units, anchors])
    gradient, active = np.zeros_like(units), np.zeros(count, dtype=np.intp)
    for pairs, weight, threshold in hinges:
        cosines = _cosines(everything, pairs)
        excess = (1 - cosines - threshold) * np.sign(weight)
        is_active = excess > _ROUNDING
        first, second = pairs[is_active].T
        weights = np.full(len(first), weight)
        pulls = sparse.csr_array((weights, (first, second)), shape=(count, len(everything)))
        along = np.bincount(first, weights=weight * cosines[is_active], minlength=count)
        gradient += along[:, np.newaxis] * units - pulls @ everything
        active += np.bincount(first, minlength=count)
    return gradient, active


def _cosines(units: Float64, pairs: Indices) -> Float64:
    cosines = np.empty(len(pairs))
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        first, second = pairs[part].T
        np.einsum("ij,ij->i", units[first], units[second], out=cosines[part])
    return cosines


def find_neighbors(
    vectors: Vectors, words: Sequence[str], units: Float64, radius: float, progress: Progress
) -> tuple[Indices, Float64]:
    """Find all vectors within a cosine distance of these words, in one streaming pass.

    Returns pairs of a word and a vector near it, and the near vectors of other words; the second
    number of a pair indexes the words first, then these vectors. Costs one product of the words
    with all vectors, in single precision.
    """
    numbers = {word: number for number, word in enumerate(words)}
    single, least = units.astype(np.float32), np.float32(1 - radius)

    def near(chunk: tuple[Sequence[str], Rows]) -> tuple[list[str], Float64, Indices]:
        labels, rows = chunk
        normed = unit_rows(rows)
        hits = []
        # In blocks of products that fit the cache.
        for start in range(0, len(rows), _ROWS):
            part = normed[start : start + _ROWS].astype(np.float32)
            for first in range(0, len(single), _WORDS):
                products = part @ single[first : first + _WORDS].T
                # Few rows have any, so checking the maximum first is three times as fast.
                some = np.flatnonzero(products.max(axis=1) >= least)
                row, word = np.nonzero(products[some] >= least)
                hits.append(np.column_stack([word + first, some[row] + start]))
        pairs = np.concatenate(hits)
        places, pairs[:, 1] = np.unique(pairs[:, 1], return_inverse=True)
        return [labels[i] for i in places], normed[places], pairs

    parts, anchors, total = [], [units[:0]], len(units)
    with one_blas_thread():
        for labels, normed, pairs in ordered_map(near, vectors.chunks(progress), processors()):
            number = np.array([numbers.get(label, -1) for label in labels], dtype=np.intp)
            outside = number < 0
            number[outside] = total + np.arange(outside.sum())
            total += int(outside.sum())
            anchors.append(normed[outside])
            parts.append(np.column_stack([pairs[:, 0], number[pairs[:, 1]]]))
    everything = np.concatenate(parts)
    return everything[everything[:, 0] != everything[:, 1]], np.concatenate(anchors)
