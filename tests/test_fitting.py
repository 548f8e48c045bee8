"""Fits: the same bits however the rows come, the same map as by hand, and what users are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conceptor import ConceptorNegation
from conceptor.base.errors import InvalidInputError
from conceptor.fit import FitOptions, fit_methods, gather
from conceptor.methods import METHODS, as_methods
from conceptor.vectors.files import as_vectors
from conceptor.vectors.vectors import Rows
from conceptor.weights import Weights, rank_weights

ROWS, DIMENSION = 45_000, 40


@pytest.fixture(scope="module")
def large() -> tuple[list[str], np.ndarray]:
    """Words that grow with rank, and rows that share a direction."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((ROWS, DIMENSION)) * np.geomspace(1, 0.05, DIMENSION) + 0.1
    words = ["x" * (1 + int(np.log2(i + 2)) + i % 3) + f"{i:05d}" for i in range(ROWS)]
    return words, rows.astype(np.float32)


def cut(table, sizes):
    """Return the same vectors in chunks of these sizes."""
    words, rows = table

    def read():
        start, number = 0, 0
        while start < len(words):
            stop = start + sizes[number % len(sizes)]
            yield Rows(words[start:stop], rows[start:stop])
            start, number = stop, number + 1

    return replace(as_vectors(table), read=read)


@pytest.mark.parametrize(("size", "threads"), [(1000, 5), (None, 1)])
def test_sums_have_the_same_bits_for_any_chunks_and_threads(large, rng, size, threads, monkeypatch):
    weights = [Weights("zipf", unit=True), Weights(), Weights(top=40_000)]
    expected = gather(as_vectors(large), weights)
    sizes = rng.integers(1, 9000, 50).tolist() if size is None else [size]
    monkeypatch.setattr("conceptor.base.threads.processors", lambda: threads)
    gathered = gather(cut(large, sizes), weights)
    assert gathered.count == expected.count == ROWS
    for each in weights:
        assert gathered.of(each).scatter.tobytes() == expected.of(each).scatter.tobytes()
        assert gathered.of(each).mean.tobytes() == expected.of(each).mean.tobytes()


def test_directions_without_data_do_not_count_as_weak_ones(large):
    """Rounding would fill the last dimensions, and the aperture would count them."""
    words, rows = large
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((DIMENSION, DIMENSION)))[0]
    flat = (rows * (np.arange(DIMENSION) < 30)).astype(np.float64)
    whole = fit_methods((words, flat), ["cn"]).methods["cn"].solution
    turned = fit_methods((words, flat @ turn), ["cn"]).methods["cn"].solution
    assert whole.spectrum.rank == turned.spectrum.rank == 30
    assert turned.aperture == pytest.approx(whole.aperture, rel=1e-9)


@pytest.fixture
def space(rng):
    X = rng.standard_normal((200, 6)) * [3, 2, 1, 1, 0.5, 0.5] + 1
    return [f"w{i}" for i in range(200)], X.astype(np.float32)


def test_several_methods_in_one_pass_are_the_same_as_one_by_one(space, monkeypatch):
    monkeypatch.setattr("conceptor.weights.FUNCTION_WORDS", set(space[0][:9]))
    names = [*METHODS, "cn:n_components=3", "abtt:lengths=usage"]
    together = fit_methods(space, names, wanted=set(space[0][::7]), first=3)
    assert together.count == 200
    for name in names:
        alone = fit_methods(space, [name], wanted=set(space[0][::7]), first=3)
        rows = together.rows[name]
        np.testing.assert_array_equal(rows.vectors, alone.rows[name].vectors)
        assert rows.words == [w for i, w in enumerate(space[0]) if i < 3 or i % 7 == 0]
    np.testing.assert_array_equal(together.rows["original"].vectors[:3], space[1][:3])


def test_names_are_unique_and_must_be_known(space):
    assert list(as_methods(["cn", "abtt", "cn"])) == ["cn", "abtt"]
    with pytest.raises(InvalidInputError, match="no method was named"):
        as_methods([])
    with pytest.raises(InvalidInputError, match="none of the words to fit on"):
        fit_methods(space, ["cn"], FitOptions(weights={"elsewhere": 1.0}))
    with pytest.raises(InvalidInputError, match="its rows have no words, but hsr needs words"):
        fit_methods(space[1], ["hsr"])


def test_notes_name_the_words_the_apertures_and_the_lengths(space):
    fits = fit_methods(space, ["original", "cn", "cn-paper"], FitOptions(weights="zipf"))
    assert (
        "cn: fitted on all words, weighted by rank in the file (200 of 200 vectors)" in fits.notes
    )
    assert "cn-paper: aperture 2" in fits.notes
    assert any(note.startswith("cn: lengths by usage") for note in fits.notes)


def test_lengths_by_usage_make_plain_averages_those_of_sif(rng):
    words = [f"w{i}" for i in range(2000)]
    X = rng.normal(size=(2000, 5))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    share = rank_weights(0, 2000)
    factors = (1e-3 / (1e-3 + share / share.sum()))[:, None]
    names = ["original:lengths=usage", "cn"]
    sif, cn = fit_methods((words, X), names, FitOptions(weights="zipf")).methods.values()
    np.testing.assert_allclose(sif(words, X), unit * factors, rtol=1e-3)
    after = ConceptorNegation().fit(X, sample_weight=share).transform(X) * factors
    np.testing.assert_allclose(cn(words, X), after, rtol=1e-3)
    counts = FitOptions(weights=dict.fromkeys(words[:3], 1.0))
    counted = fit_methods((words, X), names[:1], counts).methods[names[0]](words, X)
    np.testing.assert_allclose(counted[:3], unit[:3] * 1e-3 / (1e-3 + 1 / 3))
    np.testing.assert_allclose(counted[3:], unit[3:])
