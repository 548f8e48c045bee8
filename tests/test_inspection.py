from __future__ import annotations

import json

import numpy as np
import pytest

from conceptor import ConceptorNegation
from conceptor.inspection import inspect, isoscore, partition_ratio
from conceptor.usage import rank_weights, usage


@pytest.fixture
def words():
    return [f"w{i}" for i in range(500)]


def direct_partition_ratio(X):
    directions = np.linalg.eigh(X.T @ X)[1]
    Z = np.exp(X @ directions).sum(axis=0)
    # Eigenvectors have no sign of their own; ours make the largest component positive.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(X.shape[1])])
    Z = np.exp(X @ (directions * signs)).sum(axis=0)
    return Z.min() / Z.max()


def direct_isoscore(X):
    """Rudman et al. 2022, Algorithm 1, step by step."""
    n = X.shape[1]
    rotated = (X - X.mean(axis=0)) @ np.linalg.eigh(np.cov(X.T))[1]
    diagonal = np.diag(np.cov(rotated.T))
    normalised = np.sqrt(n) * diagonal / np.linalg.norm(diagonal)
    defect = np.linalg.norm(normalised - np.ones(n)) / np.sqrt(2 * (n - np.sqrt(n)))
    uniform = (n - defect**2 * (n - np.sqrt(n))) ** 2 / n**2
    return (n * uniform - 1) / (n - 1)


def test_measures_before_and_after_are_their_definitions(words, vectors):
    X = vectors.astype(np.float32)
    found = inspect((words, X))
    negation = ConceptorNegation("auto", weights="zipf").fit(X)
    assert found.aperture == pytest.approx(negation.aperture_)
    logs = np.log(rank_weights(0, 500))
    for side, Y in ((found.before, X), (found.after, negation.transform(X))):
        Y = Y.astype(np.float64)
        assert side.partition_ratio == pytest.approx(direct_partition_ratio(Y), rel=1e-4)
        assert side.isoscore == pytest.approx(direct_isoscore(Y), abs=1e-4)
        lengths = np.linalg.norm(Y, axis=1)
        assert side.norms == pytest.approx((lengths.mean(), lengths.min(), lengths.max()), rel=1e-4)
        values, directions = np.linalg.eigh(Y.T @ Y)
        shares = values[::-1] / values.sum()
        assert side.eigenvalues == pytest.approx(shares[:5], rel=1e-4)
        expected = [abs(np.corrcoef(Y @ directions[:, -1 - i], logs)[0, 1]) for i in range(5)]
        assert [abs(r) for r in side.frequency] == pytest.approx(expected, abs=1e-4)


def test_isotropy_measures_at_their_ends():
    assert isoscore(np.eye(9)) == pytest.approx(1)
    assert isoscore(np.diag([1.0] + [0.0] * 8)) == pytest.approx(0, abs=1e-12)
    assert partition_ratio(np.zeros(4)) == 1.0
    assert partition_ratio(np.array([800.0, 801.0])) == pytest.approx(np.exp(-1))


def test_huge_vectors_do_not_overflow(words, vectors):
    found = inspect((words, 1000 * vectors))
    assert np.isfinite(found.before.partition_ratio)


def test_chunks_make_no_difference(words, vectors, tmp_path):
    from conceptor.vectors import open_vectors, write_vectors

    write_vectors(tmp_path / "v.bin", [(words, vectors.astype(np.float32))], count=500)
    whole = inspect((words, vectors.astype(np.float32)))
    read = inspect(open_vectors(tmp_path / "v.bin"))
    assert read.aperture == pytest.approx(whole.aperture)
    assert read.after.partition_ratio == pytest.approx(whole.after.partition_ratio)


def test_it_says_when_it_will_not_help_and_when_it_will(rng):
    words = [f"w{i}" for i in range(3000)]
    even = rng.standard_normal((3000, 10))
    assert inspect((words, even)).advice.startswith("This will not help you")
    common = even + np.linspace(6, 2, 3000)[:, None] * np.ones(10)
    found = inspect((words, common))
    assert found.advice.startswith("This should help")
    assert max(map(abs, found.before.frequency)) > 0.8
    cured = ConceptorNegation("auto", weights="zipf").fit_transform(common)
    assert inspect((words, cured)).advice.startswith("This will not help you")


def test_vectors_of_zeros_are_seen():
    found = inspect((["one", "two", "three"], np.zeros((3, 4))))
    assert found.advice == "This will not help you: all vectors are zero."
    assert (found.aperture, found.quota) == (0.0, 0.0)


def test_an_unsorted_file_is_noticed(words, vectors):
    found = inspect((sorted(words), vectors))
    assert found.weights == "uniform"
    assert not found.before.frequency
    assert "alphabetical" in found.advice
    counted = inspect((sorted(words), vectors), usage({w: 5.0 + i for i, w in enumerate(words)}))
    assert counted.weights == "counts"
    assert counted.before.frequency


def test_json_and_figures(words, vectors, tmp_path):
    found = inspect((words, vectors), name="toys")
    assert json.loads(json.dumps(found.to_dict()))["vectors"] == "toys"
    for name in ("a.svg", "a.png", "a.pdf"):
        found.draw(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
