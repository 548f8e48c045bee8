"""Sentence vectors from word vectors: weighted averages, minus the directions they share.

Four choices: whether word vectors are post-processed first (`cn`), the weight of each word
(`average`, `sif`, `usif`), how out-of-vocabulary words are handled, and the map applied to the
averages: removal of their first directions or of parts of the first five, or a sentence conceptor
negation.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import islice
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.aperture import leading_aperture, scale_free_aperture
from conceptor.algebra.gates import drop_leading, drop_shares, negated_conceptor
from conceptor.algebra.moments import Moments
from conceptor.algebra.saved import load_tensors
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.errors import InvalidInputError
from conceptor.fitting import FitOptions, fit_methods
from conceptor.sentences import saved as encoder_file
from conceptor.sentences.frequencies import Frequencies, usif_a, usif_weights
from conceptor.sentences.lookup import Lookup
from conceptor.vectors.table import as_word_vectors
from conceptor.weights import SIF_A, sif_weights

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64
    from conceptor.vectors.table import WordVectors
    from conceptor.weights import WeightsLike

# The method for words: rows at length 1, because an encoder weights words itself.
WORD_METHOD = "cn:lengths=unit"
_BATCH = 10_000
_KEPT_OF_THE_FIRST = 0.2
# uSIF removes from each of this many directions its share of their total strength.
_PIECES = 5


class _Choices(NamedTuple):
    """The parameters at the time of fitting; later changes apply from the next fit."""

    words: str
    weights: str
    removal: int | str
    unknown: str
    aperture: float | Literal["leading"]
    a: float


class SentenceEncoder(TransformerMixin, BaseEstimator):
    """Sentence vectors: a weighted average of word vectors, then a map fitted on sentences.

    Parameters
    ----------
    vectors : WordVectors, (words, array), mapping of words to vectors, or KeyedVectors
        The word vectors; not post-processed, unless `words` is "original".
    words : {"cn", "original"}, default="cn"
        The vectors to average: at length 1 and mapped by the square root of usage-weighted
        conceptor negation (aperture 1 at mean eigenvalue 1), or unchanged.
    weights : {"average", "sif", "usif"}, default="sif"
        Word weights: all equal; ``a / (a + p)``; or ``a / (a/2 + p)`` with a derived from the
        frequencies, after each dimension is normalised over the words of a sentence, as in
        uSIF.
    removal : int or {"piecewise", "conceptor"}, default="conceptor"
        The map applied to the averages: removal of this many leading directions of their second
        moment (1 in Arora et al. 2017, 0 for none), or from each of the first five its share of
        their total strength (Ethayarajh 2018); or ``(I − C) x`` with the conceptor of the
        sentences.
    unknown : {"spelling", "split", "skip"}, default="spelling"
        How out-of-vocabulary words are handled. "skip" skips them, as SIF's authors do. "split"
        splits them at hyphens and slashes, and skips unknown parts. "spelling" also splits, and
        gives unknown parts a vector based on their spelling (`conceptor.sentences.spelling`) if
        they have three letters or digits, or are not ASCII.
    frequencies : str, path or mapping, optional
        Word frequencies: `zipf` if `vectors` are sorted by frequency, a file of counts,
        `wordfreq:LANG`, or a mapping; by default chosen as for `postprocess`. Words without a
        frequency get the lowest frequency of any word.
    aperture : float or "leading", default="leading"
        Aperture of the sentence conceptor, for R scaled to mean eigenvalue 1. "leading" keeps a
        fifth of the strongest direction (``α² λ_1 = 4``: the paper's α = 2 if λ_1 is 1).
    a : float, default=1e-3
        The constant a of SIF.

    Attributes
    ----------
    map_ : AffineMap
        The map applied to the averages.
    moments_ : Moments
        Moments of the averages seen so far.
    probabilities_, word_weights_ : ndarray
        Each word's share of running text, and the resulting weight.
    a_ : float
        The constant a of the weights: `a` for SIF, derived for uSIF.

    Notes
    -----
    Fitting on the same sentences that are compared later, as SIF's authors do, uses the test
    set (though never its scores); report which you did. A sentence without words, or without any
    known word if unknown ones are skipped, becomes 0. If you fit on a handful of sentences, a
    conceptor removes those sentences themselves; use hundreds.

    `fit` reads any iterable once and keeps n × n numbers. Changes to parameters take effect at the
    next fit.

    References
    ----------
    Arora, Liang & Ma (2017), A Simple but Tough-to-Beat Baseline for Sentence Embeddings, ICLR.
    Ethayarajh (2018), Unsupervised Random Walk Sentence Embeddings, RepL4NLP.
    """

    moments_: Moments
    a_: float
    word_weights_: Float64

    def __init__(
        self,
        vectors: object,
        *,
        words: Literal["cn", "original"] = "cn",
        weights: Literal["average", "sif", "usif"] = "sif",
        removal: int | Literal["piecewise", "conceptor"] = "conceptor",
        unknown: Literal["spelling", "split", "skip"] = "spelling",
        frequencies: WeightsLike | None = None,
        aperture: float | Literal["leading"] = "leading",
        a: float = SIF_A,
    ) -> None:
        self.vectors = vectors
        self.words = words
        self.weights = weights
        self.removal = removal
        self.unknown = unknown
        self.frequencies = frequencies
        self.aperture = aperture
        self.a = a

    def fit(self, sentences: Iterable[str | Sequence[str]], y: object = None) -> Self:
        """Fit to sentences, given as texts or lists of tokens, in one streaming pass."""
        self._reset()
        batches = _batches(sentences)
        return self.fit_moments(_sum_moments(_moments(*self._average(each)) for each in batches))

    def fit_transform(self, sentences: Iterable[str | Sequence[str]], y: object = None) -> Float64:
        """Fit on sentences, which may be a stream, and return their vectors."""
        self._reset()
        averages, known = self.averages(sentences)
        self.fit_moments(_sum_moments([_moments(averages, known)] if len(known) else []))
        return self.transform_averages(averages, known)

    def partial_fit(self, sentences: Sequence[str | Sequence[str]], y: object = None) -> Self:
        """Fit to more sentences."""
        more = _moments(*self.averages(sentences))
        return self.fit_moments(self.moments_ + more if hasattr(self, "moments_") else more)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit the map from moments of `averages`."""
        if not hasattr(self, "_choices"):
            self._reset()
        self.moments_ = moments
        self.map_ = self._solve_map()
        return self

    def averages(self, sentences: Iterable[str | Sequence[str]]) -> tuple[Float64, Any]:
        """Return the weighted averages before the map, and which sentences had a known word."""
        if not hasattr(self, "_choices"):
            self._reset()
        parts = [self._average(batch) for batch in _batches(sentences)] or [self._average([])]
        averages, known = zip(*parts, strict=True)
        return np.concatenate(averages), np.concatenate(known)

    def transform(self, sentences: Iterable[str | Sequence[str]]) -> Float64:
        """Return one vector per sentence."""
        return self.encode(sentences)

    def encode(self, sentences: Iterable[str | Sequence[str]]) -> Float64:
        """Return one vector per sentence; 0 for a sentence without a known word."""
        check_is_fitted(self)
        return self.transform_averages(*self.averages(sentences))

    def transform_averages(self, averages: Float64, known: NDArray[np.bool_]) -> Float64:
        """Return sentence vectors from the result of `averages`."""
        check_is_fitted(self)
        return np.where(known[:, None], self.map_(averages), 0.0)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a map; calling `averages` alone does not create one."""
        return hasattr(self, "map_")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters; for the vectors only their type, because there may be many."""
        given = {name: getattr(self, name) for name in self._get_param_names()}
        shown = (
            f"{name}={type(value).__name__ if isinstance(value, Mapping) else repr(value)}"
            for name, value in given.items()
            if name != "vectors"
        )
        return f"SentenceEncoder({type(self.vectors).__name__}, {', '.join(shown)})"[:N_CHAR_MAX]

    def _reset(self) -> None:
        self._choices = _Choices(
            self._check_choice("words", "cn", "original"),
            self._check_choice("weights", "average", "sif", "usif"),
            self._check_removal(),
            self._check_choice("unknown", "spelling", "split", "skip"),
            self._check_number("aperture") if self.aperture != "leading" else "leading",
            self._check_number("a"),
        )
        for name in ("moments_", "map_"):
            self.__dict__.pop(name, None)
        table = as_word_vectors(self.vectors)
        self._frequencies = Frequencies(table, self.frequencies)
        if self._frequencies.caution:
            warnings.warn(self._frequencies.caution, stacklevel=3)
        self._words: WordVectors = table
        if self._choices.words == "cn":
            found = fit_methods(table, [WORD_METHOD], FitOptions(self.frequencies))
            (fitted,) = found.methods.values()
            self._words = table.with_vectors(fitted(table.words, table.vectors))
        self.probabilities_ = self._frequencies.of_words
        self.a_ = self._choices.a
        if self._choices.weights == "usif":
            self.a_ = usif_a(self._frequencies.of_all)
        self.word_weights_ = self._weights(self.probabilities_)
        self._lookup = Lookup(self._words, self._choices.unknown, self.probabilities_)

    def _check_choice(self, name: str, *known: str) -> str:
        value: str = getattr(self, name)
        if value not in known:
            raise InvalidInputError(
                f"SentenceEncoder: {name} is {value!r}; it must be one of {', '.join(known)}"
            )
        return value

    def _check_removal(self) -> int | str:
        if isinstance(self.removal, Integral) and self.removal >= 0:
            return int(self.removal)
        return self._check_choice("removal", "piecewise", "conceptor", "a number of directions")

    def _check_number(self, name: str) -> float:
        """Return a parameter as a float, which can be saved."""
        value: Any = getattr(self, name)
        number = float(value) if isinstance(value, Real) else -1.0
        if not number > 0 and not (number == 0 and name == "aperture"):
            raise InvalidInputError(f"SentenceEncoder: {name} is {value!r}; it must be positive")
        return number

    def _weights(self, probabilities: Float64) -> Float64:
        if self._choices.weights == "average":
            return np.ones(len(probabilities))
        weigh = sif_weights if self._choices.weights == "sif" else usif_weights
        return weigh(probabilities, self.a_)

    def _average(self, sentences: Sequence[str | Sequence[str]]) -> tuple[Float64, Any]:
        """Return weighted averages of the words, as one sparse product over distinct words."""
        found = self._lookup(sentences)
        vectors = self._words.vectors[found.known].astype(np.float64)
        weights = self.word_weights_[found.known]
        if found.spelt:
            vectors = np.concatenate([vectors, found.vectors])
            weights = np.concatenate([weights, self._weights(self._frequencies.of(found.spelt))])
        counts = sparse.csr_array(
            (weights[found.columns], found.columns, found.ends),
            shape=(len(sentences), len(vectors)),
        )
        sums = np.asarray(counts @ vectors)
        if self._choices.weights == "usif":
            counts.data[:] = 1
            sizes = np.sqrt(counts @ vectors**2)
            np.divide(sums, sizes, out=sums, where=sizes > 0)
        lengths = np.diff(found.ends)
        return sums / np.maximum(lengths, 1)[:, None], lengths > 0

    def _solve_map(self) -> AffineMap:
        n = self.moments_.dimension
        provenance: dict[str, Any] = {
            "method": "SentenceEncoder",
            "weights": self._choices.weights,
            "removal": self._choices.removal,
            "sentences": self.moments_.count,
        }
        if self._choices.removal == 0 or not self.moments_.weight:
            return AffineMap(np.eye(n), provenance=provenance)
        spectrum = Spectrum.from_matrix(self.moments_.second_moment)
        if isinstance(self._choices.removal, int):
            gate = drop_leading(spectrum.values, self._choices.removal)
        elif self._choices.removal == "piecewise":
            gate = drop_shares(spectrum.values, _PIECES)
        else:
            if self._choices.aperture == "leading":
                aperture = leading_aperture(spectrum.values, _KEPT_OF_THE_FIRST)
            else:
                aperture = scale_free_aperture(spectrum.values, self._choices.aperture)
            gate = negated_conceptor(spectrum.values, aperture)
            provenance["aperture"] = aperture
        return AffineMap(spectrum.matrix(gate), provenance=provenance)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save words, vectors, frequencies and map as safetensors; whole or not at all.

        The post-processed vectors are saved, so a loaded encoder's `words` are "original".
        """
        check_is_fitted(self)
        encoder_file.write(
            path,
            encoder_file.SavedEncoder(
                self._words.words,
                self._words.vectors,
                self._frequencies.counts or self._frequencies.name,
                self._choices._replace(words="original")._asdict(),
                self.moments_,
                self.map_,
            ),
        )

    def export(
        self, folder: str | os.PathLike[str], *, dtype: str = "float32", force: bool = False
    ) -> None:
        """Write a folder that model2vec and sentence-transformers load.

        It encodes texts to the same directions, at length 1. It skips words without a vector,
        for any value of `unknown`, because a table has no row for them.
        """
        check_is_fitted(self)
        if self._choices.weights == "usif":
            raise InvalidInputError(
                "usif scales each sentence by its own values, which a table cannot; fit with sif"
            )
        from conceptor.static_models.words import word_model

        kept = [i for i, word in enumerate(self._words.words) if word.islower()]
        rows = self._words.vectors[kept].astype(np.float64) * self.word_weights_[kept, np.newaxis]
        words = [self._words.words[i] for i in kept]
        word_model(words, self.map_(rows), self.map_.provenance).save(
            folder, dtype=dtype, force=force
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a saved encoder; it can encode, and be fitted further."""
        return load_tensors(path, "sentence encoder", [encoder_file.FORMAT], cls._parse)

    @classmethod
    def _parse(cls, parts: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> Self:
        saved = encoder_file.parse(parts, metadata)
        encoder = cls(
            (saved.words, saved.vectors), frequencies=saved.frequencies, **saved.parameters
        )
        encoder._reset()
        encoder.moments_, encoder.map_ = saved.moments, saved.map
        return encoder


def _moments(averages: Float64, known: NDArray[np.bool_]) -> Moments:
    return Moments.from_vectors(averages, known.astype(np.float64))


def _sum_moments(parts: Iterable[Moments]) -> Moments:
    total = sum(parts, start=0)
    if not isinstance(total, Moments):
        raise InvalidInputError("no sentences to fit to")
    return total


def _batches(
    sentences: Iterable[str | Sequence[str]],
) -> Iterator[list[str | Sequence[str]]]:
    if isinstance(sentences, str):
        raise InvalidInputError("got a single string; put it into a list of sentences")
    stream = iter(sentences)
    return iter(lambda: list(islice(stream, _BATCH)), [])
