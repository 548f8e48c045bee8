from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from conceptor import Conceptor, ConceptorClassifier, InvalidInputError


@parametrize_with_checks([ConceptorClassifier(), ConceptorClassifier(aperture=3.0, bias=True)])
def test_scikit_learn_accepts_it(estimator, check) -> None:
    check(estimator)


def test_the_evidence_is_the_formula() -> None:
    """By the operators themselves, on vectors with the constant written out."""
    X, y = load_iris(return_X_y=True)
    model = ConceptorClassifier(aperture=2.0).fit(X, y)
    size = np.sqrt((X**2).sum(axis=1).mean())
    Z = np.column_stack([X, np.full(len(X), size)])
    C = [Conceptor.from_vectors(Z[y == label], 2.0) for label in range(3)]
    for label in range(3):
        others = [C[other] for other in range(3) if other != label]
        expected = C[label].evidence(Z) + (~(others[0] | others[1])).evidence(Z)
        np.testing.assert_allclose(model.evidence(X)[:, label], expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.evidence(X).argmax(axis=1))


def test_classes_added_later_are_as_if_they_had_been_there() -> None:
    X, y = load_digits(return_X_y=True)
    whole = ConceptorClassifier().fit(X, y)
    parts = ConceptorClassifier()
    early = y < 7
    parts.partial_fit(X[early][::2], y[early][::2])
    assert set(parts.predict(X)) <= set(range(7))
    parts.partial_fit(X[early][1::2], y[early][1::2]).partial_fit(X[~early], y[~early])
    np.testing.assert_array_equal(parts.classes_, whole.classes_)
    np.testing.assert_allclose(parts.evidence(X), whole.evidence(X), atol=1e-8)


def test_a_weight_is_so_many_copies(rng) -> None:
    X, y = load_iris(return_X_y=True)
    counts = rng.integers(0, 4, len(y))
    weighted = ConceptorClassifier().fit(X, y, sample_weight=counts)
    copies = ConceptorClassifier().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.evidence(X), copies.evidence(X), atol=1e-9)


def test_it_learns_digits() -> None:
    X, y = load_digits(return_X_y=True)
    assert cross_val_score(ConceptorClassifier(), X, y, cv=3).mean() > 0.95
    mixed = np.random.default_rng(0).permutation(y)
    assert cross_val_score(ConceptorClassifier(), X, mixed, cv=3).mean() < 0.2


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_automatic_aperture_does_not_see_the_scale(scale) -> None:
    X, y = load_iris(return_X_y=True)
    np.testing.assert_allclose(
        ConceptorClassifier().fit(X, y).evidence(X),
        ConceptorClassifier().fit(X * scale, y).evidence(X * scale),
        atol=1e-8,
    )


@pytest.mark.parametrize("aperture", ["wide", 0, -1.0, None, float("nan")])
def test_apertures_that_make_no_sense(aperture) -> None:
    with pytest.raises(InvalidInputError, match="aperture must be"):
        ConceptorClassifier(aperture=aperture).fit([[1.0], [2.0]], [0, 1])


def test_vectors_of_zeros_and_no_fit() -> None:
    with pytest.raises(NotFittedError):
        ConceptorClassifier().evidence([[1.0]])
    model = ConceptorClassifier(bias=False).fit(np.zeros((4, 2)), [0, 0, 1, 1])
    assert np.isfinite(model.evidence(np.zeros((1, 2)))).all()
