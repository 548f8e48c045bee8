"""Counter-fitting and retrofitting, in streaming passes over vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.lexicon.pairs import both_ways
from conceptor.lexicon.terms import Hinge, Terms, neighbours, unit_rows
from conceptor.vectors.chunks import collect_rows, read_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from conceptor.base.arrays import Array, Float64
    from conceptor.base.progress import Progress
    from conceptor.lexicon.pairs import Pair, Pairs


class Indexed(NamedTuple):
    """The rows of the lexicon's words, and pairs of them by number."""

    words: list[str]
    vectors: Float64
    synonyms: NDArray[np.intp]
    antonyms: NDArray[np.intp]


class LexiconMethod(BaseEstimator, ABC):
    """Vectors for the words of a lexicon, learnt from all vectors, to be put in their place.

    Attributes
    ----------
    words_ : list of str
        The words that were changed.
    vectors_ : ndarray of shape (len(words_), n)
        What replaces their vectors.
    """

    def fit(self, vectors: object, y: object = None, *, progress: Progress = silent) -> Self:
        """Learn from vectors, which are passed over more than once and stay as they are.

        Parameters
        ----------
        vectors : path, open source, WordVectors, (words, array), ...
        """
        known = self._indexed(vectors)
        norms = np.linalg.norm(known.vectors, axis=1)
        before = unit_rows(known.vectors)
        after = self._fitted(known._replace(vectors=before), vectors, progress)
        moved = np.flatnonzero((after != before).any(axis=1))
        self.words_ = [known.words[row] for row in moved]
        self.vectors_ = after[moved] * norms[moved, np.newaxis]
        self._rows = {word: row for row, word in enumerate(self.words_)}
        return self

    def transform(self, words: Sequence[str], vectors: Array) -> Array:
        """Return the vectors with those of known words replaced; the rest bit for bit."""
        check_is_fitted(self, "vectors_")
        here = [(row, self._rows[word]) for row, word in enumerate(words) if word in self._rows]
        replaced = np.array(vectors)
        if here:
            rows, sources = np.array(here).T
            replaced[rows] = self.vectors_[sources]
        return replaced

    @abstractmethod
    def _pairs(self) -> tuple[set[Pair], set[Pair]]:
        """Return synonyms and antonyms."""

    @abstractmethod
    def _fitted(self, known: Indexed, vectors: object, progress: Progress) -> Float64:
        """Return new rows in place of the unit rows of the lexicon's words."""

    def _indexed(self, vectors: object) -> Indexed:
        """Find the lexicon's words among the vectors, and the pairs with both words found."""
        synonyms, antonyms = self._pairs()
        wanted = {word for pair in (*synonyms, *antonyms) for word in pair}
        if not wanted:
            raise InvalidInputError(
                "a lexicon is needed: pairs of two words that are synonyms, antonyms or both"
            )
        table = collect_rows(vectors, wanted)
        # A vector of zeros has no direction to be turned.
        found = {word for word, row in zip(table.words, table.vectors, strict=True) if row.any()}
        complete = [
            {pair for pair in pairs if pair[0] in found and pair[1] in found}
            for pairs in (synonyms, antonyms)
        ]
        paired = {word for pairs in complete for pair in pairs for word in pair}
        if not paired:
            raise InvalidInputError(
                f"none of the lexicon's pairs has both words among the vectors ({len(found)} of "
                f"its {len(wanted)} words are, and not zero); do the two belong together?"
            )
        words = [word for word in dict.fromkeys(table.words) if word in paired]
        number = {word: i for i, word in enumerate(words)}
        indexed = (
            np.array(sorted((number[a], number[b]) for a, b in pairs), dtype=np.intp).reshape(-1, 2)
            for pairs in complete
        )
        rows = table.vectors[table.rows(words)].astype(np.float64)
        return Indexed(words, rows, *indexed)


class CounterFitting(LexiconMethod):
    """Counter-fitting: antonyms apart, synonyms together, neighbours kept (Mrkšić et al. 2016).

    Minimises, over unit vectors u and with the cosine distance d,

        repel    Σ max(0, δ − d(u, w))      over antonyms
      + attract  Σ max(0, d(u, w) − γ)      over synonyms
      + preserve Σ max(0, d(u, w) − d⁰(u, w))  over w that were within ρ of u,

    by full-batch steps: each word moves by the mean of the gradients of the terms that are
    active at it, then all words return to the unit sphere.

    Parameters
    ----------
    synonyms, antonyms : file, files or pairs of words
        At least one of the two; a pair counts in both directions. What is called both is an
        antonym.
    repel, attract, preserve : float, default=0.1
        Weights of the three terms.
    margin : float, default=1.0
        δ: antonyms are pushed apart until they are orthogonal.
    slack : float, default=0.0
        γ: synonyms are pulled together until they are so close.
    radius : float, default=0.2
        ρ: neighbours nearer than this are to stay near.
    epochs : int, default=20

    Attributes
    ----------
    losses_ : list of float
        The loss before each step and after the last.
    pairs_ : dict of str to int
        How many pairs of each kind take part.

    Notes
    -----
    As the authors' program, but for three things. Words outside the lexicon stay as they are and
    only hold their neighbours in place, where the program lets them follow. The preserving
    term acts on both words of a pair of lexicon words; the program by a slip enters one
    direction only. And every word keeps the length it had, so that averages of words do not
    change their weights, where the program returns unit vectors.

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

    def _pairs(self) -> tuple[set[Pair], set[Pair]]:
        antonyms = both_ways(self.antonyms)
        return both_ways(self.synonyms) - antonyms, antonyms

    def _fitted(self, known: Indexed, vectors: object, progress: Progress) -> Float64:
        self._check()
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

    def _terms(self, known: Indexed, vectors: object, progress: Progress) -> Terms:
        hinges = [
            Hinge(known.antonyms, -self.repel, self.margin),
            Hinge(known.synonyms, self.attract, self.slack),
        ]
        self.pairs_ = {
            "synonyms": len(known.synonyms) // 2,
            "antonyms": len(known.antonyms) // 2,
            "neighbours": 0,
        }
        anchors = known.vectors[:0]
        if self.preserve > 0:
            near = neighbours(
                known.words, known.vectors, read_chunks(vectors), self.radius, progress
            )
            pairs, distances = near.without(known.antonyms)
            hinges.append(Hinge(pairs, self.preserve, distances))
            anchors = near.anchors
            self.pairs_["neighbours"] = len(pairs)
        return Terms(hinges, anchors)

    def _check(self) -> None:
        for name in ("repel", "attract", "preserve", "slack", "radius"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise InvalidInputError(f"{name} must not be negative, and finite; it is {value}")
        if self.radius > 2:
            raise InvalidInputError(f"radius is a cosine distance, at most 2; it is {self.radius}")
        if self.epochs < 0:
            raise InvalidInputError(f"epochs must not be negative; it is {self.epochs}")


class Retrofitting(LexiconMethod):
    """Retrofitting: each word to the mean of itself and its synonyms (Faruqui et al. 2015).

    Iterates ``q ← (q⁰ + mean of its synonyms' q) / 2`` on unit vectors q⁰, all words at once;
    the authors' program updates one word after the other, to the same fixed point. The distance
    to it halves at least with every iteration. Lengths are put back afterwards.

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

    def _pairs(self) -> tuple[set[Pair], set[Pair]]:
        return both_ways(self.synonyms), set()

    def _fitted(self, known: Indexed, vectors: object, progress: Progress) -> Float64:
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
