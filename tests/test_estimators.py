from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from conceptor import Conceptor, ConceptorNegation, Moments
from conceptor import estimator as make
from conceptor.base.errors import InvalidInputError
from conceptor.estimators import SpectralPostprocessor
from conceptor.methods import METHODS, Method
from conceptor.weights import rank_weights

# With and without unit vectors, a mean, fewer dimensions, and directions that grow.
KINDS = [ConceptorNegation(), make("cn-paper"), make("abtt"), make("ppa"), make("ew")]
every_estimator = pytest.mark.parametrize("estimator", KINDS, ids=repr)


@parametrize_with_checks([ConceptorNegation(), make("abtt")])
def test_scikit_learn_s_contract(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("name", [*METHODS, "abtt:n_directions=3", "cn:power=1:lengths=kept"])
def test_the_estimator_of_a_method_has_its_map(name, vectors) -> None:
    method = Method.parse(name)
    moments = Moments.from_vectors(vectors, unit=method.unit)
    fitted = make(name).fit(vectors, sample_weight=np.ones(len(vectors)))
    np.testing.assert_array_equal(fitted.map_.matrix, method.solve(moments).map.matrix)
    assert fitted.map_.unit == method.unit


@pytest.mark.parametrize("name", ["cn", "zipf-whitening"])
def test_a_method_of_frequencies_warns_without_them(name, vectors) -> None:
    with pytest.warns(UserWarning, match="pass frequencies as sample_weight"):
        equal = make(name).fit(vectors)
    by_rank = make(name).fit(vectors, sample_weight=rank_weights(0, len(vectors)))
    assert not np.allclose(equal.map_.matrix, by_rank.map_.matrix)


@pytest.mark.parametrize("aperture", ["auto", 2])
def test_ranks_of_shuffled_rows_are_doubted(aperture, rng) -> None:
    words = rng.standard_normal((4000, 9)) + np.log1p(np.arange(4000))[:, np.newaxis] - 4
    estimator = ConceptorNegation(aperture, weights="zipf")
    estimator.fit(words)
    estimator.fit(rng.permutation(words)[:500])  # too few to tell
    with pytest.warns(UserWarning, match="is for rows sorted by falling frequency"):
        estimator.fit(rng.permutation(words))


# --- each method against its own formula, in plain NumPy ---------------------------------------


def as_in_the_paper(aperture: float) -> ConceptorNegation:
    return ConceptorNegation(aperture, power=1, unit=False)


def test_cn_is_the_closed_form_of_the_paper(vectors) -> None:
    R = vectors.T @ vectors / len(vectors)
    for aperture in (0.3, 2.0, 9.0):
        C = R @ np.linalg.inv(R + aperture**-2 * np.eye(12))
        cn = as_in_the_paper(aperture).fit(vectors)
        assert np.allclose(cn.transform(vectors), vectors @ (np.eye(12) - C).T)
        assert np.allclose(cn.map_.matrix, (~Conceptor.from_vectors(vectors, aperture)).matrix)
    fitted = make("cn-paper").fit(vectors)
    assert np.array_equal(fitted.map_.matrix, as_in_the_paper(2.0).fit(vectors).map_.matrix)


@pytest.mark.parametrize("directions", [0, 1, 3, 12])
def test_abtt_is_pca_reconstruction(vectors, directions) -> None:
    centred = vectors - vectors.mean(axis=0)
    U = PCA().fit(vectors).components_[:directions]
    expected = centred - centred @ U.T @ U
    assert np.allclose(make(f"abtt:n_directions={directions}").fit_transform(vectors), expected)


def test_abtt_s_rule_of_thumb(rng) -> None:
    for n, expected in ((2, 1), (50, 2), (300, 3), (400, 4)):
        gate = make("abtt").fit(rng.standard_normal((20, n))).gate_
        assert (gate == 0).sum() == expected


def test_renormalization_projects_the_mean_out(vectors) -> None:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = unit.mean(axis=0) / np.linalg.norm(unit.mean(axis=0))
    expected = unit - np.outer(unit @ mean, mean)
    assert np.allclose(make("renormalization").fit_transform(vectors), expected)
    smaller = make("renormalization:n_components=4").fit(vectors)
    left, directions = np.linalg.svd(expected)[1:]
    assert np.allclose(np.abs(smaller.transform(vectors)), np.abs(expected @ directions[:4].T))
    fewer = make("renormalization").fit(vectors).solution_.variance_removed
    assert fewer == pytest.approx(1 - (left**2).sum() / len(unit))


def test_pvn_is_its_formula(vectors) -> None:
    pca = PCA().fit(vectors)
    variance, U = pca.explained_variance_, pca.components_
    centred = vectors - vectors.mean(axis=0)
    expected = centred.copy()
    for i in range(3):
        shrink = (variance[i] - variance[3]) / variance[i]
        expected -= shrink * np.outer(centred @ U[i], U[i])
    assert np.allclose(make("pvn:n_directions=3").fit_transform(vectors), expected)


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 1.0])
def test_ew_turns_theta_d_into_theta_d_to_the_p(rng, p) -> None:
    theta, d, _ = np.linalg.svd(rng.standard_normal((60, 9)), full_matrices=False)
    E = theta * d
    result = make(f"ew:power={p}").fit_transform(E)
    assert np.allclose(result, theta * d**p)
    if p == 1:
        assert np.allclose(result, E)
    if p == 0:
        assert np.allclose(result.T @ result, np.eye(9))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_whitening_whitens_and_stays_near(vectors, rng, is_weighted) -> None:
    p = rng.random(500) if is_weighted else np.ones(500)
    white = make("whitening").fit(vectors, sample_weight=p).transform(vectors)
    assert np.allclose(p @ white, 0)
    weighted = (white * p[:, None]).T / p.sum()
    assert np.allclose(weighted @ white, np.eye(12))
    cross = weighted @ vectors
    assert np.allclose(cross, cross.T)  # symmetric: ZCA and not another rotation of it


def test_hsr_is_a_ridge_regression_on_function_words(vectors) -> None:
    function_words, others = vectors[:30], vectors[30:]
    # Dimensions are the samples: each vector is predicted from the function words' vectors.
    regression = Ridge(alpha=7.0, fit_intercept=False).fit(function_words.T, others.T)
    expected = others - regression.predict(function_words.T).T
    hsr = make("hsr:ridge=7").fit(function_words)
    assert np.allclose(hsr.transform(others), expected)
    as_cn = as_in_the_paper(np.sqrt(30 / 7.0)).fit(function_words)
    assert np.allclose(hsr.map_.matrix, as_cn.map_.matrix)


def test_ppa_is_its_three_steps(vectors) -> None:
    def abtt(X: np.ndarray, d: int) -> np.ndarray:
        centred = X - X.mean(axis=0)
        U = np.linalg.svd(centred, full_matrices=False)[2][:d]
        return centred - centred @ U.T @ U

    once = abtt(vectors, 2)
    U = np.linalg.svd(once, full_matrices=False)[2][:6]
    expected = abtt(once @ U.T, 2)
    result = make("ppa:n_directions=2").fit_transform(vectors)
    assert result.shape == (500, 6)
    assert np.allclose(result @ result.T, expected @ expected.T)  # the same up to signs
    with pytest.raises(InvalidInputError, match="cannot drop 7 and keep 6 of n_features=12"):
        make("ppa:n_directions=7").fit(vectors)


# --- what holds for every estimator -------------------------------------------------------------


@every_estimator
def test_a_stream_gives_what_one_fit_gives(estimator, vectors, rng) -> None:
    w = rng.random(500)
    whole = clone(estimator).fit(vectors, sample_weight=w)
    stream = clone(estimator)
    for part in np.array_split(np.arange(500), 7):
        stream.partial_fit(vectors[part], sample_weight=w[part])
        assert stream.transform(vectors).any()  # use in between changes nothing
    assert np.allclose(stream.map_.matrix, whole.map_.matrix, atol=1e-9)
    assert np.allclose(stream.transform(vectors), whole.transform(vectors), atol=1e-9)
    assert stream.moments_.count == 500


def test_fit_forgets_and_parameters_wait_for_the_next_fit(vectors) -> None:
    cn = as_in_the_paper(2.0).fit(vectors[:50] * 3).fit(vectors)
    assert np.array_equal(cn.map_.matrix, as_in_the_paper(2.0).fit(vectors).map_.matrix)
    before = cn.transform(vectors)
    cn.set_params(aperture=9.0)
    assert np.array_equal(cn.transform(vectors), before)
    assert cn.solution_.aperture == 2.0


@pytest.mark.parametrize("estimator", [ConceptorNegation(), make("ppa")], ids=repr)
def test_no_float64_copy_of_a_float32_matrix(estimator, rng) -> None:
    X = rng.standard_normal((60_000, 60)).astype(np.float32)
    copy = 60_000 * 60 * 8
    tracemalloc.start()
    try:
        fitted = clone(estimator).fit(X)
        fit_peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        base = tracemalloc.get_traced_memory()[0]
        result = fitted.transform(X)
        transform_peak = tracemalloc.get_traced_memory()[1] - base
    finally:
        tracemalloc.stop()
    assert result.dtype == np.float32
    assert fit_peak < 0.9 * copy  # one block of 8 MiB, a few n x n matrices
    assert transform_peak - result.nbytes < 0.5 * copy


@pytest.mark.parametrize("dtype", [np.float16, np.int16])
def test_float16_and_integers(dtype, rng) -> None:
    X = (rng.standard_normal((200, 9)) * 20).astype(dtype)
    result = ConceptorNegation().fit_transform(X)
    assert result.dtype == (np.float32 if dtype == np.float16 else np.float64)
    expected = ConceptorNegation().fit_transform(X.astype(float))
    assert np.allclose(result, expected, atol=1e-3 * np.abs(expected).max())


def test_what_can_be_undone_is(vectors) -> None:
    for name in ("cn-paper", "ew:power=0.25", "whitening", "abtt:n_directions=0"):
        fitted = make(name).fit(vectors)
        assert np.allclose(fitted.inverse_transform(fitted.transform(vectors)), vectors, atol=1e-8)
    for name in ("abtt", "ppa", "cn-paper:aperture=inf"):
        fitted = make(name).fit(vectors)
        with pytest.raises(InvalidInputError, match="no inverse"):
            fitted.inverse_transform(fitted.transform(vectors))


@pytest.mark.parametrize(
    "estimator",
    [
        ConceptorNegation(-1),
        ConceptorNegation(np.nan),
        ConceptorNegation("wide"),
        ConceptorNegation(weights="counts"),
        ConceptorNegation(weights=np.ones(3)),
        make("abtt:n_directions=13"),
        make("pvn:n_directions=12"),
        SpectralPostprocessor("ew:power=inf"),
        SpectralPostprocessor("abtt:n_directions=-1"),
        SpectralPostprocessor("nothing"),
        SpectralPostprocessor("gentle:kept=1"),
        SpectralPostprocessor("hsr:ridge=0"),
        SpectralPostprocessor("ppa:n_components=0"),
        make("abtt:lengths=usage"),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused_at_fit(estimator, vectors) -> None:
    with pytest.raises(ValueError, match=r"must be|cannot|unknown method"):
        estimator.fit(vectors)


def test_bad_data_is_refused(vectors) -> None:
    """Beyond what scikit-learn's own checks cover."""
    with pytest.raises(InvalidInputError, match="row 0, column 0"):
        ConceptorNegation().fit(np.full((1, 12), np.nan))
    with pytest.raises(InvalidInputError, match="all weights are zero"):
        ConceptorNegation().fit(vectors, sample_weight=np.zeros(500))
