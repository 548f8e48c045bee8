"""The post-processors, as scikit-learn transformers over one accumulator and one decomposition.

Each is three decisions: which moment of the vectors, what is taken off first, and which gate.
``fit`` looks at the vectors once; everything else happens on an n × n matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from conceptor import __version__, gates
from conceptor.aperture import suggested_aperture
from conceptor.conceptors import Conceptor
from conceptor.errors import InvalidInputError
from conceptor.linear_map import LinearMap
from conceptor.moments import Moments
from conceptor.spectrum import Spectrum
from conceptor.usage import rank_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from conceptor.arrays import Array, Float64

_APERTURE = [Interval(Real, 0, np.inf, closed="both"), StrOptions({"auto"})]
_DIRECTIONS = [Interval(Integral, 0, None, closed="left"), None]


class SpectralPostprocessor(TransformerMixin, BaseEstimator, ABC):
    """What all post-processors share: ``y = U diag(g(λ)) Uᵀ (x − m)``.

    A subclass names the moment whose eigenpairs are ``λ, U`` (`_moment`), the offset m
    (`_offset`) and the gate g (`_gate`).

    float32 vectors give float32 vectors and float64 gives float64; float16 is processed and
    returned as float32, integers as float64. Moments, eigenpairs and maps are always float64.
    Neither `fit` nor `transform` makes a float64 copy of the whole matrix.

    Attributes
    ----------
    moments_ : Moments
        All vectors seen so far, weighted.
    spectrum_ : Spectrum
        ``λ`` (descending) and ``U``.
    gate_ : ndarray of shape (n,)
        ``g(λ)``: how much of each direction is kept, the paper's variance gating coefficients.
    map_ : LinearMap
        What `transform` applies; can be saved and applied without this class.
    n_features_in_ : int
        Dimension of the vectors, n.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

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
        self._validate_params()
        # Moments look for NaN themselves, in the same pass; scikit-learn would read X once more.
        matrix = validate_data(
            self, X, reset=not hasattr(self, "moments_"), ensure_all_finite=False
        )
        return self._add(Moments.of(matrix, sample_weight))

    def fit_moments(self, moments: Moments) -> Self:
        """Learn the map from moments gathered elsewhere, forgetting what was learnt before."""
        self._validate_params()
        self._forget()
        self.n_features_in_ = moments.dimension
        return self._add(moments)._solved()

    def transform(self, X: npt.ArrayLike) -> Array:
        """Map each row of `X`; words the map was not learnt from are welcome."""
        check_is_fitted(self)
        return self.map_(validate_data(self, X, reset=False))

    def inverse_transform(self, X: npt.ArrayLike) -> Array:
        """Undo `transform`; an error where the gate drops directions altogether."""
        check_is_fitted(self)
        return self.map_.inverse()(X)

    @cached_property
    def spectrum_(self) -> Spectrum:
        """Eigenpairs of the moment this method looks at."""
        check_is_fitted(self, "moments_")
        return Spectrum.of(self._moment(self.moments_))

    @cached_property
    def gate_(self) -> Float64:
        """How much of each direction is kept."""
        return self._gate(self.spectrum_.values)

    @cached_property
    def map_(self) -> LinearMap:
        """The map that `transform` applies."""
        return LinearMap(self._matrix(), self._offset(self.moments_), provenance=self._provenance())

    @abstractmethod
    def _moment(self, moments: Moments) -> Float64:
        """Return the matrix whose eigenpairs matter."""

    @abstractmethod
    def _gate(self, values: Float64) -> Float64:
        """Return the coefficient of each direction."""

    def _offset(self, moments: Moments) -> Float64 | None:
        """Return what is taken off each vector first."""
        return None

    def _matrix(self) -> Float64:
        return self.spectrum_.matrix(self.gate_)

    def _add(self, moments: Moments) -> Self:
        known = getattr(self, "moments_", None)
        self._forget()
        self.moments_ = moments if known is None else known + moments
        return self

    def _solved(self) -> Self:
        # Read the parameters now: changing them after a fit has no effect until the next.
        _ = self.map_
        return self

    def _forget(self) -> None:
        for name in ("moments_", "spectrum_", "aperture_", "gate_", "map_"):
            self.__dict__.pop(name, None)

    def _provenance(self) -> dict[str, Any]:
        return {
            "method": type(self).__name__,
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in self.get_params(deep=False).items()
            },
            "count": self.moments_.count,
            "weight": self.moments_.weight,
            "dimension": self.moments_.dimension,
            "library": f"conceptor {__version__}",
        }

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's tags carry no types
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Centred(SpectralPostprocessor):
    """Methods that look at the covariance and take the mean off first."""

    def _moment(self, moments: Moments) -> Float64:
        return moments.covariance

    def _offset(self, moments: Moments) -> Float64:
        return moments.mean


class ConceptorNegation(OneToOneFeatureMixin, SpectralPostprocessor):
    """Conceptor Negation: softly take out what the vectors share (Liu, Ungar & Sedoc 2019).

    ``y = (I − C) x`` with the conceptor ``C = R (R + α⁻² I)⁻¹`` of the uncentred second moment
    ``R = Σ p x xᵀ``; the gate is ``α⁻² / (λ + α⁻²)``.

    Parameters
    ----------
    aperture : float or "auto", default=2.0
        α ≥ 0, on the scale of the vectors. 0 changes nothing, ∞ nulls every direction in use.
        "auto" chooses it from the spectrum alone (`conceptor.aperture.suggested_aperture`).
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

    _parameter_constraints: ClassVar = {
        "aperture": _APERTURE,
        "weights": [StrOptions({"uniform", "zipf"})],
    }

    def __init__(
        self,
        aperture: float | Literal["auto"] = 2.0,
        weights: Literal["uniform", "zipf"] = "uniform",
    ) -> None:
        self.aperture = aperture
        self.weights = weights

    def partial_fit(
        self, X: npt.ArrayLike, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of a stream; the result is that of one `fit` on all of it.

        With `weights="zipf"` ranks go on from chunk to chunk.
        """
        if self.weights == "zipf":
            if sample_weight is not None:
                raise InvalidInputError('weights="zipf" and sample_weight exclude each other')
            before = self.moments_.count if hasattr(self, "moments_") else 0
            sample_weight = rank_weights(before, _num_samples(X))
        return super().partial_fit(X, y, sample_weight)

    @cached_property
    def aperture_(self) -> float:
        """The aperture that was used."""
        check_is_fitted(self, "moments_")
        if not isinstance(self.aperture, str):
            return float(self.aperture)
        moments = self.moments_
        return suggested_aperture(self.spectrum_.values, moments.count, moments.effective_count)

    def _moment(self, moments: Moments) -> Float64:
        return moments.second_moment

    def _gate(self, values: Float64) -> Float64:
        return gates.negated_conceptor(values, self.aperture_)

    def _provenance(self) -> dict[str, Any]:
        return super()._provenance() | {"aperture": self.aperture_}

    @property
    def conceptor_(self) -> Conceptor:
        """The conceptor C that is negated, for its algebra."""
        return Conceptor.of_spectrum(self.spectrum_, self.map_.provenance["aperture"])


class HalfSiblingRegression(OneToOneFeatureMixin, SpectralPostprocessor):
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

    _parameter_constraints: ClassVar = {"ridge": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, ridge: float = 50.0) -> None:
        self.ridge = ridge

    def _moment(self, moments: Moments) -> Float64:
        return moments.gram

    def _gate(self, values: Float64) -> Float64:
        return gates.negated_conceptor(values, self.ridge**-0.5)


class AllButTheTop(OneToOneFeatureMixin, _Centred):
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

    _parameter_constraints: ClassVar = {"directions": _DIRECTIONS}

    def __init__(self, directions: int | None = None) -> None:
        self.directions = directions

    def _gate(self, values: Float64) -> Float64:
        return gates.drop_leading(values, _rule_of_thumb(self.directions, len(values)))


class PrincipalVarianceNormalization(OneToOneFeatureMixin, _Centred):
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

    _parameter_constraints: ClassVar = {"directions": _DIRECTIONS}

    def __init__(self, directions: int | None = None) -> None:
        self.directions = directions

    def _gate(self, values: Float64) -> Float64:
        return gates.level_leading(values, _rule_of_thumb(self.directions, len(values)))


class EigenvalueWeighting(OneToOneFeatureMixin, SpectralPostprocessor):
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

    _parameter_constraints: ClassVar = {"power": [Interval(Real, None, None, closed="neither")]}

    def __init__(self, power: float = 0.5) -> None:
        self.power = power

    def _moment(self, moments: Moments) -> Float64:
        return moments.gram

    def _gate(self, values: Float64) -> Float64:
        return gates.power(values, (self.power - 1) / 2)


class Whitening(OneToOneFeatureMixin, _Centred):
    """ZCA whitening: zero mean, unit variance in every direction, as near to the input as can be.

    The gate on the covariance is ``λ^(−1/2)``; directions without variance stay at zero. With
    word frequencies as `sample_weight` this is Zipfian whitening (Yokoi et al. 2024).

    References
    ----------
    Yokoi, Bao, Kurita & Shimodaira (2024), Zipfian Whitening, NeurIPS.
    """

    def _gate(self, values: Float64) -> Float64:
        return gates.power(values, -0.5)


class PPA(ClassNamePrefixFeaturesOutMixin, _Centred):
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

    _parameter_constraints: ClassVar = {
        "directions": _DIRECTIONS,
        "components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, directions: int | None = None, components: int | None = None) -> None:
        self.directions = directions
        self.components = components

    def _gate(self, values: Float64) -> Float64:
        dropped, kept = self._shape(len(values))
        position = np.arange(len(values))
        gated = (position < 2 * dropped) | (position >= dropped + kept)
        # Coordinates in directions without variance would depend on an arbitrary basis.
        return np.where(gated | (values == 0), 0.0, 1.0)

    def _matrix(self) -> Float64:
        dropped, kept = self._shape(len(self.gate_))
        coordinates = slice(dropped, dropped + kept)
        return self.spectrum_.vectors[:, coordinates] * self.gate_[coordinates]

    def _shape(self, n: int) -> tuple[int, int]:
        dropped = max(1, round(7 * n / 300)) if self.directions is None else self.directions
        kept = max(1, n // 2) if self.components is None else self.components
        if dropped + kept > n:
            raise InvalidInputError(
                f"PPA cannot drop {dropped} and keep {kept} of n_features={n} dimensions"
            )
        return dropped, kept

    @property
    def _n_features_out(self) -> int:
        return self.map_.n_out


def _rule_of_thumb(directions: int | None, n: int) -> int:
    """Return `directions`, or one for every hundred dimensions and at least one."""
    return max(1, n // 100) if directions is None else int(directions)
