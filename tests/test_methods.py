"""A method's name means one thing, and what is measured is what is written."""

from __future__ import annotations

import numpy as np
import pytest

import conceptor
from conceptor import compare, evaluate, postprocess
from conceptor.base.errors import InvalidInputError
from conceptor.evaluation import Battery
from conceptor.evaluation.word_tasks import WordSimilarity
from conceptor.fit import FitOptions, fit_methods
from conceptor.methods import METHODS, Method
from conceptor.vectors import open_vectors, write_vectors
from tests.vectors.whole import read_all

WORDS = ["the", "of", "and", "to", "in", *(f"w{i:04d}" for i in range(4000))]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((len(WORDS), 30)) * np.geomspace(2, 0.2, 30) + 0.3
    path = tmp_path_factory.mktemp("methods") / "in.bin"
    write_vectors(path, [(WORDS, X.astype(np.float32))])
    return path


@pytest.fixture(scope="module")
def battery():
    rng = np.random.default_rng(8)
    pairs = [tuple(WORDS[i] for i in rng.integers(0, len(WORDS), 2)) for _ in range(400)]
    return Battery([WordSimilarity("pairs", pairs, rng.normal(size=400))])


NAMES = [name for name in METHODS if name != "original"]


@pytest.mark.parametrize("method", [*NAMES, "abtt:lengths=usage", "hsr:n_components=7"])
def test_compare_measures_what_postprocess_writes(method, file, battery, tmp_path):
    measured = compare(file, [method], battery, resamples=0).evaluations[method]
    target = tmp_path / "out.bin"
    report = postprocess(file, target, method)
    assert report.method == method
    written = evaluate(target, battery)
    assert [o.score for o in measured.outcomes] == [o.score for o in written.outcomes]
    rows = fit_methods(file, [method], wanted=set(WORDS[::7])).rows[method]
    words, vectors = read_all(open_vectors(target))
    places = [words.index(word) for word in rows.words]
    # BLAS may round a row differently among other rows.
    scale = np.abs(vectors).max()
    np.testing.assert_allclose(rows.vectors, vectors[places], atol=1e-6 * scale)


def test_methods_are_frozen_and_their_parameters_checked():
    method = METHODS["abtt"]
    with pytest.raises(AttributeError):
        method.name = "other"
    assert method.with_parameters(n_directions=3).gate.n_directions == 3
    with pytest.raises(InvalidInputError, match="abtt has no parameter aperture"):
        method.with_parameters(aperture=2)
    for wrong in ("abtt:3", "abtt:n_directions=x", "cn:n_components=1.5", "cn:ridge=2"):
        with pytest.raises(InvalidInputError, match=r"must be an integer|no parameter|parameters"):
            Method.parse(wrong)
    for wrong in ("nothing", "cn+abtt", "", "CN"):
        with pytest.raises(InvalidInputError, match="unknown method"):
            Method.parse(wrong)
    for name in ("cn:aperture=0.5", "abtt:n_directions=3:lengths=usage", *METHODS):
        assert str(Method.parse(name)) == name


def test_a_method_of_ones_own(monkeypatch, vectors):
    own = Method("own", "my own", METHODS["cn"].words, "covariance", METHODS["cn"].gate)
    monkeypatch.setitem(METHODS, "own", own)
    assert Method.parse("own:power=1").gate.power == 1
    with pytest.warns(UserWarning, match="own weights words by their frequency"):
        assert conceptor.estimator("own").fit_transform(vectors).shape == vectors.shape


def test_doubts_are_about_running_text(rng):
    """By rank the first words are running text; by counts they may be anywhere, or not known."""
    rows = rng.standard_normal((3000, 10))
    words = [f"{'ab' * (i // 300 + 1)}{i}" for i in range(3000)]
    counts = {word: 1e6 / (i + 3) for i, word in enumerate(words)}
    (sorted_,) = fit_methods((words, rows), ["cn"]).methods.values()
    assert "running text already spreads evenly" in sorted_.doubt
    order = rng.permutation(3000)
    mixed = [words[i] for i in order], rows[order]
    for weights in ("uniform", "zipf"):
        (unsorted,) = fit_methods(mixed, ["cn"], FitOptions(weights)).methods.values()
        assert unsorted.doubt == ""
    rows[:300] += 6  # frequent words share a direction, wherever they are
    others = [f"x{i}" for i in range(20_000)]
    late = [*others, *words], np.concatenate([rng.standard_normal((20_000, 10)), rows])
    for known, is_even in ((counts, False), (dict.fromkeys(others, 1.0), True)):
        (counted,) = fit_methods(late, ["cn"], FitOptions(known)).methods.values()
        assert ("spreads evenly" in counted.doubt) is is_even


def test_a_solution_describes_itself(vectors):
    solution = METHODS["cn-paper"].solve(conceptor.Moments.from_vectors(vectors))
    assert "cn-paper, aperture=2" in repr(solution)
    for thing in (solution.moments, solution.spectrum, solution.map):
        assert repr(thing).startswith(f"{type(thing).__name__}(")
        assert len(repr(thing)) < 200
    whitened = METHODS["whitening"].solve(conceptor.Moments.from_vectors(10 * vectors))
    assert whitened.aperture is None


def test_one_vector_and_no_vectors(vectors):
    for method in (conceptor.ConceptorNegation(), conceptor.estimator("ppa")):
        fitted = method.fit(vectors)
        one = fitted.map_(vectors[3])
        np.testing.assert_allclose(one, fitted.transform(vectors)[3], atol=1e-12)
        np.testing.assert_allclose(fitted.map_(list(vectors[3])), one, atol=1e-12)
        with pytest.raises(ValueError, match="Expected 2D array"):
            fitted.transform(vectors[3])
        assert fitted.transform(vectors[:0]).shape == (0, len(one))
        assert fitted.map_(vectors[:0]).shape == (0, len(one))


def test_keyed_vectors_are_pointed_at_their_array():
    class KeyedVectors:
        index_to_key = ("a",)

    for call in (conceptor.ConceptorNegation().fit, conceptor.Moments.from_vectors):
        with pytest.raises(InvalidInputError, match=r"use kv\.vectors"):
            call(KeyedVectors())
