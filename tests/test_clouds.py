"""Clouds of words: their conceptors, the graded order, and senses."""

from __future__ import annotations

import numpy as np
import pytest
from clouds import Cloud, Senses, context_clouds, contexts, neighbour_clouds
from hypothesis import given
from hypothesis import strategies as st

from conceptor import InvalidInputError
from conceptor.base.arrays import unit_rows
from conceptor.vectors import WordVectors
from tests.strategies import seeds


def cloud(rng, k=4, n=7, aperture=2.0):
    return Cloud(unit_rows(rng.standard_normal((k, n))), aperture)


@given(seed=seeds, k=st.integers(1, 9), aperture=st.sampled_from([0.5, 2.0, 10.0]))
def test_the_factor_is_that_of_the_conceptor(seed, k, aperture):
    """The cloud's short way agrees with the algebra, with fewer and with more rows than columns."""
    rng = np.random.default_rng(seed)
    a, b = cloud(rng, k, aperture=aperture), cloud(rng, 5, aperture=aperture)
    A, B = a.conceptor, b.conceptor
    np.testing.assert_allclose(a.factor @ a.factor.T, A.matrix, atol=1e-9)
    found = a.entails(b)
    assert found.evidence == pytest.approx(B.evidence(a.rows).mean(), abs=1e-9)
    assert found.order == pytest.approx(
        min(0.0, np.linalg.eigvalsh(B.matrix - A.matrix)[0]), abs=1e-9
    )
    assert found.quota == pytest.approx(B.quota / A.quota)


def test_the_order_of_a_part_and_the_whole():
    """More of the same directions: A ≤ A | B, and the grade says so; the reverse is negative."""
    rng = np.random.default_rng(3)
    a = cloud(rng)
    wider = Cloud(a.rows, 2 * a.aperture)
    assert a.conceptor <= wider.conceptor
    assert a.entails(wider).order == pytest.approx(0, abs=1e-9)
    assert wider.entails(a).order < -0.1
    assert a.entails(wider).quota > 1


def test_neighbour_clouds_are_the_nearest_rows(rng):
    X = rng.standard_normal((60, 5)).astype(np.float32)
    words = [f"w{i}" for i in range(60)]
    found = neighbour_clouds((words, X), ["w3", "w40", "unknown"], 6)
    assert set(found) == {"w3", "w40"}
    unit = unit_rows(X)
    nearest = np.argsort(-(unit @ unit[3]))[:6]
    np.testing.assert_allclose(found["w3"].rows, unit[nearest], atol=1e-6)
    with pytest.raises(InvalidInputError, match="none of the words has a vector"):
        neighbour_clouds((words, X), ["unknown"], 6)
    with pytest.raises(InvalidInputError, match="at least two vectors"):
        neighbour_clouds((words, X), ["w3"], 1)


def test_contexts():
    table = WordVectors(["a", "b", "c"], np.array([[2.0, 0], [0, 1], [0, 3]]))
    texts = [["a", "x", "b", "x", "c"], ["x"], ["x", "unknown"]]
    found = list(contexts(texts, ["x"], table, window=1))
    assert [word for word, _ in found] == ["x", "x"]
    np.testing.assert_allclose(found[0][1], np.array([1, 1]) / np.sqrt(2))
    np.testing.assert_allclose(found[1][1], [0, 1])
    clouds = context_clouds(texts, ["x", "b"], table, least=2, window=1)
    assert set(clouds) == {"x"}
    assert len(context_clouds(texts, ["x"], table, least=1, most=1)["x"].rows) == 1


@given(seed=seeds)
def test_a_sense_is_the_word_behind_not_or_of_the_others(seed):
    rng = np.random.default_rng(seed)
    clouds = [cloud(rng, k) for k in (5, 4, 2)]
    senses = Senses(rng.standard_normal(7), clouds)
    one, other = (each.conceptor for each in clouds[1:])
    expected = (~(one | other)).matrix @ senses.vector
    np.testing.assert_allclose(senses.vector_of(0), expected, atol=1e-7)
    np.testing.assert_array_equal(Senses(senses.vector, clouds[:1]).vector_of(0), senses.vector)


def test_two_senses_are_found_and_chosen_by_context():
    rng = np.random.default_rng(7)
    centres = np.eye(8)[:2]
    rows = unit_rows(
        np.repeat(centres, [12, 8], axis=0)
        + 0.5 * np.eye(8)[2]
        + 0.1 * rng.standard_normal((20, 8))
    )
    word = centres.sum(axis=0) + np.eye(8)[2]
    senses = Senses.from_cloud(word, Cloud(rows), 2)
    assert [len(each.rows) for each in senses.clouds] == [12, 8]
    for number, centre in enumerate(centres):
        context = unit_rows(centre + 0.1 * rng.standard_normal((5, 8)))
        assert senses.evidence(context).argmax() == number
        made = senses.vector_in(context)
        assert made @ centre > 2 * abs(made @ centres[1 - number])
    with pytest.raises(InvalidInputError, match="cannot be divided into 21 senses"):
        Senses.from_cloud(word, Cloud(rows), 21)
