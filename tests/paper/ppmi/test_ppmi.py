"""PPMI by its definition, the SVD by its properties, and the paper's relation to CN."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from conceptor import ConceptorNegation, EigenvalueWeighting
from conceptor.base.errors import InvalidInputError
from conceptor.paper.ppmi import PPMIVectors, cooccurrence, ppmi, truncated_svd
from conceptor.weights import parse_weights

TEXT = [
    "the cat sat on the mat and the dog sat on the rug",
    "a cat and a dog ran to the house of the king",
    "the king and the queen sat in the house",
    "",
    "ran",
]


@pytest.fixture(scope="module")
def real() -> PPMIVectors:
    """Vectors from news stories that gensim carries."""
    gensim = pytest.importorskip("gensim")
    path = Path(gensim.__file__).parent / "test/test_data/lee_background.cor"
    return PPMIVectors(dimension=60, min_count=5).fit(path)


@pytest.mark.parametrize("subsample", [None, 0.05])
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize(("smoothing", "shift"), [(0.75, 1.0), (1.0, 2.5), (0.0, 1.0)])
def test_entries_follow_the_definition(smoothing, shift, positive, subsample):
    counted = cooccurrence(TEXT, min_count=1, window=3)
    found = ppmi(
        counted, smoothing=smoothing, shift=shift, positive=positive, subsample=subsample
    ).toarray()
    counts = counted.matrix.toarray()
    if subsample is not None:
        share = counted.counts / counted.tokens
        kept = np.minimum(1, np.sqrt(subsample / share))
        assert kept.min() < 1
        counts = counts * np.outer(kept, kept)
    total = counts.sum()
    word = counts.sum(axis=1) / total
    context = counts.sum(axis=0) ** smoothing
    context /= context.sum()
    for i, j in np.ndindex(counts.shape):
        if counts[i, j] == 0:
            assert found[i, j] == 0
            continue
        expected = np.log(counts[i, j] / total / (word[i] * context[j])) - np.log(shift)
        if positive:
            expected = max(0.0, expected)
        assert found[i, j] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_the_factors_are_those_of_a_dense_decomposition(rng):
    from scipy import sparse

    dense = rng.standard_normal((40, 40)) * (rng.random((40, 40)) < 0.3)
    left, values = truncated_svd(sparse.csr_array(dense), 8)
    U, D, _ = np.linalg.svd(dense)
    np.testing.assert_allclose(values, D[:8], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(left * U[:, :8], axis=0)), 1, rtol=1e-8)
    assert (left[np.abs(left).argmax(axis=0), range(8)] > 0).all()
    again, _ = truncated_svd(sparse.csr_array(dense), 8)
    np.testing.assert_array_equal(left, again)


def test_directions_that_are_not_there_stay_zero():
    from scipy import sparse

    low_rank = np.outer(np.arange(1.0, 21), np.ones(20))
    left, values = truncated_svd(sparse.csr_array(low_rank), 4)
    assert np.count_nonzero(values) == 1
    assert np.isfinite(left).all()
    assert not left[:, 1:].any()


def test_negated_conceptor_of_pmi_vectors_is_the_papers_closed_form(real):
    E = real.singular_vectors_ * real.singular_values_
    squares = real.singular_values_**2
    for aperture in (0.05, 0.5, 2.0):
        negated = ConceptorNegation(aperture, power=1, unit=False).fit_transform(E)
        threshold = len(E) * aperture**-2
        expected = E * (threshold / (squares + threshold))
        np.testing.assert_allclose(negated, expected, atol=2e-5 * np.abs(expected).max())
        assert not np.allclose(negated, E, atol=1e-2 * np.abs(E).max())


def test_eigenvalue_weighting_of_pmi_vectors_is_a_power_of_the_singular_values(real):
    E = real.singular_vectors_ * real.singular_values_
    scale = np.abs(E).max()
    np.testing.assert_allclose(EigenvalueWeighting(power=1).fit_transform(E), E, atol=1e-6 * scale)
    orthonormal = EigenvalueWeighting(power=0).fit_transform(E)
    np.testing.assert_allclose(orthonormal.T @ orthonormal, np.eye(60), atol=1e-6)
    half = EigenvalueWeighting(power=0.5).fit_transform(E)
    np.testing.assert_allclose(half, real.vectors(0.5), atol=1e-5 * scale)


def test_powers(real):
    one = real.vectors(power=1)
    assert one.dtype == np.float32
    np.testing.assert_allclose(
        one, real.singular_vectors_ * real.singular_values_, rtol=1e-5, atol=1e-6
    )
    zero = real.vectors(power=0)
    np.testing.assert_allclose(zero.T @ zero, np.eye(60), atol=1e-5)
    np.testing.assert_array_equal(real.vectors(), real.vectors(power=0.5))
    assert (np.diff(real.singular_values_) <= 0).all()


def test_the_vectors_know_something(real):
    """A negative control for the whole pipeline: related words are nearer than others."""
    X = real.vectors()
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    row = {word: i for i, word in enumerate(real.words)}
    related = [("israeli", "palestinian"), ("wicket", "cricket"), ("north", "south")]
    pairs = [(a, b) for a, b in related if a in row and b in row]
    assert len(pairs) == 3
    typical = np.quantile(X[[row[a] for a, _ in pairs]] @ X.T, 0.9, axis=1)
    for (a, b), usual in zip(pairs, typical, strict=True):
        assert X[row[a]] @ X[row[b]] > usual


def test_counts_are_usage_weights(real):
    share = parse_weights(real.counts).shares(real.words, 0)
    assert share.weights[0] == real.counts[real.words[0]] == max(real.counts.values())


def test_parameters_clone_and_threads_do_not_matter():
    model = PPMIVectors(dimension=2, min_count=1, window=3, threads=1)
    first = model.fit(TEXT).vectors()
    second = clone(model).set_params(threads=3).fit(iter(TEXT)).vectors()
    np.testing.assert_array_equal(first, second)


def test_mistakes_are_named():
    for options, message in [
        ({"dimension": 0}, "dimension must be at least 1"),
        (
            {"dimension": 500, "min_count": 1},
            "need a vocabulary of more than 500 words",
        ),
        ({"smoothing": 1.5}, "smoothing must be between 0 and 1"),
        ({"shift": 0.5}, "shift must be at least 1"),
        ({"subsample": 0.0}, "subsample must be above 0"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            PPMIVectors(**options).fit(TEXT)
    with pytest.raises(InvalidInputError, match="more often than by chance"):
        PPMIVectors(dimension=1, min_count=1, shift=1e9).fit(TEXT)
