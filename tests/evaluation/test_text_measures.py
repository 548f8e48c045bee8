"""Hubness and neighbors kept, against independent computations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from conceptor.evaluation.unlabeled import hubness, share_kept, without_own


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
