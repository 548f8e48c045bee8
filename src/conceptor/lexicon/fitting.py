"""Counter-fitting and retrofitting, in streaming passes over the vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from conceptor.base.arrays import Array, Float64, unit_rows
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.lexicon.files import Pairs, symmetric_pairs
from conceptor.lexicon.terms import Hinge, Terms, find_neighbours
from conceptor.vectors.chunks import as_vectors, collect_rows, keep_vectors, read_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors


class IndexedPairs(NamedTuple):
    """The vectors of the lexicon's words, and its pairs as row numbers."""

    words: list[str]
    vectors: Float64
    synonyms: NDArray[np.intp]
    antonyms: NDArray[np.intp]


class LexiconMethod(BaseEstimator, ABC):
    """New vectors for the words of a lexicon, fitted to all vectors.

    Attributes
    ----------
    words_ : list of str
        The words that were changed.
    vectors_ : ndarray of shape (len(words_), n)
        Their new vectors.
    """

    def fit(self, vectors: object, y: object = None, *, progress: Progress = silent) -> Self:
        """Fit to vectors (a path, open source, ...); they are read more than once, not changed."""
        opened = keep_vectors(as_vectors(vectors))
        known = self._index_pairs(opened)
        norms = np.linalg.norm(known.vectors, axis=1)
        before = unit_rows(known.vectors)
        after = self._fit_rows(known._replace(vectors=before), opened, progress)
        moved = np.flatnonzero((after != before).any(axis=1))
        self.words_ = [known.words[row] for row in moved]
        self.vectors_ = after[moved] * norms[moved, np.newaxis]
        self._rows = {word: row for row, word in enumerate(self.words_)}
        return self

    def transform(self, words: Sequence[str], vectors: Array) -> Array:
        """Return the vectors with those in `words_` replaced, all others unchanged to the bit."""
        check_is_fitted(self, "vectors_")
        here = [(row, self._rows[word]) for row, word in enumerate(words) if word in self._rows]
        replaced = np.array(vectors)
        if here:
            rows, sources = np.array(here).T
            replaced[rows] = self.vectors_[sources]
        return replaced

    @abstractmethod
    def _fit_rows(self, known: IndexedPairs, vectors: Vectors, progress: Progress) -> Float64:
        """Return new vectors for the lexicon's words; the old vectors are unit rows."""

    def _index_pairs(self, vectors: Vectors) -> IndexedPairs:
        """Look up the lexicon's words, and keep the pairs with both words found."""
        antonyms = symmetric_pairs(getattr(self, "antonyms", None))
        synonyms = symmetric_pairs(self.synonyms) - antonyms
        wanted = {word for pair in (*synonyms, *antonyms) for word in pair}
        if not wanted:
            raise InvalidInputError(
                "no lexicon was given; pass pairs of synonyms, of antonyms or both"
            )
        table = collect_rows(vectors, wanted)
        # A zero vector has no direction to change.
        found = {word for word, row in zip(table.words, table.vectors, strict=True) if row.any()}
        complete = [
            {pair for pair in pairs if pair[0] in found and pair[1] in found}
            for pairs in (synonyms, antonyms)
        ]
        paired = {word for pairs in complete for pair in pairs for word in pair}
        if not paired:
            raise InvalidInputError(
                f"no pair of the lexicon has non-zero vectors for both words ({len(found)} of its "
                f"{len(wanted)} words were found); check that lexicon and vectors match"
            )
        words = [word for word in dict.fromkeys(table.words) if word in paired]
        number = {word: i for i, word in enumerate(words)}
        indexed = (
            np.array(sorted((number[a], number[b]) for a, b in pairs), dtype=np.intp).reshape(-1, 2)
            for pairs in complete
        )
        rows = table.vectors[table.rows(words)].astype(np.float64)
        return IndexedPairs(words, rows, *indexed)


class CounterFitting(LexiconMethod):
    """Counter-fitting: antonyms apart, synonyms together, neighbours kept (Mrkšić et al. 2016).

    Minimises, over unit vectors u and with the cosine distance d,

        repel    Σ max(0, δ − d(u, w))      over antonyms
      + attract  Σ max(0, d(u, w) − γ)      over synonyms
      + preserve Σ max(0, d(u, w) − d⁰(u, w))  over w that were within ρ of u,

    by full-batch steps: each word moves by the mean gradient of its active terms, then is scaled.

    Parameters
    ----------
    synonyms, antonyms : file, files or pairs of words
        At least one of the two; a pair counts in both directions. A pair listed as both counts
        as antonyms.
    repel, attract, preserve : float, default=0.1
        Weights of the three terms.
    margin : float, default=1.0
        δ: antonyms are pushed apart until they are orthogonal.
    slack : float, default=0.0
        γ: synonyms are pulled together until they are this close.
    radius : float, default=0.2
        ρ: neighbours closer than this are kept close.
    epochs : int, default=20

    Attributes
    ----------
    losses_ : list of float
        The loss before each step and after the last.
    pairs_ : dict of str to int
        Number of pairs of each kind in use.

    Notes
    -----
    The authors' program differs in three ways. It also moves words outside the lexicon; here they
    only hold their neighbours in place. Its preserving term acts by mistake on only one word of a
    pair of lexicon words; here on both. It makes all vectors unit vectors; here every word keeps
    its length, so that averages of words keep their weights.

    References
    ----------
    Mrkšić et al. (2016), Counter-fitting Word Vectors to Linguistic Constraints, NAACL.
    """

    def __init__(
        self,
        synonyms: Pairs | None = None,
        antonyms: Pairs | None = None,
        *,
        repel: float = 0.1,
        attract: float = 0.1,
        preserve: float = 0.1,
        margin: float = 1.0,
        slack: float = 0.0,
        radius: float = 0.2,
        epochs: int = 20,
    ) -> None:
        self.synonyms = synonyms
        self.antonyms = antonyms
        self.repel = repel
        self.attract = attract
        self.preserve = preserve
        self.margin = margin
        self.slack = slack
        self.radius = radius
        self.epochs = epochs

    def _fit_rows(self, known: IndexedPairs, vectors: Vectors, progress: Progress) -> Float64:
        for name in ("repel", "attract", "preserve", "slack", "radius"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise InvalidInputError(f"{name} is {value}; it must be finite and not negative")
        if self.radius > 2:
            raise InvalidInputError(f"radius is {self.radius}; a cosine distance is at most 2")
        if self.epochs < 0:
            raise InvalidInputError(f"epochs is {self.epochs}; it must not be negative")
        terms = self._terms(known, vectors, progress)
        units = known.vectors
        self.losses_ = []
        for epoch in range(self.epochs):
            loss, gradient, active = terms.gradient(units)
            self.losses_.append(loss)
            touched = np.flatnonzero(active)
            stepped = units[touched] - gradient[touched] / active[touched, np.newaxis]
            units = units.copy()
            units[touched] = unit_rows(stepped)
            progress("fitting", (epoch + 1) / self.epochs, len(units))
        self.losses_.append(terms.gradient(units)[0])
        return units

    def _terms(self, known: IndexedPairs, vectors: Vectors, progress: Progress) -> Terms:
        words, units, synonyms, antonyms = known
        hinges = [
            Hinge(antonyms, -self.repel, self.margin),
            Hinge(synonyms, self.attract, self.slack),
        ]
        counts = {"synonyms": len(synonyms) // 2, "antonyms": len(antonyms) // 2, "neighbours": 0}
        anchors = units[:0]
        if self.preserve > 0:
            near = find_neighbours(words, units, read_chunks(vectors), self.radius, progress)
            pairs, distances = near.without(antonyms)
            hinges.append(Hinge(pairs, self.preserve, distances))
            counts["neighbours"], anchors = len(pairs), near.anchors
        self.pairs_ = counts
        return Terms(hinges, anchors)


class Retrofitting(LexiconMethod):
    """Retrofitting: moves each word towards the mean of its synonyms (Faruqui et al. 2015).

    Iterates ``q ← (q⁰ + mean of its synonyms' q) / 2`` on unit vectors q⁰, all words at once;
    the authors' program updates one word at a time and reaches the same fixed point. Each
    iteration at least halves the distance to it. Lengths are restored afterwards.

    Parameters
    ----------
    synonyms : file, files or pairs of words
    iterations : int, default=10

    References
    ----------
    Faruqui et al. (2015), Retrofitting Word Vectors to Semantic Lexicons, NAACL.
    """

    def __init__(self, synonyms: Pairs | None = None, *, iterations: int = 10) -> None:
        self.synonyms = synonyms
        self.iterations = iterations

    def _fit_rows(self, known: IndexedPairs, vectors: Vectors, progress: Progress) -> Float64:
        from scipy import sparse

        count = len(known.words)
        left, right = known.synonyms.T
        degree = np.bincount(left, minlength=count)
        shares = 1.0 / degree[left]
        mean = sparse.csr_array((shares, (left, right)), shape=(count, count))
        paired = degree > 0
        fitted = known.vectors.copy()
        for iteration in range(self.iterations):
            fitted[paired] = ((known.vectors + mean @ fitted) / 2)[paired]
            progress("fitting", (iteration + 1) / self.iterations, count)
        return fitted
