from __future__ import annotations

import io
import tracemalloc

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from conceptor import AllButTheTop, Conceptor, ConceptorNegation, Moments, Whitening
from conceptor import estimator as make
from conceptor.base.errors import InvalidInputError
from conceptor.estimators import SpectralPostprocessor
from conceptor.methods import METHODS, Method
from conceptor.weights import rank_weights
from tests.strategies import apertures, rotation, seeds

LEFT_OUT = ("original", "cn", "cn-paper", "zipf-whitening")
EVERY = [ConceptorNegation(), *(make(name) for name in METHODS if name not in LEFT_OUT)]
every_estimator = pytest.mark.parametrize("estimator", EVERY, ids=repr)


@parametrize_with_checks([ConceptorNegation(), AllButTheTop(), Whitening(), make("pvn")])
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


def test_parameters_are_kept_by_the_named_estimators() -> None:
    assert make("cn-paper").get_params()["aperture"] == 2.0
    assert make("abtt:n_directions=3").get_params()["n_directions"] == 3
    assert make("pvn:n_directions=3").get_params() == {"method": "pvn:n_directions=3"}
    with pytest.raises(InvalidInputError, match="unknown method"):
        make("nothing")


# --- each method against its own formula, in plain NumPy ---------------------------------------


def test_cn_is_the_closed_form_of_the_paper(vectors) -> None:
    R = vectors.T @ vectors / len(vectors)
    for aperture in (0.3, 2.0, 9.0):
        C = R @ np.linalg.inv(R + aperture**-2 * np.eye(12))
        expected = vectors @ (np.eye(12) - C).T
        assert np.allclose(
            ConceptorNegation(aperture, power=1, unit=False).fit_transform(vectors), expected
        )


def test_cn_at_its_ends(vectors) -> None:
    assert np.allclose(
        ConceptorNegation(0, power=1, unit=False).fit_transform(vectors), vectors, atol=1e-12
    )
    assert (
        np.abs(ConceptorNegation(np.inf, power=1, unit=False).fit_transform(vectors)).max() < 1e-12
    )
    flat = vectors.copy()
    flat[:, 3:] = 0
    beyond = ConceptorNegation(np.inf, power=1, unit=False).fit(flat).transform(vectors)
    assert np.allclose(beyond, np.c_[np.zeros((500, 3)), vectors[:, 3:]])


@given(seed=seeds, aperture=apertures, scale=st.floats(0.01, 100))
def test_cn_turns_and_scales_with_the_vectors(seed, aperture, scale) -> None:
    X = np.random.default_rng(seed).standard_normal((40, 5)) * [5, 2, 1, 0.5, 0]
    Q = rotation(5, seed)
    plain = ConceptorNegation(aperture, power=1, unit=False).fit_transform(X)
    assert np.allclose(
        ConceptorNegation(aperture, power=1, unit=False).fit_transform(X @ Q), plain @ Q, atol=1e-8
    )
    scaled = ConceptorNegation(aperture / scale, power=1, unit=False).fit_transform(X * scale)
    assert np.allclose(scaled, plain * scale, atol=1e-8 * scale)


def test_cn_on_pmi_vectors_weighs_singular_vectors(rng) -> None:
    """The paper's relation with eigenvalue weighting, on E = Θ D."""
    theta, d, _ = np.linalg.svd(rng.standard_normal((60, 9)), full_matrices=False)
    aperture = 0.7
    weights = 60 * aperture**-2 / (d**2 + 60 * aperture**-2)
    assert np.allclose(
        ConceptorNegation(aperture, power=1, unit=False).fit_transform(theta * d),
        theta * d * weights,
    )


def test_cn_negates_its_conceptor(vectors) -> None:
    cn = ConceptorNegation(2.0, power=1, unit=False).fit(vectors)
    assert np.allclose(cn.map_.matrix, (~Conceptor.from_vectors(vectors, 2.0)).matrix)
    assert np.allclose(cn.conceptor_.matrix, np.eye(12) - cn.map_.matrix)
    assert cn.conceptor_.aperture == 2.0


@pytest.mark.parametrize("directions", [0, 1, 3, 12])
def test_abtt_is_pca_reconstruction(vectors, directions) -> None:
    centred = vectors - vectors.mean(axis=0)
    U = PCA().fit(vectors).components_[:directions]
    expected = centred - centred @ U.T @ U
    assert np.allclose(AllButTheTop(directions).fit_transform(vectors), expected)


def test_abtt_s_rule_of_thumb(rng) -> None:
    for n, expected in ((2, 1), (50, 2), (300, 3), (400, 4)):
        gate = AllButTheTop().fit(rng.standard_normal((20, n))).gate_
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


def test_whitening_whitens_and_stays_near(vectors) -> None:
    white = Whitening().fit_transform(vectors)
    assert np.allclose(white.mean(axis=0), 0)
    assert np.allclose(np.cov(white.T, bias=True), np.eye(12))
    cross = (vectors - vectors.mean(0)).T @ white
    assert np.allclose(cross, cross.T)  # symmetric: ZCA and not another rotation of it


def test_zipfian_whitening_whitens_the_weighted_data(vectors, rng) -> None:
    p = rng.random(500)
    white = Whitening().fit(vectors, sample_weight=p).transform(vectors)
    assert np.allclose(p @ white, 0)
    assert np.allclose((white * p[:, None]).T @ white / p.sum(), np.eye(12))


def test_hsr_is_a_ridge_regression_on_function_words(vectors) -> None:
    function_words, others = vectors[:30], vectors[30:]
    # Dimensions are the samples: each vector is predicted from the function words' vectors.
    regression = Ridge(alpha=7.0, fit_intercept=False).fit(function_words.T, others.T)
    expected = others - regression.predict(function_words.T).T
    hsr = make("hsr:ridge=7").fit(function_words)
    assert np.allclose(hsr.transform(others), expected)
    as_cn = ConceptorNegation(np.sqrt(30 / 7.0), power=1, unit=False).fit(function_words)
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
    unit = estimator._read_method().unit
    merged = clone(estimator).fit_moments(
        Moments.from_vectors(vectors[200:], w[200:], unit=unit)
        + Moments.from_vectors(vectors[:200], w[:200], unit=unit)
    )
    for other in (stream, merged):
        assert np.allclose(other.map_.matrix, whole.map_.matrix, atol=1e-9)
        assert np.allclose(other.transform(vectors), whole.transform(vectors), atol=1e-9)
        assert other.moments_.count == 500


@every_estimator
def test_a_stream_may_go_on_after_use(estimator, vectors) -> None:
    stream = clone(estimator).partial_fit(vectors[:100])
    before = stream.transform(vectors)
    stream.partial_fit(vectors[100:])
    assert not np.allclose(stream.transform(vectors), before)
    assert np.allclose(stream.map_.matrix, clone(estimator).fit(vectors).map_.matrix, atol=1e-9)


@every_estimator
def test_fit_forgets_and_parameters_wait_for_the_next_fit(estimator, vectors) -> None:
    twice = clone(estimator).fit(vectors[:50] * 3).fit(vectors)
    assert np.array_equal(twice.map_.matrix, clone(estimator).fit(vectors).map_.matrix)
    cn = ConceptorNegation(2.0, power=1, unit=False).fit(vectors)
    before = cn.transform(vectors)
    cn.set_params(aperture=9.0)
    assert np.array_equal(cn.transform(vectors), before)
    assert cn.conceptor_.aperture == 2.0


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


@every_estimator
@pytest.mark.parametrize("dtype", [np.float16, np.int16])
def test_float16_and_integers(estimator, dtype, rng) -> None:
    X = (rng.standard_normal((200, 9)) * 20).astype(dtype)
    result = clone(estimator).fit_transform(X)
    assert result.dtype == (np.float32 if dtype == np.float16 else np.float64)
    expected = clone(estimator).fit_transform(X.astype(float))
    assert np.allclose(result, expected, atol=1e-3 * np.abs(expected).max())


@every_estimator
def test_pickling_naming_and_pipelines(estimator, vectors) -> None:
    fitted = clone(estimator).fit(vectors)
    buffer = io.BytesIO()
    joblib.dump(fitted, buffer)
    buffer.seek(0)
    assert np.array_equal(joblib.load(buffer).transform(vectors), fitted.transform(vectors))
    frame = pd.DataFrame(vectors, columns=[f"d{i}" for i in range(12)])
    named = clone(estimator).set_output(transform="pandas").fit(frame)
    assert list(named.transform(frame).columns) == list(named.get_feature_names_out())
    twice = make_pipeline(clone(estimator), Whitening()).fit_transform(vectors)
    assert np.isfinite(twice).all()


@pytest.mark.parametrize(
    "estimator",
    [
        ConceptorNegation(2.0, power=1, unit=False),
        make("ew:power=0.25"),
        Whitening(),
        AllButTheTop(0),
    ],
    ids=repr,
)
def test_what_can_be_undone_is(estimator, vectors) -> None:
    fitted = clone(estimator).fit(vectors)
    assert np.allclose(fitted.inverse_transform(fitted.transform(vectors)), vectors, atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [AllButTheTop(2), make("ppa"), ConceptorNegation(np.inf, power=1, unit=False)],
    ids=repr,
)
def test_what_cannot_be_undone_says_so(estimator, vectors) -> None:
    fitted = clone(estimator).fit(vectors)
    with pytest.raises(InvalidInputError, match="no inverse"):
        fitted.inverse_transform(fitted.transform(vectors))


@every_estimator
def test_before_the_fit_there_is_nothing(estimator, vectors) -> None:
    fresh = clone(estimator)
    with pytest.raises(NotFittedError):
        fresh.transform(vectors)
    assert not hasattr(fresh, "map_")
    assert not hasattr(fresh, "gate_")


@pytest.mark.parametrize(
    "estimator",
    [
        ConceptorNegation(-1),
        ConceptorNegation(np.nan),
        ConceptorNegation("wide"),
        ConceptorNegation(np.ones(3)),
        ConceptorNegation(weights="counts"),
        ConceptorNegation(weights=np.ones(3)),
        AllButTheTop(-1),
        AllButTheTop(1.5),
        AllButTheTop(13),
        make("pvn:n_directions=12"),
        SpectralPostprocessor("ew:power=inf"),
        SpectralPostprocessor("gentle:kept=1"),
        SpectralPostprocessor("gentle:kept=0"),
        SpectralPostprocessor("hsr:ridge=0"),
        SpectralPostprocessor("ppa:n_components=0"),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused_at_fit(estimator, vectors) -> None:
    with pytest.raises(ValueError, match=r"must be|cannot"):
        estimator.fit(vectors)


@every_estimator
def test_bad_data_is_refused(estimator, vectors) -> None:
    fitted = clone(estimator).fit(vectors)
    with pytest.raises(ValueError, match="12 features"):
        fitted.partial_fit(vectors[:, :5])
    with pytest.raises(ValueError, match="12 features"):
        fitted.transform(vectors[:, :5])
    with pytest.raises(ValueError, match="NaN"):
        fitted.transform(np.full((1, 12), np.nan))
    with pytest.raises(InvalidInputError, match="row 0, column 0"):
        clone(estimator).fit(np.full((1, 12), np.nan))
    with pytest.raises(InvalidInputError, match="all weights are zero"):
        clone(estimator).fit(vectors, sample_weight=np.zeros(500))
