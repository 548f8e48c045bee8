"""The nearest rows of a stream are those of a plain sort."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.vectors import WordVectors
from conceptor.vectors import search as module
from conceptor.vectors.search import Best, Contest, Nearest, search
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
    table = WordVectors([f"w{i}" for i in range(count)], rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_ROWS", block)
        patch.setattr("conceptor.vectors.table.BLOCK_BYTES", 23 * 4 * 4)
        found = Nearest(queries, k, prior=prior, among=among)
        search(table, {"all": [found]}, {"all": ()})
    expected, scores = plain(queries, rows, k, prior, among)
    got = found.rows[:, : expected.shape[1]]
    np.testing.assert_allclose(found.scores[:, : scores.shape[1]], scores, atol=1e-6)
    # Rows may change places only where single precision cannot tell them apart.
    same = np.take_along_axis(scores, np.argsort(expected, axis=1), axis=1)
    assert got.shape == expected.shape
    assert (np.sort(got, axis=1) == np.sort(expected, axis=1)).mean() > 0.98
    assert same.shape == got.shape
    assert (found.rows[:, expected.shape[1] :] == -1).all()


def test_equal_rows_come_in_their_order_and_zeros_are_near_nothing():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    found = Nearest(np.array([[5.0, 0.0]]), 4)
    search(WordVectors(list("abcde"), rows), {"all": [found]}, {"all": ()})
    assert found.rows.tolist() == [[1, 2, 4, 3]]
    assert found.scores[0, :3].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_of_many_equal_rows_the_first_are_found_and_no_others_are_kept(margin):
    """As many as there are: a file of equal rows takes no more memory than another."""
    best = Best(2, 3, margin)
    scores = np.full((2, 500), 0.5, np.float32)
    scores[1, 400:] = 0.75
    for start in (1000, 0, 500):  # threads may finish in any order
        found = best.pick(scores.copy(), start)
        assert len(found.query) <= (6 if margin == 0 else 1000)
        best.take(found)
    assert best.table()[0].tolist() == [[0, 1, 2], [400, 401, 402]]
    assert best.table()[1].tolist() == [[0.5] * 3, [0.75] * 3]
    assert len(best.candidates(0)) == (3 if margin == 0 else 1500)
    assert len(best.candidates(1)) == (3 if margin == 0 else 300)


@given(
    seed=seeds, k=st.integers(1, 9), width=st.sampled_from([1, 6, 300]), queries=st.integers(1, 300)
)
def test_losses_count_wherever_they_are_worked_out(seed, k, width, queries):
    """Early blocks lose all at once, later ones only where a row comes near enough."""
    rng = np.random.default_rng(seed)
    scores = rng.random((queries, 400), dtype=np.float32)
    lost = rng.random((2, 400), dtype=np.float32)
    best = Best(queries, k)
    for start in range(0, 400, width):
        part = slice(start, start + width)
        losses = {
            0: lambda c, part=part: lost[0, part][c],
            queries - 1: lambda c, part=part: lost[1, part][c],
        }
        best.take(best.pick(scores[:, part].copy(), start, losses))
    expected = scores.copy()
    expected[0] -= lost[0] if queries > 1 else lost[1]
    expected[-1] -= lost[1] if queries > 1 else 0
    order = np.argsort(-expected, axis=1, kind="stable")[:, :k]
    assert best.table()[0].tolist() == order.tolist()
    np.testing.assert_array_equal(best.table()[1], np.take_along_axis(expected, order, axis=1))


def test_several_searches_share_a_pass(rng):
    rows = rng.standard_normal((500, 6)).astype(np.float32)
    passes = []

    class Counting(WordVectors):
        def chunks(self):
            passes.append(1)
            return super().chunks()

    table = Counting([f"w{i}" for i in range(500)], rows)
    turn = rng.standard_normal((6, 6)).astype(np.float32)
    plain_search, turned = Nearest(rows[:3], 2), Nearest(rows[:3] @ turn, 2)
    transforms = {"plain": (), "turned": (lambda _, block: block @ turn,)}
    search(table, {"plain": [plain_search], "turned": [turned]}, transforms)
    assert passes == [1]
    assert plain_search.rows[:, 0].tolist() == turned.rows[:, 0].tolist() == [0, 1, 2]


def test_a_contest_may_be_decided_while_it_is_looked_at():
    """`take` runs beside `look` in other threads: what is asked must be a snapshot."""
    words = np.ones((1, 1), np.float32)
    contest = Contest(words, np.zeros((300_000, 4), np.int64), np.full((300_000, 1), -1))
    done = threading.Event()

    def decide():
        while not done.is_set():
            contest.won[:] = ~contest.won[0]

    thread = threading.Thread(target=decide)
    thread.start()
    try:
        for _ in range(100):
            contest.look(words, 0)
    finally:
        done.set()
        thread.join()
