from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets
from conceptor.evaluation import Missing, WordVectors
from conceptor.evaluation.categorization import (
    FILES,
    Categorization,
    KMeansStart,
    lloyd,
    means_by_group,
)


@pytest.fixture
def clouds(rng):
    centres = rng.normal(size=(4, 5)) * 3
    labels = rng.integers(0, 4, 200)
    return centres[labels] + rng.normal(size=(200, 5)), labels


def test_lloyd_ends_where_scikit_learn_ends(clouds):
    points, labels = clouds
    start = means_by_group(points, labels)
    theirs = KMeans(4, init=start, n_init=1, tol=0).fit(points).labels_
    np.testing.assert_array_equal(lloyd(points, start), theirs)


def test_lloyd_ends_at_a_fixed_point(clouds):
    points, labels = clouds
    found = lloyd(points, means_by_group(points, labels))
    np.testing.assert_array_equal(lloyd(points, means_by_group(points, found)), found)


def test_a_cluster_that_loses_its_points_stays_where_it_was():
    points = np.array([[0.0], [0.1], [10.0]])
    # Nothing is nearest to 100, and nothing breaks.
    assert lloyd(points, np.array([[0.0], [10.0], [100.0]])).tolist() == [0, 0, 1]


def test_means_by_group_are_means(rng):
    points, group = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    expected = [points[group == g].mean(axis=0) for g in np.unique(group)]
    np.testing.assert_allclose(means_by_group(points, group), expected)


def toy(labels):
    return Categorization("toy", [f"w{i}" for i in range(len(labels))], [f"c{i}" for i in labels])


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
    task = Categorization("toy", vectors.words, [str(x) for x in labels], KMeansStart.PLUSPLUS)
    assert task.score(vectors).score == task.score(vectors).score
    names = {label: name for name, label in enumerate(dict.fromkeys(labels[::-1]))}
    renamed = Categorization(
        "toy", vectors.words, [str(names[x]) for x in labels], KMeansStart.PLUSPLUS
    )
    assert renamed.score(vectors).score == task.score(vectors).score


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


def test_categorisation_equals_scikit_learn_on_glove(data, glove):
    for name, file in FILES.items():
        task = Categorization.read(name, datasets.fetch(file, data, offline=True))
        rows = glove.rows(task.concepts)
        labels = np.array(task.labels)[rows >= 0]
        points = glove.vectors[rows[rows >= 0]].astype(float)
        kinds = np.unique(labels)
        start = np.array([points[labels == kind].mean(axis=0) for kind in kinds])
        clusters = KMeans(len(kinds), init=start, n_init=1, tol=0).fit(points).labels_
        right = sum(max((labels[clusters == c] == k).sum() for k in kinds) for c in set(clusters))
        assert task.score(glove).score == pytest.approx(100 * right / len(labels))
