"""Positive pointwise mutual information, its truncated SVD, and vectors ``E = Θ D^p`` from it."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from conceptor.algebra.gates import power as gated_power
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress, silent
from conceptor.base.threads import one_blas_thread
from conceptor.paper.ppmi.counting import Cooccurrence, cooccurrence

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from conceptor.base.arrays import Float64
    from conceptor.paper.ppmi.text import Corpus, Tokens, Unit

_ENTRIES_AT_ONCE = 1 << 20


def ppmi(
    counted: Cooccurrence,
    *,
    smoothing: float = 0.75,
    shift: float = 1.0,
    subsample: float | None = None,
    positive: bool = True,
) -> Any:  # noqa: ANN401 - a sparse matrix, which has no types
    """Return ``max(0, log(P(w, c) / (P(w) P_a(c))) − log k)`` as a sparse float32 matrix.

    Parameters
    ----------
    smoothing
        a in ``P_a(c) = #(c)^a / Σ #(c)^a``: below 1 it keeps rare contexts from dominating.
    shift
        k ≥ 1, the number of negative samples in the word2vec analogy.
    subsample
        t: if a word's share f of the text exceeds t, each occurrence is kept with probability
        ``√(t / f)``. Nothing is sampled: counts are multiplied by the probability that both
        tokens of a pair are kept, which gives their expected value. None keeps everything.
    positive
        Whether entries below zero are dropped. Pairs that never occur are zero either way.

    References
    ----------
    Levy, Goldberg & Dagan (2015), Improving Distributional Similarity with Lessons Learned from
    Word Embeddings, TACL.
    """
    from scipy import sparse

    _check_ppmi(smoothing, shift, subsample)
    counts = counted.matrix
    keep = np.ones(len(counted.words))
    if subsample is not None:
        keep = np.minimum(1.0, np.sqrt(subsample * counted.tokens / counted.counts))
    marginal = keep * (counts @ keep)
    with np.errstate(divide="ignore"):  # a word without neighbours has no entries either
        log_word = np.log(marginal) - np.log(keep)
        log_context = smoothing * np.log(marginal) - np.log(keep)
    constant = np.log(np.sum(marginal[marginal > 0] ** smoothing)) - np.log(shift)
    data = np.empty(counts.nnz, dtype=np.float32)
    rows = np.repeat(np.arange(len(keep), dtype=np.int32), np.diff(counts.indptr))
    for start in range(0, counts.nnz, _ENTRIES_AT_ONCE):
        part = slice(start, start + _ENTRIES_AT_ONCE)
        information = np.log(counts.data[part]) - log_word[rows[part]]
        data[part] = information - log_context[counts.indices[part]] + constant
    if positive:
        kept = data > 0
        where = (rows[kept], counts.indices[kept])
        return sparse.csr_array((data[kept], where), shape=counts.shape)
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _check_ppmi(smoothing: float, shift: float, subsample: float | None) -> None:
    if not 0 <= smoothing <= 1:
        raise InvalidInputError(f"smoothing must be between 0 and 1, not {smoothing}")
    if not 1 <= shift < np.inf:
        raise InvalidInputError(f"shift must be at least 1 (no shift), not {shift}")
    if subsample is not None and not subsample > 0:
        raise InvalidInputError(f"subsample must be above 0, not {subsample}")


def truncated_svd(matrix: Any, dimension: int) -> tuple[Float64, Float64]:  # noqa: ANN401
    """Return the leading left singular vectors Θ and singular values D (descending).

    Uses Lanczos (ARPACK) on the Gram operator from a fixed start, and makes each column's largest
    component positive, so the same input gives the same output. Singular values that are zero up
    to rounding are set to zero, and so are their columns.
    """
    from scipy.sparse.linalg import svds

    if not 0 < dimension < min(matrix.shape):
        raise InvalidInputError(
            f"vectors of dimension {dimension} need a vocabulary of more than {dimension} words; "
            f"there are {matrix.shape[0]}"
        )
    if matrix.nnz == 0:
        raise InvalidInputError("no pair of words occurs more often than by chance; use more text")
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    # One BLAS thread: on ARPACK's thin products several threads mostly wait for each other, and
    # take two to five times as long if the processors are busy.
    with one_blas_thread():
        left, values, _ = svds(matrix, k=dimension, v0=start.astype(matrix.dtype))
    order = np.argsort(-values)
    left, values = left[:, order].astype(np.float64), values[order].astype(np.float64)
    leading = np.abs(left).argmax(axis=0)
    left *= np.where(left[leading, np.arange(dimension)] < 0, -1.0, 1.0)
    nothing = values <= values[0] * np.finfo(matrix.dtype).eps * np.sqrt(max(matrix.shape))
    values[nothing] = 0.0
    left[:, nothing] = 0.0
    return left, values


class PPMIVectors(BaseEstimator):
    """Word vectors from text by PPMI and truncated SVD (Levy, Goldberg & Dagan 2015).

    ``E = Θ D^p`` with the leading singular triplets of the PPMI matrix.

    Parameters
    ----------
    dimension : int, default=300
        The number of dimensions.
    power : float, default=0.5
        The p of eigenvalue weighting, for `vectors()`; 1 keeps the singular values, 0 drops them.
    window, dynamic_window, min_count, max_words, tokens, lowercase, unit, threads
        As for `conceptor.paper.ppmi.cooccurrence`.
    smoothing, shift, subsample, positive
        As for `conceptor.paper.ppmi.ppmi`.

    Attributes
    ----------
    words : list of str
        The vocabulary by descending count.
    counts : dict of str to int
        How often each occurs; `conceptor.weights.parse_weights` accepts it.
    singular_values_ : ndarray of shape (dimension,)
        D, descending.
    singular_vectors_ : ndarray of shape (words, dimension)
        Θ.
    tokens_ : int
        The number of tokens in the text.

    Notes
    -----
    Time is linear in the tokens times the window. Memory depends on the distinct words and pairs:
    27 to 53 bytes per pair while counting (half as much again while a table grows), and about as
    much for the matrix and its factorization. Nothing is random.

    Examples
    --------
    >>> from conceptor.paper.ppmi import PPMIVectors
    >>> text = ["the cat sat on the mat", "the dog sat on the rug"] * 5
    >>> trained = PPMIVectors(dimension=3, min_count=1).fit(text)
    >>> trained.words[:3], trained.vectors(power=1).shape
    (['the', 'sat', 'on'], (7, 3))
    """

    def __init__(
        self,
        dimension: int = 300,
        *,
        power: float = 0.5,
        window: int = 5,
        dynamic_window: bool = True,
        min_count: int = 10,
        max_words: int | None = None,
        tokens: Tokens = "words",
        lowercase: bool = True,
        unit: Unit = "line",
        smoothing: float = 0.75,
        shift: float = 1.0,
        subsample: float | None = None,
        positive: bool = True,
        threads: int | None = None,
    ) -> None:
        self.dimension = dimension
        self.power = power
        self.window = window
        self.dynamic_window = dynamic_window
        self.min_count = min_count
        self.max_words = max_words
        self.tokens = tokens
        self.lowercase = lowercase
        self.unit = unit
        self.smoothing = smoothing
        self.shift = shift
        self.subsample = subsample
        self.positive = positive
        self.threads = threads

    def fit(self, corpus: Corpus, y: object = None, *, progress: Progress = silent) -> Self:
        """Learn vectors from a file, or from an iterable of texts (`str`) and files (paths)."""
        if self.dimension < 1:
            raise InvalidInputError(f"dimension must be at least 1, not {self.dimension}")
        if not np.isfinite(self.power):
            raise InvalidInputError(f"power must be a finite number, not {self.power}")
        _check_ppmi(self.smoothing, self.shift, self.subsample)
        counted = cooccurrence(corpus, **self._options(cooccurrence), progress=progress)
        return self.fit_counts(counted, progress=progress)

    def _options(self, function: Callable[..., object]) -> dict[str, Any]:
        """Return the parameters of this estimator that a function takes."""
        taken = signature(function).parameters
        return {name: value for name, value in self.get_params().items() if name in taken}

    def fit_counts(self, counted: Cooccurrence, *, progress: Progress = silent) -> Self:
        """Learn vectors from existing counts."""
        progress("factoring", None, counted.tokens)
        matrix = ppmi(counted, **self._options(ppmi))
        self.singular_vectors_, self.singular_values_ = truncated_svd(matrix, self.dimension)
        self.words = counted.words
        self.counts = dict(zip(counted.words, counted.counts.tolist(), strict=True))
        self.tokens_ = counted.tokens
        progress("factoring", 1.0, counted.tokens)
        return self

    def vectors(self, power: float | None = None) -> NDArray[np.float32]:
        """Return ``Θ D^p``, one row per word; p is `power`, by default that of the constructor."""
        check_is_fitted(self, "singular_values_")
        scale = gated_power(self.singular_values_, self.power if power is None else power)
        return (self.singular_vectors_ * scale).astype(np.float32)
