"""ITQ: a rotation, never worse from step to step, the same for the same seed, and worth it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.itq import ITQ
from conceptor.algebra.moments import Moments
from conceptor.algebra.recipes import spectral_recipe
from conceptor.base.errors import InvalidInputError


def rows(count: int = 300, dimension: int = 8, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, dimension)) * np.geomspace(3, 0.3, dimension) + 1


@given(st.integers(0, 50), st.integers(1, 8))
def test_it_is_a_rotation_of_the_principal_axes(seed, bits) -> None:
    X = rows(seed=seed)
    found = ITQ.fit(X, n_bits=bits, n_iterations=5, seed=seed).map
    np.testing.assert_allclose(found.matrix.T @ found.matrix, np.eye(bits), atol=1e-10)
    np.testing.assert_allclose(found.offset, X.mean(axis=0))
    left = np.linalg.eigh(np.cov(X.T))[1][:, ::-1][:, :bits]
    np.testing.assert_allclose(left @ left.T @ found.matrix, found.matrix, atol=1e-8)


@given(st.integers(0, 50))
def test_no_step_makes_it_worse(seed) -> None:
    losses = ITQ.fit(rows(seed=seed), n_iterations=20, seed=seed).losses
    assert (np.diff(losses) <= 1e-12).all()
    assert len(losses) == 21
    assert 0 <= losses[-1] < losses[0] < 1


def test_the_loss_is_that_of_signs_at_their_best_scale() -> None:
    X = rows()
    found = ITQ.fit(X)
    Y = found.map(X)
    best = min(np.sum((Y - s * np.sign(Y)) ** 2) for s in np.linspace(0, 3, 3001))
    assert found.losses[-1] == pytest.approx(best / np.sum(Y**2), abs=1e-4)


def test_all_distances_stay_without_fewer_bits() -> None:
    X = rows()
    Y = ITQ.fit(X).map(X)
    np.testing.assert_allclose(Y @ Y.T, (X - X.mean(0)) @ (X - X.mean(0)).T, atol=1e-9)


def test_the_seed_decides() -> None:
    X = rows()
    one, again, other = (ITQ.fit(X, seed=seed).map.matrix for seed in (3, 3, 4))
    assert (one == again).all()
    assert not np.allclose(one, other)


def test_corners_of_a_turned_cube_are_found() -> None:
    """Where a rotation loses nothing, it is found; plain signs lose much."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    X = rng.choice([-1.0, 1.0], (200, 4)) @ turn
    assert ITQ.fit(X, n_iterations=100).losses[-1] < 0.02
    signs = np.sign(X)
    assert 1 - np.abs(X).sum() ** 2 / (X.size * np.sum(X**2)) > 0.1
    assert len(np.unique(signs, axis=0)) <= 16


def test_neighbours_by_bits_are_better_than_by_plain_signs() -> None:
    """The negative control: on uneven rows the unlearned signs do find fewer."""
    X = np.random.default_rng(0).standard_normal((600, 32)) * np.geomspace(4, 0.1, 32)

    def kept(Y: np.ndarray) -> float:
        bits = np.where(Y > 0, 1.0, -1.0)
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        pairs = zip(
            np.argsort(-unit @ unit.T)[:, :11], np.argsort(-bits @ bits.T)[:, :11], strict=True
        )
        return float(np.mean([len({*a} & {*b}) for a, b in pairs]))

    assert kept(ITQ.fit(X).map(X)) > kept(X) + 1


def test_behind_another_map_it_is_one_map(tmp_path) -> None:
    X = rows()
    first = spectral_recipe("gentle").solve(Moments.from_vectors(X)).map
    both = first @ ITQ.fit(first(X)).map
    both.save(tmp_path / "map.safetensors")
    loaded = AffineMap.load(tmp_path / "map.safetensors")
    np.testing.assert_allclose(loaded(X), ITQ.fit(first(X)).map(first(X)), atol=1e-9)
    assert loaded.provenance["steps"][1]["method"] == "itq"


def test_many_rows_are_sampled_and_numbers_may_be_whole() -> None:
    X = np.random.default_rng(0).integers(-5, 6, (20_000, 3))
    assert ITQ.fit(X, n_iterations=2).map.n_out == 3
    assert repr(ITQ.fit(rows(), n_iterations=0)).startswith("ITQ(8 -> 8 bits, loss 0.")


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (rows(8), {}, "8 bits need more than 8 rows"),
        (rows(), {"n_bits": 9}, "n_bits is 9, but the rows have 8"),
        (rows(), {"n_bits": 0}, "n_bits"),
        (rows(), {"n_iterations": -1}, "n_iterations"),
        (np.full((20, 3), np.inf), {}, "NaN or infinity"),
    ],
)
def test_what_cannot_be_fitted(X, options, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ITQ.fit(X, **options)
