"""Counter-fitting: antonyms apart, synonyms together, neighbors kept (Mrkšić et al. 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.base.arrays import Float64, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.data import registry
from conceptor.vectors.files import as_vectors
from conceptor.vectors.vectors import collect_rows, keep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from conceptor.data.word_lists import Directory
    from conceptor.vectors.vectors import Vectors

    Pair = tuple[str, str]
    Rows = NDArray[np.floating]
    Indices = NDArray[np.intp]  # two numbers of words in each row

LEXICON = {
    "synonyms": ("lexicon/ppdb_synonyms.txt",),
    "antonyms": ("lexicon/ppdb_antonyms.txt", "lexicon/wordnet_antonyms.txt"),
}
WEIGHT = 0.1
_PAIRS_AT_ONCE = 1 << 15
# An active hinge pulls with full force, so rounding of an unchanged distance must not activate it.
_ROUNDING = 1e-12
_ROWS = 256  # in one product with all words of the lexicon


def load_lexicon(data: Directory = None, *, offline: bool = False) -> dict[str, list[Pair]]:
    """Return the paper's synonyms and antonyms, downloading their files if necessary."""
    lexicon: dict[str, list[Pair]] = {}
    for kind, names in LEXICON.items():
        paths = [registry.fetch(name, data, offline=offline) for name in names]
        lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
        pairs = (line.split() for line in lines)
        lexicon[kind] = [(a.removeprefix("en_"), b.removeprefix("en_")) for a, b in pairs]
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

    The authors' program also moves words outside the lexicon, which here only hold their neighbors
    in place; its preserving term acts by mistake on only one word of a pair; and it makes all
    vectors unit vectors, while here every word keeps its length.
    """
    opened = keep(as_vectors(vectors))
    apart, together = (
        {p for a, b in pairs if a != b for p in ((a, b), (b, a))} for pairs in (antonyms, synonyms)
    )
    together -= apart
    wanted = {word for pair in together | apart for word in pair}
    table = collect_rows(opened, wanted)
    # A zero vector has no direction to change.
    usable = {word for word, row in zip(table.words, table.vectors, strict=True) if row.any()}
    together, apart = ({p for p in pairs if usable.issuperset(p)} for pairs in (together, apart))
    paired = {word for pair in together | apart for word in pair}
    if not paired:
        raise InvalidInputError("no pair of the lexicon has non-zero vectors for both words")
    words = [word for word in dict.fromkeys(table.words) if word in paired]
    numbers = {word: i for i, word in enumerate(words)}
    originals = table.vectors[table.rows(words)].astype(np.float64)
    units = before = unit_rows(originals)
    indices = [
        np.array(sorted((numbers[a], numbers[b]) for a, b in pairs), dtype=np.intp).reshape(-1, 2)
        for pairs in (apart, together)
    ]
    hinges = [Hinge(indices[0], -WEIGHT, 1.0), Hinge(indices[1], WEIGHT, 0.0)]
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


class Hinge(NamedTuple):
    """``weight Σ max(0, d − threshold)``, or ``|weight| Σ max(0, threshold − d)`` if negative.

    The gradient goes to i of pairs (i, j), so two words that both move are listed both ways.
    """

    pairs: Indices
    weight: float
    threshold: float | Float64


def loss_gradient(
    units: Float64, anchors: Float64, hinges: Sequence[Hinge]
) -> tuple[Float64, NDArray[np.intp]]:
    """Return the gradient of a sum of hinges on the sphere, and the number of terms on each word.

    Pairs index the moving unit vectors, and then the anchors, which stay. As ``∂d(u, w)/∂u =
    (u·w) u − w``, the sum over a word's pairs is one row of a sparse product.
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

    Returns pairs of a word and a vector near it, and the near vectors of other words, which the
    second number of a pair counts after the words. Costs one product with all vectors.
    """
    numbers = {word: number for number, word in enumerate(words)}
    single, least = units.astype(np.float32), np.float32(1 - radius)
    pairs, anchors, total = [], [units[:0]], len(units)
    for labels, rows in vectors.chunks(progress):
        for start in range(0, len(rows), _ROWS):
            normed = unit_rows(rows[start : start + _ROWS])
            products = normed.astype(np.float32) @ single.T
            # Few rows have any, so checking the maximum first is three times as fast.
            near = np.flatnonzero(products.max(axis=1) >= least)
            row, word = np.nonzero(products[near] >= least)
            names = [numbers.get(labels[start + i], -1) for i in near.tolist()]
            number = np.array(names, dtype=np.intp)
            outside = number < 0
            number[outside] = total + np.arange(outside.sum())
            total += int(outside.sum())
            anchors.append(normed[near[outside]])
            pairs.append(np.column_stack([word, number[row]]))
    everything = np.concatenate(pairs)
    return everything[everything[:, 0] != everything[:, 1]], np.concatenate(anchors)
