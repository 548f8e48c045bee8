from __future__ import annotations

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets
from conceptor.evaluation import Battery, Missing, evaluate
from conceptor.evaluation.analogy import FILE, Analogy, read_analogies
from conceptor.vectors.table import WordVectors


def score(task, vectors, missing=Missing.SKIP):
    (outcome,) = Battery([task]).run(vectors, missing=missing).outcomes
    return outcome


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
    wrong = score(Analogy("toy", questions[1:]), vectors, Missing.ZERO)
    assert (wrong.score, wrong.used, wrong.total) == (0, 0, 1)
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
    semantic, syntactic, *_ = read_analogies(datasets.fetch(FILE, offline=True))
    assert (len(semantic.questions), len(syntactic.questions)) == (8869, 10675)
    few = Analogy("few", semantic.questions[::200])
    for among in (None, 30_000):
        limit = among or len(glove)
        lower = [[word.lower() for word in question] for question in few.questions]
        known = [q for q in lower if all(0 <= row < limit for row in glove.rows(q))]
        outcome = score(Analogy("few", few.questions, among), glove)
        assert outcome.used == len(known)
        assert outcome.score == pytest.approx(brute_force(glove, known, limit), abs=1e-9)
        # Vectors are searched whole, whatever rows are kept.
        assert evaluate(glove, Battery([few]))["few"].score == score(few, glove).score


def test_files_without_any_word_of_the_questions(tmp_path, rng):
    from conceptor.vectors import open_vectors, write_vectors

    write_vectors(tmp_path / "x.txt", [([f"w{i}" for i in range(9)], rng.normal(size=(9, 3)))])
    battery = Battery([Analogy("toy", [("man", "king", "woman", "queen")])])
    (outcome,) = evaluate(open_vectors(tmp_path / "x.txt"), battery).outcomes
    assert (outcome.used, outcome.total) == (0, 1)
    assert np.isnan(outcome.score)
