"""The laws of specs: each is checked against a computation that shares no code with the library."""

from __future__ import annotations

import operator

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import inv
from scipy.optimize import minimize

from conceptor import Conceptor
from conceptor.base.errors import InvalidInputError
from tests.strategies import (
    apertures,
    conceptor_tuples,
    conceptors,
    dimensions,
    factors,
    rotation,
    second_moments,
    seeds,
)

any_conceptor = dimensions.flatmap(conceptors)
soft_conceptor = dimensions.flatmap(lambda n: conceptors(n, soft=True))


def close(C: Conceptor | np.ndarray, B: Conceptor | np.ndarray, tolerance: float = 1e-9) -> bool:
    C, B = (x.matrix if isinstance(x, Conceptor) else x for x in (C, B))
    return bool(np.abs(C - B).max() <= tolerance)


# --- what a conceptor is ---------------------------------------------------------------------


@given(R=dimensions.flatmap(second_moments), aperture=apertures)
def test_closed_form(R, aperture) -> None:
    expected = R @ inv(R + aperture**-2 * np.eye(len(R)))
    assert close(Conceptor.from_second_moment(R, aperture), expected)


def test_it_minimises_its_loss(rng) -> None:
    X = rng.standard_normal((50, 3)) * [3, 1, 0.1]
    aperture = 1.5

    def loss(flat: np.ndarray) -> float:
        C = flat.reshape(3, 3)
        residual = X - X @ C.T
        return float((residual**2).sum(1).mean() + aperture**-2 * (C**2).sum())

    found = minimize(loss, np.zeros(9), method="BFGS", options={"gtol": 1e-9})
    assert close(Conceptor.from_vectors(X, aperture), found.x.reshape(3, 3), 1e-5)


@given(R=dimensions.flatmap(second_moments), scale=factors, aperture=apertures)
def test_scaling_the_data_is_scaling_the_aperture(R, scale, aperture) -> None:
    scaled = Conceptor.from_second_moment(R * scale**2, aperture / scale)
    assert close(scaled, Conceptor.from_second_moment(R, aperture))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_apertures_zero_and_infinity(rng, dtype) -> None:
    X = np.zeros((30, 5), dtype=dtype)
    X[:, :2] = rng.standard_normal((30, 2))
    assert not Conceptor.from_vectors(X, 0.0).matrix.any()
    assert close(Conceptor.from_vectors(X, np.inf), np.diag([1.0, 1, 0, 0, 0]))
    assert Conceptor.from_vectors(X, np.inf).quota == pytest.approx(0.4)


@given(C=any_conceptor)
def test_matrix_round_trip(C) -> None:
    assert close(Conceptor.from_matrix(C.matrix), C, 1e-12)
    assert close(Conceptor.from_matrix(C.matrix.astype(np.float32)), C, 1e-6)


# --- the operators ---------------------------------------------------------------------------


@given(C=any_conceptor)
def test_negation(C) -> None:
    assert close(~C, np.eye(C.dimension) - C.matrix, 1e-13)
    assert (~~C).odds == pytest.approx(C.odds, rel=1e-15)


@given(pair=conceptor_tuples(2, soft=True))
def test_and_or_by_their_inverses(pair) -> None:
    C, B = (x.matrix for x in pair)
    identity = np.eye(len(C))
    assert close(pair[0] & pair[1], inv(inv(C) + inv(B) - identity))
    either = identity - inv(inv(identity - C) + inv(identity - B) - identity)
    assert close(pair[0] | pair[1], either)


@given(
    moments=dimensions.flatmap(lambda n: st.tuples(second_moments(n), second_moments(n))),
    aperture=apertures,
)
def test_or_at_one_aperture_is_the_conceptor_of_both_data(moments, aperture) -> None:
    C, B = (Conceptor.from_second_moment(R, aperture) for R in moments)
    joint = C | B
    assert close(joint, Conceptor.from_second_moment(moments[0] + moments[1], aperture), 1e-7)
    assert joint.aperture == aperture


@given(pair=conceptor_tuples(2))
def test_commutative_and_de_morgan_on_any_rank(pair) -> None:
    C, B = pair
    assert close(C & B, B & C)
    assert close(C | B, B | C)
    assert close(~(C & B), ~C | ~B)
    assert close(~(C | B), ~C & ~B)


@given(triple=conceptor_tuples(3, soft=True))
def test_associative(triple) -> None:
    C, B, A = triple
    assert close((C & B) & A, C & (B & A))
    assert close((C | B) | A, C | (B | A))


@given(C=any_conceptor)
def test_bounds_are_neutral_and_absorbing(C) -> None:
    zero, identity = Conceptor.zero(C.dimension), Conceptor.identity(C.dimension)
    assert close(C & identity, C)
    assert close(C | zero, C)
    assert close(C & zero, zero)
    assert close(C | identity, identity)


@given(C=any_conceptor)
def test_not_idempotent_but_an_aperture_adaptation(C) -> None:
    assert close(C | C, C.phi(np.sqrt(2)))
    assert close(C & C, C.phi(1 / np.sqrt(2)))


def test_three_boolean_laws_do_not_hold() -> None:
    rng = np.random.default_rng(0)
    C, B, A = (Conceptor.from_vectors(rng.standard_normal((9, 3)), 1.0) for _ in range(3))
    assert not close(C & C, C, 0.01)
    assert not close(C & (C | B), C, 0.01)
    assert not close(C & (B | A), (C & B) | (C & A), 0.01)


@given(seed=seeds, dimension=dimensions, kept=st.tuples(*[st.sets(st.integers(0, 7))] * 2))
def test_on_hard_projections_in_one_basis_the_logic_is_boolean(seed, dimension, kept) -> None:
    Q = rotation(dimension, seed)
    masks = [np.isin(np.arange(dimension), list(k)) for k in kept]
    C, B = (Conceptor.from_matrix((Q * mask) @ Q.T) for mask in masks)
    assert close(C & B, (Q * (masks[0] & masks[1])) @ Q.T)
    assert close(C | B, (Q * (masks[0] | masks[1])) @ Q.T)
    assert close(C & C, C)


def exact_and(C: np.ndarray, B: np.ndarray) -> np.ndarray:
    """``B (C + B − C B)⁻¹ C`` with eighty digits."""
    with mpmath.workdps(80):
        c, b = mpmath.matrix(C.tolist()), mpmath.matrix(B.tolist())
        result = b * mpmath.inverse(c + b - c * b) * c
        return np.array(result.tolist(), dtype=float)


def test_and_keeps_its_precision_over_sixteen_orders_of_magnitude(rng) -> None:
    C, B = (Conceptor(10.0 ** -rng.uniform(0, 16, 10), rotation(10, seed), None) for seed in (1, 2))
    assert close(C & B, exact_and(C.matrix, B.matrix), 1e-14)


@given(seed=seeds)
def test_float32_matrices_with_a_common_null_space(seed) -> None:
    """Cutting the rank of such matrices at a threshold gives errors of 0.001 and more."""
    rng = np.random.default_rng(seed)
    Q = rotation(12, seed)[:, :8]
    small = [
        (q * 10 ** -rng.uniform(0, 3, 8)) @ q.T for q in (rotation(8, seed + i) for i in (1, 2))
    ]
    expected = Q @ exact_and(*small) @ Q.T
    C, B = (Conceptor.from_matrix((Q @ c @ Q.T).astype(np.float32)) for c in small)
    assert close(C & B, expected, 1e-6)
    assert close(~C | ~B, np.eye(12) - expected, 1e-6)


# --- aperture adaptation -----------------------------------------------------------------------


@given(C=any_conceptor, gamma=factors, beta=factors)
def test_phi_composes_and_commutes_with_negation(C, gamma, beta) -> None:
    assert C.phi(gamma).phi(beta).odds == pytest.approx(C.phi(gamma * beta).odds, rel=1e-12)
    assert close(~C.phi(gamma), (~C).phi(1 / gamma))


@given(R=dimensions.flatmap(second_moments), aperture=apertures, gamma=factors)
def test_phi_is_the_conceptor_at_another_aperture(R, aperture, gamma) -> None:
    adapted = Conceptor.from_second_moment(R, aperture).phi(gamma)
    assert close(adapted, Conceptor.from_second_moment(R, aperture * gamma))
    assert adapted.aperture == aperture * gamma


@given(C=any_conceptor, p=factors, q=factors)
def test_a_power_is_that_of_the_matrix_and_powers_multiply(C, p, q) -> None:
    values, vectors = np.linalg.eigh(C.matrix)
    values = np.where(values > 1e-9, values, 0.0)  # a small power would blow rounding up
    expected = (vectors * values**p) @ vectors.T
    assert C.power(p).matrix == pytest.approx(expected, abs=1e-6)
    assert close(C.power(p).power(q), C.power(p * q))
    assert close(C.power(1.0), C)


@given(pair=conceptor_tuples(2, soft=True), p=st.floats(0.05, 1.0))
def test_powers_up_to_one_keep_the_order(pair, p) -> None:
    """Löwner & Heinz."""
    C, B = pair
    assert (C & B).power(p) <= C.power(p)
    assert C.power(p) <= (C | B).power(p)


@given(C=any_conceptor)
def test_phi_at_its_ends(C) -> None:
    s = C.singular_values
    assert (C.phi(0.0).singular_values == (s == 1)).all()
    assert (C.phi(np.inf).singular_values == (s > 0)).all()
    assert close(C.phi(1.0), C, 0)


# --- order and measures --------------------------------------------------------------------------


@given(pair=conceptor_tuples(2), gamma=st.floats(1, 10))
def test_order(pair, gamma) -> None:
    C, B = pair
    assert (C & B) <= C <= (C | B)
    assert (C | B) >= B >= (C & B)
    assert Conceptor.zero(C.dimension) <= C <= Conceptor.identity(C.dimension)
    assert C.phi(gamma) >= C
    assert C.phi(1 / gamma) <= C


def test_order_is_partial() -> None:
    C, B = Conceptor.from_matrix(np.diag([1.0, 0.0])), Conceptor.from_matrix(np.diag([0.0, 1.0]))
    assert not C <= B
    assert not B <= C


@given(pair=conceptor_tuples(2))
def test_quota_and_similarity(pair) -> None:
    C, B = pair
    assert C.quota == pytest.approx(np.trace(C.matrix) / C.dimension, abs=1e-12)
    norms = np.linalg.norm(C.matrix) * np.linalg.norm(B.matrix)
    assume(norms > 0)
    expected = np.trace(C.matrix @ B.matrix) / norms
    assert C.similarity(B) == pytest.approx(expected, abs=1e-9)
    assert C.similarity(C) == pytest.approx(1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_evidence(rng, dtype) -> None:
    C = Conceptor.from_vectors(rng.standard_normal((20, 4)), 1.0)
    X = (rng.standard_normal((7, 4)) * 10).astype(dtype)
    expected = [x @ C.matrix @ x / (x @ x) for x in X.astype(float)]
    assert C.evidence(X) == pytest.approx(expected)
    assert C.evidence(np.zeros((1, 4))).tolist() == [0.0]
    assert Conceptor.identity(4).evidence(X) == pytest.approx(np.ones(7))
    for scale in (1e-300, 1e300):
        assert C.evidence(scale * X.astype(float)) == pytest.approx(expected)


# --- errors and words ----------------------------------------------------------------------------


def test_unequal_apertures_combine_and_have_none(rng) -> None:
    X = rng.standard_normal((30, 3))
    mixed = Conceptor.from_vectors(X, 1.0) & Conceptor.from_vectors(X, 3.0)
    s, t = (Conceptor.from_vectors(X, a).matrix for a in (1.0, 3.0))
    assert close(mixed, inv(inv(s) + inv(t) - np.eye(3)))
    assert repr(mixed).startswith("Conceptor(dimension=3, aperture=none, quota=0.")
    assert "aperture=1," in repr(Conceptor.from_vectors(X, 1.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Conceptor.from_vectors(np.eye(2), -1.0), "aperture must be"),
        (lambda: Conceptor.identity(2).phi(-1), "gamma must be"),
        (lambda: Conceptor.identity(2) & Conceptor.identity(3), "of 2 and of 3 dimensions"),
        (lambda: Conceptor.identity(2) <= Conceptor.identity(3), "of 2 and of 3 dimensions"),
        (lambda: Conceptor.from_matrix(np.ones((2, 3))), "square"),
        (lambda: Conceptor.from_matrix(2 * np.eye(2)), "between 0 and 1"),
        (lambda: Conceptor.from_matrix([[0.5, 0.4], [0.1, 0.5]]), "symmetric"),
        (lambda: Conceptor.from_matrix([[np.nan]]), "NaN"),
    ],
)
def test_bad_calls(call, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


@pytest.mark.parametrize("combine", [operator.and_, operator.or_, operator.le, operator.ge])
def test_only_conceptors_combine(combine) -> None:
    for other in (np.eye(2), 1.0, None):
        with pytest.raises(TypeError):
            combine(Conceptor.identity(2), other)


# --- as a value ---------------------------------------------------------------------------------


@given(any_conceptor, seeds)
def test_a_conceptor_applies_itself_and_is_its_matrix(C, seed):
    X = np.random.default_rng(seed).standard_normal((5, C.dimension))
    assert close(C(X), X @ C.matrix)
    assert close(C(X[0]), C(X)[0])
    assert np.array_equal(np.asarray(C), C.matrix)
    assert np.asarray(C, dtype=np.float32).dtype == np.float32


@given(any_conceptor)
def test_equal_conceptors_are_equal(C):
    assert Conceptor.from_matrix(C.matrix) == C
    assert ~~C == C
    assert (C == ~C) == close(C, ~C, 1e-8)
    assert Conceptor.zero(C.dimension + 1) != C
    assert C.matrix.tolist() != C


def test_a_saved_conceptor_comes_back_whole(tmp_path, rng):
    C = ~Conceptor.from_vectors(rng.standard_normal((50, 6)), 3.0) & Conceptor.identity(6)
    C.save(tmp_path / "c.safetensors")
    again = Conceptor.load(tmp_path / "c.safetensors")
    assert np.array_equal(again.matrix, C.matrix)
    assert again.aperture == C.aperture
    (tmp_path / "c.safetensors").write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match="not a saved conceptor"):
        Conceptor.load(tmp_path / "c.safetensors")
