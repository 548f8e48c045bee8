"""The fit to stored vectors: what it minimizes, and that texts may come in parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor import StaticModel
from conceptor.base.errors import InvalidInputError
from conceptor.static_models.attaching import Attachment, Start, start_from_zero
from conceptor.vectors.tokenizer import TokenReader

WORDS = [f"{a}{b}" for a in "bcdfglmnprst" for b in "aeiou"]


def make_store(seed, documents=120, n=5, length=30):
    """Texts, and vectors that follow from their words."""
    generator = np.random.default_rng(seed)
    truth = generator.normal(size=(len(WORDS), n))
    drawn = [
        generator.integers(0, len(WORDS), generator.integers(1, length)) for _ in range(documents)
    ]
    texts = [" ".join(WORDS[i] for i in rows) for rows in drawn]
    vectors = np.array([truth[rows].sum(axis=0) / len(rows) ** 0.5 for rows in drawn]) + 2.0
    return texts, vectors.astype(np.float32), truth


def start_from(rows):
    """A table of the words in the space of the vectors."""
    model = StaticModel.from_words(WORDS, rows)
    return Start(model.tokenizer, model.vectors, len(model.vectors))


def attachment(texts, vectors, start, sizes):
    made = Attachment(TokenReader(start.tokenizer), start.rows, vectors.shape[1], sizes)
    made.add(texts, vectors)
    return made


def dense_solution(texts, vectors, start, sizes, ridge):
    """The same minimum with every piece as a row of dense matrices."""
    numbers = start.tokenizer.get_vocab()
    rows, targets = [], []
    centered = vectors - vectors.mean(axis=0, dtype=np.float64)
    for size in sizes:
        for text, vector in zip(texts, centered, strict=True):
            words = text.split()
            pieces = -(-len(words) // size)
            bounds = [k * len(words) // pieces for k in range(pieces + 1)]
            for a, b in pairwise(bounds):
                row = np.zeros(start.rows)
                for word in words[a:b]:
                    row[numbers[word]] += (b - a) ** -0.5
                rows.append(row)
                targets.append(vector)
    B, F = np.array(rows), np.array(targets)
    first = np.zeros((start.rows, vectors.shape[1]))
    if start.table is not None:
        # On average, its averages are as long as the stored vectors.
        squares = ((B @ start.table) ** 2).sum(axis=1).mean()
        first = start.table * np.sqrt((centered**2).sum(axis=1).mean() / squares)
    change = np.linalg.solve(B.T @ B + ridge * np.eye(B.shape[1]), B.T @ (F - B @ first))
    return first + change


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([(7,), (3, 11), (100,)]), st.booleans())
def test_the_fit_is_the_minimum(seed, sizes, from_zero):
    texts, vectors, truth = make_store(seed)
    noise = np.random.default_rng(seed).normal(size=truth.shape)
    start = start_from_zero(WORDS) if from_zero else start_from(truth + noise)
    table = attachment(texts, vectors, start, sizes).fit(start.table, ridge=2.0)
    expected = dense_solution(texts, vectors, start, sizes, 2.0)
    assert np.abs(table - expected).max() < 0.02 * np.abs(expected).max()


def test_texts_may_come_in_any_number_of_parts():
    texts, vectors, _ = make_store(1)
    start = start_from_zero(WORDS)
    whole = attachment(texts, vectors, start, (7,)).fit(None)
    one = attachment(texts[:50], vectors[:50], start, (7,))
    other = attachment(texts[50:90], vectors[50:90], start, (7,))
    other.add(texts[90:], vectors[90:])
    np.testing.assert_allclose((one + other).fit(None), whole, atol=1e-4)
    assert (one + other).documents == len(texts)
    # From the result for most of them it is a few steps to the same table.
    near = attachment(texts[:110], vectors[:110], start, (7,)).fit(None)
    np.testing.assert_allclose((one + other).fit(None, near=near), whole, atol=0.01)


@settings(max_examples=5)
@given(st.floats(-5, 5), st.floats(0.01, 100))
def test_a_constant_changes_the_offset_and_a_factor_the_scale(constant, factor):
    """Vectors are centered: what all of them share reveals nothing about words."""
    texts, vectors, _ = make_store(2)
    start = start_from_zero(WORDS)
    one = attachment(texts, vectors, start, (7,))
    other = attachment(texts, factor * vectors + constant, start, (7,))
    np.testing.assert_allclose(other.mean, factor * one.mean + constant, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(other.fit(None), factor * one.fit(None), atol=2e-3 * max(factor, 1))


def test_texts_of_unknown_tokens_raise():
    start = start_from_zero(["word"])
    made = attachment(["☃ ☃"], np.ones((1, 3), np.float32), start, (7,))
    with pytest.raises(InvalidInputError, match="no text has a known token"):
        made.fit(None)
