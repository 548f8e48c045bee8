"""Sentence vectors from word vectors: weighted averages, then what sentences share taken out.

Three decisions again: what each word weighs (`average`, `sif`, `usif`), and which map follows on
the sentence vectors: none, removal of their first direction, or a sentence conceptor negation.
The words may have been post-processed before; a usage-weighted conceptor negation is best.
"""

from __future__ import annotations

import json
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from conceptor.aperture import leading_aperture, scale_free_aperture
from conceptor.atomic import replacing
from conceptor.errors import InvalidInputError
from conceptor.evaluation.lookup import as_word_vectors
from conceptor.evaluation.tokens import tokenize
from conceptor.gates import negated_conceptor
from conceptor.linear_map import LinearMap
from conceptor.moments import Moments
from conceptor.spectrum import Spectrum
from conceptor.usage import usage

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.arrays import Float64
    from conceptor.evaluation.lookup import WordVectors

_FORMAT = "conceptor.SentenceEncoder/1"
_AT_ONCE = 10_000
SIF_A = 1e-3
_KEPT_OF_THE_FIRST = 0.2


def sif_weights(probabilities: Float64, a: float = SIF_A) -> Float64:
    """Return ``a / (a + p)``, smooth inverse frequency (Arora, Liang & Ma 2017)."""
    return a / (a + probabilities)


def usif_a(probabilities: Float64, words_in_a_sentence: float) -> float:
    """Return the a of uSIF's ``a / (a/2 + p)`` as Ethayarajh (2018) derives it; nothing is tuned.

    With V words and sentences of n words, ``t = 1 − (1 − 1/V)^n`` is the chance that a random
    walk visits a word, α the share of words with ``p > t``, and ``a = (1 − α) / (α V / 2)``.
    """
    count = len(probabilities)
    threshold = -np.expm1(words_in_a_sentence * np.log1p(-1 / count)) if count > 1 else 1.0
    # At least one word above the threshold and one below, so that a is neither ∞ nor 0.
    above = min(max(int((probabilities > threshold).sum()), 1), max(count - 1, 1))
    alpha = above / (count if count > 1 else 2)
    return float((1 - alpha) / (alpha * count / 2))


class SentenceEncoder(TransformerMixin, BaseEstimator):
    """Vectors of sentences: a weighted average of their words, then a map fitted on sentences.

    Parameters
    ----------
    vectors : WordVectors, (words, array), mapping of words to vectors, or KeyedVectors
        The words' vectors, post-processed or not.
    weights : {"average", "sif", "usif"}, default="sif"
        Words weigh the same; ``a / (a + p)``; or ``a / (a/2 + p)`` with a derived from the
        sentences' length.
    removal : {"none", "first", "conceptor"}, default="conceptor"
        What follows: nothing; the first direction of the sentences' second moment is taken off
        (Arora et al. 2017); or ``(I − C) x`` with the conceptor of the sentences.
    frequencies : str or mapping, default="zipf"
        The words' use: `zipf` for `vectors` in order of falling frequency, a file of counts,
        `wordfreq:LANG`, or a mapping; as in `conceptor.usage.usage`. Words without a frequency
        are taken to be as rare as the rarest with one.
    aperture : float or "auto", default="auto"
        Of the sentence conceptor, for R scaled to mean eigenvalue 1. "auto" keeps a fifth of the
        strongest direction (``α² λ_1 = 4``: the paper's α = 2, once λ_1 is 1).
    a : float, default=1e-3
        Of SIF.

    Attributes
    ----------
    map_ : LinearMap
        What follows the average.
    moments_ : Moments
        Of the sentences seen, as averages.
    probabilities_ : ndarray
        The words' share of running text.

    Notes
    -----
    Fitting on the very sentences that are compared later, as SIF's authors do, sees the test
    set (though never its scores); say which you did. A sentence without a known word becomes 0.
    `fit` reads any iterable once and keeps n × n numbers; uSIF also needs the sentences' mean
    length first and reads them twice, so give it a list.

    References
    ----------
    Arora, Liang & Ma (2017), A Simple but Tough-to-Beat Baseline for Sentence Embeddings, ICLR.
    Ethayarajh (2018), Unsupervised Random Walk Sentence Embeddings, RepL4NLP.
    """

    moments_: Moments
    word_weights_: Float64
    _text: Float64

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "weights": [StrOptions({"average", "sif", "usif"})],
        "removal": [StrOptions({"none", "first", "conceptor"})],
        "aperture": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "a": [Interval(Real, 0, None, closed="neither")],
        "vectors": "no_validation",
        "frequencies": "no_validation",
    }

    def __init__(
        self,
        vectors: object,
        *,
        weights: Literal["average", "sif", "usif"] = "sif",
        removal: Literal["none", "first", "conceptor"] = "conceptor",
        frequencies: str | Mapping[str, float] = "zipf",
        aperture: float | Literal["auto"] = "auto",
        a: float = SIF_A,
    ) -> None:
        self.vectors = vectors
        self.weights = weights
        self.removal = removal
        self.frequencies = frequencies
        self.aperture = aperture
        self.a = a

    def fit(self, sentences: Iterable[str | Sequence[str]], y: object = None) -> Self:
        """Learn what sentences share, from texts or lists of tokens, in one streaming pass."""
        self._start()
        if self.weights == "usif":
            sentences = [_tokens(sentence) for sentence in sentences]
            self._set_weights(sentences)
        stream = iter(sentences)
        while chunk := list(islice(stream, _AT_ONCE)):
            self.partial_fit(chunk)
        if not hasattr(self, "moments_"):
            raise InvalidInputError("no sentences to fit on")
        return self

    def partial_fit(self, sentences: Sequence[str | Sequence[str]], y: object = None) -> Self:
        """Learn from some more sentences; with uSIF the first call settles the words' weights."""
        if not hasattr(self, "probabilities_"):
            self._start()
        tokens = [_tokens(sentence) for sentence in sentences]
        if not hasattr(self, "word_weights_"):
            self._set_weights(tokens)
        averages, known = self._averages(tokens)
        more = Moments.of(averages, known.astype(np.float64))
        self.moments_ = self.moments_ + more if hasattr(self, "moments_") else more
        self.map_ = self._removal()
        return self

    def transform(self, sentences: Iterable[str | Sequence[str]]) -> Float64:
        """Return one vector a sentence."""
        check_is_fitted(self)
        return self.encode(sentences)[0]

    def encode(self, sentences: Iterable[str | Sequence[str]]) -> tuple[Float64, Any]:
        """Return one vector a sentence, and which sentences held a known word."""
        check_is_fitted(self)
        averages, known = self._averages([_tokens(sentence) for sentence in sentences])
        return np.where(known[:, None], self.map_(averages), 0.0), known

    def _start(self) -> None:
        self._validate_params()
        for name in ("moments_", "map_", "word_weights_"):
            self.__dict__.pop(name, None)
        self._words: WordVectors = as_word_vectors(self.vectors)
        self.probabilities_ = self._probabilities()

    def _probabilities(self) -> Float64:
        """Return each word's share of running text; a counts file may know more of its words."""
        chosen = usage(self.frequencies)
        words = list(self._words.words)
        if chosen.counts is None:
            weights = chosen.of(words, 0).weights
            shares: Float64 = np.ones(len(words)) if weights is None else weights
            self._text = shares / shares.sum()
            return self._text
        every = np.fromiter(chosen.counts.values(), dtype=np.float64)
        every = every[every > 0]
        if not len(every):
            raise InvalidInputError("no word has a frequency above zero")
        shares = np.array([chosen.counts.get(word, 0.0) for word in words])
        self._text = every / every.sum()
        known: Float64 = np.where(shares > 0, shares, every.min())
        return known / float(every.sum())

    def _set_weights(self, tokens: Sequence[Sequence[str]]) -> None:
        if self.weights == "average":
            self.word_weights_ = np.ones(len(self._words))
        elif self.weights == "sif":
            self.word_weights_ = sif_weights(self.probabilities_, self.a)
        else:
            lengths = [sum(token in self._words for token in sentence) for sentence in tokens]
            mean_length = float(np.mean(lengths)) if lengths else 0.0
            a = usif_a(self._text, max(mean_length, 1.0))
            self.word_weights_ = a / (a / 2 + self.probabilities_)

    def _averages(self, tokens: Sequence[Sequence[str]]) -> tuple[Float64, Any]:
        """Return weighted averages of the known tokens: one sparse product over distinct words."""
        rows = self._words.rows(token for sentence in tokens for token in sentence)
        starts = np.cumsum([0, *(len(sentence) for sentence in tokens)])
        found = rows >= 0
        distinct, columns = np.unique(rows[found], return_inverse=True)
        ends = np.concatenate([[0], np.cumsum(found)])[starts]
        counts = sparse.csr_array(
            (self.word_weights_[rows[found]], columns, ends), shape=(len(tokens), len(distinct))
        )
        lengths = np.diff(ends)
        sums = counts @ self._words.vectors[distinct].astype(np.float64)
        return np.asarray(sums) / np.maximum(lengths, 1)[:, None], lengths > 0

    def _removal(self) -> LinearMap:
        n = self.moments_.dimension
        provenance: dict[str, Any] = {
            "method": "SentenceEncoder",
            "weights": self.weights,
            "removal": self.removal,
            "sentences": self.moments_.count,
        }
        if self.removal == "none" or not self.moments_.weight:
            return LinearMap(np.eye(n), provenance=provenance)
        spectrum = Spectrum.of(self.moments_.second_moment)
        if self.removal == "first":
            gate = np.where(np.arange(n) < 1, 0.0, 1.0)
        else:
            if self.aperture == "auto":
                aperture = leading_aperture(spectrum.values, _KEPT_OF_THE_FIRST)
            else:
                aperture = scale_free_aperture(spectrum.values, self.aperture)
            gate = negated_conceptor(spectrum.values, aperture)
            provenance["aperture"] = aperture
        return LinearMap(spectrum.matrix(gate), provenance=provenance)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write words, weighted vectors and map as safetensors; whole or not at all."""
        from safetensors.numpy import save

        check_is_fitted(self)
        parameters = {name: getattr(self, name) for name in ("weights", "removal", "aperture", "a")}
        words = "\n".join(self._words.words)
        if words.count("\n") != len(self._words) - 1:
            raise InvalidInputError("a word holds a line break; such vectors cannot be saved")
        metadata = {
            "format": _FORMAT,
            "parameters": json.dumps(parameters),
            "provenance": json.dumps(self.map_.provenance),
        }
        parts = {
            "words": np.frombuffer(words.encode(), dtype=np.uint8),
            "vectors": np.ascontiguousarray(self._words.vectors),
            "word_weights": self.word_weights_,
            "probabilities": self.probabilities_,
            "matrix": np.ascontiguousarray(self.map_.matrix),
            "mean": self.moments_.mean,
            "scatter": np.ascontiguousarray(self.moments_.scatter),
            "totals": np.array(
                [self.moments_.weight, self.moments_.count, self.moments_.squared_weight]
            ),
        }
        with replacing(path) as beside:
            beside.write_bytes(save(parts, metadata=metadata))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an encoder that `save` wrote; it can encode, and be fitted further."""
        from safetensors import SafetensorError, safe_open

        if Path(path).is_dir():
            raise InvalidInputError(f"{path} is a directory, not a saved encoder")
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != _FORMAT:
                    raise InvalidInputError(f"{path} is not a saved sentence encoder")
                parts = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            parameters = json.loads(metadata["parameters"])
            words = parts["words"].tobytes().decode().split("\n")
            weight, count, squared_weight = parts["totals"].tolist()
            encoder = cls((words, parts["vectors"]), **parameters)
            encoder._words = as_word_vectors(encoder.vectors)
            encoder.word_weights_ = parts["word_weights"]
            encoder.probabilities_ = parts["probabilities"]
            encoder.frequencies = dict(zip(words, parts["probabilities"].tolist(), strict=True))
            encoder.moments_ = Moments(
                weight, parts["mean"], parts["scatter"], int(count), squared_weight
            )
            provenance = json.loads(metadata["provenance"])
            encoder.map_ = LinearMap(parts["matrix"], provenance=provenance)
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(
                f"{path} is not a saved sentence encoder, or is cut short ({error})"
            ) from error
        return encoder


def _tokens(sentence: str | Sequence[str]) -> Sequence[str]:
    return tokenize(sentence) if isinstance(sentence, str) else sentence
