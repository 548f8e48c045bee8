"""Fewer dimensions: the leading directions of what a method leaves, in the same map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conceptor
from conceptor import AffineMap, Moments
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import METHODS, Method
from conceptor.postprocessing import fit
from conceptor.vectors import write_vectors

ONE_MAP = [name for name in METHODS if name != "hsr"]
LEVEL = ("whitening", "zipf-whitening")
WORDS = ["the", "of", "and", "to", "in", *(f"w{i}" for i in range(295))]


def gram(X: np.ndarray) -> np.ndarray:
    """All inner products: what no rotation, reflection or order of coordinates changes."""
    return X @ X.T


def best_approximation(Y: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """Y on the k directions that hold most of its weighted squares, by another way than ours."""
    directions = np.linalg.svd(Y * np.sqrt(weights)[:, np.newaxis], full_matrices=False)[2][:k]
    return Y @ directions.T


@pytest.mark.parametrize("name", [name for name in ONE_MAP if name not in (*LEVEL, "ppa")])
@given(k=st.integers(1, 12), seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_no_other_directions_hold_more_of_what_is_left(name, k, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 12)) * np.geomspace(3, 0.3, 12) + rng.standard_normal(12)
    weights = rng.random(60)
    method = METHODS[name]
    moments = Moments.from_vectors(X, weights, unit=method.unit)
    whole = method.solve(moments)
    smaller = method.with_parameters(n_components=k).solve(moments)
    Y, Z = whole.map(X), smaller.map(X)
    assert Z.shape == (60, k)
    np.testing.assert_allclose(gram(Z), gram(best_approximation(Y, weights, k)), atol=1e-8)
    held = (Z**2).T @ weights
    assert (np.diff(held) <= 1e-6 * held[0]).all()  # strongest first
    assert np.linalg.matrix_rank(smaller.map.matrix) <= k
    assert smaller.variance_removed is None or smaller.variance_removed >= (
        whole.variance_removed - 1e-12
    )


@pytest.mark.parametrize("name", ["cn", "zipf-whitening"])
@given(k=st.integers(1, 12), seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_words_are_weighed_by_usage_and_directions_chosen_by_words(name, k, seed):
    """What running text uses most behind the gate are the directions of function words."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 12)) * np.geomspace(3, 0.3, 12) + rng.standard_normal(12)
    method = METHODS[name].with_parameters(n_components=k)
    assert (method.once, METHODS[name].once, METHODS["abtt"].once) == ("types", None, None)
    moments = Moments.from_vectors(X, rng.random(60), unit=method.unit)
    once = Moments.from_vectors(X, unit=method.unit)
    Y, Z = METHODS[name].solve(moments).map(X), method.solve(moments, once).map(X)
    expected = best_approximation(Y, np.ones(60), k)
    np.testing.assert_allclose(gram(Z), gram(expected), atol=1e-7 * (Y**2).max())
    assert method.solve(moments, once).variance_removed is None or name == "cn"


def test_everyone_chooses_them_so(tmp_path, rng):
    """The estimator, in one fit or a stream, and files: the same coordinates."""
    X = (rng.standard_normal((300, 10)) * np.geomspace(2, 0.3, 10) + 0.5).astype(np.float32)
    write_vectors(tmp_path / "in.bin", [(WORDS, X)])
    one = conceptor.ConceptorNegation(weights="zipf", n_components=4).fit(X)
    stream = conceptor.ConceptorNegation(weights="zipf", n_components=4)
    for part in np.array_split(X, 7):
        stream.partial_fit(part)
    method = "cn:lengths=unit:n_components=4"
    rows = fit_methods(tmp_path / "in.bin", [method], wanted=set(WORDS)).rows
    fit(tmp_path / "in.bin", tmp_path / "map", "cn:n_components=4")
    expected, solve = one.transform(X), Method.parse(method).solve
    for found in (
        stream.transform(X),
        rows[method].vectors,
        AffineMap.load(tmp_path / "map")(X),
        solve(one.moments_, one.once_).map(X),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    usage = solve(one.moments_).map(X)
    assert np.abs(gram(usage) - gram(expected)).max() > 1e-3


@pytest.mark.parametrize("name", LEVEL)
@pytest.mark.parametrize("k", [5, 12])
def test_after_whitening_the_directions_keep_their_order(name, k, vectors):
    """All are equally strong, so that rounding must not choose."""
    moments = Moments.from_vectors(vectors)
    Z = METHODS[name].with_parameters(n_components=k).solve(moments).map(vectors)
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(k), atol=1e-9)
    centered = vectors - vectors.mean(axis=0)
    U = np.linalg.svd(centered, full_matrices=False)[0][:, :k] * np.sqrt(len(vectors))
    np.testing.assert_allclose(gram(Z), gram(U), atol=1e-8)


def test_directions_without_variance_stay_at_zero(vectors):
    """Their basis is arbitrary, and so would coordinates in it be."""
    flat = vectors[:, :6] @ np.linalg.qr(vectors[:12].T)[0][:6]
    solution = METHODS["cn"].with_parameters(n_components=9).solve(Moments.from_vectors(flat))
    assert (solution.map.matrix[:, 6:] == 0).all()
    assert (np.abs(solution.map(flat)).max(axis=0)[:6] > 0).all()


def test_an_estimator_names_the_dimensions_that_are_left(vectors):
    fitted = conceptor.estimator("ppa:n_directions=2:n_components=5").fit(vectors)
    assert list(fitted.get_feature_names_out()) == [f"spectralpostprocessor{i}" for i in range(5)]


def test_hsr_ranks_directions_by_all_words(rng):
    X = rng.standard_normal((300, 10)) * np.geomspace(2, 0.3, 10) + 0.5
    options = FitOptions(vocabulary=WORDS)
    methods = ["hsr", "hsr:n_components=4"]
    whole, smaller = fit_methods((WORDS, X), methods, options).methods.values()
    Y, Z = whole(WORDS, X), smaller(WORDS, X)
    assert smaller.map.n_out == 4
    np.testing.assert_allclose(gram(Z), gram(best_approximation(Y, np.ones(300), 4)), atol=1e-8)
