"""A method's name means one thing, and what is measured is what is written."""

from __future__ import annotations

import importlib.util
from dataclasses import fields, replace
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

import conceptor
from conceptor import compare, evaluate, postprocess
from conceptor.algebra.recipes import METHODS, Recipe
from conceptor.cli import evaluation
from conceptor.cli import options as cli_options
from conceptor.cli.groups import MethodOptions
from conceptor.evaluation import Battery
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.fitting import FitOptions, fit_methods
from conceptor.lexicon.files import Lexicon
from conceptor.methods import Method, spectral_methods
from conceptor.vectors import open_vectors, write_vectors

WORDS = ["the", "of", "and", "to", "in", *(f"w{i:04d}" for i in range(4000))]
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", params=["sorted", "alphabetical"])
def file(request, tmp_path_factory):
    rng = np.random.default_rng(7)
    words = WORDS if request.param == "sorted" else sorted(WORDS)
    X = rng.standard_normal((len(words), 30)) * np.geomspace(2, 0.2, 30) + 0.3
    path = tmp_path_factory.mktemp("methods") / f"{request.param}.bin"
    write_vectors(path, [(words, X.astype(np.float32))])
    return path


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lexicon")
    (folder / "syn.txt").write_text("w0001 w0002\nw0003 w0004\n")
    (folder / "ant.txt").write_text("w0005 w0006\n")
    return FitOptions(lexicon=Lexicon((folder / "syn.txt",), (folder / "ant.txt",)))


@pytest.fixture(scope="module")
def battery():
    rng = np.random.default_rng(8)
    pairs = [tuple(WORDS[i] for i in rng.integers(0, len(WORDS), 2)) for _ in range(400)]
    return Battery([WordSimilarity("pairs", pairs, rng.normal(size=400))])


@pytest.mark.parametrize(
    "method",
    [
        *METHODS,
        "cn+counterfit",
        "abtt:n_directions=1+cn",
        "cn:n_components=7+counterfit",
        "hsr:n_components=7",
    ],
)
def test_compare_measures_what_postprocess_writes(method, file, options, battery, tmp_path):
    if method == "sif" and file.stem == "alphabetical":  # says nothing of frequency: both refuse
        for call in (
            lambda: compare(file, [method], battery, options, resamples=0),
            lambda: postprocess(file, tmp_path / "out.bin", method, options),
        ):
            with pytest.raises(conceptor.InvalidInputError, match="sif needs word frequencies"):
                call()
        counts = {word: 1.0 / (i + 1) for i, word in enumerate(WORDS)}
        options = replace(options, weights=counts)
    measured = compare(file, [method], battery, options, resamples=0).evaluations[method]
    target = tmp_path / "out.bin"
    report = postprocess(file, target, method, options)
    assert report.method == method
    written = evaluate(target, battery)
    assert [o.score for o in measured.outcomes] == [o.score for o in written.outcomes]
    rows = fit_methods(file, [method], options, wanted=set(WORDS[::7])).rows[method]
    words, vectors = open_vectors(target).read()
    places = [words.index(word) for word in rows.words]
    np.testing.assert_array_equal(rows.vectors, vectors[places])


@pytest.mark.parametrize("method", spectral_methods())
def test_the_scikit_learn_class_is_the_recipe(method):
    """Each class names its recipe and takes its parameters; the defaults are the registry's."""
    estimators = {
        "cn": conceptor.ConceptorNegation(),
        "cn-paper": conceptor.ConceptorNegation(2.0, power=1.0, unit=False),
        "abtt": conceptor.AllButTheTop(),
        "whitening": conceptor.Whitening(),
        "zipf-whitening": conceptor.Whitening(),
        "pvn": conceptor.PrincipalVarianceNormalization(),
        "hsr": conceptor.HalfSiblingRegression(),
        "ppa": conceptor.PPA(),
        "ew": conceptor.EigenvalueWeighting(),
        "gentle": conceptor.GentleNegation(),
        "renormalization": conceptor.Renormalization(),
    }
    recipe = METHODS[method]
    own = estimators[method].recipe
    assert (own.gate, own.moment) == (recipe.gate, recipe.moment)
    moments = conceptor.Moments.from_vectors(np.random.default_rng(1).normal(size=(50, 6)))
    fitted = estimators[method].fit_moments(moments)
    np.testing.assert_array_equal(fitted.map_.matrix, recipe.solve(moments).map.matrix)


def test_every_front_names_every_method():
    hints = get_type_hints(evaluation.compare, include_extras=True)
    field = next(each for each in fields(MethodOptions) if each.name == "method")
    for each in (field.metadata["option"], hints["methods"].__metadata__[0]):
        assert "`conceptor methods`" in each.help
    assert cli_options.complete_method("") == ["original", *METHODS]
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    page = hooks.methods()
    for name, recipe in METHODS.items():
        assert f"| `{name}` | {recipe.description} |" in page, name


def test_recipes_are_frozen_and_parameters_checked():
    recipe = METHODS["abtt"]
    with pytest.raises(AttributeError):
        recipe.name = "other"
    assert recipe.with_parameters(n_directions=3).gate.n_directions == 3
    with pytest.raises(conceptor.InvalidInputError, match="abtt has no parameter aperture"):
        recipe.with_parameters(aperture=2)
    for wrong in ("abtt:3", "abtt:n_directions=x", "abtt:n_directions=-1", "cn:ridge=2"):
        with pytest.raises(conceptor.InvalidInputError, match=r"n_directions|ridge|parameter"):
            Method.parse(wrong)
    assert all(isinstance(step, Recipe) for step in Method.parse("cn:aperture=0.5+abtt").steps)


def test_a_solution_says_what_it_is(vectors):
    solution = METHODS["cn-paper"].solve(conceptor.Moments.from_vectors(vectors))
    assert "cn-paper, aperture=2" in repr(solution)
    assert solution.variance_removed == pytest.approx(
        1 - (solution.map(vectors) ** 2).sum() / (vectors**2).sum()
    )
    whitened = METHODS["whitening"].solve(conceptor.Moments.from_vectors(10 * vectors))
    assert whitened.aperture is None
    with pytest.raises(conceptor.InvalidInputError, match="has no conceptor"):
        _ = whitened.conceptor


def test_results_show_themselves_in_notebooks(vectors):
    moments = conceptor.Moments.from_vectors(vectors)
    solution = METHODS["cn"].solve(moments)
    for thing in (moments, solution.spectrum, solution.conceptor, solution.map):
        assert type(thing).__name__ in repr(thing)
        assert thing._repr_html_().startswith("<table>")
        assert len(repr(thing)) < 200


def test_one_vector_and_no_vectors(vectors):
    for method in (conceptor.ConceptorNegation(), conceptor.PPA()):
        fitted = method.fit(vectors)
        one = fitted.map_(vectors[3])
        np.testing.assert_allclose(one, fitted.transform(vectors)[3], atol=1e-12)
        np.testing.assert_allclose(fitted.map_(list(vectors[3])), one, atol=1e-12)
        with pytest.raises(ValueError, match="Expected 2D array"):
            fitted.transform(vectors[3])
        assert fitted.transform(vectors[:0]).shape == (0, len(one))
        assert fitted.map_(vectors[:0]).shape == (0, len(one))


def test_keyed_vectors_are_pointed_at_their_array(vectors):
    class KeyedVectors:
        index_to_key = ("a",)

    for call in (conceptor.ConceptorNegation().fit, conceptor.Moments.from_vectors):
        with pytest.raises(conceptor.InvalidInputError, match=r"use kv\.vectors"):
            call(KeyedVectors())
