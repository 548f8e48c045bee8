"""The fit to stored vectors: what it minimises, and that it may be streamed."""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from conceptor import InvalidInputError, StaticModel
from conceptor.static_models.attaching import Attachment, cut
from conceptor.static_models.starting import start_from_static, start_from_zero
from conceptor.static_models.words import word_model
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


def attachment(texts, vectors, start, sizes):
    made = Attachment(TokenReader(start.tokenizer), start.rows, vectors.shape[1], sizes)
    made.add(texts, vectors)
    return made


def dense_solution(texts, vectors, start, sizes, ridge):
    """The same minimum with every piece as a row of dense matrices."""
    numbers = start.tokenizer.get_vocab()
    rows, targets = [], []
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    for size in sizes:
        for text, vector in zip(texts, centred, strict=True):
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
        A = B @ start.table
        gram = A.T @ A
        floor = 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
        first = start.table @ np.linalg.solve(gram + floor, A.T @ F)
        # Its averages are as long as the stored vectors, in the mean.
        first *= np.sqrt((centred**2).sum(axis=1).mean() / ((B @ first) ** 2).sum(axis=1).mean())
    change = np.linalg.solve(B.T @ B + ridge * np.eye(B.shape[1]), B.T @ (F - B @ first))
    return first + change


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([(7,), (3, 11), (100,)]), st.booleans())
def test_the_fit_is_the_minimum(seed, sizes, from_zero):
    texts, vectors, truth = make_store(seed)
    noise = np.random.default_rng(seed).normal(size=truth.shape)
    base = word_model(WORDS, (truth @ noise[:5] + noise).astype(np.float32), {})
    start = start_from_zero(WORDS) if from_zero else start_from_static(base, [])
    found = attachment(texts, vectors, start, sizes).fit(start.table, ridge=2.0)
    expected = dense_solution(texts, vectors, start, sizes, 2.0)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


def test_a_table_of_the_same_space_is_not_mapped():
    """With an endless ridge nothing moves: the table keeps its directions, at another length."""
    texts, vectors, truth = make_store(4)
    start = start_from_static(word_model(WORDS, truth.astype(np.float32), {}), [])
    found = attachment(texts, vectors, start, (7,)).fit(start.table, mapped=False, ridge=1e9)
    factor = np.linalg.norm(found) / np.linalg.norm(start.table)
    np.testing.assert_allclose(found, factor * start.table, atol=1e-3 * factor)
    assert not np.isclose(factor, 1.0, rtol=1e-3)


def test_texts_may_come_in_any_number_of_parts():
    texts, vectors, _ = make_store(1)
    start = start_from_zero(WORDS)
    whole = attachment(texts, vectors, start, (7,)).fit(None)
    one = attachment(texts[:50], vectors[:50], start, (7,))
    other = attachment(texts[50:90], vectors[50:90], start, (7,))
    other.add(texts[90:], vectors[90:])
    np.testing.assert_allclose((one + other).fit(None), whole, atol=1e-4)
    assert (one + other).documents == len(texts)
    # From the result for most of them it is a few steps, and the same.
    near = attachment(texts[:110], vectors[:110], start, (7,)).fit(None)
    np.testing.assert_allclose((one + other).fit(None, near=near), whole, atol=0.01)


@settings(deadline=None, max_examples=5)
@given(st.floats(-5, 5), st.floats(0.01, 100))
def test_a_constant_changes_the_offset_and_a_factor_the_scale(constant, factor):
    """Vectors are centred: what all of them share says nothing about words."""
    texts, vectors, _ = make_store(2)
    start = start_from_zero(WORDS)
    one = attachment(texts, vectors, start, (7,))
    other = attachment(texts, factor * vectors + constant, start, (7,))
    np.testing.assert_allclose(other.mean, factor * one.mean + constant, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(other.fit(None), factor * one.fit(None), atol=2e-3 * max(factor, 1))


def test_the_fit_finds_documents_and_a_table_of_noise_does_not():
    texts, vectors, _ = make_store(3, documents=400, n=16)
    start = start_from_zero(WORDS)
    table = attachment(texts, vectors, start, (7,)).fit(None)
    numbers = start.tokenizer.get_vocab()

    def found(table):
        queries = np.array([sum(table[numbers[w]] for w in text.split()) for text in texts])
        centred = vectors - vectors.mean(axis=0)
        centred /= np.linalg.norm(centred, axis=1, keepdims=True)
        return np.mean((queries @ centred.T).argmax(axis=1) == np.arange(len(texts)))

    noise = np.random.default_rng(0).normal(size=table.shape)
    assert found(table) > 0.5 > 10 * found(noise)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=20), st.integers(1, 50))
def test_pieces_are_even_and_lose_nothing(lengths, size):
    found = cut(np.array(lengths), size)
    assert found.sum() == sum(lengths)
    assert found.max() <= size
    pieces = [-(-length // size) for length in lengths]
    assert len(found) == sum(pieces)
    for length, part in zip(lengths, np.split(found, np.cumsum(pieces)[:-1]), strict=True):
        assert part.sum() == length
        assert np.ptp(part) <= 1


def test_words_of_the_store_start_as_the_sum_of_their_pieces(transformer, counts):
    from conceptor import distill

    base = distill(transformer, vocabulary=None, weights=counts)
    start = start_from_static(base, ["unbelievablyrainy", "Äther"])
    assert start.rows == len(base.vectors) + 1
    pieces = TokenReader(base.tokenizer).split(["unbelievablyrainy"]).rows
    np.testing.assert_allclose(start.table[-1], base.vectors[pieces].sum(axis=0), rtol=1e-5)
    assert list(TokenReader(start.tokenizer)(["unbelievablyrainy"]).rows) == [start.rows - 1]


def test_texts_of_unknown_tokens_raise():
    start = start_from_zero(["word"])
    made = attachment(["☃ ☃"], np.ones((1, 3), np.float32), start, (7,))
    with pytest.raises(InvalidInputError, match="no text has a known token"):
        made.fit(None)


def test_one_query_is_encoded_as_among_others():
    texts, _, truth = make_store(5)
    model = word_model(WORDS, truth.astype(np.float32), {})
    texts = [*texts, "", "unknown"]
    alone = np.concatenate([model.encode([text]) for text in texts])
    np.testing.assert_allclose(alone, model.encode(texts), atol=1e-7)
    assert not alone[-2:].any()


@given(st.lists(st.text(alphabet="aB ßé☃\t\n日\u00a0.,'", max_size=12), min_size=2, max_size=6))
@settings(max_examples=60, deadline=None)
def test_tokens_of_a_query_are_those_of_a_text(texts):
    """For a tokenizer that splits at blanks, and for one whose tokens may cross them."""
    crossing = Tokenizer(models.BPE(vocab={"a": 0, " ": 1, "a ": 2}, merges=[("a", " ")]))
    for tokenizer in (start_from_zero(["a", "ab", "ß", "日"]).tokenizer, crossing):
        reader = TokenReader(tokenizer)
        found = reader(texts)
        for _ in range(2):  # the second time from memory
            queries = [reader.of_query(text) for text in texts]
            assert [len(each) for each in queries] == np.diff(found.ends).tolist()
            assert list(chain.from_iterable(queries)) == found.rows.tolist()


def test_queries_forget_when_they_have_seen_too_much(monkeypatch):
    monkeypatch.setattr("conceptor.vectors.tokenizer._MOST_RUNS", 3)
    reader = TokenReader(start_from_zero(["a", "b", "c"]).tokenizer)
    first = reader.of_query("a b c ab bc")
    reader.of_query("new")
    assert len(reader._runs) == 1
    assert reader.of_query("a b c ab bc") == first == reader(["a b c ab bc"]).rows.tolist()


@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 100.0])
def test_a_query_has_the_same_vector_in_every_type(dtype, scale):
    texts, _, truth = make_store(20)
    table = (truth * scale * (30 if dtype == "int8" else 1)).astype(dtype)
    model = word_model(WORDS, table, {})
    model = StaticModel(model.vectors.astype(dtype), model.tokenizer)
    alone = np.concatenate([model.encode([text]) for text in texts])
    assert alone.dtype == np.float32
    np.testing.assert_allclose(alone, model.encode(texts), atol=1e-6)


def test_extreme_queries_have_length_1():
    model = word_model(["tiny", "huge"], np.array([[1e-30, 0], [0, 1e30]]), {})
    np.testing.assert_array_equal(model.encode(["tiny"]), [[1, 0]])
    np.testing.assert_array_equal(model.encode(["huge tiny"]), [[0, 1]])
