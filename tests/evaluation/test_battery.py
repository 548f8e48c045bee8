from __future__ import annotations

import json
import math

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.evaluation import FAMILIES, Battery, Evaluation, WordVectors, evaluate, load_battery
from conceptor.evaluation.similarity import WordSimilarity
from conceptor.evaluation.sts import SentencePair, SentenceSimilarity
from conceptor.vectors import write_vectors
from conceptor.vectors.chunks import collect_rows

QUICK = ["similarity", "sts", "categorization", "retrieval", "sts-b"]


@pytest.fixture(scope="module")
def result(data, glove) -> Evaluation:
    return evaluate(glove, load_battery(QUICK, data, offline=True), name="GloVe 6B 50d")


@pytest.mark.slow
def test_everything_is_there_and_a_restricted_vocabulary_gives_it_to_the_last_bit(data, glove):
    battery = load_battery(FAMILIES, data, offline=True)
    assert battery.missing == {}
    # Words are searched for among all of them, four times as long in all of GloVe.
    common = WordVectors(glove.words[:100_000], glove.vectors[:100_000])
    everything = evaluate(common, battery)
    counts = {family: sum(o.task == family for o in everything.outcomes) for family in FAMILIES}
    assert counts == {
        "similarity": 7,
        "sts": 20,
        "categorization": 3,
        "neighbours": 2,
        "analogy": 4,
        "retrieval": 4,
        "classification": 6,
        "sts-b": 2,
    }
    # What is looked for among all words counts, and one measure of a ranking.
    means = everything.means()
    assert means["neighbours"] == everything["synonyms@10"].score
    both = [everything[name].score for name in ("Google semantic", "Google syntactic")]
    assert means["analogy"] == pytest.approx(np.mean(both))
    part = collect_rows(common, battery.words)
    assert len(part) < len(common) / 2
    again = battery.run_all({"part": part}, common, {"part": ()})[0]["part"]
    assert [row.score for row in again.rows()] == [row.score for row in everything.rows()]


def test_means_are_plain_means_of_sets_and_of_the_tasks_of_four_years(result):
    means = result.means()
    for family in ("similarity", "categorization", "sts-b"):
        scores = [o.score for o in result.outcomes if o.task == family]
        assert means[family] == pytest.approx(np.mean(scores))
    both = [result[name].score for name in ("Cranfield", "CISI")]
    assert means["retrieval"] == pytest.approx(np.mean(both))
    assert means["similarity"] == pytest.approx(44.65, abs=0.01)
    assert means["categorization"] == pytest.approx(72.94, abs=0.01)
    tasks = [o.score for o in result.outcomes if o.task == "sts" and o.dataset != "SICK"]
    assert len(tasks) == 19
    assert means["sts"] == pytest.approx(np.mean(tasks))


def test_a_year_is_the_mean_of_its_tasks(result):
    year = result["STS 2013"]
    parts = [result[name] for name in ("2013/FNWN", "2013/OnWN", "2013/headlines")]
    assert year.score == pytest.approx(np.mean([part.score for part in parts]))
    assert year.total == 189 + 561 + 750
    assert result["SICK"].total == 4927
    with pytest.raises(KeyError):
        result["STS 2011"]


def test_json_frame_and_notebook_forms_agree(result):
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["vectors"] == "GloVe 6B 50d"
    assert list(plain["results"][0]) == ["task", "dataset", "metric", "score", "used", "total"]
    frame = result.to_frame()
    assert list(frame["dataset"]) == [row["dataset"] for row in plain["results"]]
    assert frame.set_index("dataset").loc["SimLex", "score"] == result["SimLex"].score
    page = result._repr_html_()
    assert page.count("<tr>") == len(plain["results"]) + 1
    assert "335/353" in page
    assert "335/353" in str(result)


def test_undefined_scores_become_null_and_leave_the_mean():
    tasks = [
        WordSimilarity("known", [("a", "b"), ("a", "c"), ("b", "c")], [1, 2, 3]),
        WordSimilarity("unknown", [("x", "y"), ("y", "z")], [1, 2]),
    ]
    vectors = (["a", "b", "c"], np.array([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0]]))
    result = evaluate(vectors, Battery(tasks))
    assert math.isnan(result["unknown"].score)
    assert result.to_dict()["results"][1]["score"] is None
    assert result.means()["similarity"] == result["known"].score
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    nothing = evaluate((["q"], np.ones((1, 2))), Battery(tasks))
    assert nothing.means() == {}


def test_a_file_gives_what_its_vectors_give(tmp_path, rng):
    words = [f"w{i}" for i in range(50)]
    vectors = rng.normal(size=(50, 4)).astype(np.float32)
    pairs = [(f"w{i}", f"w{j}") for i, j in rng.integers(0, 60, (80, 2))]
    battery = Battery([WordSimilarity("toy", pairs, rng.normal(size=80))])
    write_vectors(tmp_path / "v.txt", [(words, vectors)])
    result = evaluate(tmp_path / "v.txt", battery)
    assert result.vectors == str(tmp_path / "v.txt")
    assert result["toy"] == evaluate((words, vectors), battery)["toy"]


def test_html_escapes_names():
    task = SentenceSimilarity("<b>", [SentencePair("a", "b", 1.0)])
    page = evaluate({"a": [1.0], "b": [2.0]}, Battery([task]), name="<i>")._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page


def test_unknown_tasks_are_refused():
    with pytest.raises(InvalidInputError, match="unknown task 'spelling'; choose from"):
        load_battery(["spelling"])
    with pytest.raises(InvalidInputError, match="no tasks were given"):
        load_battery([])
    with pytest.raises(InvalidInputError, match="missing is 'guess'; it must be one of skip"):
        evaluate(WordVectors(["a"], np.ones((1, 1))), Battery([]), missing="guess")


def test_without_data_only_what_packages_carry_is_run(tmp_path, monkeypatch):
    pytest.importorskip("gensim")
    monkeypatch.delenv("CONCEPTOR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    battery = load_battery(FAMILIES, offline=True)
    assert [task.dataset for task in battery.tasks] == [
        "WS",
        "SimLex",
        "Google semantic",
        "Google syntactic",
        "Google semantic, first 30,000",
        "Google syntactic, first 30,000",
    ]
    assert len(battery.missing) == 31
