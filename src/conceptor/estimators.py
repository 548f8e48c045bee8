"""The post-processors as scikit-learn transformers.

``fit`` looks at the vectors once, for their moments; the rest is `conceptor.spectral`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from conceptor import spectral
from conceptor.errors import InvalidInputError
from conceptor.moments import Moments
from conceptor.usage import rank_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from conceptor.arrays import Array


class SpectralPostprocessor(TransformerMixin, BaseEstimator, spectral.SpectralMethod):
    """What all post-processors share: ``y = U diag(g(λ)) Uᵀ (x − m)``.

    float32 vectors give float32 vectors and float64 gives float64; float16 is processed and
    returned as float32, integers as float64. Moments, eigenpairs and maps are always float64.
    Neither `fit` nor `transform` makes a float64 copy of the whole matrix.

    What is learnt (`moments_`, `spectrum_`, `gate_`, `map_`): `conceptor.spectral.SpectralMethod`.

    Attributes
    ----------
    n_features_in_ : int
        Dimension of the vectors, n.
    """

    def fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn the map from the rows of `X`, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like of shape (k, n)
            One vector a row.
        y : ignored
        sample_weight : array-like of shape (k,), optional
            How much each vector counts: an integer weight is that many copies of the row.
        """
        self._forget()
        return self.partial_fit(X, y, sample_weight)._solved()

    def partial_fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of a stream; the result is that of one `fit` on all of it.

        Only moments are updated here; the eigendecomposition waits until it is needed, so a
        stream of many small chunks costs no more than one large `fit`.
        """
        self.check_parameters()
        # Moments look for NaN themselves, in the same pass; scikit-learn would read X once more.
        matrix = validate_data(
            self, X, reset=not hasattr(self, "moments_"), ensure_all_finite=False
        )
        return self._add(Moments.of(matrix, sample_weight))

    def fit_moments(self, moments: Moments) -> Self:
        """Learn the map from moments gathered elsewhere, forgetting what was learnt before."""
        self.n_features_in_ = moments.dimension
        return super().fit_moments(moments)

    def transform(self, X: npt.ArrayLike) -> Array:
        """Map each row of `X`; words the map was not learnt from are welcome."""
        check_is_fitted(self)
        return self.map_(validate_data(self, X, reset=False))

    def inverse_transform(self, X: npt.ArrayLike) -> Array:
        """Undo `transform`; an error where the gate drops directions altogether."""
        check_is_fitted(self)
        return self.map_.inverse()(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's tags carry no types
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ConceptorNegation(OneToOneFeatureMixin, SpectralPostprocessor, spectral.ConceptorNegation):
    """Conceptor Negation: softly take out what the vectors share (Liu, Ungar & Sedoc 2019).

    ``y = (I − C) x`` with the conceptor ``C = R (R + α⁻² I)⁻¹`` of the uncentred second moment
    ``R = Σ p x xᵀ``; the gate is ``α⁻² / (λ + α⁻²)``.

    Parameters
    ----------
    aperture : float or "auto", default=2.0
        α ≥ 0, on the scale of the vectors. 0 changes nothing, ∞ nulls every direction in use.
        "auto" chooses it without labels, from the spectrum and from how many rows the weights let
        count (`conceptor.aperture.suggested_aperture`); a weight of 2 is then not the same as
        having a row twice.
    weights : {"uniform", "zipf"}, default="uniform"
        Whether each row counts once, as in the paper, or by its share of running text: "zipf" is
        for rows sorted by falling frequency and gives row r the weight 1 / (r + 2.7). Where counts
        are known, pass them as `sample_weight` instead.

    Attributes
    ----------
    aperture_ : float
        The aperture that was used.

    Notes
    -----
    The paper estimates R on common words only and applies the map to all; fit on those rows and
    transform the rest. Weighting by usage is beyond the paper: docs/method.md.

    References
    ----------
    Liu, Ungar & Sedoc (2019), Unsupervised Post-processing of Word Vectors via Conceptor
    Negation, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from conceptor import ConceptorNegation
    >>> X = np.array([[3.0, 1.0], [3.0, -1.0]])
    >>> ConceptorNegation(aperture=1.0).fit_transform(X).round(2)
    array([[ 0.3,  0.5],
           [ 0.3, -0.5]])
    """

    def __init__(
        self,
        aperture: float | Literal["auto"] = 2.0,
        weights: Literal["uniform", "zipf"] = "uniform",
    ) -> None:
        super().__init__(aperture)
        self.weights = weights

    def check_parameters(self) -> None:
        """Raise `InvalidInputError` for a parameter that makes no sense."""
        super().check_parameters()
        if not isinstance(self.weights, str) or self.weights not in ("uniform", "zipf"):
            raise InvalidInputError(
                'ConceptorNegation: weights must be "uniform" or "zipf" (give counts as '
                f"sample_weight); it is {self.weights!r:.60}"
            )

    def partial_fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of a stream; the result is that of one `fit` on all of it.

        With `weights="zipf"` ranks go on from chunk to chunk.
        """
        self.check_parameters()
        if self.weights == "zipf":
            if sample_weight is not None:
                raise InvalidInputError('weights="zipf" and sample_weight exclude each other')
            before = self.moments_.count if hasattr(self, "moments_") else 0
            sample_weight = rank_weights(before, _num_samples(X))
        return super().partial_fit(X, y, sample_weight)


class HalfSiblingRegression(
    OneToOneFeatureMixin, SpectralPostprocessor, spectral.HalfSiblingRegression
):
    """Half-sibling regression by ridge: take out what function words predict (Yang & Chen 2020).

    ``y = (I − S Sᵀ (S Sᵀ + ρ I)⁻¹) x`` with the vectors of k function words as the columns of S:
    the conceptor negation whose R is the mean over the function words and ``α = √(k / ρ)``.
    Fit on the function words' rows only, then transform all.

    Parameters
    ----------
    ridge : float, default=50.0
        ρ > 0; the larger, the less is taken out.

    References
    ----------
    Yang & Chen (2020), Causally Denoise Word Embeddings Using Half-Sibling Regression, AAAI.
    """


class AllButTheTop(OneToOneFeatureMixin, SpectralPostprocessor, spectral.AllButTheTop):
    """All-But-The-Top: drop the mean and the leading directions (Mu & Viswanath 2018).

    The gate on the covariance is 0 for the first d directions and 1 for the rest.

    Parameters
    ----------
    directions : int, optional
        d, how many directions to drop. By default the authors' rule of thumb, one for every
        hundred dimensions, and at least one. The conceptor negation paper used 3 for 300-d
        word2vec and 2 for 300-d GloVe.

    References
    ----------
    Mu & Viswanath (2018), All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations, ICLR.
    """


class PrincipalVarianceNormalization(
    OneToOneFeatureMixin, SpectralPostprocessor, spectral.PrincipalVarianceNormalization
):
    """PVN: level the leading directions instead of dropping them (Wang et al. 2019).

    The gate on the covariance is ``λ_{d+1} / λ_i`` for the first d directions and 1 for the rest.

    Parameters
    ----------
    directions : int, optional
        d, how many directions to level; by default one for every hundred dimensions, at least
        one.

    References
    ----------
    Wang, Chen, Wang & Kuo (2019), Post-Processing of Word Representations via Variance
    Normalization and Dynamic Embedding, ICME.
    """


class EigenvalueWeighting(
    OneToOneFeatureMixin, SpectralPostprocessor, spectral.EigenvalueWeighting
):
    """Eigenvalue weighting of the vectors of a truncated SVD (Caron 2001; Levy et al. 2015).

    On ``E = Θ D`` the gate ``λ^((p−1)/2)`` on the eigenvalues of ``EᵀE`` gives ``Θ D^p``, up to
    the rotation that E itself came in: p = 1 leaves E as it is, p = 0 gives orthonormal columns.

    Parameters
    ----------
    power : float, default=0.5
        p, the weighting exponent; 0, 0.25 and 0.5 are the usual choices.

    Notes
    -----
    `sample_weight` counts rows, so EᵀE grows with the number of words, as in the formula.
    Directions without any variance stay at zero, also for p < 1.

    References
    ----------
    Caron (2001), Experiments with LSA scoring. Levy, Goldberg & Dagan (2015), Improving
    Distributional Similarity with Lessons Learned from Word Embeddings, TACL.
    """


class Whitening(OneToOneFeatureMixin, SpectralPostprocessor, spectral.Whitening):
    """ZCA whitening: zero mean, unit variance in every direction, as near to the input as can be.

    The gate on the covariance is ``λ^(−1/2)``; directions without variance stay at zero. With
    word frequencies as `sample_weight` this is Zipfian whitening (Yokoi et al. 2024).

    References
    ----------
    Yokoi, Bao, Kurita & Shimodaira (2024), Zipfian Whitening, NeurIPS.
    """


class PPA(ClassNamePrefixFeaturesOutMixin, SpectralPostprocessor, spectral.PPA):
    """Half-size vectors: All-But-The-Top, then PCA, then All-But-The-Top (Raunak et al. 2019).

    All three steps share their eigenvectors, so they are one map from n to `components`
    dimensions, known after one pass: drop the mean and the first d directions, keep the next
    `components` as coordinates, and zero the first d of those.

    Parameters
    ----------
    directions : int, optional
        d, dropped before and again after. By default the authors' 7 for each 300 dimensions, and
        at least one.
    components : int, optional
        Dimension of the result; by default half of the input's.

    References
    ----------
    Raunak, Gupta & Metze (2019), Effective Dimensionality Reduction for Word Embeddings,
    RepL4NLP.
    """

    @property
    def _n_features_out(self) -> int:
        return self.map_.n_out
