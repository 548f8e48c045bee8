"""The post-processors as scikit-learn transformers: thin wrappers of `conceptor.methods`."""

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
from sklearn.utils.validation import check_is_fitted, validate_data

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.moments import Moments
from conceptor.base.arrays import Array, Float64, as_matrix, row_lengths
from conceptor.base.errors import InvalidInputError
from conceptor.methods import METHODS, Lengths, Method, Solution, Words
from conceptor.weights import rank_weights

# The order of fewer rows is hard to see, and more than so many are not needed to see it.
_FEWEST, _FIRST = 2000, 20_000


class SpectralPostprocessor(TransformerMixin, BaseEstimator):
    """Any method as a transformer: ``y = U diag(g(λ)) Uᵀ (x − m)``; the base of the others.

    float32 and float64 vectors keep their type; float16 is processed and returned as float32,
    integers as float64. No float64 copy of the whole matrix is made.

    Rows have no words here, so estimators cannot set lengths by usage. For the rows that
    `postprocess` writes, multiply those of frequent words by ``a / (a + p)``, with a = 0.001 and p
    the word's share of text.

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
    solution_ : Solution
        The solution of the method.
    gate_ : ndarray
        How much of each direction is kept.
    map_ : AffineMap
        The map.
    n_features_in_ : int
        Dimension of the vectors, n.
    """

    moments_: Moments

    def __init__(self, method: str = "cn-paper") -> None:
        self.method = method

    def _read_method(self) -> Method:
        """Return the method with this estimator's parameters; raise for invalid parameters."""
        method = Method.parse(self.method)
        usual = METHODS[method.name].lengths
        if method.lengths is Lengths.USAGE and usual is not Lengths.USAGE:  # not by default
            raise InvalidInputError(
                f"{method}: an estimator sees no words, so it cannot set lengths by usage; use "
                "postprocess or improve, or lengths=unit"
            )
        return method

    def _read_weights(self, X: Array, weights: npt.ArrayLike | None) -> npt.ArrayLike | None:
        """Return how much each row counts; None if all count once."""
        method = self._read_method()
        if weights is None and method.words is Words.USAGE:
            warnings.warn(
                f"{method.name} weights words by their frequency, but every row counts once here; "
                "pass frequencies as sample_weight, such as rank_weights(0, len(X)) of "
                "conceptor.weights for rows sorted by frequency",
                stacklevel=4,
            )
        return weights

    def fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn the map from the rows of `X`, and discard anything learned before.

        `sample_weight` is how much each row counts: an integer means that many copies of the row.
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

        Only moments are updated here; the eigendecomposition waits until it is needed.
        """
        method = self._read_method()  # bad parameters raise before any work
        if hasattr(X, "index_to_key"):
            as_matrix(X)  # raises a clearer error for gensim's KeyedVectors than scikit-learn does
        # Moments check for NaN in the same pass; scikit-learn would read X once more.
        matrix = validate_data(
            self, X, reset=not hasattr(self, "moments_"), ensure_all_finite=False
        )
        sample_weight = self._read_weights(matrix, sample_weight)
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

    @property
    def solution_(self) -> Solution:
        """The solution of the method for the moments."""
        check_is_fitted(self, "moments_")
        if "_solution" not in self.__dict__:
            self._solution = self._read_method().solve(self.moments_, getattr(self, "once_", None))
        return self._solution

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
    """Conceptor Negation with the defaults of `cn`: turn down the directions that vectors share.

    ``y = (I − C)^power x`` with the conceptor ``C = R (R + α⁻² I)⁻¹`` of the uncentered second
    moment ``R = Σ p x xᵀ``; the gate is ``(α⁻² / (λ + α⁻²))^power``.

    This is `cn` only with word frequencies: pass them as `sample_weight`, or set
    ``weights="zipf"`` if rows are sorted by frequency. The paper's method is
    ``conceptor.estimator("cn-paper")``, fitted on the rows of common words.

    Parameters
    ----------
    aperture : float or "auto", default="auto"
        α ≥ 0, on the scale of the vectors. 0 changes nothing, ∞ removes every direction in use.
        "auto" is the aperture at which the mean eigenvalue λ has ``α² λ = 1``.
    power : float, default=0.5
        1 makes strong directions weaker than weak ones; the square root makes them about equal.
    unit : bool, default=True
        Bring every vector to length 1 first.
    weights : {"uniform", "zipf"}, default="uniform"
        "zipf" gives row r the weight 1 / (r + 2.7), for rows sorted by falling frequency.
    n_components : int, optional
        Keep this many leading directions after the gate, as coordinates; each row counts once
        for that.

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

    def _read_weights(self, X: Array, weights: npt.ArrayLike | None) -> npt.ArrayLike | None:
        """Return the ranks' weights if asked for; they continue from chunk to chunk."""
        if self.weights == "uniform":
            return weights
        if weights is not None:
            raise InvalidInputError('weights="zipf" excludes sample_weight; use one of them')
        before = self.moments_.count if hasattr(self, "moments_") else 0
        if not before:
            _warn_if_unsorted(X)
        return rank_weights(before, len(X))


def _warn_if_unsorted(X: Array) -> None:
    """Warn if the first of many rows are like all others, so that no order shows.

    The mean by rank minus the plain mean is Σ cᵢ xᵢ. Its square is about Σ cᵢ² times the variance
    in a random order: at most 2.4 times that in shuffled rows of GloVe and Google News, and at
    least 4.7 times in sorted ones. Lengths may show the order too.
    """
    rows = X[:_FIRST]
    if len(rows) < _FEWEST:
        return
    contrast = rank_weights(0, len(rows))
    contrast = contrast / contrast.sum() - 1 / len(rows)
    chance = contrast @ contrast
    with np.errstate(all="ignore"):  # Moments report rows that are not finite
        lengths = row_lengths(rows)
        shift, mean = (contrast / lengths) @ rows, (1 / lengths) @ rows / len(rows)
        is_random = shift @ shift < 3 * chance * (1 - mean @ mean)
        is_random &= (contrast @ lengths) ** 2 <= 9 * chance * lengths.var()
    if is_random:
        warnings.warn(
            'weights="zipf" is for rows sorted by falling frequency, but the first rows are like '
            "all others; were they shuffled? Pass frequencies as sample_weight instead",
            stacklevel=5,
        )


def estimator(method: str = "cn") -> SpectralPostprocessor:
    """Return the scikit-learn transformer of a method, such as `cn-paper` or `abtt:n_directions=3`.

    Fit `cn` and `zipf-whitening` with word frequencies as `sample_weight`; without them, `fit`
    warns that every row counts once.

    Examples
    --------
    >>> estimator("pvn")
    SpectralPostprocessor(method='pvn')
    """
    return SpectralPostprocessor(str(Method.parse(method)))
