"""The post-processors as scikit-learn transformers: thin wrappers of `conceptor.algebra.recipes`.

``fit`` looks at the vectors once, for their moments; the recipe of the method does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from conceptor.algebra.moments import Moments
from conceptor.algebra.recipes import Recipe, spectral_recipe
from conceptor.base.arrays import as_matrix
from conceptor.base.errors import InvalidInputError
from conceptor.fitting import solve
from conceptor.methods import Method
from conceptor.weights import rank_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.conceptors import Conceptor
    from conceptor.algebra.recipes import Solution
    from conceptor.algebra.spectrum import Spectrum
    from conceptor.base.arrays import Array, Float64


class SpectralPostprocessor(TransformerMixin, BaseEstimator):
    """What all post-processors share: ``y = U diag(g(λ)) Uᵀ (x − m)``.

    float32 and float64 vectors keep their type; float16 is processed and returned as float32,
    integers as float64. Moments, eigenpairs and maps are always float64. Neither `fit` nor
    `transform` makes a float64 copy of the whole matrix.

    Rows have no words here, so lengths by usage are not theirs: the directions are those of
    `postprocess`, which besides makes frequent words short. Multiply the rows of frequent words by
    ``a / (a + p)``, a = 0.001, p the word's share of running text, for the same rows.

    Attributes
    ----------
    moments_ : Moments
        All vectors seen so far, weighted.
    once_ : Moments
        The same, each counting once; only where `n_components` needs it.
    solution_, spectrum_, gate_, map_ : Solution, Spectrum, ndarray, AffineMap
        What the recipe made of them: eigenpairs, how much of each direction is kept, the map.
    n_features_in_ : int
        Dimension of the vectors, n.
    """

    _method: ClassVar[str]
    moments_: Moments

    @property
    def recipe(self) -> Recipe:
        """The method with this estimator's parameters; raises for one that makes no sense."""
        recipe = spectral_recipe(self._method)
        # Rows have no words here, so lengths are 1 or as they were.
        names = ("unit", *recipe.parameters)
        mine = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return recipe.with_parameters(**mine)

    def fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn the map from the rows of `X`, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like of shape (k, n)
            One vector per row.
        y : ignored
        sample_weight : array-like of shape (k,), optional
            How much each vector counts: an integer weight is that many copies of the row.
        """
        for learnt in ("moments_", "once_"):
            self.__dict__.pop(learnt, None)
        self.partial_fit(X, y, sample_weight)
        _ = self.solution_  # parameters are read now: changing them later waits for the next fit
        return self

    def partial_fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of a stream; the result is that of one `fit` on all of it.

        Only moments are updated here; the eigendecomposition waits until it is needed, so a
        stream of many small chunks costs no more than one large `fit`.
        """
        _ = self.recipe  # bad parameters are refused before any work
        if hasattr(X, "index_to_key"):
            as_matrix(X)  # refuses gensim's KeyedVectors in better words than scikit-learn's
        # Moments look for NaN themselves, in the same pass; scikit-learn would read X once more.
        matrix = validate_data(
            self, X, reset=not hasattr(self, "moments_"), ensure_all_finite=False
        )
        recipe = self.recipe
        more = Moments.from_vectors(matrix, sample_weight, unit=recipe.unit)
        self.__dict__.pop("_solution", None)
        before = getattr(self, "moments_", None)
        if hasattr(self, "once_") or (recipe.once is not None and sample_weight is not None):
            each = more
            if sample_weight is not None:
                each = Moments.from_vectors(matrix, np.asarray(sample_weight) > 0, unit=recipe.unit)
            once = getattr(self, "once_", before)
            self.once_ = each if once is None else once + each
        self.moments_ = more if before is None else before + more
        return self

    def fit_moments(self, moments: Moments, once: Moments | None = None) -> Self:
        """Learn the map from moments gathered elsewhere, forgetting what was learnt before.

        `once`: moments of the same vectors, each counting once, by which `ConceptorNegation` finds
        the leading directions; by default by `moments`.
        """
        self.n_features_in_ = moments.dimension
        self.moments_ = moments
        self.__dict__.pop("once_", None)
        if once is not None:
            self.once_ = once
        self._solution = solve(self.recipe, moments, once)
        return self

    @property
    def solution_(self) -> Solution:
        """What the recipe made of the moments."""
        check_is_fitted(self, "moments_")
        if "_solution" not in self.__dict__:
            self._solution = solve(self.recipe, self.moments_, getattr(self, "once_", None))
        return self._solution

    @property
    def spectrum_(self) -> Spectrum:
        """Eigenpairs of the moment this method looks at."""
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
        """Map each row of `X`; rows that were not seen before are welcome."""
        check_is_fitted(self)
        return self.map_(validate_data(self, X, reset=False, ensure_min_samples=0))

    def inverse_transform(self, X: npt.ArrayLike) -> Array:
        """Undo `transform`; raise where directions or lengths are gone altogether."""
        check_is_fitted(self)
        return self.map_.inverse()(X)

    @property
    def _n_features_out(self) -> int:
        return self.map_.n_out

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """Return the names of the input's features, or new ones where `n_components` are kept."""
        check_is_fitted(self)
        same = getattr(self, "n_components", None) is None and self.map_.n_in == self.map_.n_out
        mixin = OneToOneFeatureMixin if same else ClassNamePrefixFeaturesOutMixin
        return cast("Array", mixin.get_feature_names_out(self, input_features))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's tags carry no types
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ConceptorNegation(SpectralPostprocessor):
    """Conceptor Negation: turn down what the vectors share (Liu, Ungar & Sedoc 2019).

    With its defaults this is the recipe of `cn`, and with the same weights the same map. Rows have
    no words here: give their usage as `sample_weight`, or say ``weights="zipf"`` if they are
    sorted by frequency. `conceptor.estimator("cn-paper")` is configured as in the paper.

    ``y = (I − C)^power x`` with the conceptor ``C = R (R + α⁻² I)⁻¹`` of the uncentred second
    moment ``R = Σ p x xᵀ``; the gate is ``(α⁻² / (λ + α⁻²))^power``.

    Parameters
    ----------
    aperture : float or "auto", default="auto"
        α ≥ 0, on the scale of the vectors. 0 changes nothing, ∞ nulls every direction in use.
        "auto" is the aperture at which the mean eigenvalue λ has ``α² λ = 1``. The paper's is 2.
    power : float, default=0.5
        The paper's is 1, after which strong directions are weaker than weak ones; after the
        square root they are level with them.
    unit : bool, default=True
        Bring every vector to length 1 first. The paper does not.
    weights : {"uniform", "zipf"}, default="uniform"
        Whether each row counts once, as in the paper, or by its share of running text: "zipf"
        gives row r the weight 1 / (r + 2.7), for rows sorted by falling frequency. Where counts
        are known, pass them as `sample_weight` instead.
    n_components : int, optional
        Dimension of the result: that many leading directions of what is left, as coordinates,
        whereby each row counts once. By default the vectors keep their dimension.

    Attributes
    ----------
    aperture_ : float
        The aperture that was used.

    Notes
    -----
    The paper estimates R on common words only and applies the map to all; fit on those rows and
    transform the rest. Weighting by usage is beyond the paper: docs/explanation/method.md.

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

    _method = "cn"

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

    @property
    def recipe(self) -> Recipe:
        """The method with this estimator's parameters; raises for one that makes no sense."""
        if not isinstance(self.weights, str) or self.weights not in ("uniform", "zipf"):
            raise InvalidInputError(
                'weights must be "uniform" or "zipf" (give counts as sample_weight); it is '
                f"{self.weights!r:.60}"
            )
        return super().recipe

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

        With `weights="zipf"` ranks go on from chunk to chunk.
        """
        _ = self.recipe
        if self.weights == "zipf":
            if sample_weight is not None:
                raise InvalidInputError('weights="zipf" and sample_weight exclude each other')
            before = self.moments_.count if hasattr(self, "moments_") else 0
            sample_weight = rank_weights(before, _num_samples(X))
        return super().partial_fit(X, y, sample_weight)


class HalfSiblingRegression(SpectralPostprocessor):
    """The map that `hsr` applies to all words but function words (Yang & Chen 2020).

    ``y = (I − S Sᵀ (S Sᵀ + ρ I)⁻¹) x`` with the vectors of k function words as the columns of S:
    the conceptor negation whose R is the mean over the function words and ``α = √(k / ρ)``.
    Fit on the function words' rows only, then transform all the others. Rows have no words here,
    so the other map of `hsr`, for the function words themselves, is left to `postprocess`.

    Parameters
    ----------
    ridge : float, default=50.0
        ρ > 0; the larger, the less is taken out.

    References
    ----------
    Yang & Chen (2020), Causally Denoise Word Embeddings Using Half-Sibling Regression, AAAI.
    """

    _method = "hsr"

    def __init__(self, ridge: float = 50.0) -> None:
        self.ridge = ridge


class _LeadingDirections(SpectralPostprocessor):
    def __init__(self, n_directions: int | None = None, n_components: int | None = None) -> None:
        self.n_directions = n_directions
        self.n_components = n_components


class AllButTheTop(_LeadingDirections):
    """All-But-The-Top: drop the mean and the leading directions (Mu & Viswanath 2018).

    The gate on the covariance is 0 for the first d directions and 1 for the rest.

    Parameters
    ----------
    n_directions : int, optional
        d, how many directions to drop. By default the authors' rule of thumb, one for every
        hundred dimensions, and at least two, as they drop from GloVe.
    n_components : int, optional
        Dimension of the result: that many leading directions of what is left, as coordinates. By
        default the vectors keep their dimension. With `n_directions=0` this is PCA.

    References
    ----------
    Mu & Viswanath (2018), All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations, ICLR.
    """

    _method = "abtt"


class PrincipalVarianceNormalization(_LeadingDirections):
    """PVN: level the leading directions instead of dropping them (Wang et al. 2019).

    The gate on the covariance is ``λ_{d+1} / λ_i`` for the first d directions and 1 for the rest.

    Parameters
    ----------
    n_directions : int, optional
        d, how many directions to level; by default eleven, as in the authors' script.
    n_components : int, optional
        Dimension of the result: that many leading directions of what is left, as coordinates. By
        default the vectors keep their dimension.

    References
    ----------
    Wang, Chen, Wang & Kuo (2019), Post-Processing of Word Representations via Variance
    Normalization and Dynamic Embedding, ICME.
    """

    _method = "pvn"


class EigenvalueWeighting(SpectralPostprocessor):
    """Eigenvalue weighting of the vectors of a truncated SVD (Caron 2001; Levy et al. 2015).

    On ``E = Θ D`` the gate ``λ^((p−1)/2)`` on the eigenvalues of ``EᵀE`` gives ``Θ D^p``, up to
    the rotation that E itself came in: p = 1 leaves E as it is, p = 0 gives orthonormal columns.

    Parameters
    ----------
    power : float, default=0.5
        p, the weighting exponent; 0, 0.25 and 0.5 are the usual choices.
    n_components : int, optional
        Dimension of the result: that many leading directions of what is left, as coordinates. By
        default the vectors keep their dimension.

    Notes
    -----
    `sample_weight` counts rows, so EᵀE grows with the number of words, as in the formula.
    Directions without any variance stay at zero, also for p < 1.

    References
    ----------
    Caron (2001), Experiments with LSA scoring. Levy, Goldberg & Dagan (2015), Improving
    Distributional Similarity with Lessons Learned from Word Embeddings, TACL.
    """

    _method = "ew"

    def __init__(self, power: float = 0.5, n_components: int | None = None) -> None:
        self.power = power
        self.n_components = n_components


class GentleNegation(SpectralPostprocessor):
    """Softly out of what all rows share, for embeddings of whole texts.

    The gate on the second moment is ``1 / (1 + α² λ)`` with the α that keeps the share `kept` of
    the strongest direction; directions half as strong keep more, weak ones all.

    Parameters
    ----------
    kept : float, default=0.5
        Between 0 and 1; smaller takes out more. docs/studies/texts.md has figures.
    n_components : int, optional
        Keep only this many leading directions of what the gate leaves.
    """

    _method = "gentle"

    def __init__(self, kept: float = 0.5, n_components: int | None = None) -> None:
        self.kept = kept
        self.n_components = n_components


class Renormalization(SpectralPostprocessor):
    """The direction of the mean dropped, from vectors at length 1.

    The gate on ``m mᵀ``, with m the mean of the vectors at length 1, is 0 for its one direction and
    1 for all others. Cosines of the result are those of the authors' vectors, which are brought
    back to length 1.

    Parameters
    ----------
    n_components : int, optional
        Keep only this many leading directions of what is left.

    References
    ----------
    Correcting Mean Bias in Text Embeddings: A Refined Renormalization (2025), by projection.
    """

    _method = "renormalization"

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components


class Whitening(SpectralPostprocessor):
    """ZCA whitening: zero mean, unit variance in every direction, as near to the input as can be.

    The gate on the covariance is ``λ^(−1/2)``; directions without variance stay at zero. With
    word frequencies as `sample_weight` this is Zipfian whitening (Yokoi et al. 2024).

    Parameters
    ----------
    n_components : int, optional
        Dimension of the result: that many leading directions of what is left, as coordinates. By
        default the vectors keep their dimension.

    References
    ----------
    Yokoi, Bao, Kurita & Shimodaira (2024), Zipfian Whitening, NeurIPS.
    """

    _method = "whitening"

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components


class PPA(_LeadingDirections):
    """Half-size vectors: All-But-The-Top, then PCA, then All-But-The-Top (Raunak et al. 2019).

    The steps share their eigenvectors, so they are one map, known after one pass: drop the mean
    and the first d directions, keep the next `n_components` as coordinates, zero d of those.

    Parameters
    ----------
    n_directions : int, optional
        d, dropped before and again after. By default the authors' 7 for each 300 dimensions, and
        at least one.
    n_components : int, optional
        Dimension of the result; by default half of the input's.

    References
    ----------
    Raunak, Gupta & Metze (2019), Effective Dimensionality Reduction for Word Embeddings,
    RepL4NLP.
    """

    _method = "ppa"


def estimator(method: str = "cn") -> SpectralPostprocessor:
    """Return the scikit-learn transformer of a method, with the method's parameters.

    Parameters
    ----------
    method : str
        A single spectral method, such as `cn-paper` or `abtt:n_directions=3`. `zipf-whitening` is
        `Whitening`, to be fitted with word frequencies as `sample_weight`.

    Examples
    --------
    >>> estimator("cn-paper")
    ConceptorNegation(aperture=2.0, power=1.0, unit=False)
    """
    chosen = Method.parse(method)
    if chosen.recipe is None:
        raise InvalidInputError(f"{method}: only a single spectral method has an estimator")
    for kind in SpectralPostprocessor.__subclasses__() + _LeadingDirections.__subclasses__():
        if "_method" in vars(kind):
            usual = spectral_recipe(kind._method)
            if (type(usual.gate), usual.moment) == (type(chosen.recipe.gate), chosen.recipe.moment):
                names = kind._get_param_names()
                known = chosen.recipe.parameters | {"unit": chosen.recipe.unit}
                given = {name: known[name] for name in names if name in known}
                made: SpectralPostprocessor = kind(**given)
                return made
    raise InvalidInputError(f"{method}: this method has no estimator; use postprocess or improve")
