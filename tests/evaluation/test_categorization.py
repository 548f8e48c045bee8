from __future__ import annotations

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets
from conceptor.evaluation import Missing
from conceptor.evaluation.categorization import FILES, Categorization, KMeansStart
from conceptor.vectors.table import WordVectors


@pytest.fixture
def clouds(rng):
    centers = rng.normal(size=(4, 5)) * 3
    labels = rng.integers(0, 4, 200)
    return centers[labels] + rng.normal(size=(200, 5)), labels


def toy(labels, start=KMeansStart.CATEGORIES):
    words = [f"w{i}" for i in range(len(labels))]
    return Categorization("toy", words, [f"c{i}" for i in labels], start)


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
    assert task.score(vectors, Missing.ZERO).score == 75
    nothing = task.score(WordVectors(["x"], np.ones((1, 5))))
    assert (nothing.used, nothing.total) == (0, 200)
    assert np.isnan(nothing.score)


def test_plusplus_is_deterministic_and_blind_to_labels(clouds):
    points, labels = clouds
    vectors = WordVectors([f"w{i}" for i in range(200)], points)
    score = toy(labels, KMeansStart.PLUSPLUS).score(vectors).score
    names = {label: name for name, label in enumerate(dict.fromkeys(labels[::-1]))}
    renamed = toy([names[x] for x in labels], KMeansStart.PLUSPLUS)
    assert renamed.score(vectors).score == renamed.score(vectors).score == score


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
    for name, file in FILES.items():
        task = Categorization.read(name, datasets.fetch(file, data, offline=True))
        outcomes.append((task.score(glove), len(set(task.labels))))
    assert [(o.dataset, o.used, o.total, k) for o, k in outcomes] == [
        ("ESSLLI", 45, 45, 9),
        ("AP", 402, 402, 21),
        ("BM", 4194, 5231, 56),
    ]
    # The specification's mean over the three sets.
    assert np.mean([o.score for o, _ in outcomes]) == pytest.approx(72.94, abs=0.05)
