from __future__ import annotations

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.evaluation import Battery
from conceptor.evaluation.synonyms import SynonymRecall, read_synonyms
from conceptor.vectors.table import WordVectors


def score(task, vectors):
    (outcome,) = Battery([task]).run(vectors).outcomes
    return outcome


@pytest.mark.parametrize("among", [None, 25])
def test_the_score_is_that_of_a_plain_loop(rng, among):
    words = [f"w{i}" for i in range(60)]
    vectors = WordVectors(words, rng.normal(size=(60, 4)))
    synonyms = {
        word: frozenset(rng.choice(words, rng.integers(1, 14), replace=False)) - {word}
        for word in rng.permutation([*words, "unknown"])
    }
    unit = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    expected = []
    for word, listed in synonyms.items():
        if word in vectors and listed:
            (own,) = vectors.rows([word])
            order = [int(row) for row in np.argsort(-(unit @ unit[own]))]
            order = [row for row in order if row != own and row < (among or 60)]
            found = {words[row] for row in order[:10]}
            expected.append(len(found & listed) / min(10, len(listed)))
    outcome = score(SynonymRecall("toy", synonyms, among), vectors)
    assert outcome.score == pytest.approx(100 * np.mean(expected))
    assert outcome.used == len(expected)


def test_the_remark_says_how_far_the_neighbours_are(rng):
    words = [f"w{i}" for i in range(100_022)]
    vectors = rng.normal(size=(len(words), 50)).astype(np.float32)
    vectors[-22:] = np.repeat(vectors[:2], 11, axis=0) * 1.5
    task = SynonymRecall("toy", {"w0": frozenset(["w1"]), "w1": frozenset(["w0"])})
    outcome = score(task, WordVectors(words, vectors))
    assert outcome.remark.endswith("100.0% of them beyond 100,000")


def test_the_list_is_symmetric_in_a_fixed_order(tmp_path):
    path = tmp_path / "synonyms.txt"
    path.write_text("en_big en_large\nlarge great\nbig big\n")
    first, common = read_synonyms(path)
    assert first.synonyms["large"] == {"big", "great"}
    assert list(first.synonyms) == list(common.synonyms) == list(read_synonyms(path)[0].synonyms)
    assert (first.among, common.among) == (None, 20_000)
    path.write_text("one two\nthree\n")
    with pytest.raises(InvalidInputError, match="line 2: expected two words"):
        read_synonyms(path)
