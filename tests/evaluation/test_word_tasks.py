"""Benchmarks of words against plain loops, and on GloVe."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets
from conceptor.evaluation import Battery
from conceptor.evaluation.word_tasks import (
    ANALOGIES_FILE,
    CATEGORIZATION_FILES,
    SIMILARITY_FILES,
    Analogy,
    Categorization,
    SynonymRecall,
    WordSimilarity,
    read_analogies,
    read_synonyms,
    read_words,
)
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


def test_pairs_with_missing_words_are_left_out(small):
    task = WordSimilarity("toy", PAIRS, GOLD)
    skipped = task.score(small)
    assert (skipped.used, skipped.total) == (3, 5)
    kept = [0, 1, 4]
    expected = by_hand(small, [PAIRS[i] for i in kept], [GOLD[i] for i in kept])
    assert skipped.score == pytest.approx(expected)

    folded = task.score(small, lowercase=True)
    assert (folded.used, folded.total) == (4, 5)
    kept = [0, 1, 2, 4]
    pairs = [(left, right.lower()) for left, right in (PAIRS[i] for i in kept)]
    assert folded.score == pytest.approx(by_hand(small, pairs, [GOLD[i] for i in kept]))


def test_reading_pairs(tmp_path):
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
        for name, file in SIMILARITY_FILES.items()
    ]
    assert [outcome.total for outcome in outcomes] == TOTALS
    assert [outcome.used for outcome in outcomes] == USED
    assert [outcome.score for outcome in outcomes] == pytest.approx(ORIGINAL, abs=0.05)


@pytest.fixture
def clouds(rng):
    centers = rng.normal(size=(4, 5)) * 3
    labels = rng.integers(0, 4, 200)
    return centers[labels] + rng.normal(size=(200, 5)), labels


def toy(labels):
    words = [f"w{i}" for i in range(len(labels))]
    return Categorization("toy", words, [f"c{i}" for i in labels])


def test_separate_clouds_are_pure_and_the_score_is_a_contingency_tables(clouds, rng):
    points, labels = clouds
    vectors = WordVectors([f"w{i}" for i in range(len(labels))], points)
    outcome = toy(labels).score(vectors)
    clusters = outcome.statistic.statistic.clusters
    right = sum(np.bincount(labels[clusters == c]).max() for c in np.unique(clusters))
    assert outcome.score == pytest.approx(100 * right / len(labels))
    apart = points + 100 * labels[:, None]
    assert toy(labels).score(WordVectors(vectors.words, apart)).score == 100
    shuffled = WordVectors(vectors.words, rng.permutation(apart))
    assert toy(labels).score(shuffled).score < 100


def test_missing_concepts(clouds):
    points, labels = clouds
    apart = points + 100 * labels[:, None]
    vectors = WordVectors([f"w{i}" for i in range(150)], apart[:150])
    task = toy(labels)
    assert (task.score(vectors).used, task.score(vectors).total) == (150, 200)
    assert task.score(vectors).score == 100
    assert np.isnan(task.score(WordVectors(["x"], np.ones((1, 5)))).score)


def test_reading_refuses_other_tables(tmp_path):
    path = tmp_path / "ap.csv"
    path.write_text(',category,word\n0,"a, b",cat\n1,x,\n')
    task = Categorization.read("toy", path)
    assert (task.concepts, task.labels) == (["cat"], ["a, b"])
    path.write_text(",category,word\n0,cat\n")
    with pytest.raises(InvalidInputError, match="line 2: expected number, category, concept"):
        Categorization.read("toy", path)


def test_the_three_sets_on_glove(data, glove):
    outcomes = []
    for name, file in CATEGORIZATION_FILES.items():
        task = Categorization.read(name, datasets.fetch(file, data, offline=True))
        outcomes.append((task.score(glove), len(set(task.labels))))
    assert [(o.dataset, o.used, o.total, k) for o, k in outcomes] == [
        ("ESSLLI", 45, 45, 9),
        ("AP", 402, 402, 21),
        ("BM", 4194, 5231, 56),
    ]
    # The specification's mean over the three sets.
    assert np.mean([o.score for o, _ in outcomes]) == pytest.approx(72.94, abs=0.05)


def brute_force(vectors, questions, limit):
    right = []
    unit = vectors.vectors[:limit] / np.linalg.norm(vectors.vectors[:limit], axis=1)[:, None]
    for question in questions:
        a, b, c, d = vectors.rows(question)
        scores = unit @ (unit[b] - unit[a] + unit[c])
        scores[[a, b, c]] = -np.inf
        right.append(int(scores.argmax()) == d)
    return 100 * np.mean(right)


def test_answers_equal_a_plain_loop(rng):
    words = [f"w{i}" for i in range(60)]
    vectors = WordVectors(words, rng.normal(size=(60, 3)))
    questions = [tuple(rng.choice(words, 4, replace=False)) for _ in range(200)]
    outcome = score(Analogy("toy", questions), vectors)
    assert outcome.score == pytest.approx(brute_force(vectors, questions, 60))
    assert outcome.score > 0
    near = [q for q in questions if max(vectors.rows(q)) < 40]
    outcome = score(Analogy("toy", questions, among=40), vectors)
    assert (outcome.used, outcome.total) == (len(near), 200)
    assert outcome.score == pytest.approx(brute_force(vectors, near, 40))


def test_missing_words_and_case():
    vectors = WordVectors(["king", "man", "queen", "woman"], np.eye(4)[:, :3] + 1)
    questions = [("Man", "King", "Woman", "Queen"), ("man", "king", "woman", "absent")]
    assert score(Analogy("toy", questions), vectors).used == 1
    assert np.isnan(score(Analogy("toy", questions[1:]), vectors).score)


def test_sections_and_malformed_lines(tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text(": family\na b c d\n: gram1-adverb\ne f g h\ni j k l\n")
    semantic, syntactic, *first = read_analogies(path)
    assert [task.among for task in first] == [30_000, 30_000]
    assert semantic.questions == [("a", "b", "c", "d")]
    assert len(syntactic.questions) == 2
    path.write_text(": family\na b c\n")
    with pytest.raises(InvalidInputError, match="line 2: expected four words"):
        read_analogies(path)


def test_google_analogies_on_glove(glove):
    pytest.importorskip("gensim")
    semantic, syntactic, *_ = read_analogies(datasets.fetch(ANALOGIES_FILE, offline=True))
    assert (len(semantic.questions), len(syntactic.questions)) == (8869, 10675)
    few = score(Analogy("few", semantic.questions[::200]), glove)
    assert few.used == few.total == 45
    assert few.score > 50


def score(task, vectors):
    (outcome,) = Battery([task]).run(vectors).outcomes
    return outcome


@pytest.mark.parametrize("among", [None, 25])
def test_synonyms_are_found_as_by_a_plain_loop(rng, among):
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
            nearest = {words[row] for row in order[:10]}
            expected.append(len(nearest & listed) / min(10, len(listed)))
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
