from __future__ import annotations

import shlex
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.lookup import UnknownWordsError
from conceptor.concepts.neighbors import most_similar, rank_words
from conceptor.concepts.query import Query
from conceptor.evaluation import Battery, evaluate
from conceptor.explore import scores
from conceptor.explore.session import APERTURE_SPAN, Cache, Session, Settings
from conceptor.fit import FitOptions, fit_methods
from conceptor.vectors.files import in_memory
from tests.explore.conftest import toy_vectors


def printed(near) -> list[tuple[str, str, int]]:
    """Words, scores and ranks as both the page and the command line print them."""
    return [(each.word, f"{each.score:.3f}", each.rank) for each in near]


def at(coordinates: np.ndarray) -> np.ndarray:
    """Coordinates of the map as points."""
    return np.reshape(coordinates, (-1, 2)) / 10_000


@pytest.mark.parametrize("method", ["cn", "cn-paper", "abtt", "zipf-whitening"])
def test_the_page_has_the_map_that_postprocess_fits(session, method):
    expected = fit_methods(toy_vectors(), [method]).methods[method]
    fitted = session.fitted(Settings(method))
    np.testing.assert_array_equal(fitted.map.matrix, expected.map.matrix)
    np.testing.assert_array_equal(fitted.map.offset, expected.map.offset)


def test_the_command_gives_the_map_that_is_shown(session):
    settings = Settings("cn", value=3.25)
    parts = shlex.split(session.solve(settings)["command"])
    assert parts[:4] == ["conceptor", "postprocess", "toys.bin", "better.bin"]
    method = parts[parts.index("--method") + 1]
    expected = fit_methods(toy_vectors(), [method]).methods[method]
    np.testing.assert_array_equal(session.fitted(settings).map.matrix, expected.map.matrix)
    assert "--weights uniform" in session.solve(Settings("cn", weights="uniform"))["command"]
    assert "--weights" not in session.solve(Settings("abtt", weights="uniform"))["command"]


def test_the_command_has_the_options_that_the_page_was_started_with():
    options = FitOptions(weights="uniform", vocabulary="top:500")
    session = Session(toy_vectors(), options=options, methods=["cn"], flags=["--on-error", "skip"])
    command = session.solve(session.default)["command"]
    assert command.endswith("--weights uniform --vocabulary top:500 --on-error skip")
    expected = fit_methods(toy_vectors(), ["cn"], options).methods["cn"]
    np.testing.assert_array_equal(session.fitted(session.default).map.matrix, expected.map.matrix)


def test_the_slider_reaches_both_ends_and_no_further(session):
    slider = session.solve(session.default)["slider"]
    assert slider.value == slider.default == pytest.approx(slider.marks["automatic"])
    assert slider.most / slider.default == pytest.approx(APERTURE_SPAN)
    for end in (slider.least, slider.most):
        settings = Settings("cn", value=end)
        assert session.solve(settings)["slider"].value == end
        assert session.neighbors(settings, ["bank"], n=3)["after"]
    for wrong in (slider.most * 1.1, float("nan")):
        with pytest.raises(InvalidInputError, match="outside the slider's range"):
            session.solve(Settings("cn", value=wrong))
    assert session.solve(Settings("whitening"))["slider"] is None
    directions = session.solve(Settings("abtt", value=3))["slider"]
    assert (directions.name, directions.value) == ("n_directions", 3)


def test_more_aperture_keeps_less_and_spreads_variance_evenly(session):
    slider = session.solve(session.default)["slider"]
    answers = [
        session.solve(Settings("cn", value=value))
        for value in np.geomspace(slider.least, slider.most, 6)
    ]
    assert (np.diff([each["gate"] for each in answers], axis=0) <= 1e-12).all()
    before, after = zip(*(each["isotropy"] for each in answers), strict=True)
    assert len(set(before)) == 1
    assert list(after) == sorted(after)
    assert answers[0]["variance"].sum() == pytest.approx(1)


def test_neighbors_are_those_of_the_command_line(session):
    answer = session.neighbors(session.default, ["bank"], n=6)
    expected = most_similar(toy_vectors(), "bank", ["original", "cn"], n=6)
    for side, name in (("before", "original"), ("after", "cn")):
        assert printed(answer[side]) == printed(expected[name]["bank"])
    words = [{near.word for near in answer[side]} for side in ("before", "after")]
    assert {near.word for near in answer["after"] if near.moved == "new"} == words[1] - words[0]
    assert {near.word for near in answer["before"] if near.moved == "gone"} == words[0] - words[1]


def test_exclusions_are_those_of_the_command_line(session):
    answer = session.neighbors(session.default, ["bank", "music"], ["river", "water"], 6)
    query = Query(["bank", "music"], ["river", "water"])
    expected = rank_words(toy_vectors(), query, ["original", "cn"], n=6)
    for side, name in (("before", "original"), ("after", "cn")):
        assert printed(answer[side]) == printed(expected[name])
        assert all(near.score <= near.cosine for near in answer[side])
    with pytest.raises(InvalidInputError, match="both wanted and excluded"):
        session.neighbors(session.default, ["bank"], ["bank"])


def test_known_words_stay_beside_unknown_ones(session):
    answer = session.neighbors(session.default, ["Bank", "docter"], ["river", "qqqq"], 5)
    assert (answer["like"], answer["without"]) == (["bank"], ["river"])
    suggestions = {each.word: each.suggestions for each in answer["unknown"]}
    assert suggestions == {"docter": ["doctor"], "qqqq": []}
    alone = session.neighbors(session.default, ["bank"], ["river"], 5)
    assert (answer["before"], answer["after"]) == (alone["before"], alone["after"])
    with pytest.raises(
        UnknownWordsError, match=r"toys.bin: there is no word 'docter'; did you mean doctor"
    ):
        session.neighbors(session.default, ["docter"], ["river"], 5)


def test_the_map_loses_its_frequency_axis(session):
    points = session.points(session.default)
    before, after = points["frequency"]
    assert before > 0.4 > 0.1 > after
    assert points["words"] == list(session.table.words)
    assert points["ranks"] == list(range(1, len(session.table) + 1))
    for side in ("before", "after"):
        assert (at(points[side]) ** 2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)


def test_a_query_is_placed_where_the_map_has_it(session):
    settings = Settings("cn", value=1.5)
    points = session.points(settings)
    answer = session.neighbors(settings, ["Bank", "nothing"], ["river"])
    places = answer["places"]
    near = [each.word for side in ("before", "after") for each in answer[side]]
    assert places["words"] == list(dict.fromkeys(["bank", "river", *near]))
    assert places["query"] == 2
    rows = [points["words"].index(word) for word in places["words"]]
    for side in ("before", "after"):
        np.testing.assert_allclose(at(places[side]), at(points[side])[rows], atol=3e-4)
    assert places["clusters"] == [points["clusters"][row] for row in rows]


def test_clusters_stay_while_the_aperture_moves_and_are_named_by_their_words(session):
    own, moved = (session.points(each) for each in (session.default, Settings("cn", value=1.5)))
    assert moved["clusters"] == own["clusters"]
    assert moved["names"] == own["names"]
    assert moved["after"] != own["after"]
    assert moved["before"] == own["before"]
    assert len(own["names"]) == len(set(own["clusters"])) == 8
    for cluster, name in enumerate(own["names"]):
        for word in name.split(", "):
            assert own["clusters"][own["words"].index(word)] == cluster


def test_concepts_combine_and_contain(session):
    lists = {
        "wet": ["river", "water"],
        "money": ["bank", "banks"],
        "both": ["river", "water", "bank", "qqqq"],
    }
    answer = session.concepts(session.default, lists, "wet or money")
    assert (answer["names"], answer["missing"]) == (list(lists), ["qqqq"])
    similarity = np.array(answer["similarity"])
    np.testing.assert_allclose(np.diag(similarity), 1)
    np.testing.assert_allclose(similarity, similarity.T)
    assert similarity[0, 2] > similarity[0, 1]
    examples = {each["word"] for each in answer["words"] if each["example"]}
    assert {"river", "water", "bank", "banks"} <= examples
    evidence = [each["evidence"] for each in answer["words"]]
    assert evidence == sorted(evidence, reverse=True)
    without = session.concepts(session.default, lists, "both and not wet")
    assert without["words"][0]["word"] in ("bank", "banks", "a&b")
    with pytest.raises(InvalidInputError, match="dry"):
        session.concepts(session.default, lists, "wet and dry")


def test_two_files_are_before_and_after():
    first, second = toy_vectors(), toy_vectors(800, seed=9, name="better.bin")
    session = Session(first, second)
    assert session.default.method == "file"
    answer = session.neighbors(session.default, ["bank"], n=5)
    expected = most_similar(second, "bank", n=5)["original"]["bank"]
    assert printed(answer["after"]) == printed(expected)
    solution = session.solve(session.default)
    assert (solution["slider"], solution["command"]) == (None, "")
    words = session.points(session.default)["words"]
    assert all(word in session.table and word in session.other for word in words)
    lonely = next(word for word in session.table.words if word not in session.other)
    both = session.neighbors(session.default, [lonely, "bank"], n=5)
    [unknown] = both["unknown"]
    assert (both["like"], unknown.word, unknown.where) == (["bank"], lonely, "better.bin")
    assert session.fitted(Settings("cn")).map
    with pytest.raises(InvalidInputError, match="no words in common"):
        Session(first, (["other"], np.ones((1, 3), np.float32)))


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
def test_odd_tables_are_shown(rows):
    """Every question has an answer, or an error that explains why there is none."""
    matrix = np.array(rows, dtype=np.float32)
    session = Session(([f"w{i}" for i in range(len(rows))], matrix))
    [word] = session.about()["examples"]
    assert matrix[session.table.places([word])].any()
    errors = []
    for method in session.about()["methods"]:
        settings = Settings(method)
        assert np.isfinite(session.solve(settings)["variance"]).all()
        assert session.concepts(settings, {"a": [word]}, "not a")["words"]
        assert session.points(settings)["words"]
        try:
            session.neighbors(settings, [word], n=5)
        except InvalidInputError as error:
            errors.append(str(error))
    assert all("after post-processing is zero" in error for error in errors)


def test_zero_vectors_have_no_neighbors():
    rows = np.array([[1, 2], [0, 0], [2, 1]], dtype=np.float32)
    session = Session((["a", "nothing", "b"], rows), methods=["cn"])
    with pytest.raises(InvalidInputError, match="'nothing' before post-processing is zero"):
        session.neighbors(session.default, ["a", "nothing"])
    assert [near.word for near in session.neighbors(session.default, ["a"])["before"]] == ["b"]
    with pytest.raises(InvalidInputError, match="all vectors are zero"):
        Session((["a", "b"], np.zeros((2, 3), np.float32)))


def test_the_original_vectors_are_not_a_method():
    with pytest.raises(InvalidInputError, match="original changes nothing"):
        Session(toy_vectors(), methods=["cn", "original"])


def test_a_saved_map_is_the_one_shown(session, tmp_path):
    settings = Settings("abtt", value=3)
    session.save_map(settings, tmp_path / "m.safetensors")
    loaded = AffineMap.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.matrix, session.fitted(settings).map.matrix)
    assert np.linalg.matrix_rank(loaded.matrix) == loaded.n_in - 3


def test_scores_are_those_of_evaluate(data):
    """On the questions of the sample, scores before and after are those of `evaluate`."""
    rng = np.random.default_rng(2)
    full = scores.load_battery(("similarity", "analogy"), data, offline=True)
    words = sorted({word.lower() for task in full.tasks for word in task.words})[::2]
    rows = (rng.standard_normal((len(words), 8)) + 1.0).astype(np.float32)
    vectors = in_memory(words, rows, counts=dict.fromkeys(words, 1.0))
    session = Session(vectors, methods=["cn"], options=FitOptions(data=data))
    shown = {score.name: score for score in session.scores(session.default)}
    assert {"Word similarity", "Analogies"} <= set(shown)
    battery = scores.load_sample(session.table, data)
    mapped = in_memory(words, session.fitted(session.default).solution.map(rows))
    for family, (name, _) in scores._TITLES.items():
        tasks = Battery([task for task in battery.tasks if task.task == family])
        if name in shown:
            for side, source in (("before", vectors), ("after", mapped)):
                outcomes = [each.score for each in evaluate(source, tasks).outcomes]
                assert getattr(shown[name], side) == pytest.approx(np.mean(outcomes), abs=0.05)
            gain = shown[name].after - shown[name].before
            assert shown[name].low <= gain <= shown[name].high


def test_the_cache_shares_work_forgets_the_oldest_and_keeps_no_errors():
    cache, calls, go = Cache(2), [], threading.Event()

    def slow() -> str:
        calls.append("slow")
        go.wait(30)
        return "done"

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(cache.get, "a", slow) for _ in range(4)]
        go.set()
        assert [each.result(30) for each in futures] == ["done"] * 4
    assert calls == ["slow"]
    with pytest.raises(ZeroDivisionError):
        cache.get("b", lambda: 1 // 0)
    assert cache.get("b", lambda: 2) == 2
    assert cache.get("a", lambda: 3) == "done"  # now the newest
    assert cache.get("c", lambda: 4) == 4
    assert cache.get("a", lambda: 5) == "done"
    assert cache.get("b", lambda: 6) == 6
