"""Lengths of rows by usage: directions stay, averages become SIF averages, tables round-trip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import conceptor
from conceptor import AffineMap, InvalidInputError, Method, improve, open_vectors, write_vectors
from conceptor.algebra.lengths import Lengths, LengthTable
from conceptor.fitting import FitOptions, fit_methods
from conceptor.vectors import WordVectors
from conceptor.vectors.conversion import convert
from conceptor.weights import RARE, SIF_A, FrequentWords, Weights, rank_weights, shares_of_text
from tests.test_doors import zipf_words


@pytest.fixture(scope="module")
def words():
    return zipf_words(900)


@pytest.fixture(scope="module")
def X(words):  # noqa: N802 - the letter of scikit-learn
    rng = np.random.default_rng(3)
    return (rng.standard_normal((len(words), 8)) + rng.standard_normal(8)).astype(np.float32)


def sif(count):
    shares = rank_weights(0, count)
    return SIF_A / (SIF_A + shares / shares.sum())


def rows_by(method, words, X, weights=None):
    found = fit_methods(WordVectors(words, X), [method], FitOptions(weights))
    fitted = found.methods[method]
    return np.asarray(fitted(words, X)), fitted, found


def test_directions_are_those_of_unit_lengths(words, X):
    default, *_ = rows_by("cn", words, X)
    unit, *_ = rows_by("cn:lengths=unit", words, X)

    def turned(rows):
        rows = rows.astype(np.float64)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    np.testing.assert_allclose(turned(default), turned(unit), atol=1e-6)


def test_plain_averages_are_sif_averages(words, X):
    default, *_ = rows_by("cn", words, X)
    unit, *_ = rows_by("cn:lengths=unit", words, X)
    weights = sif(len(words))
    for some in np.random.default_rng(0).integers(0, len(words), (20, 6)):
        weighted = (weights[some, np.newaxis] * unit[some]).mean(axis=0)
        np.testing.assert_allclose(default[some].mean(axis=0), weighted, rtol=1e-4, atol=1e-7)


def test_lengths_see_counts_not_ranks_where_counts_are_given(words, X):
    counts = {word: float(i + 1) for i, word in enumerate(words)}
    _, fitted, _ = rows_by("cn", words, X, counts)
    total = sum(counts.values())
    shares = np.array([counts[word] / total for word in fitted.lengths.words])
    np.testing.assert_allclose(fitted.lengths.factors, SIF_A / (SIF_A + shares))


def test_shares_are_of_all_text_that_was_counted(words, X):
    counts = dict.fromkeys(words, 10.0) | {words[0]: 500.0}
    without = {"elsewhere": 4000.0}
    _, fitted, _ = rows_by("cn", words, X, counts | without)
    share = 500 / (sum(counts.values()) + 4000)
    known = dict(zip(fitted.lengths.words, fitted.lengths.factors, strict=True))
    assert known[words[0]] == pytest.approx(SIF_A / (SIF_A + share))


def test_sif_twice_is_sif_once(words, X):
    once, *_ = rows_by("cn", words, X)
    twice, *_ = rows_by("cn+sif", words, X)
    np.testing.assert_array_equal(once, twice)


def test_rivals_get_the_same_lengths(words, X):
    plain, *_ = rows_by("abtt", words, X)
    short, fitted, _ = rows_by("abtt+sif", words, X)
    np.testing.assert_allclose(short, plain * sif(len(words))[:, np.newaxis], rtol=1e-5, atol=1e-8)
    assert fitted.is_map
    assert Method.parse("abtt+sif").is_map


def test_a_later_step_sees_rows_before_their_lengths(words, X):
    both, *_ = rows_by("cn+abtt", words, X)
    unit, *_ = rows_by("cn:lengths=unit+abtt", words, X)
    np.testing.assert_allclose(both, unit * sif(len(words))[:, np.newaxis], rtol=1e-4, atol=1e-7)


def test_saved_loaded_applied(words, X, tmp_path):
    write_vectors(tmp_path / "in.npy", [(words, X)])
    report = conceptor.postprocess(
        tmp_path / "in.npy", tmp_path / "out.npy", save_map=tmp_path / "map"
    )
    assert report.lengths == "usage"
    convert(tmp_path / "in.npy", tmp_path / "again.npy", AffineMap.load(tmp_path / "map"))
    written = np.load(tmp_path / "out.npy")
    np.testing.assert_array_equal(written, np.load(tmp_path / "again.npy"))
    # The same rows under other words: the length is that of the word, and 1 for a new one.
    order = np.random.default_rng(0).permutation(len(words))
    write_vectors(tmp_path / "mixed.npy", [([words[i] for i in order], X[order])])
    convert(tmp_path / "mixed.npy", tmp_path / "m.npy", AffineMap.load(tmp_path / "map"))
    np.testing.assert_allclose(np.load(tmp_path / "m.npy"), written[order], rtol=1e-6, atol=1e-7)
    write_vectors(tmp_path / "new.npy", [([f"new{i}" for i in range(len(words))], X)])
    convert(tmp_path / "new.npy", tmp_path / "n.npy", AffineMap.load(tmp_path / "map"))
    unit, *_ = rows_by("cn:lengths=unit", words, X)
    np.testing.assert_allclose(np.load(tmp_path / "n.npy"), unit, rtol=1e-6, atol=1e-7)


def test_a_fitted_map_has_the_lengths_that_postprocess_writes(words, X, tmp_path):
    from conceptor.postprocessing import fit

    write_vectors(tmp_path / "in.bin", [(words, X)])
    conceptor.postprocess(tmp_path / "in.bin", tmp_path / "out.npy")
    fitted, report = fit(tmp_path / "in.bin")
    assert report.lengths == "usage"
    rows = np.concatenate([np.array(r) for _, r in open_vectors(tmp_path / "in.bin").chunks()])
    np.testing.assert_array_equal(fitted.map.map_words(words, rows), np.load(tmp_path / "out.npy"))


HOSTILE = st.lists(st.text(max_size=8), unique=True, max_size=20)


@given(HOSTILE, st.data())
@settings(max_examples=50, deadline=None)
def test_any_table_round_trips(names, data):
    from pathlib import Path
    from tempfile import TemporaryDirectory

    size = len(names)
    positive = st.floats(1e-300, 1e300)
    factors = data.draw(hnp.arrays(np.float64, size, elements=positive))
    map_ = AffineMap(np.eye(3), unit=data.draw(st.booleans()), lengths=LengthTable(names, factors))
    with TemporaryDirectory() as folder:
        path = Path(folder, "map")
        map_.save(path)
        found = AffineMap.load(path)
    assert found.unit == map_.unit
    assert list(found.lengths.words) == names
    np.testing.assert_array_equal(found.lengths.factors, factors)


def test_a_map_without_lengths_is_saved_as_before(tmp_path):
    from safetensors import safe_open

    AffineMap(np.eye(2), unit=True).save(tmp_path / "map")
    with safe_open(tmp_path / "map", framework="numpy") as file:
        assert file.metadata()["format"] == "conceptor.AffineMap/2"
        assert set(file.keys()) == {"matrix", "offset", "bias"}
    assert AffineMap.load(tmp_path / "map").lengths is None


@pytest.mark.parametrize(
    ("words", "factors", "message"),
    [
        (["a"], [1.0, 2.0], "1 words need that many lengths"),
        (["a"], [0.0], "positive and finite"),
        (["a"], [np.inf], "positive and finite"),
    ],
)
def test_impossible_lengths_are_refused(words, factors, message):
    with pytest.raises(InvalidInputError, match=message):
        LengthTable(words, np.array(factors))


def test_a_damaged_table_is_named(tmp_path):
    from safetensors.numpy import load_file, save_file

    AffineMap(np.eye(2), lengths=LengthTable(["a", "b"], np.ones(2))).save(tmp_path / "map")
    parts = load_file(tmp_path / "map")
    parts["length_factors"] = np.ones(3)
    metadata = {"format": "conceptor.AffineMap/3", "provenance": "{}", "unit": "false"}
    save_file(parts, tmp_path / "map", metadata)
    with pytest.raises(InvalidInputError, match="map is damaged: 2 words need"):
        AffineMap.load(tmp_path / "map")
    parts["length_words"] = np.frombuffer(b"[1, 2]", dtype=np.uint8)
    save_file(parts, tmp_path / "map", metadata)
    with pytest.raises(InvalidInputError, match="not a list of words"):
        AffineMap.load(tmp_path / "map")


def test_composition_keeps_lengths_only_where_that_is_exact():
    table = LengthTable(["a"], np.array([0.5]))
    first = AffineMap(2 * np.eye(2), lengths=table)
    turn = AffineMap(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    both = (first @ turn).map_words(["a", "b"], rows)
    np.testing.assert_allclose(both, turn(first.map_words(["a", "b"], rows)))
    with pytest.raises(InvalidInputError, match="shifts nothing"):
        first @ AffineMap(np.eye(2), bias=np.ones(2))


def test_where_usage_is_unknown_lengths_are_one(words, X):
    unit, *_ = rows_by("cn:lengths=unit", words, X, "uniform")
    default, fitted, found = rows_by("cn", words, X, "uniform")
    assert fitted.lengths is None
    assert found.lengths["cn"] is Lengths.UNIT
    assert any("lengths of 1" in note for note in found.notes)
    np.testing.assert_array_equal(default, unit)
    with pytest.raises(InvalidInputError, match="sif needs to know how often"):
        rows_by("abtt+sif", words, X, "uniform")


def test_rows_without_words_have_no_lengths(X):
    better, report = improve(X, "cn", return_report=True)
    assert report.lengths == "unit"
    expected = conceptor.estimator("cn").fit(X).transform(X)
    np.testing.assert_allclose(better, expected, rtol=1e-5, atol=1e-6)


def test_dialogue_trackers_do_not_see_lengths(words, X):
    from conceptor.paper.dialogue.embedding import Embedding

    found = fit_methods(WordVectors(words, X), ["cn", "cn:lengths=unit"], wanted=set(words)).rows
    one, other = (Embedding.from_vectors(found[name], words).units for name in found)
    np.testing.assert_allclose(one, other, atol=2e-7)


def test_exports_map_directions(words, X):
    torch = pytest.importorskip("torch")
    from conceptor.integrations.torch import to_torch

    _, fitted, _ = rows_by("cn", words, X)
    unit, *_ = rows_by("cn:lengths=unit", words, X)
    mapped = to_torch(fitted.map)(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(mapped, unit, atol=1e-5)


@pytest.mark.parametrize("text", ["cn:unit=true", "cn:lengths=unit"])
def test_unit_is_short_for_lengths(text):
    assert str(Method.parse(text)) == "cn:lengths=unit"
    assert str(Method.parse("cn:unit=false")) == "cn:lengths=kept"


def test_unknown_lengths_are_refused():
    with pytest.raises(InvalidInputError, match="lengths must be one of kept, unit, usage"):
        Method.parse("cn:lengths=long")


@pytest.mark.parametrize(
    ("text", "lengths"),
    [("cn", "usage"), ("cn:lengths=unit", "unit"), ("abtt", "kept"), ("abtt+sif", "usage")],
)
def test_a_method_knows_its_lengths(text, lengths):
    assert Method.parse(text).lengths == lengths


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40), st.integers(1, 7))
def test_frequent_words_add_up(names, size):
    """Part by part is the same as at once, also where words come again."""
    usage = Weights("zipf")
    at_once = FrequentWords.of(usage, names, 0, RARE)
    parts = [
        FrequentWords.of(usage, names[start : start + size], start, RARE)
        for start in range(0, len(names), size)
    ]
    added = FrequentWords(least=RARE)
    for part in parts:
        added.add(part)
    assert added.shares.keys() == at_once.shares.keys()
    for word, share in at_once.shares.items():
        assert added.shares[word] == pytest.approx(share)
    table = WordVectors(names, np.zeros((len(names), 2), dtype=np.float32))
    assert shares_of_text(usage, table, RARE) == pytest.approx(at_once.shares)
