"""The nearest rows of a stream are those of a plain sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor.base.arrays import unit_rows
from conceptor.vectors import search as module
from conceptor.vectors.files import in_memory
from conceptor.vectors.search import Contest, Nearest, search
from tests.strategies import seeds


def plain(queries, rows, k, prior=0.0, among=None):
    """All cosines in double precision, sorted; of equal ones the first row first."""
    with np.errstate(invalid="ignore"):
        q = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        x = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scores = np.nan_to_num(q @ x.T, nan=-np.inf)
    scores -= prior * np.log1p(np.arange(len(rows)) / 1000)
    scores = scores[:, :among]
    return np.argsort(-scores, axis=1, kind="stable")[:, :k], -np.sort(-scores, axis=1)[:, :k]


@given(
    seed=seeds,
    count=st.integers(1, 200),
    k=st.integers(1, 12),
    block=st.sampled_from([1, 7, 2048]),
    prior=st.sampled_from([0.0, 0.3]),
    among=st.sampled_from([None, 5, 90]),
)
def test_it_is_a_plain_sort(seed, count, k, block, prior, among):
    rng = np.random.default_rng(seed)
    rows, queries = rng.standard_normal((count, 4)), rng.standard_normal((9, 4))
    table = in_memory([f"w{i}" for i in range(count)], rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_ROWS", block)
        patch.setattr("conceptor.vectors.files.chunk_rows", lambda dimension: 23)
        nearest = Nearest(queries, k, prior=prior, among=among)
        search(table, {"all": [nearest]}, {"all": lambda _, block: block})
    expected, scores = plain(queries, rows, k, prior, among)
    got = nearest.rows[:, : expected.shape[1]]
    np.testing.assert_allclose(nearest.scores[:, : scores.shape[1]], scores, atol=1e-6)
    # Rows may change places only where single precision cannot tell them apart.
    assert (np.sort(got, axis=1) == np.sort(expected, axis=1)).mean() > 0.98
    assert (nearest.rows[:, expected.shape[1] :] == -1).all()


def test_of_many_equal_rows_the_first_are_found_and_few_are_looked_at():
    """A file of equal rows takes no more memory than another."""
    rows = np.ones((5000, 3))
    near = Nearest(np.eye(3), 4)
    near.take(near.look(rows, 0))
    assert near.rows.tolist() == [[0, 1, 2, 3]] * 3
    assert len(near.look(rows, 5000).row) == 0


@given(seed=seeds, k=st.integers(1, 9), block=st.sampled_from([1, 6, 300]))
def test_penalties_count_wherever_they_are_computed(seed, k, block):
    """Of early blocks all rows get them, of later ones only rows that come near enough."""
    rng = np.random.default_rng(seed)
    rows, queries = rng.standard_normal((400, 4)), rng.standard_normal((5, 4))

    def penalty(units):
        return np.abs(units[:, 0]) / 2

    near = Nearest(queries, k, penalty=penalty)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_ROWS", block)
        for start in range(0, 400, 100):
            near.take(near.look(rows[start : start + 100], start))
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scores = queries / np.linalg.norm(queries, axis=1, keepdims=True) @ units.T - penalty(units)
    np.testing.assert_allclose(near.scores, -np.sort(-scores, axis=1)[:, :k], atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    seed=seeds,
    rows=st.integers(4, 3000),
    count=st.integers(0, 60),
    cut=st.integers(1, 3000),
    among=st.none() | st.integers(1, 3000),
)
def test_analogies_are_won_as_if_asked_one_by_one(seed, rows, count, cut, among):
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((rows, 9)).astype(np.float32) + np.float32(0.3)
    questions = rng.integers(0, rows, (count, 4))
    units = unit_rows(table)
    ahead = np.zeros(count)
    for i, question in enumerate(questions):
        scores = units @ (units[question[1]] - units[question[0]] + units[question[2]])
        if i % 2:  # an answer that is a good one: the nearest row itself
            question[3] = next(row for row in np.argsort(-scores) if row not in question[:3])
        bar, scores[question] = scores[question[3]], -np.inf
        ahead[i] = bar - scores[:among].max(initial=-np.inf)
    used, terms = np.unique(questions, return_inverse=True)
    contest = Contest(table[used], terms.reshape(-1, 4), questions, among=among)
    for start in range(0, rows, cut):
        contest.take(contest.look(table[start : start + cut], start))
    # The contest is in float32, which cannot tell answers that are nearer to each other.
    clear = np.abs(ahead) > 1e-5
    assert (contest.won[clear] == (ahead > 0)[clear]).all()
