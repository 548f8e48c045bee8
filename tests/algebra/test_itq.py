"""ITQ: a rotation, never worse from step to step, the same for the same seed, and worth it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor.algebra.itq import fit_itq
from conceptor.base.errors import InvalidInputError


def rows(count: int = 300, dimension: int = 8, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, dimension)) * np.geomspace(3, 0.3, dimension) + 1


@given(st.integers(0, 50), st.integers(1, 8))
@settings(max_examples=15)
def test_it_is_a_rotation_of_the_principal_axes(seed, bits) -> None:
    X = rows(seed=seed)
    map_ = fit_itq(X, n_bits=bits, n_iterations=5, seed=seed)
    np.testing.assert_allclose(map_.matrix.T @ map_.matrix, np.eye(bits), atol=1e-10)
    np.testing.assert_allclose(map_.offset, X.mean(axis=0))
    axes = np.linalg.eigh(np.cov(X.T))[1][:, ::-1][:, :bits]
    np.testing.assert_allclose(axes @ axes.T @ map_.matrix, map_.matrix, atol=1e-8)


@given(st.integers(0, 50))
@settings(max_examples=10)
def test_no_step_makes_it_worse(seed) -> None:
    X = rows(seed=seed)
    losses = [fit_itq(X, n_iterations=n, seed=seed).provenance["loss"] for n in range(12)]
    assert (np.diff(losses) <= 1e-12).all()
    assert 0 <= losses[-1] < losses[0] < 1


def test_the_loss_is_that_of_signs_at_their_best_scale() -> None:
    X = rows()
    map_ = fit_itq(X)
    Y = map_(X)
    best = min(np.sum((Y - s * np.sign(Y)) ** 2) for s in np.linspace(0, 3, 3001))
    assert map_.provenance["loss"] == pytest.approx(best / np.sum(Y**2), abs=1e-4)


def test_distances_stay_and_the_seed_decides() -> None:
    X = rows()
    Y = fit_itq(X)(X)
    np.testing.assert_allclose(Y @ Y.T, (X - X.mean(0)) @ (X - X.mean(0)).T, atol=1e-9)
    one, again, other = (fit_itq(X, seed=seed).matrix for seed in (3, 3, 4))
    assert (one == again).all()
    assert not np.allclose(one, other)


def test_corners_of_a_rotated_cube_lose_nothing() -> None:
    """The negative control: plain signs lose much."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    X = rng.choice([-1.0, 1.0], (200, 4)) @ turn
    assert fit_itq(X, n_iterations=100).provenance["loss"] < 0.02
    assert 1 - np.abs(X).sum() ** 2 / (X.size * np.sum(X**2)) > 0.1


def test_bad_input_is_refused() -> None:
    for X, options, message in (
        (rows(8), {}, "8 bits need more than 8 rows"),
        (rows(), {"n_bits": 9}, "n_bits is 9, but the rows have 8"),
        (rows(), {"n_iterations": -1}, "n_iterations"),
        (np.full((20, 3), np.inf), {}, "NaN or infinity"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            fit_itq(X, **options)
