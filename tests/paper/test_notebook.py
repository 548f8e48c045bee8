"""The notebook's protocol, beside its own formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from conceptor.base.errors import MissingExtraError
from conceptor.base.tokens import tokenize
from conceptor.evaluation import Battery
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.sts import SentencePair, SentenceSimilarity
from conceptor.paper.notebook import as_in_notebook, split_as_nltk
from conceptor.vectors.table import WordVectors

pytest.importorskip("nltk")


def positions(gold: list[float], cosines: list[float]) -> tuple[list[int], list[int]]:
    """Rank pairs by sorting lists, as the notebook does."""
    pairs = sorted(range(len(gold)), key=lambda i: -gold[i])
    nearest = sorted(pairs, key=lambda i: -cosines[i])
    return list(range(len(pairs))), [nearest.index(i) for i in pairs]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=30))
def test_ties_are_ranked_in_order(scores):
    gold, cosines = map(np.array, zip(*[(float(g), float(c)) for g, c in scores], strict=True))
    task = WordSimilarity("made", [("a", "b")] * len(gold), gold)
    (ours,) = as_in_notebook(Battery([task])).tasks
    rho = ours.correlate(cosines, gold)(np.ones((len(gold), 1)))[0]
    assert rho == pytest.approx(spearmanr(*positions(gold, cosines)).statistic)


def test_sentences_are_split_by_nltk(rng):
    pairs = [SentencePair("Don\u2019t stop (now) 42!", "It's a T-shirt.", 1.0)] * 2
    task = SentenceSimilarity("made", pairs, in_mean=False)
    (ours,) = as_in_notebook(Battery([task])).tasks
    assert set(ours.texts.counts[0]) == {"do", "n't", "stop", "now", "it", "'s", "a", "t-shirt"}
    assert (ours.dataset, ours.task, ours.in_mean) == ("made", "sts", False)
    vectors = WordVectors(["stop", "now", "it"], rng.normal(size=(3, 2)))
    assert ours.score(vectors).known_tokens == (6, 2 * (4 + 4))
    assert tokenize("It's a T-shirt.") == split_as_nltk("It's a T-shirt.")


def test_without_nltk_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "nltk", None)
    with pytest.raises(MissingExtraError, match="notebook"):
        as_in_notebook(Battery([]))
