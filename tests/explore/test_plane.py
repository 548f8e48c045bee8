from __future__ import annotations

import numpy as np
import pytest

from conceptor.explore.plane import Clusters, Plane, explained, spread


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_a_plane_has_two_coordinates_of_mean_square_1(rng, dimension):
    rows = rng.standard_normal((40, dimension)) * 5 + 3
    plane = Plane.fit(rows)
    points = plane(rows)
    assert points.shape == (40, 2)
    assert (points**2).sum(axis=1).mean() == pytest.approx(1)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(plane(rows[5:9]), points[5:9], atol=1e-12)
    assert plane(rows[:0]).shape == (0, 2)


def test_a_plane_is_only_turned_to_match_another(rng):
    rows = rng.standard_normal((50, 5)) * (3, 2, 1, 1, 1)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    reference = Plane.fit(rows)(rows)
    moved = Plane.fit(4 * rows @ turn + 7, reference)
    np.testing.assert_allclose(moved(4 * rows @ turn + 7), reference, atol=1e-10)


def test_explained_is_the_share_of_a_regression(rng):
    plane = rng.standard_normal((80, 2))
    assert explained(plane, plane @ [2.0, -1.0] + 0.5) == pytest.approx(1)
    assert explained(plane, np.ones(80)) == 0
    noise, inside = rng.standard_normal(80), np.c_[plane, np.ones(80)]
    r = np.corrcoef(inside @ np.linalg.lstsq(inside, noise)[0], noise)[0, 1]
    assert explained(plane, noise) == pytest.approx(r**2)


@pytest.mark.parametrize(("total", "count"), [(1, 5), (50, 50), (1200, 100), (10**6, 20_000)])
def test_words_on_the_map_are_spread_over_log_rank(total, count):
    rows = spread(total, count)
    assert len(rows) == min(total, count)
    assert rows[0] == 0
    assert (np.diff(rows) > 0).all()
    assert rows[-1] < total


def test_names_of_clusters_are_words_near_their_center(rng):
    centers = np.eye(3)
    rows = np.repeat(centers, 5, axis=0) + 0.3 * rng.standard_normal((15, 3))
    words = [f"w{chr(97 + i)}x" for i in range(15)]
    words[0], rows[0] = "1,000", centers[0]  # not a good name
    clusters = Clusters(centers)
    names = clusters.names(words, rows)
    assert "1,000" not in ", ".join(names)
    for cluster, name in enumerate(names):
        chosen = [words.index(word) for word in name.split(", ")]
        assert (clusters(rows[chosen]) == cluster).all()
