from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from conceptor.evaluation.classification import FILES, read_classification
from conceptor.vectors.table import WordVectors


def write(folder, dataset, *parts):
    paths = {}
    for name, lines in zip(FILES[dataset], parts, strict=True):
        paths[name] = folder / name.replace("/", "-")
        paths[name].write_bytes("\n".join(lines).encode("latin-1"))
    return paths


def texts(rng, count):
    """Texts of three words, of which the first tells the class more often than not."""
    lines = []
    for _ in range(count):
        label = int(rng.integers(2))
        told = label if rng.random() < 0.8 else 1 - label
        lines.append(f"{label} {'good' if told else 'bad'} w{rng.integers(5)} café")
    return lines


@pytest.fixture
def vectors(rng):
    words = ["good", "bad", "café", *(f"w{i}" for i in range(5))]
    return WordVectors(words, rng.normal(size=(len(words), 6)))


def test_ten_folds_test_every_text_once(tmp_path, rng, vectors):
    task = read_classification("CR", write(tmp_path, "CR", texts(rng, 300)))
    outcome = task.score(vectors)
    assert (outcome.used, outcome.total) == (300, 300)
    both = zip(task.sentences, task.labels, strict=True)
    told = [("good" in text) == bool(label) for text, label in both]
    assert outcome.score == pytest.approx(100 * np.mean(told), abs=3)


def test_a_test_file_is_scored_as_scikit_learn_does(tmp_path, rng, vectors):
    paths = write(tmp_path, "SST-2", texts(rng, 200), texts(rng, 60), texts(rng, 90))
    task = read_classification("SST-2", paths)
    made, _ = task.texts.averages(vectors)
    train, choose, test = (task.part == part for part in range(3))
    scaled = StandardScaler().fit(made[train]).transform(made)

    def fit(rows, strength):
        return LogisticRegression(C=strength, tol=1e-6).fit(scaled[rows], task.labels[rows])

    best = max(
        (0.01, 0.1, 1.0), key=lambda c: fit(train, c).score(scaled[choose], task.labels[choose])
    )
    expected = fit(train | choose, best).score(scaled[test], task.labels[test])
    outcome = task.score(vectors)
    assert outcome.score == pytest.approx(100 * expected)
    assert outcome.total == 90
