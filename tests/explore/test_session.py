from __future__ import annotations

import shlex

import numpy as np
import pytest

from conceptor import AffineMap, InvalidInputError
from conceptor.explore import projection
from conceptor.explore.answers import Settings
from conceptor.explore.session import APERTURE_SPAN, Session
from conceptor.explore.table import Table
from conceptor.fitting import fit_methods
from tests.explore.conftest import toy_vectors


def test_what_is_shown_is_what_postprocess_writes(session, table):
    for method in ("cn", "cn-paper", "abtt", "zipf-whitening"):
        fitted = fit_methods(table.vectors, [method]).methods[method]
        shown = session.solution(Settings(method))
        np.testing.assert_allclose(shown.map.matrix, fitted.map.matrix, atol=1e-12)
        np.testing.assert_allclose(shown.map.offset, fitted.map.offset, atol=1e-12)


def test_the_command_gives_the_map_that_is_shown(session, table):
    settings = Settings("cn", aperture=3.25)
    parts = shlex.split(session.solve(settings).command)
    assert parts[:4] == ["conceptor", "postprocess", "toys.bin", "better.bin"]
    method = parts[parts.index("--method") + 1]
    fitted = fit_methods(table.vectors, [method]).methods[method]
    np.testing.assert_array_equal(session.solution(settings).map.matrix, fitted.map.matrix)
    assert "--weights uniform" in session.solve(Settings("cn", weights="uniform")).command


def test_the_slider_reaches_both_ends_and_no_further(session):
    slider = session.solve(session.default).slider
    assert slider.value == pytest.approx(slider.marks["automatic"])
    for end in (slider.least, slider.most):
        solved = session.solve(Settings("cn", aperture=end))
        assert solved.slider.value == pytest.approx(end)
        assert session.neighbours(Settings("cn", aperture=end), ["bank"], [], 3).after
    with pytest.raises(InvalidInputError, match="beyond the slider"):
        session.solve(Settings("cn", aperture=slider.most * 1.1))
    assert slider.most / slider.marks["automatic"] == pytest.approx(APERTURE_SPAN)


def test_more_aperture_keeps_less_and_evens_out(session):
    slider = session.solve(session.default).slider
    answers = [
        session.solve(Settings("cn", aperture=a))
        for a in np.geomspace(slider.least, slider.most, 6)
    ]
    gates = np.array([answer.gate for answer in answers])
    assert (np.diff(gates, axis=0) <= 1e-12).all()
    evenness = [answer.participation_after for answer in answers]
    assert evenness == sorted(evenness)
    assert len({answer.participation_before for answer in answers}) == 1


def test_directions_are_told_by_frequency(session, table):
    """The shared direction of the toy vectors follows frequency, and cn keeps least of it."""
    found = session.directions(session.default).directions
    assert abs(found[0].frequency) > 0.5 > max(abs(each.frequency) for each in found[1:])
    assert found[0].kept == min(each.kept for each in found)
    rows = table.rows / table.lengths[:, None]
    along = rows @ session.solution(session.default).spectrum.vectors[:, 0]
    assert found[0].high[0] == table.words[int(along.argmax())]
    assert found[0].low[0] == table.words[int(along.argmin())]


def test_the_map_loses_its_frequency_axis(session):
    points = session.points(session.default, ["bank"], [], "pca")
    assert points.frequency_before > 0.4 > 0.1 > points.frequency_after
    assert [points.words[i] for i in points.query] == ["bank"]
    near = session.neighbours(session.default, ["bank"], [], 10)
    expected = {n.word for n in (*near.before, *near.after)}
    assert {points.words[i] for i in points.neighbours} == expected
    for side in (points.before, points.after):
        spread = (np.array(side) ** 2).sum(axis=1).mean()
        assert spread == pytest.approx(1, abs=1e-3)


def test_planes_are_turned_and_scaled_only(rng):
    plane = rng.standard_normal((50, 2)) * (3, 1)
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    moved = 4 * plane @ turn + 7
    np.testing.assert_allclose(
        projection.align(moved, plane), projection.align(plane, plane), atol=1e-12
    )


def test_explained_is_the_share_of_a_regression(rng):
    plane = rng.standard_normal((80, 2))
    values = plane @ [2.0, -1.0] + 0.5
    assert projection.explained(plane, values) == pytest.approx(1)
    assert projection.explained(plane, np.ones(80)) == 0
    noise = rng.standard_normal(80)
    r = np.corrcoef(
        np.linalg.lstsq(np.c_[plane, np.ones(80)], noise)[0] @ np.c_[plane, np.ones(80)].T, noise
    )
    assert projection.explained(plane, noise) == pytest.approx(r[0, 1] ** 2)


def test_concepts_combine_and_contain(session):
    lists = {
        "wet": ["river", "water"],
        "money": ["bank", "banks"],
        "both": ["river", "water", "bank"],
    }
    found = session.concepts(session.default, lists, "wet or money", 3.0)
    assert found.names == list(lists)
    similarity = np.array(found.similarity)
    np.testing.assert_allclose(np.diag(similarity), 1)
    np.testing.assert_allclose(similarity, similarity.T)
    assert similarity[0, 2] > similarity[0, 1]
    given = [each.word for each in found.words if each.given]
    assert {"river", "water", "bank", "banks"} <= set(given)
    evidence = [each.evidence for each in found.words]
    assert evidence == sorted(evidence, reverse=True)
    without = session.concepts(session.default, lists, "both and not wet", 3.0)
    assert without.words[0].word in ("bank", "banks", "a&b")
    with pytest.raises(InvalidInputError, match="dry"):
        session.concepts(session.default, lists, "wet and dry", 3.0)


def test_two_files_are_before_and_after(table):
    other = Table("better", toy_vectors(800, seed=9), "better.bin")
    session = Session(table, other)
    assert session.default.method == "file"
    found = session.neighbours(session.default, ["bank"], [], 5)
    assert all(near.word in other.vectors for near in found.after)
    solved = session.solve(session.default)
    assert (solved.slider, solved.command) == (None, "")
    points = session.points(session.default, ["bank"], [], "pca")
    assert all(word in other.vectors and word in table.vectors for word in points.words)
    assert session.solution(Settings("cn")) is not None


@pytest.mark.parametrize("method", ["nothing", "counterfit", "hsr"])
def test_methods_that_are_no_map_are_refused(table, method):
    with pytest.raises(InvalidInputError, match="the page can show cn"):
        Session(table, methods=[method])


def test_a_saved_map_is_the_one_shown(session, tmp_path):
    solution = session.solution(Settings("abtt", directions=3))
    solution.map.save(tmp_path / "m.safetensors")
    loaded = AffineMap.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.matrix, solution.map.matrix)
    assert np.linalg.matrix_rank(loaded.matrix) == loaded.n_in - 3
