"""The algebra of tables: what folds, and what the fit to sentences minimises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from conceptor import InvalidInputError
from conceptor.static_models.table import (
    fit_sentences,
    leading_directions,
    negate_sentences,
    negate_usage,
)


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


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 1.0]))
def test_the_fit_is_the_minimum(seed, ridge):
    counts, truth, start = make_world(seed)
    vectors = (counts @ truth).astype(np.float32)
    found = fit_sentences(start, counts, vectors, ridge=ridge)
    expected = dense_solution(start, counts, vectors, ridge)
    assert np.abs(found - expected).max() < 0.01 * np.abs(expected).max()


def test_the_fit_brings_new_sentences_nearer():
    """The negative control: before the fit the averages of other sentences follow less."""
    counts, truth, start = make_world(1, sentences=3000)
    seen, new = counts[:2000], counts[2000:]
    found = fit_sentences(start, seen, (seen @ truth).astype(np.float32), ridge=0.01)

    def cosines(table):
        vectors = new @ table
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors -= vectors.mean(axis=0)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]

    after = np.corrcoef(cosines(truth), cosines(found))[0, 1]
    before = np.corrcoef(cosines(truth), cosines(start))[0, 1]
    assert after > 0.95
    assert before < after - 0.1


def test_tokens_that_never_occur_move_with_the_map_only():
    counts, truth, start = make_world(2)
    unseen = counts.toarray()
    unseen[:, 7] = 0
    unseen[unseen.sum(axis=1) == 0, 0] = 1
    counts = sparse.csr_array(unseen)
    vectors = (counts @ truth).astype(np.float32)
    free, held = (fit_sentences(start, counts, vectors, ridge=r) for r in (1e-3, 1e6))
    np.testing.assert_allclose(free[7], held[7], rtol=1e-4, atol=1e-6)
    assert np.abs(free - held).max() > 1e-3


def test_what_sentences_share_is_taken_out_of_the_rows():
    """By one linear map, so that frequent tokens stay short; an empty text does not count."""
    counts, _, table = make_world(3)
    table[:, 0] += 5
    negated = negate_sentences(table, counts)
    np.testing.assert_allclose(negated(3 * table), 3 * negated(table), rtol=1e-4, atol=1e-5)
    longer = sparse.csr_array(sparse.vstack([counts, 0 * counts[:50]]))
    np.testing.assert_allclose(negate_sentences(table, longer).matrix, negated.matrix, rtol=1e-5)

    def share(rows):
        sums = counts @ rows
        values = np.linalg.svd(sums / np.linalg.norm(sums, axis=1, keepdims=True))[1] ** 2
        return values[0] / values.sum()

    assert share(table) > 0.8
    assert share(negated(table)) < 0.6


def test_leading_directions_keep_the_most_of_what_is_used():
    generator = np.random.default_rng(0)
    table = (generator.normal(size=(500, 8)) * np.arange(8, 0, -1)).astype(np.float32)
    usage = generator.uniform(size=500)
    kept = leading_directions(table, usage, 3)(table)
    other = np.linalg.qr(generator.normal(size=(8, 3)))[0]
    assert kept.shape == (500, 3)
    assert (usage @ kept**2).sum() > (usage @ (table @ other) ** 2).sum()
    whole = leading_directions(table, usage, 8)(table)
    np.testing.assert_allclose(whole @ whole.T, table @ table.T, rtol=1e-3, atol=1e-2)
    with pytest.raises(InvalidInputError, match="the vectors have 8"):
        leading_directions(table, usage, 9)


def test_usage_must_be_known():
    with pytest.raises(InvalidInputError, match="ever used"):
        negate_usage(np.eye(3, dtype=np.float32), np.zeros(3))
