from __future__ import annotations

import numpy as np
import pytest

from conceptor.explore.plane import Planes, common_words, distinctive_words, spread


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_a_plane_has_two_coordinates_of_mean_square_1(rng, dimension):
    rows = rng.standard_normal((40, dimension)) * 5 + 3
    plane = Planes.fit(rows)
    points = plane(rows)
    assert points.shape == (40, 2)
    assert (points**2).sum(axis=1).mean() == pytest.approx(1)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(plane(rows[5:9]), points[5:9], atol=1e-12)
    assert plane(rows[:0]).shape == (0, 2)


def test_a_plane_is_only_turned_to_match_another(rng):
    rows = rng.standard_normal((50, 5)) * (3, 2, 1, 1, 1)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    reference = Planes.fit(rows)(rows)
    moved = Planes.fit(4 * rows @ turn + 7, reference=reference)
    np.testing.assert_allclose(moved(4 * rows @ turn + 7), reference, atol=1e-10)


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
    cosines = rows @ centers / np.linalg.norm(rows, axis=1, keepdims=True)
    names = common_words(words, cosines)
    assert "1,000" not in ", ".join(names)
    for cluster, name in enumerate(names):
        chosen = [words.index(word) for word in name.split(", ")]
        assert (cosines[chosen].argmax(axis=1) == cluster).all()


def test_clusters_of_texts_are_named_by_their_own_words():
    """Words of all clusters name none, and stop words neither."""
    own = ["wing lift drag", "loan bank money", "cell gene protein"]
    texts = [f"the paper shows results about {own[i % 3]} of {own[i % 3]}" for i in range(30)]
    names = distinctive_words(texts, np.arange(30) % 3)
    assert [set(name.split(", ")) for name in names] == [set(each.split()) for each in own]
    assert distinctive_words(["the", "12", ""], np.array([0, 0, 1])) is None
