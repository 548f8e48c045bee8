"""The fit of a table to sentences: what it minimizes, and which rows move."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from conceptor.static_models.distilling import negate
from conceptor.static_models.ridge import fit_sentences


def make_world(seed, tokens=40, sentences=400, n=6):
    """Sentences whose vectors are averages of a table, which is not the one we start from."""
    generator = np.random.default_rng(seed)
    counts = generator.poisson(generator.uniform(0.01, 0.3, tokens), (sentences, tokens))
    counts = counts[counts.sum(axis=1) > 0].astype(np.float32)
    truth = generator.normal(size=(tokens, n)).astype(np.float32)
    start = truth @ generator.normal(size=(n, n)) + generator.normal(size=(tokens, n))
    return sparse.csr_array(counts), truth, start.astype(np.float32)


def dense_solution(start, counts, vectors, ridge):
    """The same minimum by solving the normal equations, without conjugate gradients."""
    B = counts.toarray().astype(np.float64)
    B /= np.sqrt(B.sum(axis=1, keepdims=True))
    F = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    F = F - F.mean(axis=0)
    A = B @ start
    gram = A.T @ A
    floor = 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
    first = start @ np.linalg.solve(gram + floor, A.T @ F)
    change = np.linalg.solve(B.T @ B + ridge * np.eye(B.shape[1]), B.T @ (F - B @ first))
    return first + change


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 1.0]))
def test_the_fit_is_the_minimum(seed, ridge):
    counts, truth, start = make_world(seed)
    vectors = (counts @ truth).astype(np.float32)
    table = fit_sentences(start, counts, vectors, ridge=ridge)
    expected = dense_solution(start, counts, vectors, ridge)
    assert np.abs(table - expected).max() < 0.01 * np.abs(expected).max()


def test_negation_takes_out_what_sentences_share():
    """By one linear map, so that frequent tokens stay short; an empty text does not count."""
    counts, _, table = make_world(3)
    table[:, 0] += 5

    def averages(rows):
        sums = counts @ rows
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)

    def share(rows):
        values = np.linalg.svd(averages(rows))[1] ** 2
        return values[0] / values.sum()

    negation = negate(averages(table))
    np.testing.assert_allclose(negation(3 * table), 3 * negation(table), rtol=1e-4, atol=1e-5)
    assert share(table) > 0.8
    assert share(negation(table)) < 0.6
