"""Sentence vectors from word vectors: weighted averages, minus the directions they share."""

from __future__ import annotations

import os
import re
import reprlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.gates import (
    check_number,
    drop_leading,
    leading_aperture,
    negated_conceptor,
    scale_free_aperture,
)
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import Float64
from conceptor.base.errors import InvalidInputError
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import Words
from conceptor.sentences.spelling import Spelling
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.tokenizer import tokenize
from conceptor.vectors.vectors import RowKind, Vectors
from conceptor.weights import SIF_A, sif_weights

Sentence = str | Sequence[str]

# The method for words: unit rows, because an encoder weights words itself.
WORD_METHOD = "cn:lengths=unit"
_CHOICES = {
    "words": ("cn", "original"),
    "weights": ("average", "sif"),
    "unknown": ("spelling", "skip"),
}
_BATCH = 10_000
# The share that is kept of the strongest direction of sentences.
_SHARE_OF_FIRST = 0.2
_SEPARATORS = re.compile("[-/]")
# At most this many known words are used for spelling, the most frequent ones.
_REFERENCES = 50_000


class SentenceEncoder(TransformerMixin, BaseEstimator):
    """Sentence vectors: a weighted average of word vectors, then a map fitted on sentences.

    Parameters
    ----------
    vectors : path, WordVectors, (words, array), mapping of words to vectors, or KeyedVectors
        The word vectors; not post-processed, unless `words` is "original".
    words : {"cn", "original"}, default="cn"
        Average the unit vectors after `cn`, or the vectors as they are.
    weights : {"average", "sif"}, default="sif"
        Word weights: all equal, or ``a / (a + p)`` for a share p of running text.
    removal : int or "conceptor", default="conceptor"
        Remove this many leading directions of the averages (1 in Arora et al. 2017, 0 for none), or
        map them by ``(I − C) x`` with the conceptor of the sentences.
    unknown : {"spelling", "skip"}, default="spelling"
        Skip words without a vector, or split them at hyphens and slashes, and give unknown parts of
        three letters or more a vector by their spelling (`conceptor.sentences.spelling`).
    frequencies : str, path or mapping, optional
        Word frequencies, as `weights` of `FitOptions`. Other words get the lowest frequency.
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
        The moments of the averages.
    probabilities_ : ndarray
        Each word's share of running text.
    word_weights_ : ndarray
        The resulting weight of each word.

    Notes
    -----
    Fitting on the sentences that are compared later, as SIF's authors do, uses the test set (though
    never its scores); report which you did. Fit on hundreds of sentences: from a handful, a
    conceptor removes those sentences themselves. joblib saves a fitted encoder.

    References
    ----------
    Arora, Liang & Ma (2017), A Simple but Tough-to-Beat Baseline for Sentence Embeddings, ICLR.
    """

    moments_: Moments
    map_: AffineMap

    def __init__(
        self,
        vectors: object,
        *,
        words: Literal["cn", "original"] = "cn",
        weights: Literal["average", "sif"] = "sif",
        removal: int | Literal["conceptor"] = "conceptor",
        unknown: Literal["spelling", "skip"] = "spelling",
        frequencies: str | os.PathLike[str] | Mapping[str, float] | None = None,
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

    def fit(self, sentences: Iterable[Sentence], y: object = None) -> Self:
        """Fit to sentences, given as texts or lists of tokens, in one streaming pass."""
        self._prepare()
        total = None
        for batch in _batches(sentences):
            averages, has_words = self._average(batch)
            more = Moments.from_vectors(averages, has_words.astype(np.float64))
            total = more if total is None else total + more
        if total is None:
            raise InvalidInputError("no sentences to fit to")
        self.moments_ = total
        self.map_ = self._solve()
        return self

    def fit_transform(self, sentences: Iterable[Sentence], y: object = None) -> Float64:
        """Fit on sentences, which may be a stream, and return their vectors."""
        listed = sentences if isinstance(sentences, str) else list(sentences)
        return self.fit(listed).encode(listed)

    def encode(self, sentences: Iterable[Sentence]) -> Float64:
        """Return one vector per sentence; 0 for a sentence without a known word."""
        check_is_fitted(self, "map_")
        parts = [np.zeros((0, self.map_.n_out))]
        for batch in _batches(sentences):
            averages, has_words = self._average(batch)
            parts.append(np.where(has_words[:, np.newaxis], self.map_(averages), 0.0))
        return np.concatenate(parts)

    transform = encode

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters, abbreviated, because there may be many vectors."""
        parameters = self.get_params(deep=False).items()
        return f"SentenceEncoder({', '.join(f'{k}={reprlib.repr(v)}' for k, v in parameters)})"

    def _prepare(self) -> None:
        """Check the parameters, forget the last fit, and post-process and weight the words."""
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise InvalidInputError(f"{name} must be {' or '.join(choices)}; it is {value!r}")
        if self.removal != "conceptor":
            check_number("removal", self.removal, Integral, 0)
        if self.aperture != "leading":
            check_number("aperture", self.aperture, Real, 0)
        check_number("a", self.a, Real, 0, above=True)
        for name in ("moments_", "map_", "_spelling"):
            self.__dict__.pop(name, None)
        opened = as_vectors(self.vectors).require_words()
        if opened.kind is RowKind.TEXTS:
            opened = replace(opened, kind=RowKind.WORDS)
        if self.words == "cn":
            fitted = fit_methods(opened, [WORD_METHOD], FitOptions(self.frequencies))
            opened = opened.mapped(fitted.methods[WORD_METHOD])
        chunks = list(opened.chunks())
        words = [word for labels, _ in chunks for word in labels]
        self._table = WordVectors(words, np.concatenate([rows for _, rows in chunks]))
        self.probabilities_ = self._count_words(opened, words)
        self.word_weights_ = self._weigh(self.probabilities_)

    def _count_words(self, vectors: Vectors, words: Sequence[str]) -> Float64:
        """Choose the source of frequencies; return the share of running text of each word."""
        chosen = FitOptions(self.frequencies).weights_for(Words.USAGE, vectors)
        if chosen.caution:
            warnings.warn(chosen.caution, stacklevel=4)
        counts = chosen.counts
        if counts is None:
            _, by_rank = chosen.shares(words, 0)
            equal = dict.fromkeys(words, 1.0)
            counts = equal if by_rank is None else dict(zip(words, by_rank, strict=True))
        self._counts = {word: float(count) for word, count in counts.items() if count > 0}
        values = np.fromiter(self._counts.values(), dtype=np.float64)
        if not (np.isfinite(values).all() and any(word in self._counts for word in words)):
            raise InvalidInputError(
                "no word with a vector has a frequency, or one is infinite; check that frequencies "
                "and vectors match"
            )
        self._rarest, self._total = float(values.min()), float(values.sum())
        return self._shares(words)

    def _shares(self, words: Iterable[str]) -> Float64:
        """Return shares of running text; a word without a count gets the lowest."""
        counts = [self._counts.get(word, self._rarest) for word in words]
        return np.array(counts, dtype=np.float64) / self._total

    def _weigh(self, shares: Float64) -> Float64:
        return np.ones(len(shares)) if self.weights == "average" else sif_weights(shares, self.a)

    def _average(self, sentences: list[Sentence]) -> tuple[Float64, NDArray[np.bool_]]:
        """Return weighted averages of the words, as one sparse product over distinct words."""
        words: list[str] = []
        ends = [0]
        for sentence in sentences:
            for token in _tokens(sentence):
                words += self._split(token)
            ends.append(len(words))
        numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
        distinct = list(numbers)
        rows = self._table.rows(distinct)
        is_known = rows >= 0
        vectors = np.empty((len(distinct), self._table.dimension))
        weights = np.empty(len(distinct))
        vectors[is_known] = self._table.vectors[rows[is_known]]
        weights[is_known] = self.word_weights_[rows[is_known]]
        if not is_known.all():
            unknown = [distinct[number] for number in np.flatnonzero(~is_known)]
            vectors[~is_known] = self._spelling(unknown)
            weights[~is_known] = self._weigh(self._shares(unknown))
        columns = np.array([numbers[word] for word in words], dtype=np.intp)
        counts = sparse.csr_array(
            (weights[columns], columns, ends), shape=(len(sentences), len(distinct))
        )
        lengths = np.diff(ends)
        averages = np.asarray(counts @ vectors) / np.maximum(lengths, 1)[:, np.newaxis]
        return averages, lengths > 0

    def _split(self, token: str) -> list[str]:
        """Return the words to average for a token: itself, or the parts of an unknown one."""
        if token in self._table:
            return [token]
        if self.unknown == "skip":
            return []
        # The spelling of *of*, *'s* or *n't* is not informative.
        return [
            part
            for part in _SEPARATORS.split(token)
            if part in self._table or not part.isascii() or sum(map(str.isalnum, part)) >= 3
        ]

    @cached_property
    def _spelling(self) -> Spelling:
        references = np.sort(np.argsort(-self.probabilities_, kind="stable")[:_REFERENCES])
        frequent = [self._table.words[row] for row in references.tolist()]
        return Spelling(frequent, self._table.vectors[references])

    def _solve(self) -> AffineMap:
        provenance: dict[str, Any] = {
            "method": "SentenceEncoder",
            "weights": self.weights,
            "removal": self.removal if self.removal == "conceptor" else int(self.removal),
            "sentences": self.moments_.count,
        }
        if self.removal == 0 or not self.moments_.weight:
            return AffineMap(np.eye(self.moments_.dimension), provenance=provenance)
        spectrum = Spectrum.from_matrix(self.moments_.second_moment)
        if self.removal != "conceptor":
            gate = drop_leading(spectrum.values, self.removal)
        else:
            if self.aperture == "leading":
                aperture = leading_aperture(spectrum.values, _SHARE_OF_FIRST)
            else:
                aperture = float(self.aperture) * scale_free_aperture(spectrum.values)
            gate = negated_conceptor(spectrum.values, aperture)
            provenance["aperture"] = aperture
        return AffineMap(spectrum.matrix(gate), provenance=provenance)

    def export(self, folder: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write a new folder that model2vec and sentence-transformers load.

        It encodes texts to the same directions, normalized. It skips words without a vector,
        for any value of `unknown`, because a table has no row for them.
        """
        from conceptor.static_models import StaticModel

        check_is_fitted(self, "map_")
        rows = [i for i, word in enumerate(self._table.words) if word.islower()]
        weighted = self._table.vectors[rows] * self.word_weights_[rows, np.newaxis]
        words = [self._table.words[i] for i in rows]
        model = StaticModel.from_words(words, self.map_(weighted), self.map_.provenance)
        model.save(folder, dtype=dtype)


def _batches(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    if isinstance(sentences, str):
        raise InvalidInputError("got a single string; put it into a list of sentences")
    stream = iter(sentences)
    return iter(lambda: list(islice(stream, _BATCH)), [])


def _tokens(sentence: Sentence) -> list[str]:
    if isinstance(sentence, str):
        return tokenize(sentence)
    tokens: list[Any] = list(sentence) if hasattr(sentence, "__iter__") else [None]
    if all(isinstance(token, str) for token in tokens):
        return tokens
    raise InvalidInputError(f"{sentence!r:.60} is not a sentence; pass text or a list of words")
