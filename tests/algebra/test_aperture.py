from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conceptor import ConceptorNegation, Moments
from conceptor.algebra.aperture import isotropy, leading_aperture, scale_free_aperture
from conceptor.algebra.gates import negated_conceptor
from conceptor.base.errors import InvalidInputError

positive = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=12).map(np.array)
scales = st.floats(1e-4, 1e4)

RULES = {
    "leading": lambda values: leading_aperture(values, 0.2),
    "scale-free": lambda values: scale_free_aperture(values, 0.7),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(values=positive, scale=scales)
@example(values=np.array([1e-3, 1e-3]), scale=1e-4)
def test_scaling_the_vectors_scales_the_aperture_back(rule, values, scale):
    """Vectors times s: λ times s², and α² λ stays, which is all a gate depends on."""
    assert rule(values * scale**2) * scale == pytest.approx(rule(values), rel=1e-9)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(values=positive)
def test_directions_that_nothing_uses_have_no_say(rule, values):
    padded = np.concatenate([values, np.zeros(3)])
    assert rule(padded) == pytest.approx(rule(values), rel=1e-9)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_no_variance_is_no_aperture(rule):
    assert rule(np.zeros(4)) == 0.0


@given(values=positive, kept=st.floats(0.01, 0.99))
def test_what_is_kept_of_the_first_direction_is_met(values, kept):
    gate = negated_conceptor(values, leading_aperture(values, kept))
    assert gate[values.argmax()] == pytest.approx(kept)


def test_a_share_that_is_kept_is_between_nothing_and_all():
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        leading_aperture(np.ones(3), 1.0)


@given(values=positive)
def test_auto_gives_a_direction_of_mean_strength_odds_of_one(values):
    X = np.diag(np.sqrt(values * len(values)))
    cn = ConceptorNegation(unit=False).fit(X)
    assert cn.aperture_**2 * values.mean() == pytest.approx(1.0)
    expected = (1 + values / values.mean()) ** -0.5
    assert np.sort(cn.gate_) == pytest.approx(np.sort(expected))


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1.0, 1e20, 1e150])
def test_any_unit_of_length_gives_the_same_vectors(rng, scale):
    X = rng.normal(size=(40, 5)) * [9, 3, 1, 1, 1]
    expected = ConceptorNegation().fit_transform(X)
    assert ConceptorNegation().fit_transform(X * scale) == pytest.approx(expected)
    if 1e-100 < scale < 1e100:  # their squares are numbers
        plain = ConceptorNegation(unit=False)
        assert plain.fit_transform(X * scale) / scale == pytest.approx(plain.fit_transform(X))


@given(values=positive)
def test_isotropy_is_one_for_equal_directions_and_least_for_a_single_one(values):
    assert 1 / len(values) - 1e-12 <= isotropy(values) <= 1 + 1e-12
    assert isotropy(np.full(4, 2.0)) == pytest.approx(1.0)
    assert isotropy(np.array([5.0, 0, 0, 0])) == pytest.approx(0.25)
    assert isotropy(np.zeros(3)) == 0.0


def test_moments_of_vectors_of_length_one_are_those_of_the_divided_rows(rng):
    X = rng.normal(size=(50, 4)) * rng.uniform(1e-3, 1e3, size=(50, 1))
    X[7] = 0.0
    weights = rng.uniform(size=50)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    divided = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    found = Moments.from_vectors(X, weights, unit=True)
    expected = Moments.from_vectors(divided, weights)
    assert found.second_moment == pytest.approx(expected.second_moment)
    assert found.mean == pytest.approx(expected.mean)
    both = Moments.from_vectors(X[:20], weights[:20], unit=True)
    both += Moments.from_vectors(X[20:], weights[20:], unit=True)
    assert both.covariance == pytest.approx(expected.covariance)
    with pytest.raises(InvalidInputError, match="length 1"):
        _ = found + Moments.from_vectors(X)
