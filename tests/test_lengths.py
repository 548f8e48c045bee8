"""Lengths of rows by usage: directions stay, averages become SIF averages, tables round-trip."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import conceptor
from conceptor import AffineMap, write_vectors
from conceptor.base.errors import InvalidInputError
from conceptor.fit import FitOptions, Gathered, fit_methods, gather
from conceptor.methods import Lengths, Method
from conceptor.postprocessing import convert, fit
from conceptor.vectors.files import as_vectors
from conceptor.weights import SIF_A, Weights


@pytest.fixture(scope="module")
def words():
    return [f"w{i}" for i in range(900)]


@pytest.fixture(scope="module")
def X(words):  # noqa: N802 - the letter of scikit-learn
    rng = np.random.default_rng(3)
    return (rng.standard_normal((len(words), 8)) + rng.standard_normal(8)).astype(np.float32)


def rows_by(method, words, X, weights=None):
    fits = fit_methods((words, X), [method], FitOptions(weights))
    fitted = fits.methods[method]
    return np.asarray(fitted(words, X)), fitted, fits


def test_shares_are_of_all_text_that_was_counted(words, X):
    counts = dict.fromkeys(words, 10.0) | {words[0]: 500.0}
    without = {"elsewhere": 4000.0}
    _, fitted, _ = rows_by("cn", words, X, counts | without)
    share = 500 / (sum(counts.values()) + 4000)
    assert fitted.lengths[words[0]] == pytest.approx(SIF_A / (SIF_A + share))


def test_saved_loaded_applied(words, X, tmp_path):
    write_vectors(tmp_path / "in.npy", [(words, X)])
    conceptor.postprocess(tmp_path / "in.npy", tmp_path / "out.npy")
    assert fit(tmp_path / "in.npy", tmp_path / "map").lengths == "usage"
    written = np.load(tmp_path / "out.npy")
    # The same rows under other words: the length is that of the word, and 1 for a new one.
    order = np.random.default_rng(0).permutation(len(words))
    write_vectors(tmp_path / "mixed.npy", [([words[i] for i in order], X[order])])
    convert(tmp_path / "mixed.npy", tmp_path / "m.npy", AffineMap.load(tmp_path / "map"))
    np.testing.assert_allclose(np.load(tmp_path / "m.npy"), written[order], rtol=1e-6, atol=1e-7)
    write_vectors(tmp_path / "new.npy", [([f"new{i}" for i in range(len(words))], X)])
    convert(tmp_path / "new.npy", tmp_path / "n.npy", AffineMap.load(tmp_path / "map"))
    unit, *_ = rows_by("cn:lengths=unit", words, X)
    np.testing.assert_allclose(np.load(tmp_path / "n.npy"), unit, rtol=1e-6, atol=1e-7)


@given(st.dictionaries(st.text(max_size=8), st.floats(1e-300, 1e300), max_size=20))
@settings(max_examples=8)
def test_any_lengths_round_trip(lengths):
    with TemporaryDirectory() as folder:
        path = Path(folder, "map")
        AffineMap(np.eye(3), lengths=lengths).save(path)
        assert AffineMap.load(path).lengths == lengths


def test_wrong_lengths_are_refused(tmp_path):
    for factor in (0.0, np.inf, np.nan):
        with pytest.raises(InvalidInputError, match="positive and finite"):
            AffineMap(np.eye(2), lengths={"a": factor})
    with pytest.raises(InvalidInputError, match="lengths must be one of kept, unit, usage"):
        Method.parse("cn:lengths=long")
    path, metadata = tmp_path / "map", {"format": "conceptor.AffineMap/1", "provenance": "{}"}
    AffineMap(np.eye(2), lengths={"a": 1.0, "b": 1.0}).save(path)
    parts = load_file(path) | {"length_factors": np.ones(3)}
    save_file(parts, path, metadata | {"unit": "false"})
    with pytest.raises(InvalidInputError, match="not a saved map"):
        AffineMap.load(path)
    parts["length_words"] = np.frombuffer(b"[1, 2, 3]", dtype=np.uint8)
    save_file(parts, path, metadata | {"unit": "false"})
    with pytest.raises(InvalidInputError, match="damaged: its lengths do not contain a list"):
        AffineMap.load(path)


def test_composition_keeps_lengths_only_where_that_is_exact():
    first = AffineMap(2 * np.eye(2), lengths={"a": 0.5})
    turn = AffineMap(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    both = (first @ turn).map_words(["a", "b"], rows)
    np.testing.assert_allclose(both, turn(first.map_words(["a", "b"], rows)))
    with pytest.raises(InvalidInputError, match="without lengths, offset or bias"):
        first @ AffineMap(np.eye(2), bias=np.ones(2))


def test_without_frequencies_lengths_are_one(words, X):
    unit, *_ = rows_by("cn:lengths=unit", words, X, "uniform")
    default, fitted, fits = rows_by("cn", words, X, "uniform")
    assert fitted.lengths is None
    assert fitted.lengths_set is Lengths.UNIT
    assert any("lengths of 1" in note for note in fits.notes)
    np.testing.assert_array_equal(default, unit)


def test_rows_without_words_have_no_lengths(X):
    better, report = conceptor.improve(X, "cn", return_report=True)
    assert report.lengths == "unit"
    expected = conceptor.ConceptorNegation().fit(X).transform(X)
    np.testing.assert_allclose(better, expected, rtol=1e-5, atol=1e-6)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40), st.integers(1, 7))
@settings(max_examples=25)
def test_shares_of_text_add_up(names, size):
    """Part by part is the same as at once, also if words are repeated."""
    usage, X = Weights("zipf"), np.ones((len(names), 2))
    at_once, added = gather(as_vectors((names, X)), [], usage=usage), Gathered()
    for start in range(0, len(names), size):
        part = slice(start, start + size)
        added += gather(as_vectors((names[part], X[part])), [], usage=usage, before=start)
    assert added.usage == pytest.approx(at_once.usage)
    assert added.frequent == pytest.approx(at_once.frequent)
    one, other = (each.lengths(usage) for each in (added, at_once))
    assert list(one) == list(other)
    assert one == pytest.approx(other)
