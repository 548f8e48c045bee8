from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor import ConceptorNegation, Moments
from conceptor.algebra import gates
from conceptor.algebra.gates import leading_aperture, negated_conceptor, scale_free_aperture
from conceptor.algebra.spectrum import Spectrum, isotropy
from conceptor.base.errors import InvalidInputError
from tests.strategies import dimensions, second_moments, spectra

any_moment = dimensions.flatmap(second_moments)
any_spectrum = dimensions.flatmap(spectra).map(lambda s: np.sort(s)[::-1])
positive = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=12).map(np.array)


@given(R=any_moment)
def test_eigenpairs_rebuild_the_matrix(R) -> None:
    spectrum = Spectrum.from_matrix(R)
    size = max(np.abs(R).max(), 1e-300)
    assert np.abs(spectrum.matrix(spectrum.values) - R).max() <= 1e-12 * size
    assert np.allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(len(R)), atol=1e-12)
    assert (np.diff(spectrum.values) <= 0).all()
    assert (spectrum.values >= 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rank_is_that_of_the_data(rng, dtype) -> None:
    X = np.zeros((200, 10), dtype=dtype)
    X[:, 2:5] = rng.standard_normal((200, 3))
    assert Spectrum.from_matrix(Moments.from_vectors(X).second_moment).rank == 3
    turned = X.astype(float) @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
    assert Spectrum.from_matrix(Moments.from_vectors(turned).second_moment).rank == 3
    assert Spectrum.from_matrix(np.zeros((4, 4))).rank == 0


def test_signs_are_settled(rng) -> None:
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    vectors = Spectrum.from_matrix((Q * np.arange(6, 0, -1)) @ Q.T).vectors
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(6)]
    assert (largest > 0).all()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.array([[np.nan]]), "NaN"),
        (np.diag([1.0, -1.0]), "negative eigenvalues"),
    ],
)
def test_what_is_no_moment_is_refused(matrix, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Spectrum.from_matrix(matrix)


@given(values=any_spectrum)
def test_negated_conceptor_gate_at_its_ends(values) -> None:
    assert (gates.negated_conceptor(values, 0.0) == 1).all()
    assert (gates.negated_conceptor(values, np.inf) == (values == 0)).all()


@given(values=any_spectrum, aperture=st.floats(0, np.inf))
def test_the_gate_lies_between_0_and_1_and_suppresses_the_strong_more(values, aperture) -> None:
    gate = gates.negated_conceptor(values, aperture)
    assert ((gate >= 0) & (gate <= 1)).all()
    assert (np.diff(gate) >= 0).all()


def test_hard_and_leveling_gates() -> None:
    values = np.array([8.0, 4.0, 2.0, 1.0])
    level = gates.LevelLeading
    assert gates.drop_leading(values, 2).tolist() == [0, 0, 1, 1]
    assert level(2).coefficients(values, 4).tolist() == [0.25, 0.5, 1, 1]
    assert level(1).coefficients(np.zeros(3), 3).tolist() == [1, 1, 1]
    assert gates.Whiten().coefficients(np.array([4.0, 0.0]), 2).tolist() == [0.5, 0]
    for gate, most in ((gates.DropLeading, 4), (level, 3)):
        gate(most).coefficients(values, 4)
        with pytest.raises(InvalidInputError, match=f"between 0 and {most}"):
            gate(most + 1).coefficients(values, 4)
        with pytest.raises(InvalidInputError, match="an integer of at least 0"):
            gate(-1)


@given(values=positive, scale=st.floats(1e-4, 1e4))
def test_apertures_follow_the_scale_of_vectors_and_ignore_unused_directions(values, scale) -> None:
    """Vectors times s: λ times s², and α² λ stays, which is all a gate depends on."""
    for rule in (lambda values: leading_aperture(values, 0.2), scale_free_aperture):
        assert rule(values * scale**2) * scale == pytest.approx(rule(values), rel=1e-9)
        assert rule(np.append(values, np.zeros(3))) == pytest.approx(rule(values), rel=1e-9)
        assert rule(np.zeros(4)) == 0.0


@given(values=positive, kept=st.floats(0.01, 0.99))
def test_the_leading_direction_keeps_its_share(values, kept) -> None:
    gate = negated_conceptor(values, leading_aperture(values, kept))
    assert gate[values.argmax()] == pytest.approx(kept)
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        leading_aperture(values, 1.0)


@given(values=positive)
def test_auto_gives_a_direction_of_mean_strength_odds_of_one(values) -> None:
    X = np.diag(np.sqrt(values * len(values)))
    cn = ConceptorNegation(unit=False).fit(X)
    assert cn.solution_.aperture**2 * values.mean() == pytest.approx(1.0)
    expected = (1 + values / values.mean()) ** -0.5
    assert np.sort(cn.gate_) == pytest.approx(np.sort(expected))


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_any_unit_of_length_gives_the_same_vectors(rng, scale) -> None:
    X = rng.normal(size=(40, 5)) * [9, 3, 1, 1, 1]
    expected = ConceptorNegation().fit_transform(X)
    assert ConceptorNegation().fit_transform(X * scale) == pytest.approx(expected)


@given(values=positive)
def test_isotropy_is_one_for_equal_directions_and_least_for_a_single_one(values) -> None:
    assert 1 / len(values) - 1e-12 <= isotropy(values) <= 1 + 1e-12
    assert isotropy(np.full(4, 2.0)) == pytest.approx(1.0)
    assert isotropy(np.array([5.0, 0, 0, 0])) == pytest.approx(0.25)
    assert isotropy(np.zeros(3)) == 0.0
    turn = np.linalg.qr(np.vander(values, len(values)) + np.eye(len(values)))[0]
    assert isotropy((turn * values) @ turn.T) == pytest.approx(isotropy(values))
