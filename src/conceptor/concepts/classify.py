"""A classifier with one conceptor per class (Jaeger 2014)."""

from __future__ import annotations

from functools import reduce
from numbers import Real
from operator import add
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from conceptor.base.arrays import Array, Float64

# Apertures tried for `auto`, relative to the one that keeps half of the strongest direction.
_GRID = 10.0 ** np.linspace(-2, 4, 241)


class ConceptorClassifier(ClassifierMixin, BaseEstimator):
    """Classify vectors by the evidence that they are in a class and in no other class.

    The evidence for class j is ``xᵀ C_j x + xᵀ ¬(C_1 ∨ … without j … ∨ C_k) x``, over ``xᵀx``.

    Parameters
    ----------
    aperture : float or "steepest", default="steepest"
        α of every class, on the scale of the vectors. "steepest" is where the classes'
        ``‖C‖²`` together grow fastest with log α (Jaeger 2014 does so for each class).
    negative : bool, default=True
        Whether evidence against the other classes counts.
    bias : bool, default=True
        Add a constant component: the root mean square length of the vectors. Without it, a
        conceptor treats x and −x alike.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    aperture_ : float
        The aperture that was used.
    moments_ : dict of labels to Moments
        The only part of the data that is kept.
    conceptors_ : list of Conceptor
        One per class, for vectors with the constant component, if there is one.

    Notes
    -----
    `partial_fit` takes more vectors of known or new classes. A class is a moment, and moments add,
    so nothing is trained again. k classes of n features cost 2k eigendecompositions of n × n,
    for any number of vectors.

    References
    ----------
    Jaeger (2014), Controlling Recurrent Neural Networks by Conceptors, section 3.12.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from conceptor import ConceptorClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ConceptorClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        aperture: float | Literal["steepest"] = "steepest",
        negative: bool = True,
        bias: bool = True,
    ) -> None:
        self.aperture = aperture
        self.negative = negative
        self.bias = bias

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn one conceptor per label of `y`."""
        self.__dict__.pop("moments_", None)
        return self._learn(X, y, sample_weight, reset=True)

    def partial_fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from more vectors of any classes; `classes` is optional."""
        return self._learn(X, y, sample_weight, reset=not hasattr(self, "moments_"))

    def _learn(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        *,
        reset: bool,
    ) -> Self:
        self._check()
        vectors, labels = validate_data(self, X, y, reset=reset, dtype=[np.float64, np.float32])
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, vectors, dtype=np.float64)
        moments = dict(getattr(self, "moments_", {}))
        for label in unique_labels(labels[weights != 0]):
            rows = (labels == label) & (weights != 0)
            more = Moments.from_vectors(vectors[rows], weights[rows])
            moments[label] = moments[label] + more if label in moments else more
        self.moments_ = {label: moments[label] for label in unique_labels(list(moments))}
        self._solve()
        return self

    def _check(self) -> None:
        chosen = isinstance(self.aperture, str) and self.aperture == "steepest"
        if not chosen and not (isinstance(self.aperture, Real) and self.aperture > 0):
            raise InvalidInputError(
                f'aperture must be "steepest" or above 0; it is {self.aperture!r}'
            )

    def _solve(self) -> None:
        self.classes_ = np.array(list(self.moments_))
        pooled = reduce(add, self.moments_.values())
        size = float(np.sqrt(np.trace(pooled.second_moment))) or 1.0
        self.bias_ = size if self.bias else 0.0
        seconds = [self._with_bias(each) for each in self.moments_.values()]
        spectra = [Spectrum.from_matrix(R) for R in seconds]
        self.aperture_ = (
            steepest_aperture(np.concatenate([each.values for each in spectra]))
            if self.aperture == "steepest"
            else float(self.aperture)
        )
        self.conceptors_ = [Conceptor.from_spectrum(each, self.aperture_) for each in spectra]
        self._evidence = [each.matrix for each in self.conceptors_]
        if self.negative:
            total = sum(seconds)  # at equal apertures OR is the conceptor of the sum
            others = (Conceptor.from_second_moment(total - R, self.aperture_) for R in seconds)
            self._evidence = [
                C + (~other).matrix for C, other in zip(self._evidence, others, strict=True)
            ]

    def _with_bias(self, moments: Moments) -> Float64:
        """Return the second moment of the vectors with their constant component."""
        R = moments.second_moment
        if not self.bias:
            return R
        mean = self.bias_ * moments.mean[:, np.newaxis]
        return np.block([[R, mean], [mean.T, np.full((1, 1), self.bias_**2)]])

    def evidence(self, X: npt.ArrayLike) -> Float64:
        """Return the evidence for each class, of shape (k, classes), between 0 and 2."""
        check_is_fitted(self)
        rows: Array = validate_data(self, X, reset=False, dtype=np.float64)
        if self.bias:
            rows = np.hstack([rows, np.full((len(rows), 1), self.bias_)])
        energy = np.einsum("ij,ij->i", rows, rows)
        found = np.column_stack(
            [np.einsum("ij,ij->i", rows @ matrix, rows) for matrix in self._evidence]
        )
        return np.asarray(found / np.where(energy > 0, energy, 1.0)[:, np.newaxis])

    def decision_function(self, X: npt.ArrayLike) -> Float64:
        """Return the evidence; for two classes, the evidence for the second minus the first."""
        found = self.evidence(X)
        return found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class with the most evidence for each row."""
        best = self.evidence(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def steepest_aperture(values: Float64) -> float:
    """Return the α at which ``‖C‖²`` grows fastest with log α, for the eigenvalues of R."""
    used = values[values > 0]
    if not len(used):
        return 1.0
    scale = 1 / np.sqrt(used.max())
    odds = np.outer((_GRID * scale) ** 2, used)
    # Of s² with s = odds / (1 + odds), and odds growing as α²: 4 s² (1 − s).
    shares = odds / (1 + odds)
    return float(scale * _GRID[np.argmax((shares**2 * (1 - shares)).sum(axis=1))])
