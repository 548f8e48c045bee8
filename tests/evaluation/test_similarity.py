from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets
from conceptor.evaluation import Missing
from conceptor.evaluation.similarity import FILES, WordSimilarity, read_words
from conceptor.vectors.table import WordVectors

PAIRS = [("cat", "dog"), ("cat", "cat"), ("cat", "Rome"), ("dog", "unseen"), ("dog", "tree")]
GOLD = [8.0, 10.0, 1.0, 5.0, 2.0]


@pytest.fixture
def small(rng) -> WordVectors:
    return WordVectors(["cat", "dog", "rome", "tree"], rng.normal(size=(4, 6)))


def by_hand(vectors, pairs, gold):
    cosines = []
    for left, right in pairs:
        a, b = (vectors.vectors[vectors.rows([word])[0]] for word in (left, right))
        cosines.append(a @ b / np.sqrt((a @ a) * (b @ b)))
    return 100 * spearmanr(cosines, gold)[0]


def test_policies_for_words_that_are_missing(small):
    task = WordSimilarity("toy", PAIRS, GOLD)
    skipped = task.score(small)
    assert (skipped.used, skipped.total) == (3, 5)
    kept = [0, 1, 4]
    expected = by_hand(small, [PAIRS[i] for i in kept], [GOLD[i] for i in kept])
    assert skipped.score == pytest.approx(expected)

    folded = task.score(small, Missing.LOWERCASE)
    assert (folded.used, folded.total) == (4, 5)
    kept = [0, 1, 2, 4]
    pairs = [(left, right.lower()) for left, right in (PAIRS[i] for i in kept)]
    assert folded.score == pytest.approx(by_hand(small, pairs, [GOLD[i] for i in kept]))

    zero = task.score(small, Missing.ZERO)
    assert (zero.used, zero.total) == (3, 5)
    assert zero.statistic.size == 5
    assert zero.statistic.statistic.predicted[[2, 3]].tolist() == [0.0, 0.0]


def test_all_missing_is_undefined_and_says_so():
    outcome = WordSimilarity("toy", PAIRS, GOLD).score(WordVectors(["x"], np.ones((1, 2))))
    assert np.isnan(outcome.score)
    assert (outcome.used, outcome.total) == (0, 5)


def test_reading(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_bytes("# a comment\nold\tnew\t1.58\r\n\nà\tb\t3\n".encode())
    task = read_words("toy", path)
    assert task.pairs == [("old", "new"), ("à", "b")]
    assert task.gold == [1.58, 3.0]
    path.write_text("old new\n")
    with pytest.raises(
        InvalidInputError, match=r"pairs\.txt, line 1: expected two texts and a score"
    ):
        read_words("toy", path)


# Of the specification: GloVe 6B 50d, all pairs the vectors cover.
ORIGINAL = [60.21, 49.51, 34.03, 65.23, 61.88, 26.46, 15.26]
TOTALS = [65, 353, 2034, 3000, 287, 999, 3500]
USED = [65, 335, 1782, 3000, 287, 999, 3498]


def test_the_seven_sets_on_glove(data, glove):
    outcomes = [
        read_words(name, datasets.fetch(file, data, offline=True)).score(glove)
        for name, file in FILES.items()
    ]
    assert [outcome.total for outcome in outcomes] == TOTALS
    assert [outcome.used for outcome in outcomes] == USED
    assert [outcome.score for outcome in outcomes] == pytest.approx(ORIGINAL, abs=0.05)
