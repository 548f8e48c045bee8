from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor import Moments
from conceptor.algebra import gates
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.errors import InvalidInputError
from tests.strategies import apertures, dimensions, second_moments, spectra

any_moment = dimensions.flatmap(second_moments)
any_spectrum = dimensions.flatmap(spectra).map(lambda s: np.sort(s)[::-1])


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


@given(values=any_spectrum, aperture=apertures)
def test_negated_conceptor_gate_is_the_papers_formula(values, aperture) -> None:
    expected = aperture**-2 / (values + aperture**-2)
    assert np.allclose(gates.negated_conceptor(values, aperture), expected, rtol=1e-12)


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
