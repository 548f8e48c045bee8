from __future__ import annotations

import warnings

import numpy as np
import pytest

from conceptor import ConceptorNegation
from conceptor.base.errors import InvalidInputError
from conceptor.inspection import inspect, isoscore, predict
from conceptor.postprocessing import postprocess
from conceptor.vectors import write_vectors
from conceptor.weights import rank_weights


def named(vectors):
    return [f"w{i}" for i in range(len(vectors))], vectors


@pytest.fixture
def words():
    return [f"w{i}" for i in range(500)]


@pytest.fixture
def many(rng):
    """Three chunks of vectors that differ in length, mean and noise."""
    drift = np.linspace(0.3, 1, 20_000)[:, None]
    return (rng.standard_normal((20_000, 7)) * np.arange(1, 8) / 4 + 1) * drift


def direct_isoscore(X):
    """Rudman et al. 2022, Algorithm 1, step by step."""
    n = X.shape[1]
    rotated = (X - X.mean(axis=0)) @ np.linalg.eigh(np.cov(X.T))[1]
    diagonal = np.diag(np.cov(rotated.T))
    normalised = np.sqrt(n) * diagonal / np.linalg.norm(diagonal)
    defect = np.linalg.norm(normalised - np.ones(n)) / np.sqrt(2 * (n - np.sqrt(n)))
    uniform = (n - defect**2 * (n - np.sqrt(n))) ** 2 / n**2
    return (n * uniform - 1) / (n - 1)


def running_text(X):
    """Return the eigenvalues of the second moment under rank weights, largest first."""
    weights = rank_weights(0, len(X))
    return np.linalg.eigvalsh((X.T * weights) @ X / weights.sum())[::-1]


def participation(values):
    return values.sum() ** 2 / (values @ values) / len(values)


def test_measures_before_and_after_are_their_definitions(many):
    found = inspect(named(many))
    negation = ConceptorNegation("auto", weights="zipf").fit(many)
    assert (found.count, found.dimension, found.weights) == (20_000, 7, "zipf")
    assert found.aperture == pytest.approx(negation.solution_.aperture)
    assert found.quota == pytest.approx(1 - negation.gate_.mean())
    lengths = np.linalg.norm(many, axis=1)
    assert found.before.norms == pytest.approx((lengths.mean(), lengths.min(), lengths.max()))
    logs = np.log(rank_weights(0, 20_000))
    for side, Y in ((found.before, many), (found.after, negation.transform(many))):
        assert side.isoscore == pytest.approx(direct_isoscore(Y))
        values, directions = np.linalg.eigh(Y.T @ Y)
        shares = values[::-1] / values.sum()
        assert side.eigenvalues == pytest.approx(shares[:5])
        expected = [abs(np.corrcoef(Y @ directions[:, -1 - i], logs)[0, 1]) for i in range(5)]
        assert [abs(r) for r in side.frequency] == pytest.approx(expected)
        assert side.participation == pytest.approx(participation(running_text(Y)))


def test_isoscore_at_its_ends():
    assert isoscore(np.eye(9)) == pytest.approx(1)
    assert isoscore(np.diag([1.0] + [0.0] * 8)) == pytest.approx(0, abs=1e-12)
    assert np.isnan(isoscore(np.zeros((9, 9))))
    assert np.isnan(isoscore(np.eye(1)))


def test_shared_directions_are_described(rng):
    even = rng.standard_normal((3000, 10))
    common = even + np.linspace(6, 2, 3000)[:, None] * np.ones(10)
    found = inspect(named(common))
    strongest = f"direction 1 follows word frequency (|r| = {found.before.frequency[0]:.2f})"
    assert strongest in found.advice
    assert max(map(abs, found.before.frequency)) > 0.8
    few = inspect(named(rng.standard_normal((12, 6)) + 3))  # it may be chance
    assert max(map(abs, few.before.frequency)) > 0.2
    assert "frequency" not in few.advice
    uniform = inspect(named(rng.standard_normal((5000, 20)) + 3), "uniform")
    assert "variance of the words lies in 1 of 20 directions;" in uniform.advice


def test_few_vectors_are_no_evidence(rng):
    found = inspect(named(rng.standard_normal((4, 4)) + 3))
    assert found.advice.startswith("Too few vectors to judge")
    assert "there are 4." in found.advice


def test_vectors_on_a_line_and_vectors_of_zeros_are_seen(rng, tmp_path):
    line = rng.standard_normal(7).astype(np.float32)
    advice = "This will not help: all vectors are multiples of a single vector."
    same = inspect(named(np.tile(line, (20_000, 1))))
    assert same.advice == advice
    assert np.isnan(same.before.isoscore)
    assert same.before.frequency == [0.0] * 5
    assert inspect(named(np.outer(rng.standard_normal(500), line))).advice == advice
    zeros = inspect((["one", "two", "three"], np.zeros((3, 4))))
    assert zeros.advice == "This will not help: all vectors are zero."
    assert (zeros.aperture, zeros.quota) == (0.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        zeros.draw(tmp_path / "zeros.svg")


def test_an_unsorted_file_is_noticed(words, vectors):
    found = inspect((sorted(words), vectors))
    assert found.weights == "uniform"
    assert not found.before.frequency
    assert "alphabetical" in found.advice
    counted = inspect((sorted(words), vectors), {w: 5.0 + i for i, w in enumerate(words)})
    assert counted.weights == "counts"
    assert counted.before.frequency
    with pytest.raises(InvalidInputError, match="the words are in alphabetical order"):
        inspect((sorted(words), vectors), "zipf", name="toys")


def test_words_without_a_count_are_left_out_of_correlations(words, vectors):
    counts = {word: 5.0 + i for i, word in enumerate(words) if i % 3}
    found = inspect((words, vectors), counts).before
    places = [i for i in range(500) if i % 3]
    direction = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    logs = np.log(list(counts.values()))
    expected = abs(np.corrcoef(vectors[places] @ direction, logs)[0, 1])
    assert abs(found.frequency[0]) == pytest.approx(expected)


def test_predictions_follow_from_two_traits(rng):
    """Participation of running text, and the share of the strongest direction of unit vectors."""
    X = rng.standard_normal((3000, 30)) * np.linspace(1, 0.2, 30) + 0.4
    found = inspect(named(X))
    values = running_text(X / np.linalg.norm(X, axis=1, keepdims=True))
    expected = predict(participation(running_text(X)), values.max() / values.sum())
    assert found.predictions == found.to_dict()["predictions"] == expected
    assert expected["similarity"] == "gain"
    assert expected["analogy"] == "loss"
    assert found.advice.startswith("It should gain on word similarity, sentence similarity, ")
    assert "and lose on analogies; measure it with compare. Half of" in found.advice
    assert "On vectors that were not used for this rule, 14" in found.advice
    assert predict(0.1, 0.4, "gentle") == {"sts": "gain"}
    assert predict(0.6, 0.4) == predict(0.1, 0.09) == predict(0.1, 0.4, "abtt") == {}


def test_for_even_vectors_and_without_usage_nothing_is_predicted(rng):
    found = inspect(named(rng.standard_normal((5000, 40))))
    assert found.before.participation > 0.7
    uniform = inspect(named(rng.standard_normal((5000, 20)) + 3), "uniform")
    for each in (found, uniform):
        assert each.predictions == {}
        assert "do not show whether this helps; measure it with compare" in each.advice


def test_lengths_after_are_those_of_the_file(tmp_path, many):
    """`cn` shortens frequent words, and the statistics show the vectors that are written."""
    words, _ = named(many)
    source = tmp_path / "many.npy"
    write_vectors(source, [(words, many)])
    postprocess(source, tmp_path / "better.npy")
    lengths = np.linalg.norm(np.load(tmp_path / "better.npy"), axis=1)
    after = inspect(source).after.norms
    assert after == pytest.approx((lengths.mean(), lengths.min(), lengths.max()), rel=1e-5)
    assert lengths.min() < lengths.max() / 5
