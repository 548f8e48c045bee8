"""Hubness, neighbours kept and related rows, against independent computations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from conceptor.evaluation.statistics import value
from conceptor.evaluation.unlabeled import (
    Separation,
    find_related,
    hubness,
    share_kept,
    without_own,
)


def nearest(rows: np.ndarray, k: int) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("k", [1, 5, 10])
def test_hubness_is_the_skewness_of_the_counts(rng, k) -> None:
    rows = rng.standard_normal((400, 30)) + 0.3
    times = np.bincount(nearest(rows, k).ravel(), minlength=400)
    assert hubness(rows, k) == pytest.approx(stats.skew(times))


def test_equal_and_few_rows_have_no_skew() -> None:
    angles = np.arange(12) * np.pi / 6
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert np.isnan(hubness(ring[:1]))
    assert np.isnan(hubness(ring[:2], 1))
    assert np.isnan(hubness(ring, 11))


def test_the_row_itself_is_left_out(rng) -> None:
    near = np.array([[3, 1, 2], [9, 8, 7], [5, 4, 6]])
    np.testing.assert_array_equal(without_own(near, np.array([1, 0, 5])), [[3, 2], [9, 8], [4, 6]])
    rows = rng.standard_normal((50, 8))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    with_own = np.argsort(-(unit @ unit.T), axis=1)[:, :6]
    np.testing.assert_array_equal(without_own(with_own, np.arange(50)), nearest(rows, 5))


def test_the_share_of_neighbours_that_stay() -> None:
    before = np.array([[1, 2, 3, 4], [5, 6, -1, -1], [-1, -1, -1, -1]])
    now = np.array([[4, 3, 8, 9], [6, 5, 7, -1], [-1, -1, -1, -1]])
    np.testing.assert_array_equal(share_kept(now, before), [0.5, 1, 1])
    np.testing.assert_array_equal(share_kept(before, before), [1, 1, 1])


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.booleans(), st.integers(0, 3)), min_size=2, max_size=30
    )
)
def test_told_apart_is_the_area_under_the_curve(items) -> None:
    cosines, related, weights = (np.array(each) for each in zip(*items, strict=True))
    found = Separation(cosines / 4, related)(weights[:, None].astype(float))[0]
    repeated = np.repeat(related, weights)
    if len(set(repeated.tolist())) < 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(roc_auc_score(repeated, np.repeat(cosines, weights)))


def topics(rng, count: int = 400) -> tuple[list[str], np.ndarray]:
    """Texts of pairs that share three words of their own, among words that many have."""
    common = [f"w{chr(97 + i)}" for i in range(20)]
    texts = []
    for i in range(count):
        own = [f"{name}{i // 2}" for name in ("alpha", "beta", "gamma")]
        texts.append(" ".join([*rng.choice(common, 8), *own, f"only{i}"]))
    return texts, np.arange(count) // 2


def test_related_rows_share_rare_words_and_others_none(rng) -> None:
    texts, topic = topics(rng)
    found = find_related(texts)
    assert found is not None
    assert found.related.sum() == len(found.related) / 2 == 200
    same = topic[found.left] == topic[found.right]
    np.testing.assert_array_equal(same, found.related)
    rows = rng.standard_normal((200, 16))[topic] + 0.3 * rng.standard_normal((400, 16))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.einsum("ij,ij->i", unit[found.left], unit[found.right])
    assert value(Separation(cosines, found.related)) > 0.99
    noise = rng.standard_normal(len(cosines))  # the control
    assert 0.4 < value(Separation(noise, found.related)) < 0.6


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""] * 500,
        ["the same text with some words in it"] * 500,
        [str(i) for i in range(500)],
        [f"word{i}" for i in range(500)],
        [f"all of these words differ{i}" for i in range(500)],
    ],
)
def test_texts_that_show_nothing_are_left_out(texts) -> None:
    assert find_related(texts) is None
