"""Questions ``a is to b as c is to d``: the answer competes with all rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor.base.arrays import unit_rows
from conceptor.vectors.search import Contest


def by_hand(table, questions, among) -> np.ndarray:
    """Ask question by question, in float64; return how far ahead each answer is."""
    units = unit_rows(table)
    ahead = []
    for a, b, c, d in questions:
        scores = units @ (units[b] - units[a] + units[c])
        bar = scores[d]
        scores[[a, b, c, d]] = -np.inf
        ahead.append(bar - scores[:among].max(initial=-np.inf))
    return np.array(ahead)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(4, 3000),
    dimension=st.integers(2, 40),
    count=st.integers(0, 60),
    cut=st.integers(1, 3000),
    among=st.none() | st.integers(1, 3000),
)
def test_the_winners_are_those_found_by_hand(seed, rows, dimension, count, cut, among) -> None:
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((rows, dimension)).astype(np.float32) + np.float32(0.3)
    questions = rng.integers(0, rows, (count, 4))
    # Answers that are good ones, too: the nearest row itself.
    units = unit_rows(table)
    for question in questions[::2]:
        scores = units @ (units[question[1]] - units[question[0]] + units[question[2]])
        scores[question[:3]] = -np.inf
        question[3] = scores.argmax()
    used, terms = np.unique(questions, return_inverse=True)
    contest = Contest(table[used], terms.reshape(-1, 4), questions, among=among)
    for start in range(0, rows, cut):
        contest.take(contest.look(table[start : start + cut], start))
    ahead = by_hand(table, questions, among)
    # The contest is in float32, which cannot tell answers that are nearer to each other.
    clear = np.abs(ahead) > 1e-5
    assert (contest.won[clear] == (ahead > 0)[clear]).all()
