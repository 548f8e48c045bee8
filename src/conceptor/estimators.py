"""The post-processors as scikit-learn transformers: thin wrappers of `conceptor.methods`.

``fit`` reads the vectors once, for their moments; the method does the rest.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.conceptors import Conceptor
from conceptor.algebra.moments import Moments
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.arrays import Array, Float64, as_matrix
from conceptor.base.errors import InvalidInputError
from conceptor.methods import METHODS, Lengths, Method, Solution, Words
from conceptor.weights import rank_weights


class SpectralPostprocessor(TransformerMixin, BaseEstimator):
    """Any method as a transformer: ``y = U diag(g(λ)) Uᵀ (x − m)``; the base of the others.

    float32 and float64 vectors keep their type; float16 is processed and returned as float32,
    integers as float64. Moments, eigenpairs and maps are always float64. Neither `fit` nor
    `transform` makes a float64 copy of the whole matrix.

    Rows have no words here, so estimators cannot set lengths by usage. The directions are the same
    as from `postprocess`, which also shortens frequent words. To get the same rows, multiply the
    rows of frequent words by ``a / (a + p)``, with a = 0.001 and p the word's share of text.

    Parameters
    ----------
    method : str, default="cn-paper"
        A name with its parameters, such as `pvn` or `ppa:n_directions=2:n_components=100`. Fit
        `hsr` on the rows of function words, then transform all rows.

    Attributes
    ----------
    moments_ : Moments
        All vectors seen so far, weighted.
    once_ : Moments
        The same vectors, each counting once; only if `n_components` needs it.
    solution_, spectrum_, gate_, map_ : Solution, Spectrum, ndarray, AffineMap
        The solution of the method, its eigenpairs, how much of each direction is kept, the map.
    n_features_in_ : int
        Dimension of the vectors, n.
    """

    moments_: Moments
    # Whether the user chose how rows count, so that equal weights need no warning.
    _chooses_weights = False

    def __init__(self, method: str = "cn-paper") -> None:
        self.method = method

    def _read_method(self) -> Method:
        """Return the method with this estimator's parameters; raise for invalid parameters."""
        return Method.parse(self.method)

    def fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn the map from the rows of `X`, and discard anything learned before.

        Parameters
        ----------
        X : array-like of shape (k, n)
            One vector per row.
        y : ignored
        sample_weight : array-like of shape (k,), optional
            How much each vector counts: an integer weight means that many copies of the row.
        """
        for learned in ("moments_", "once_"):
            self.__dict__.pop(learned, None)
        self.partial_fit(X, y, sample_weight)
        _ = self.solution_  # parameters are read now; later changes take effect at the next fit
        return self

    def partial_fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of a stream; the result is that of one `fit` on all of it.

        Only moments are updated here; the eigendecomposition waits until it is needed, so a
        stream of many small chunks costs no more than one large `fit`.
        """
        method = self._read_method()  # bad parameters raise before any work
        if hasattr(X, "index_to_key"):
            as_matrix(X)  # raises a clearer error for gensim's KeyedVectors than scikit-learn does
        # Moments check for NaN in the same pass; scikit-learn would read X once more.
        matrix = validate_data(
            self, X, reset=not hasattr(self, "moments_"), ensure_all_finite=False
        )
        if sample_weight is None and method.words is Words.USAGE and not self._chooses_weights:
            warnings.warn(
                f"{method.name} weights words by their frequency, but every row counts once here; "
                "pass frequencies as sample_weight, such as rank_weights(0, len(X)) of "
                "conceptor.weights for rows sorted by frequency",
                stacklevel=3,
            )
        more = Moments.from_vectors(matrix, sample_weight, unit=method.unit)
        self.__dict__.pop("_solution", None)
        before = getattr(self, "moments_", None)
        if hasattr(self, "once_") or (method.once is not None and sample_weight is not None):
            each = more
            if sample_weight is not None:
                each = Moments.from_vectors(matrix, np.asarray(sample_weight) > 0, unit=method.unit)
            once = getattr(self, "once_", before)
            self.once_ = each if once is None else once + each
        self.moments_ = more if before is None else before + more
        return self

    def fit_moments(self, moments: Moments, once: Moments | None = None) -> Self:
        """Learn the map from moments computed elsewhere, and discard anything learned before.

        `once` is the moments of the same vectors, each counting once. `ConceptorNegation` uses them
        to find the leading directions; by default it uses `moments`.
        """
        self.n_features_in_ = moments.dimension
        self.moments_ = moments
        self.__dict__.pop("once_", None)
        if once is not None:
            self.once_ = once
        self._solution = self._read_method().solve(moments, once)
        return self

    @property
    def solution_(self) -> Solution:
        """The solution of the method for the moments."""
        check_is_fitted(self, "moments_")
        if "_solution" not in self.__dict__:
            self._solution = self._read_method().solve(self.moments_, getattr(self, "once_", None))
        return self._solution

    @property
    def spectrum_(self) -> Spectrum:
        """Eigenpairs of the moment that this method decomposes."""
        return self.solution_.spectrum

    @property
    def gate_(self) -> Float64:
        """How much of each direction is kept."""
        return self.solution_.gate

    @property
    def map_(self) -> AffineMap:
        """The map that improves vectors."""
        return self.solution_.map

    def transform(self, X: npt.ArrayLike) -> Array:
        """Map each row of `X`; it need not have been part of the fit."""
        check_is_fitted(self)
        return self.map_(validate_data(self, X, reset=False, ensure_min_samples=0))

    def inverse_transform(self, X: npt.ArrayLike) -> Array:
        """Undo `transform`; raise if directions or lengths were dropped."""
        check_is_fitted(self)
        return self.map_.inverse()(X)

    @property
    def _n_features_out(self) -> int:
        return self.map_.n_out

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """Return the names of the input's features, or new names if `n_components` is set."""
        check_is_fitted(self)
        is_reduced = "n_components" in self.map_.provenance["parameters"]
        mixin = ClassNamePrefixFeaturesOutMixin if is_reduced else OneToOneFeatureMixin
        return cast("Array", mixin.get_feature_names_out(self, input_features))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's tags carry no types
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ConceptorNegation(SpectralPostprocessor):
    """Conceptor Negation: turn down the directions that vectors share (Liu, Ungar & Sedoc 2019).

    The defaults are those of `cn`; the same weights give the same map. Rows have no words
    here: pass their usage as `sample_weight`, or set ``weights="zipf"`` if they are sorted by
    frequency. `conceptor.estimator("cn-paper")` is configured as in the paper.

    ``y = (I − C)^power x`` with the conceptor ``C = R (R + α⁻² I)⁻¹`` of the uncentered second
    moment ``R = Σ p x xᵀ``; the gate is ``(α⁻² / (λ + α⁻²))^power``.

    Parameters
    ----------
    aperture : float or "auto", default="auto"
        α ≥ 0, on the scale of the vectors. 0 changes nothing, ∞ removes every direction in use.
        "auto" is the aperture at which the mean eigenvalue λ has ``α² λ = 1``. The paper's 2 is for
        ``power=1, unit=False``.
    power : float, default=0.5
        The paper uses 1, which makes strong directions weaker than weak ones. The square root
        makes them about equal.
    unit : bool, default=True
        Bring every vector to length 1 first. The paper does not.
    weights : {"uniform", "zipf"}, default="uniform"
        Whether each row counts once, as in the paper, or by its share of running text: "zipf"
        gives row r the weight 1 / (r + 2.7), for rows sorted by falling frequency. If you know
        counts, pass them as `sample_weight` instead.
    n_components : int, optional
        Dimension of the result: keep this many leading directions after the gate, as coordinates.
        Each row counts once for that. By default the vectors keep their dimension.

    Attributes
    ----------
    aperture_ : float
        The aperture that was used.

    Notes
    -----
    The paper estimates R on common words only and applies the map to all words. To do the same, fit
    on the rows of common words and transform all rows. Weighting by usage is beyond the paper:
    docs/explanation/method.md.

    References
    ----------
    Liu, Ungar & Sedoc (2019), Unsupervised Post-processing of Word Vectors via Conceptor
    Negation, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor import ConceptorNegation
    >>> X = np.array([[3.0, 1.0], [3.0, -1.0]])
    >>> ConceptorNegation(aperture=1.0, power=1.0, unit=False).fit_transform(X).round(2)
    array([[ 0.3,  0.5],
           [ 0.3, -0.5]])
    """

    _chooses_weights = True

    def __init__(
        self,
        aperture: float | Literal["auto"] = "auto",
        power: float = 0.5,
        unit: bool = True,
        weights: Literal["uniform", "zipf"] = "uniform",
        n_components: int | None = None,
    ) -> None:
        self.aperture = aperture
        self.power = power
        self.unit = unit
        self.weights = weights
        self.n_components = n_components

    def _read_method(self) -> Method:
        if not isinstance(self.weights, str) or self.weights not in ("uniform", "zipf"):
            raise InvalidInputError(
                'weights must be "uniform" or "zipf" (give counts as sample_weight); it is '
                f"{self.weights!r:.60}"
            )
        if not isinstance(self.unit, bool | np.bool_):
            raise InvalidInputError(f"unit must be True or False; it is {self.unit!r}")
        return METHODS["cn"].with_parameters(
            aperture=self.aperture,
            power=self.power,
            lengths=Lengths.UNIT if self.unit else Lengths.KEPT,
            n_components=self.n_components,
        )

    @property
    def aperture_(self) -> float:
        """The aperture that was used."""
        return cast("float", self.solution_.aperture)

    @property
    def conceptor_(self) -> Conceptor:
        """The conceptor C that is negated, for its algebra."""
        return self.solution_.conceptor

    def partial_fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of a stream; the result is that of one `fit` on all of it.

        With `weights="zipf"`, ranks continue from chunk to chunk.
        """
        _ = self._read_method()
        if self.weights == "zipf":
            if sample_weight is not None:
                raise InvalidInputError('weights="zipf" excludes sample_weight; use one of them')
            before = self.moments_.count if hasattr(self, "moments_") else 0
            sample_weight = rank_weights(before, _num_samples(X))
        return super().partial_fit(X, y, sample_weight)


class AllButTheTop(SpectralPostprocessor):
    """All-But-The-Top: drop the mean and the leading directions (Mu & Viswanath 2018).

    The gate on the covariance is 0 for the first d directions and 1 for the rest.

    Parameters
    ----------
    n_directions : int, optional
        d, how many directions to drop. By default the authors' rule of thumb: one for every
        hundred dimensions, and at least two, the number that they drop from GloVe.
    n_components : int, optional
        As for `ConceptorNegation`. With `n_directions=0` this is PCA.

    References
    ----------
    Mu & Viswanath (2018), All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations, ICLR.
    """

    def __init__(self, n_directions: int | None = None, n_components: int | None = None) -> None:
        self.n_directions = n_directions
        self.n_components = n_components

    def _read_method(self) -> Method:
        return METHODS["abtt"].with_parameters(
            n_directions=self.n_directions, n_components=self.n_components
        )


class Whitening(SpectralPostprocessor):
    """ZCA whitening: zero mean, unit variance in every direction, closest to the input.

    The gate on the covariance is ``λ^(−1/2)``; directions without variance stay at zero. With
    word frequencies as `sample_weight` this is Zipfian whitening (Yokoi et al. 2024).

    Parameters
    ----------
    n_components : int, optional
        As for `ConceptorNegation`.

    References
    ----------
    Yokoi, Bao, Kurita & Shimodaira (2024), Zipfian Whitening, NeurIPS.
    """

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _read_method(self) -> Method:
        return METHODS["whitening"].with_parameters(n_components=self.n_components)


def estimator(method: str = "cn") -> SpectralPostprocessor:
    """Return the scikit-learn transformer of a method, with the method's parameters.

    Parameters
    ----------
    method : str
        A method, such as `cn-paper` or `abtt:n_directions=3`. Fit `cn` and `zipf-whitening` with
        word frequencies as `sample_weight`; without them, `fit` warns that every row counts once.

    Examples
    --------
    >>> estimator("cn-paper")
    ConceptorNegation(aperture=2.0, power=1.0, unit=False)
    >>> estimator("pvn")
    SpectralPostprocessor(method='pvn')
    """
    chosen = Method.parse(method)
    parameters = chosen.parameters
    lengths = Lengths(parameters.pop("lengths"))
    if chosen.name == "cn-paper":
        return ConceptorNegation(unit=lengths is not Lengths.KEPT, **parameters)
    if chosen.name == "abtt" and lengths is Lengths.KEPT:
        return AllButTheTop(**parameters)
    if chosen.name == "whitening" and lengths is Lengths.KEPT:
        return Whitening(**parameters)
    return SpectralPostprocessor(str(chosen))
