"""Backgrounds: p counts pairs, is monotone and honest in the tail, survives saving, and warns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from conceptor.algebra.affine_map import AffineMap
from conceptor.algebra.background import Background, BackgroundWarning, percent_below
from conceptor.base.errors import InvalidInputError


def broad(count: int = 400, dimension: int = 20, seed: int = 0, shift: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dimension)) + shift


def all_cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(rows), 1)]


def test_p_counts_pairs_of_the_background() -> None:
    """An odd number of rows: the fit sees every pair once, and p is the permutation test's."""
    rows = broad(401)
    found = Background.fit(rows, pairs=10**9)
    every = all_cosines(rows)
    assert found.pairs == len(every)
    asked = np.linspace(-1, 1, 301)
    exact = np.array([(1 + (every >= c).sum()) / (1 + len(every)) for c in asked])
    assert np.abs(-np.log10(exact) - found.score(asked)).max() < 0.005
    tail = np.sort(every)[-900:] - 1e-12  # kept one by one, up to rounding
    exact = (1 + np.arange(900, 0, -1)) / (1 + len(every))
    np.testing.assert_allclose(found.p(tail), exact, rtol=1e-9)


def test_the_smallest_p_is_what_the_pairs_support() -> None:
    found = Background.fit(broad(), pairs=4000)
    assert found.floor == 1 / 4001
    assert found.p(1.1) == pytest.approx(found.floor)
    assert found.p(-1.1) == 1
    assert found.p(np.zeros((2, 3))).shape == (2, 3)
    assert np.isnan(found.score(np.nan))
    assert (percent_below(0.5), percent_below(0.001)) == ("50%", "99.9%")
    assert repr(found) == "Background(4,000 pairs of 400 rows)"
    assert found.score([1.0, 1.0 + 1e-9]).max() <= -np.log10(found.floor) + 1e-12
    with pytest.raises(InvalidInputError, match="4,000 background pairs"):
        found.cosine(found.floor / 2)


def test_cosine_is_the_inverse_of_p() -> None:
    found = Background.fit(broad())
    for p in (0.9, 0.5, 0.01, 0.001):
        threshold = found.cosine(p)
        assert 0.98 * p < found.p(threshold) <= p < found.p(threshold - 0.02)


def test_random_pairs_have_a_uniform_p() -> None:
    """The theorem behind one threshold for all embeddings; cosines themselves are not uniform."""
    for shift in (0.0, 2.0):
        found = Background.fit(broad(1200, shift=shift))
        unseen = all_cosines(broad(300, seed=1, shift=shift))
        shares = [(found.p(unseen) <= p).mean() for p in (0.5, 0.1, 0.01)]
        np.testing.assert_allclose(shares, (0.5, 0.1, 0.01), rtol=0.25)
    assert all_cosines(broad(300, shift=2.0)).mean() > 0.6 > all_cosines(broad(300)).mean()


def test_ties_are_counted_together() -> None:
    rows = np.repeat(np.eye(20), 10, axis=0)
    with pytest.warns(BackgroundWarning, match="100% of the background's rows nearly repeat"):
        found = Background.fit(rows)
    share = (1 + (all_cosines(rows) > 0.5).mean() * found.pairs) / (1 + found.pairs)
    assert found.p(1.0) == pytest.approx(share, abs=0.02)  # 200 rows: all pairs but the opposite
    assert found.p(0.0) == 1


def test_near_duplicates_are_noticed() -> None:
    rows = broad(500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Background.fit(rows).duplicates < 0.01
    noise = np.random.default_rng(1).standard_normal(rows.shape) * 0.1
    with pytest.warns(BackgroundWarning, match="use broader rows"):
        assert Background.fit(np.concatenate([rows, rows + noise])).duplicates > 0.9


def test_rows_of_another_kind_are_noticed() -> None:
    found = Background.fit(broad(shift=0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.check(broad(seed=2)) == pytest.approx(0.5, abs=0.05)
    with pytest.warns(BackgroundWarning, match="rows are less alike"):
        assert found.check(broad(seed=2, shift=3.0)) < 0.05
    narrow = Background.fit(broad(shift=3.0))
    with pytest.warns(BackgroundWarning, match="rows are more alike"):
        assert narrow.check(broad(seed=2)) > 0.95


@pytest.mark.parametrize("with_map", [False, True])
def test_it_comes_back_to_the_last_bit(tmp_path, with_map) -> None:
    found = Background.fit(broad())
    path = tmp_path / "saved.safetensors"
    if with_map:
        AffineMap(np.eye(20), provenance={"method": "x"}).save(path, background=found)
        assert AffineMap.load(path).provenance == {"method": "x"}
    else:
        found.save(path)
        with pytest.raises(InvalidInputError, match="its format is"):
            AffineMap.load(path)
    loaded = Background.load(path)
    for name in ("cosines", "counts"):
        assert np.array_equal(getattr(loaded, name), getattr(found, name))
    assert (loaded.pairs, loaded.rows, loaded.duplicates) == (found.pairs, found.rows, 0.0)


def test_files_that_hold_none_are_refused(tmp_path) -> None:
    path = tmp_path / "map.safetensors"
    AffineMap(np.eye(2)).save(path)
    with pytest.raises(InvalidInputError, match="saved without a background"):
        Background.load(path)
    found = Background.fit(broad())
    found.save(path)
    content = path.read_bytes()
    for cut in (0, 7, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(InvalidInputError, match="background"):
            Background.load(path)
    object.__setattr__(found, "counts", found.counts[::-1])
    found.save(path)
    with pytest.raises(InvalidInputError, match="is damaged: a background's cosines must rise"):
        Background.load(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((200, 3)), "at least 100 rows that are not zero; there are 0"),
        (np.ones((99, 3)), "there are 99"),
        (np.full((200, 3), np.nan), "NaN or infinity"),
        (np.ones(5), "one vector per row"),
    ],
)
def test_rows_that_make_none(rows, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Background.fit(rows)
