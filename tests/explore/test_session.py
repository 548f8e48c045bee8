from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from conceptor import AffineMap, InvalidInputError
from conceptor.concepts.found import UnknownWordsError
from conceptor.data import registry
from conceptor.evaluation.analogy import FILE as ANALOGIES
from conceptor.evaluation.analogy import read_analogies
from conceptor.evaluation.battery import Battery
from conceptor.evaluation.own import read_words
from conceptor.evaluation.similarity import FILES
from conceptor.explore import projection, scores
from conceptor.explore.answers import Settings
from conceptor.explore.fitted import APERTURE_SPAN
from conceptor.explore.search import RowSearch
from conceptor.explore.session import Session
from conceptor.explore.table import PageTable
from conceptor.fitting import FitOptions, fit_methods
from conceptor.vectors import WordVectors
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


def test_quick_figures_are_those_of_the_benchmarks(data):
    tasks = [
        read_words(title, Path(data, FILES[name]))
        for name, title in (("WS", "WordSim-353"), ("SimLex", "SimLex-999"))
    ]
    words = sorted(set().union(*(task.words for task in tasks)))[::2]
    rows = np.random.default_rng(5).standard_normal((len(words), 6)).astype(np.float32)
    first, second = WordVectors(words, rows), WordVectors(words[100:], rows[:-100])
    session = Session(
        PageTable("a", first), PageTable("b", second), ["abtt"], FitOptions(data=data)
    )
    mapped = first.with_vectors(session.solution(Settings("abtt")).map(rows))
    for settings, after in ((Settings("abtt"), mapped), (session.default, second)):
        for task, found in zip(tasks, session.solve(settings).scores, strict=True):
            expected = task.score(after)
            pairs = f"{expected.used:,} of {expected.total:,} pairs"
            assert (found.dataset, found.note) == (task.dataset, f"Spearman × 100, {pairs}")
            assert found.before == pytest.approx(task.score(first).score)
            assert found.after == pytest.approx(expected.score)


def test_the_slider_reaches_both_ends_and_no_further(session):
    slider = session.solve(session.default).slider
    assert slider.value == pytest.approx(slider.marks["automatic"])
    for end in (slider.least, slider.most):
        solved = session.solve(Settings("cn", aperture=end))
        assert solved.slider.value == pytest.approx(end)
        assert session.neighbours(Settings("cn", aperture=end), ["bank"], [], 3).after
    with pytest.raises(InvalidInputError, match="outside the slider's range"):
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


def at(coordinates: list[int]) -> np.ndarray:
    """Coordinates of the map as points."""
    return np.array(coordinates).reshape(-1, 2) / 10_000


def test_the_map_loses_its_frequency_axis(session, table):
    points = session.points(session.default, "pca", 1000)
    assert points.frequency_before > 0.4 > 0.1 > points.frequency_after
    assert points.ranks == sorted(points.ranks)
    assert [table.words[rank - 1] for rank in points.ranks] == points.words
    for side in (points.before, points.after):
        assert (at(side) ** 2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("count", [2, 50, 1200, 100_000])
def test_a_map_has_as_many_words_as_asked_for_or_all(session, table, count):
    points = session.points(session.default, "pca", count)
    assert len(points.words) == min(count, len(table))
    assert len(points.clusters) == len(points.before) // 2 == len(points.words)
    assert len(set(points.words)) == len(points.words)


def test_a_query_is_placed_where_the_map_has_it(session):
    """A word of the map and a word that is put onto it lie at the same place."""
    points = session.points(session.default, "pca", 1200)
    placed = session.place(session.default, ["Bank", "nothing"], ["river"], "pca", 1200)
    near = session.neighbours(session.default, ["bank"], ["river"], 10)
    expected = dict.fromkeys(["bank", "river"] + [n.word for n in (*near.before, *near.after)])
    assert placed.words == list(expected)
    assert placed.query == 2
    rows = [points.words.index(word) for word in placed.words]
    for side in ("before", "after"):
        there = at(getattr(points, side))[rows]
        np.testing.assert_allclose(at(getattr(placed, side)), there, atol=3e-4)
    assert placed.clusters == [points.clusters[row] for row in rows]
    assert placed.ranks == [points.ranks[row] for row in rows]


def test_clusters_stay_while_the_aperture_moves_and_are_named_by_their_words(session):
    own = session.points(session.default, "pca", 900)
    moved = session.points(Settings("cn", aperture=1.5), "pca", 900)
    assert moved.clusters == own.clusters
    assert moved.names == own.names
    assert moved.after != own.after
    assert moved.before == own.before
    assert len(own.names) == len(set(own.clusters)) == 8
    for cluster, name in enumerate(own.names):
        for word in name.split(", "):
            assert own.clusters[own.words.index(word)] == cluster


def test_names_of_clusters_are_words_near_their_centre(rng):
    centres = np.eye(3)
    rows = np.repeat(centres, 5, axis=0) + 0.3 * rng.standard_normal((15, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    words = [f"w{chr(97 + i)}x" for i in range(15)]
    words[0] = "1,000"  # no name for anything
    rows[0] = centres[0]
    found = projection.Clusters(centres, np.zeros(15, dtype=np.int64)).names(words, rows)
    assert "1,000" not in ", ".join(found)
    for cluster, name in enumerate(found):
        chosen = [words.index(word) for word in name.split(", ")]
        assert (rows[chosen].argmax(axis=1) == cluster).all()


def test_planes_are_turned_and_scaled_only(rng):
    points = rng.standard_normal((50, 2)) * (3, 1)
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]

    def move(some):
        return 4 * some @ turn + 7

    still = projection.align(projection.Plane(points, lambda more: more), points)
    moved = projection.align(projection.Plane(move(points), move), points)
    np.testing.assert_allclose(moved.points, still.points, atol=1e-12)
    more = rng.standard_normal((5, 2))
    np.testing.assert_allclose(moved.place(more), still.place(more), atol=1e-12)
    np.testing.assert_allclose(still.place(points), still.points, atol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_rows_are_put_onto_a_plane_where_they_would_lie_in_it(rng, dimension):
    rows = rng.standard_normal((40, dimension))
    plane = projection.pca(rows)
    assert plane.points.shape == (40, 2)
    np.testing.assert_allclose(plane.place(rows[5:9]), plane.points[5:9], atol=1e-12)
    assert plane.place(rows[:0]).shape == (0, 2)


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
    other = PageTable("better", toy_vectors(800, seed=9), "better.bin")
    session = Session(table, other)
    assert session.default.method == "file"
    found = session.neighbours(session.default, ["bank"], [], 5)
    assert all(near.word in other.vectors for near in found.after)
    solved = session.solve(session.default)
    assert (solved.slider, solved.command) == (None, "")
    points = session.points(session.default, "pca", 500)
    assert all(word in other.vectors and word in table.vectors for word in points.words)
    lonely = next(word for word in table.words if word not in other.vectors)
    both = session.neighbours(session.default, [lonely, "bank"], [], 5)
    assert (both.like, both.unknown[0].word, both.unknown[0].where) == (["bank"], lonely, "better")
    assert session.solution(Settings("cn")) is not None
    strange = PageTable("strange", WordVectors(["other"], np.ones((1, 3), np.float32)))
    with pytest.raises(InvalidInputError, match="no words in common"):
        Session(table, strange)


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2, 3]],
        [[1, 2, 3], [2, 1, 0]],
        [[i % 7 - 3] for i in range(30)],
        [[1, 2]] * 40,
        [[0, 0, 0]] * 120 + [[1, 2, 0]],
        [[1e15, 1], [1, -1e-15], [3, 4]],
    ],
    ids=["one word", "two words", "one dimension", "all the same", "mostly zero", "far apart"],
)
def test_the_smallest_and_oddest_tables_are_shown(rows):
    """Every question has an answer, or one line that says why there is none."""
    vectors = WordVectors([f"w{i}" for i in range(len(rows))], np.array(rows, dtype=np.float32))
    session = Session(PageTable("odd", vectors))
    [word] = session.about.examples
    assert vectors.vectors[vectors.rows([word])].any()
    assert session.about.projections[0] == "pca"
    refusals = []
    for choice in session.about.methods:
        settings = Settings(choice.name)
        assert np.isfinite(session.solve(settings).spectrum_after).all()
        assert session.directions(settings).directions
        assert session.concepts(settings, {"a": [word]}, "not a", 3.0).words
        assert session.points(settings, "pca", 100).words
        try:
            session.neighbours(settings, [word], [], 5)
            session.place(settings, [word], [], "pca", 100)
        except InvalidInputError as error:
            refusals.append(str(error))
    assert all("after post-processing is zero" in refusal for refusal in refusals)


def test_zero_vectors_are_told_apart():
    rows = np.array([[1, 2], [0, 0], [2, 1]], dtype=np.float32)
    session = Session(PageTable("some", WordVectors(["a", "nothing", "b"], rows)), methods=["cn"])
    with pytest.raises(InvalidInputError, match="'nothing' before post-processing is zero"):
        session.neighbours(session.default, ["a", "nothing"], [], 3)
    found = session.neighbours(session.default, ["a"], [], 3)
    assert [near.word for near in found.before] == ["b"]
    with pytest.raises(InvalidInputError, match="none: all vectors are zero"):
        PageTable("none", WordVectors(["a", "b"], np.zeros((2, 3), np.float32)))


def test_the_command_names_what_the_page_was_started_with(table):
    session = Session(table, options=FitOptions("uniform", "top:500"), methods=["cn"])
    parts = shlex.split(session.solve(session.default).command)
    assert parts[-4:] == ["--weights", "uniform", "--vocabulary", "top:500"]
    options = FitOptions(weights="uniform", vocabulary="top:500")
    fitted = fit_methods(table.vectors, ["cn"], options).methods["cn"]
    shown = session.solution(session.default).map.matrix
    np.testing.assert_allclose(shown, fitted.map.matrix, atol=1e-12)


@pytest.mark.parametrize("method", ["original", "counterfit", "hsr", "cn+sif"])
def test_methods_that_are_no_map_are_refused(table, method):
    with pytest.raises(InvalidInputError, match="not a single map; the page can show cn"):
        Session(table, methods=[method])


def test_a_saved_map_is_the_one_shown(session, tmp_path):
    solution = session.solution(Settings("abtt", directions=3))
    solution.map.save(tmp_path / "m.safetensors")
    loaded = AffineMap.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.matrix, solution.map.matrix)
    assert np.linalg.matrix_rank(loaded.matrix) == loaded.n_in - 3


def test_a_search_that_failed_is_made_anew(table, monkeypatch):
    session = Session(table, methods=["cn"])
    expected = session.neighbours(session.default, ["bank"], [], 7)
    fresh = Session(table, methods=["cn"])
    with monkeypatch.context() as patched:
        patched.setattr(RowSearch, "best_of", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            fresh.neighbours(fresh.default, ["bank"], [], 7)
    assert fresh.neighbours(fresh.default, ["bank"], [], 7) == expected


def test_known_words_stay_beside_unknown_ones(session):
    found = session.neighbours(session.default, ["Bank", "docter"], ["river", "qqqq"], 5)
    assert (found.like, found.without) == (["bank"], ["river"])
    assert [(each.word, each.suggestions) for each in found.unknown] == [
        ("docter", ["doctor"]),
        ("qqqq", []),
    ]
    alone = session.neighbours(session.default, ["bank"], ["river"], 5)
    assert (found.before, found.after) == (alone.before, alone.after)
    with pytest.raises(
        UnknownWordsError, match=r"toys: there is no word 'docter'; did you mean doctor"
    ):
        session.neighbours(session.default, ["docter"], ["river"], 5)


def test_lists_are_ordered_by_the_number_that_is_shown(session):
    for without in ([], ["river", "music"]):
        found = session.neighbours(session.default, ["bank"], without, 30)
        for side in (found.before, found.after):
            scores = [near.score for near in side]
            assert scores == sorted(scores, reverse=True)
            # The order by cosine is another, so showing cosines would look like disorder.
            assert all(near.score <= near.cosine for near in side)
    cosines = [near.cosine for near in found.after]
    assert cosines != sorted(cosines, reverse=True)


def test_benchmarks_over_all_words_are_those_of_evaluate(data):
    """On every question that is asked, the figures are those that `evaluate` gives."""
    questions = read_analogies(registry.fetch_all([ANALOGIES], None, offline=True)[0][ANALOGIES])
    words = sorted({w.lower() for task in questions[:2] for q in task.questions[:900] for w in q})
    words += [f"other{i}" for i in range(500)]
    rng = np.random.default_rng(2)
    rows = (rng.standard_normal((len(words), 8)) + 1.0).astype(np.float32)
    place = {word: i for i, word in enumerate(words)}
    for a, b, *_ in questions[1].questions[:900]:  # b is a and something that all b have
        rows[place[b.lower()]] = rows[place[a.lower()]] + 0.5 + 0.2 * rng.standard_normal(8)
    vectors = WordVectors(words, rows)
    session = Session(PageTable("some", vectors), methods=["cn"])
    found = {score.dataset: score for score in session.benchmarks(session.default)}
    after = vectors.with_vectors(session.solution(session.default).map(rows))
    for task in session._searched._battery.tasks:
        title = scores._TITLES[task.dataset][0]
        assert found[title].before == pytest.approx(Battery([task]).run(vectors).outcomes[0].score)
        assert found[title].after == pytest.approx(Battery([task]).run(after).outcomes[0].score)
    assert {"Analogies, meaning", "Analogies, grammar", "Neighbours"} == set(found)
    assert found["Analogies, grammar"].before > 0
