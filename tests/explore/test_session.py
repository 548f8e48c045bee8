from __future__ import annotations

import json
import shlex
import threading
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from conceptor.base.errors import ConceptorError, InvalidInputError, MissingExtraError
from conceptor.concepts.neighbors import most_similar
from conceptor.concepts.query import Query
from conceptor.evaluation import Battery, evaluate
from conceptor.explore import scores
from conceptor.explore.plane import Planes
from conceptor.explore.session import APERTURE_SPAN, Cache, Session, Settings
from conceptor.fit import FitOptions, fit_methods
from conceptor.vectors.files import in_memory
from tests.explore.conftest import toy_vectors


def printed(near) -> list[tuple[str, str, int]]:
    """Words, scores and ranks as both the page and the command line print them."""
    return [(each.word, f"{each.score:.3f}", each.rank) for each in near]


def unpacked(packed) -> np.ndarray:
    """The columns that the page gets as 16-bit integers."""
    integers = np.frombuffer(b64decode(packed["data"]), dtype="<i2")
    return integers.reshape(-1, len(packed["units"])) * packed["units"]


def explained(points: np.ndarray, values: np.ndarray) -> float:
    """The R² of a regression of values on points."""
    inside = np.column_stack([points, np.ones(len(points))])
    rest = values - inside @ np.linalg.lstsq(inside, values)[0]
    return 1 - rest.var() / values.var()


def test_the_command_gives_the_map_that_is_shown(session):
    settings = Settings("cn", value=3.25)
    parts = shlex.split(session.solve(settings)["command"])
    assert parts[:4] == ["conceptor", "postprocess", "toys.bin", "better.bin"]
    method = parts[parts.index("--method") + 1]
    expected = fit_methods(toy_vectors(), [method]).methods[method]
    np.testing.assert_array_equal(session.fitted(settings).map.matrix, expected.map.matrix)


def test_the_command_has_the_options_that_the_page_was_started_with():
    options = FitOptions(weights="uniform", vocabulary="top:500")
    session = Session(
        toy_vectors(), options=options, methods=["cn", "abtt"], flags=["--on-error", "skip"]
    )
    command = session.solve(session.default)["command"]
    assert command.endswith("--weights uniform --vocabulary top:500 --on-error skip")
    assert "--weights" not in session.solve(Settings("abtt"))["command"]
    expected = fit_methods(toy_vectors(), ["cn"], options).methods["cn"]
    np.testing.assert_array_equal(session.fitted(session.default).map.matrix, expected.map.matrix)


def test_the_slider_reaches_both_ends_and_no_further(session):
    slider = session.solve(session.default)["slider"]
    assert slider.value == slider.default == pytest.approx(slider.marks["automatic"])
    assert slider.marks.keys() == {"automatic"}  # α = 2 is the paper's of its own method only
    assert session.solve(Settings("cn-paper"))["slider"].marks["paper"] == 2
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


def test_the_gate_follows_from_what_the_page_gets(session):
    """The page computes it by these formulas while a hand moves the slider."""
    for method, value in (("cn", 1.5), ("cn-paper", 1.0), ("abtt", 3), ("pvn", 4)):
        answer = session.solve(Settings(method, value=value))
        values, formula = answer["values"], answer["formula"]
        if formula == "drop":
            gate = np.arange(len(values)) >= value
        elif formula == "level":
            gate = np.where(np.arange(len(values)) < value, values[value] / values, 1)
        else:
            gate = (1 + value**2 * values) ** -formula
        np.testing.assert_allclose(gate, answer["gate"], atol=1e-12)
        assert set(answer["gates"]) == set(session.about()["methods"])
    assert session.solve(Settings("whitening"))["formula"] is None


def test_neighbors_are_those_of_the_command_line(session):
    answer = session.neighbors(session.default, ["bank"], n=6)
    expected = most_similar(toy_vectors(), "bank", ["original", "cn"], n=6)
    for side, name in (("before", "original"), ("after", "cn")):
        assert printed(answer[side]) == printed(expected[name]["bank"])
    far = most_similar(toy_vectors(), "bank", ["original", "cn"], n=1199)
    for side, other in (("before", "cn"), ("after", "original")):
        ranks = {each.word: i for i, each in enumerate(far[other]["bank"], start=1)}
        assert [each.was for each in answer[side]] == [ranks[each.word] for each in answer[side]]


def test_exclusions_are_those_of_the_command_line(session):
    answer = session.neighbors(session.default, ["bank", "music"], ["river", "water"], 6)
    query = Query(["bank", "music"], ["river", "water"])
    expected = {
        method: near[str(query)]
        for method, near in most_similar(toy_vectors(), query, ["original", "cn"], n=6).items()
    }
    for side, name in (("before", "original"), ("after", "cn")):
        assert printed(answer[side]) == printed(expected[name])
        assert all(near.score <= near.cosine for near in answer[side])
    with pytest.raises(InvalidInputError, match="both wanted and excluded"):
        session.neighbors(session.default, ["bank"], ["bank"])


def test_the_map_loses_its_frequency_axis(session):
    layout, path = session.layout(), session.path(session.default)
    assert layout["words"] == list(session.table.words)
    assert list(layout["ranks"]) == list(range(1, len(session.table) + 1))
    before, logs = unpacked(layout["before"]), np.log(layout["ranks"])
    default = path["values"].index(session.solve(session.default)["slider"].default)
    after = unpacked(path["components"]) @ np.array(path["turns"][default])
    for points in (before, after):
        assert (points**2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)
    assert explained(before, logs) > 0.4 > 0.1 > explained(after, logs)
    strongest = path["directions"][0]
    assert abs(strongest["r"]) > 0.6
    assert len(strongest["ends"][0]) == len(strongest["ends"][1]) == 6


def test_the_map_at_each_value_is_that_of_the_vectors(session):
    """What is sent once gives the principal components of the vectors after any aperture."""
    layout, path = session.layout(), session.path(session.default)
    for number in (0, 16, len(path["values"]) - 1):
        settings = Settings("cn", value=path["values"][number])
        rows = session.fitted(settings).solution.map(session.table.rows)
        expected = Planes.fit(rows, reference=unpacked(layout["before"]))(rows)
        points = unpacked(path["components"]) @ np.array(path["turns"][number])
        np.testing.assert_allclose(points, expected, atol=0.02)


@pytest.mark.slow
def test_neighborhoods_keep_near_words_near(monkeypatch):
    """More than the plane does; they need an extra, and a process that may be killed."""
    session = Session(toy_vectors(), methods=["cn"])
    with monkeypatch.context() as patch:
        patch.setattr("conceptor.explore.session.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=r"UMAP.*conceptor\[explore\]"):
            session.neighborhoods(session.default)
    pytest.importorskip("umap", reason="needs the explore extra")
    answer, rows = session.neighborhoods(session.default), session.table.rows
    after = session.fitted(session.default).map(rows)
    for points, side in (("before", rows), ("components", after)):
        own, plane = unpacked(answer[points]), Planes.fit(side)(side)
        assert (own**2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)
        kept, flat = (trustworthiness(side, each, metric="cosine") for each in (own, plane))
        assert kept > max(flat, 0.8)
    session._cache = Cache()  # without the first answer
    for process in session._worker._processes.values():
        process.kill()
    with pytest.raises(ConceptorError, match="UMAP was stopped"):
        session.neighborhoods(session.default)
    assert session.neighborhoods(session.default)["before"] == answer["before"]


def test_a_query_is_placed_where_the_map_has_it(session):
    settings = Settings("cn", value=1.5)
    layout, path = session.layout(), session.path(settings)
    answer = session.neighbors(settings, ["Bank", "nothing"], ["river"])
    places = answer["places"]
    near = [each.word for side in ("before", "after") for each in answer[side]]
    assert places["words"] == list(dict.fromkeys(["bank", "river", *near]))
    assert places["query"] == 2
    rows = [layout["words"].index(word) for word in places["words"]]
    np.testing.assert_allclose(places["before"], unpacked(layout["before"])[rows], atol=1e-3)
    shown = unpacked(path["components"])[rows]
    np.testing.assert_allclose(unpacked(places["components"]), shown, atol=1e-3)


def test_words_to_try_are_common_and_so_are_their_new_neighbors():
    """They are stored with their neighbors, which docs and pictures may use."""
    file = resources.files("conceptor.explore").joinpath("examples.json")
    words = json.loads(file.read_text(encoding="utf-8"))["words"]
    assert len(words) == 6
    for word in words.values():
        assert word["rank"] <= 5000
        assert len(word["new"]) == 5
        assert all(rank <= 40_000 for _, rank in word["new"])


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
    assert session.layout()["words"]
    for method in session.about()["methods"]:
        settings = Settings(method)
        assert np.isfinite(session.solve(settings)["values"]).all()
        assert np.isfinite(session.path(settings)["turns"]).all()
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
