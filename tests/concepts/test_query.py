"""Search by examples: the streamed ranking is that of the formula, and exclusion excludes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor import Conceptor, most_similar, write_vectors
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.query import Criterion, Query
from conceptor.fit import fit_methods
from conceptor.vectors.table import WordVectors
from tests.processes import call
from tests.strategies import seeds

WORDS = [f"w{i:03d}" for i in range(300)]


def rank_words(vectors, query, methods=("original",), **options):
    near = most_similar(vectors, query, methods, **options)
    return {method: by_query[str(query)] for method, by_query in near.items()}


@pytest.fixture
def table(rng):
    return WordVectors(WORDS, (rng.standard_normal((300, 8)) + 1).astype(np.float32))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(seed=seeds, strength=st.sampled_from([0.0, 1.0, 5.0]), margin=st.floats(0, 1))
@settings(max_examples=15)
def test_scores_are_the_formula(seed, strength, margin):
    rng = np.random.default_rng(seed)
    like, without, within = (rng.standard_normal((k, 6)) for k in (3, 4, 2))
    X = unit(rng.standard_normal((50, 6)))
    criterion = Criterion.from_vectors(like, [without], [within], strength=strength, margin=margin)

    def nearness(rows, x):
        R = unit(rows).T @ unit(rows) / len(rows)
        C = np.linalg.inv(R + np.eye(6)) @ R
        return np.linalg.norm(C @ x) / np.sqrt(np.trace(C @ R @ C))

    mean = unit(like).mean(axis=0)
    expected = [
        x @ mean / np.linalg.norm(mean)
        - strength * max(0, nearness(without, x) - margin * nearness(like, x))
        - strength * max(0, margin * nearness(like, x) - nearness(within, x))
        for x in X
    ]
    np.testing.assert_allclose(X @ criterion.direction - criterion.penalty(X), expected, atol=1e-9)


@pytest.mark.parametrize("method", ["original", "cn"])
def test_the_ranking_is_a_plain_sort_of_the_scores(table, method):
    query = Query(["w003", "w100"], without=[["w007", "w200"], ["w011"]], within=["w050", "w051"])
    made = fit_methods(table, [method], wanted=set(WORDS)).rows[method]
    criterion, rows = query.criterion(made), unit(made.vectors.astype(float))
    scores = rows @ criterion.direction - criterion.penalty(rows)
    expected = [WORDS[i] for i in np.argsort(-scores) if WORDS[i] not in query.words][:7]
    best = rank_words(table, query, [method], n=7)[method]
    assert [one.word for one in best] == expected
    np.testing.assert_allclose(
        [one.score for one in best], [scores[WORDS.index(w)] for w in expected], atol=1e-5
    )


def test_several_lists_are_joined_by_or(table):
    rows = table.vectors
    criterion = Query("w000", without=[["w001", "w002"], ["w003"]], within="w004").criterion(table)
    one, other, field = (
        Conceptor.from_vectors(unit(rows[places].astype(float)), 1) for places in ([1, 2], [3], [4])
    )

    def nearness(conceptor, examples):
        lengths = np.linalg.norm(unit(rows[examples].astype(float)) @ conceptor.matrix, axis=1)
        squared = np.linalg.matrix_power(conceptor.matrix, 2)
        return squared / np.mean(lengths**2)

    for factor, expected in (
        (criterion.unwanted, nearness(one | other, [1, 2, 3])),
        (criterion.field, nearness(field, [4])),
    ):
        np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-6)
    loose = Query("w000", without=["w001", ["w003"], "w002"])
    assert loose.without == (("w001", "w002"), ("w003",))


def test_two_meanings_are_separated():
    """Without one of two groups, the neighbors of a word between them are the other's."""
    rng = np.random.default_rng(5)
    groups = np.repeat(np.eye(10)[:2], 20, axis=0) + 0.1 * rng.standard_normal((40, 10))
    X = np.vstack([[1, 1] + [0] * 8, groups])
    words = ["bank", *(f"money{i}" for i in range(20)), *(f"river{i}" for i in range(20))]
    for group, other in (("river", "money"), ("money", "river")):
        examples = [f"{group}{i}" for i in range(4)]
        best = rank_words((words, X), Query("bank", without=examples), n=20)["original"]
        assert {one.word.rstrip("0123456789") for one in best} == {other}
        best = rank_words((words, X), Query("bank", within=examples), n=16)["original"]
        assert {one.word.rstrip("0123456789") for one in best} == {group}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "at least one word"),
        (("w001", [[]]), "words to exclude is empty"),
        (("w001", (), [""]), "words to keep to is empty"),
        (("w001", ["w002", "w001"]), "'w001' is both wanted and excluded"),
    ],
)
def test_wrong_queries(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        Query(*arguments)


def test_unknown_words_and_vectors_that_cancel(table):
    with pytest.raises(InvalidInputError, match="no word 'zebra'"):
        rank_words(table, Query("w001", without=["w002", "zebra"]))
    with pytest.raises(InvalidInputError, match="at least one word"):
        rank_words(table, Query("w001"), n=0)
    with pytest.raises(InvalidInputError, match="cancel each other out"):
        rank_words((["a", "b"], np.array([[1.0, 0], [-1, 0]])), Query(["a", "b"]))


def test_the_command(table, tmp_path):
    write_vectors(tmp_path / "v.bin", [(table.words, table.vectors)])
    run = call(
        "neighbors", "v.bin", "w003", "w100", "--without", "w007,w200", "--without", "w011",
        "--within", "w050", "--methods", "original,cn", "-n", 4, "--json", cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    query = Query(["w003", "w100"], [["w007", "w200"], ["w011"]], ["w050"])
    expected = rank_words(tmp_path / "v.bin", query, ["original", "cn"], n=4)
    title = "w003 w100 without w007, w200 without w011 within w050"
    assert {
        method: [one["word"] for one in by_title[title]]
        for method, by_title in json.loads(run.stdout).items()
    } == {method: [one.word for one in best] for method, best in expected.items()}
    for wrong in ("w007,zebra", ",", "w003"):
        refused = call("neighbors", "v.bin", "w003", "--without", wrong, cwd=tmp_path)
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
