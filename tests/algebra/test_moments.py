from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from conceptor import Moments
from conceptor.base.errors import InvalidInputError
from tests.strategies import seeds

# Far enough to ruin E[xxᵀ] − mean meanᵀ in float64, near enough to keep the data's own digits.
FAR = 1e6


def naive(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance by the definition, in extended precision."""
    X, w = X.astype(np.longdouble), w.astype(np.longdouble)
    mean = (w[:, None] * X).sum(0) / w.sum()
    deviations = X - mean
    covariance = (w[:, None, None] * deviations[:, :, None] * deviations[:, None, :]).sum(0)
    return mean.astype(float), (covariance / w.sum()).astype(float)


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


@pytest.mark.parametrize(
    ("centre", "dtype"),
    [(0.0, t) for t in (np.float16, np.float32, np.float64, np.int32)]
    + [(FAR, t) for t in (np.float32, np.float64, np.int32)],
)
def test_moments_are_those_of_the_definition(rng, centre, dtype) -> None:
    X = (rng.standard_normal((3000, 7)) * 5 + centre).astype(dtype)
    w = rng.random(3000)
    mean, covariance = naive(X, w)
    m = Moments.from_vectors(X, w)
    assert relative(m.mean, mean) < 1e-14
    assert relative(m.covariance, covariance) < 1e-10
    assert relative(m.second_moment, covariance + np.outer(mean, mean)) < 1e-14
    assert relative(m.gram, m.second_moment * w.sum()) < 1e-14
    assert m.weight == pytest.approx(w.sum())
    assert (m.count, m.dimension) == (3000, 7)


@given(
    seed=seeds,
    cuts=st.lists(st.integers(1, 199), max_size=6, unique=True),
    centre=st.sampled_from([0.0, 1.0, FAR]),
    weighted=st.booleans(),
    order=st.randoms(use_true_random=False),
)
def test_parts_add_up_to_the_whole_in_any_order(seed, cuts, centre, weighted, order) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 4)) + centre
    w = rng.random(200) * (rng.random(200) < 0.8) if weighted else None
    bounds = [0, *sorted(cuts), 200]
    parts = [
        Moments.from_vectors(X[a:b], None if w is None else w[a:b])
        for a, b in itertools.pairwise(bounds)
    ]
    order.shuffle(parts)
    whole, merged = Moments.from_vectors(X, w), sum(parts)
    assert merged.count == whole.count
    assert merged.weight == pytest.approx(whole.weight, rel=1e-12)
    assert relative(merged.mean, whole.mean) < 1e-10
    assert relative(merged.covariance, whole.covariance) < 1e-10
    assert relative(merged.second_moment, whole.second_moment) < 1e-10


def test_blocks_do_not_show_in_the_result(rng) -> None:
    X = rng.standard_normal((9000, 130), dtype=np.float32)  # several blocks, the last one short
    for rows in (X, np.asfortranarray(X)):
        found = Moments.from_vectors(rows).covariance
        assert relative(found, np.cov(X.T.astype(float), bias=True)) < 1e-12


def test_an_integer_weight_is_that_many_copies(vectors, rng) -> None:
    w = rng.integers(0, 4, len(vectors))
    repeated = Moments.from_vectors(np.repeat(vectors, w, axis=0))
    weighted = Moments.from_vectors(vectors, w)
    assert relative(weighted.scatter, repeated.scatter) < 1e-12
    assert weighted.weight == repeated.weight


def test_zero_rows_and_zero_weights_are_fine(vectors) -> None:
    m = Moments.from_vectors(vectors)
    padded = np.vstack([vectors, np.full((3, 12), 77.0)])
    w = np.r_[np.ones(len(vectors)), np.zeros(3)]
    nothing = Moments.from_vectors(np.full((3, 12), 77.0), np.zeros(3))
    for merged in (Moments.from_vectors(padded, w), m + nothing, nothing + m):
        assert relative(merged.mean, m.mean) < 1e-14
        assert relative(merged.scatter, m.scatter) < 1e-12
    with pytest.raises(InvalidInputError, match="all weights are zero"):
        _ = (nothing + nothing).second_moment
    assert not Moments.from_vectors(np.zeros((5, 3))).second_moment.any()


@given(
    X=hnp.arrays(
        np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1e100, 1e100)
    ).filter(lambda X: not 0 < np.abs(X).max() < 1e-100)
)
def test_any_finite_matrix_gives_a_positive_semidefinite_scatter(X) -> None:
    scatter = Moments.from_vectors(X).scatter
    assert np.isfinite(scatter).all()
    assert (scatter == scatter.T).all()
    size = np.abs(X).max() ** 2 * len(X) * X.shape[1]
    assert np.linalg.eigvalsh(scatter)[0] >= -1e-12 * size


@pytest.mark.parametrize(
    ("X", "weights", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], None, "row 0, column 1 is nan"),
        ([[1.0, 2.0], [-np.inf, 1.0]], None, "row 1, column 0 is -inf"),
        ([[1.0, np.nan]], [0], "row 0, column 1 is nan"),
        ([[1e200, 1.0]] * 2 + [[0, 0]], None, "squares overflow"),
        ([[1e-170, 2e-170], [0, 0]], None, "their squares vanish"),
        ([[1.0], [2.0]], [1e-300, 0], "all weights are below 1e-100"),
        (np.empty((0, 3)), None, "X is empty: 0 rows x 3"),
        ([1.0, 2.0], None, "1 dimension"),
        ([["a", "b"]], None, "real numbers"),
        ([[1.0], [2.0]], [1.0, -1.0], "weight 1 is -1"),
        ([[1.0], [2.0]], [np.nan, 1.0], "weight 0 is nan"),
        ([[1.0], [2.0]], [1.0, 1e300], r"only ratios matter\); weight 1 is 1e\+300"),
        ([[1.0], [2.0]], [1.0], "each of the 2 vectors"),
    ],
)
def test_bad_input_is_refused_with_what_and_where(X, weights, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Moments.from_vectors(X, weights)


def test_dimensions_must_agree() -> None:
    with pytest.raises(InvalidInputError, match="2- and of 3-dimensional"):
        Moments.from_vectors([[1.0, 2.0]]) + Moments.from_vectors([[1.0, 2.0, 3.0]])
    for other in (1, np.eye(1)):
        with pytest.raises(TypeError):
            Moments.from_vectors([[1.0]]) + other


def test_equal_vectors_have_no_covariance(rng):
    row = rng.standard_normal(8).astype(np.float32) * 10.0 ** rng.integers(-3, 4)
    found = Moments.from_vectors(np.tile(row, (100, 1)), 1 / (2.7 + np.arange(100)))
    assert not found.covariance.any()
    other = Moments.from_vectors(np.vstack([np.tile(row, (99, 1)), row * np.float32(1.0000002)]))
    assert other.covariance.any(), "the smallest difference that float32 tells is one"


def test_moments_of_unit_vectors_are_those_of_the_divided_rows(rng) -> None:
    X = rng.normal(size=(50, 4)) * rng.uniform(1e-3, 1e3, size=(50, 1))
    X[7] = 0.0
    weights = rng.uniform(size=50)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    divided = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    expected = Moments.from_vectors(divided, weights)
    both = Moments.from_vectors(X[:20], weights[:20], unit=True)
    both += Moments.from_vectors(X[20:], weights[20:], unit=True)
    assert both.second_moment == pytest.approx(expected.second_moment)
    assert both.covariance == pytest.approx(expected.covariance)
    with pytest.raises(InvalidInputError, match="length 1"):
        _ = both + Moments.from_vectors(X)
