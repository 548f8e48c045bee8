from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from conceptor import ConceptorNegation
from conceptor.base.errors import InvalidInputError
from conceptor.inspection import (
    Prediction,
    describe,
    inspect,
    isoscore,
    predict,
    read_record,
)
from conceptor.postprocessing import postprocess
from conceptor.vectors import open_vectors, write_vectors
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


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("conceptor.vectors.files.chunk_rows", lambda _: 64)
    monkeypatch.setattr("conceptor.vectors.vectors.chunk_rows", lambda _: 64)


def direct_partition_ratio(X):
    directions = np.linalg.eigh(X.T @ X)[1]
    Z = np.exp(X @ np.hstack([directions, -directions])).sum(axis=0)
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


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def running_text(X):
    """Return the eigenvalues of the second moment under rank weights, largest first."""
    weights = rank_weights(0, len(X))
    return np.linalg.eigvalsh((X.T * weights) @ X / weights.sum())[::-1]


def test_measures_before_and_after_are_their_definitions(many):
    found = inspect(named(many))
    negation = ConceptorNegation("auto", weights="zipf").fit(many)
    assert (found.count, found.dimension, found.weights) == (20_000, 7, "zipf")
    assert found.aperture == pytest.approx(negation.aperture_)
    assert found.quota == pytest.approx(1 - negation.gate_.mean())
    lengths = np.linalg.norm(many, axis=1)
    assert found.before.norms == pytest.approx((lengths.mean(), lengths.min(), lengths.max()))
    logs = np.log(rank_weights(0, 20_000))
    for side, Y in ((found.before, many), (found.after, negation.transform(many))):
        assert side.partition_ratio == pytest.approx(direct_partition_ratio(Y))
        assert side.isoscore == pytest.approx(direct_isoscore(Y))
        values, directions = np.linalg.eigh(Y.T @ Y)
        shares = values[::-1] / values.sum()
        assert side.eigenvalues == pytest.approx(shares[:5])
        expected = [abs(np.corrcoef(Y @ directions[:, -1 - i], logs)[0, 1]) for i in range(5)]
        assert [abs(r) for r in side.frequency] == pytest.approx(expected)
        values = running_text(Y)
        assert side.participation == pytest.approx(values.sum() ** 2 / (values @ values) / 7)


def test_isotropy_measures_at_their_ends():
    assert isoscore(np.eye(9)) == pytest.approx(1)
    assert isoscore(np.diag([1.0] + [0.0] * 8)) == pytest.approx(0, abs=1e-12)
    assert np.isnan(isoscore(np.zeros((9, 9))))
    assert np.isnan(isoscore(np.eye(1)))


def test_isometries_change_no_measure(rng, many):
    rotation = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    expected = inspect(named(many))
    for moved in (-many, many @ rotation):
        found = inspect(named(moved))
        assert found.before.partition_ratio == pytest.approx(expected.before.partition_ratio)
        assert found.after.partition_ratio == pytest.approx(expected.after.partition_ratio)
        assert found.before.isoscore == pytest.approx(expected.before.isoscore)


def test_correlations_far_from_the_origin_do_not_cancel(rng):
    logs = np.log(rank_weights(0, 3000))
    X = rng.standard_normal((3000, 3))
    X[:, 0] += 1e8 + logs
    expected = abs(np.corrcoef(X[:, 0], logs)[0, 1])
    assert abs(inspect(named(X)).before.frequency[0]) == pytest.approx(expected, abs=1e-4)


def as_numbers(found):
    sides = [np.hstack(list(side.values())) for side in (found["before"], found["after"])]
    return np.hstack([found["count"], found["aperture"], found["quota"], *sides])


def test_chunks_make_no_difference(rng, small_chunks, monkeypatch, tmp_path):
    X = (rng.standard_normal((20_000, 60)) * np.linspace(1, 0.2, 60) + 0.1).astype(np.float32)
    words, _ = named(X)
    write_vectors(tmp_path / "v.bin", [(words, X)], count=20_000)
    source = open_vectors(tmp_path / "v.bin")
    assert len(list(source.chunks())) > 1
    read, parted = inspect(source).to_dict(), inspect((words, X)).to_dict()
    monkeypatch.undo()
    whole = inspect((words, X)).to_dict()
    assert as_numbers(read) == pytest.approx(as_numbers(whole), rel=1e-6, abs=1e-9)
    assert as_numbers(parted) == pytest.approx(as_numbers(whole), rel=1e-6, abs=1e-9)


def test_shared_directions_are_described(rng):
    even = rng.standard_normal((3000, 10))
    common = even + np.linspace(6, 2, 3000)[:, None] * np.ones(10)
    found = inspect(named(common))
    assert (
        f"direction 1 follows word frequency (|r| = {found.before.frequency[0]:.2f})"
        in found.advice
    )
    assert max(map(abs, found.before.frequency)) > 0.8
    few = inspect(named(rng.standard_normal((12, 6)) + 3))  # it may be chance
    assert max(map(abs, few.before.frequency)) > 0.2
    assert "frequency" not in few.advice
    uniform = inspect(named(rng.standard_normal((5000, 20)) + 3), "uniform")
    assert "variance of the words lies in 1 of 20 directions;" in uniform.advice


@pytest.mark.parametrize("count", [1, 4])
def test_few_vectors_are_no_evidence(rng, count):
    found = inspect(named(rng.standard_normal((count, 4)) + 3))
    assert found.advice.startswith("Too few vectors to judge")
    assert f"there are {count}." in found.advice


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_on_a_line_are_seen(rng, dtype):
    line = rng.standard_normal(7).astype(dtype)
    said = "This will not help: all vectors are multiples of a single vector."
    same = inspect(named(np.tile(line, (20_000, 1))))
    assert same.advice == said
    assert np.isnan(same.before.isoscore)
    assert same.before.frequency == [0.0] * 5
    several = inspect(named(np.outer(rng.standard_normal(500), line)))
    assert several.advice == said
    assert several.before.frequency[1:] == [0.0] * 4


def test_vectors_of_zeros_are_seen(tmp_path):
    found = inspect((["one", "two", "three"], np.zeros((3, 4))))
    assert found.advice == "This will not help: all vectors are zero."
    assert (found.aperture, found.quota) == (0.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found.draw(tmp_path / "zeros.svg")


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


def test_words_without_a_count_have_no_say_in_correlations(words, vectors):
    counts = {word: 5.0 + i for i, word in enumerate(words) if i % 3}
    found = inspect((words, vectors), counts).before
    rows_ = [i for i in range(500) if i % 3]
    direction = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    logs = np.log(list(counts.values()))
    expected = abs(np.corrcoef(vectors[rows_] @ direction, logs)[0, 1])
    assert abs(found.frequency[0]) == pytest.approx(expected)


def test_json_and_figures(words, vectors, tmp_path):
    found = inspect((words, vectors), name="toys")
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["vectors"] == "toys"
    assert again["before"]["norms"] == list(found.before.norms)
    assert again["gate"] == found.gate.tolist()
    for name in ("a.svg", "a.png", "a.pdf"):
        found.draw(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_predictions_follow_from_two_traits(rng):
    """Participation of running text as it is; the share of its strongest direction at length 1."""
    X = rng.standard_normal((3000, 30)) * np.linspace(1, 0.2, 30) + 0.4
    found = inspect(named(X))
    p = rank_weights(0, 3000)
    p /= p.sum()
    plain = np.linalg.eigvalsh((X * p[:, None]).T @ X)
    participation = plain.sum() ** 2 / (plain @ plain) / 30
    values = running_text(unit(X))
    assert found.predictions == predict(participation, values.max() / values.sum())
    assert any(each.sign for each in found.predictions.values())
    for family, each in found.predictions.items():
        assert family in found.advice
        assert (each.sign == 0) == (each.record == "")
    assert found.to_dict()["predictions"].keys() == found.predictions.keys()


def test_for_even_vectors_and_without_usage_nothing_is_predicted(rng):
    found = inspect(named(rng.standard_normal((5000, 40))))
    assert found.before.participation > 0.7
    assert not any(each.sign for each in found.predictions.values())
    assert "do not show whether this helps; measure it with compare" in found.advice
    uniform = inspect(named(rng.standard_normal((5000, 20)) + 3), "uniform")
    assert uniform.predictions == {}
    assert "do not show whether this helps" in uniform.advice


@pytest.mark.parametrize(("kind", "method"), [("words", "cn"), ("rows", "gentle"), ("rows", "cn")])
def test_predictions_count_every_set_of_the_record(kind, method):
    sets = read_record()[kind]
    for family, each in predict(0.1, 0.4, method, kind=kind).items():
        measured = [s for s in sets if family in s["changes"].get(method, {})]
        assert each.right + each.level + each.wrong + each.abstained == len(measured)
        assert each.right > each.wrong
    assert not any(p.sign for p in predict(0.6, 0.4, method, kind=kind).values())
    assert not any(p.sign for p in predict(0.1, 0.09, method, kind=kind).values())


def test_the_record_has_the_sets_it_promises():
    record = read_record()
    assert len(record["words"]) >= 12
    assert len(record["rows"]) >= 7
    for kind in record.values():
        names = [each["vectors"] for each in kind]
        assert len({*names}) == len(names)
        for each in kind:
            assert set(each["traits"]) == {"participation", "share"}
            for families in each["changes"].values():
                assert all(low <= change <= high for change, low, high in families.values())
    # Once a wrong prediction: the input table of a transformer does not gain on similarity.
    traits = {each["vectors"]: each["traits"] for each in record["words"]}
    assert predict(**traits["MiniLM input table"])["similarity"].sign == 0
    assert predict(**traits["GloVe 6B 50d"])["similarity"].sign == 1
    assert predict(**traits["GloVe 6B 50d"])["analogy"].sign == -1


def test_predictions_in_words():
    gain, loss, none = (Prediction(sign, 3, 1, 0, 2) for sign in (1, -1, 0))
    assert gain.record == "3 right, 1 undecided, 0 wrong"
    assert none.record == ""
    assert describe({"a": gain, "b": gain, "c": loss, "d": none}) == (
        "It should gain on a, b and lose on c. There is no prediction for d. "
        "Measure it with compare."
    )
    assert describe({"d": none}) == describe({})


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
