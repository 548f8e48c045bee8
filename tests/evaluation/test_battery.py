from __future__ import annotations

import json
import math

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.evaluation import FAMILIES, Battery, Evaluation, evaluate, load_battery
from conceptor.evaluation.word_tasks import WordSimilarity
from conceptor.vectors.files import as_vectors
from conceptor.vectors.table import WordVectors
from conceptor.vectors.vectors import collect_rows

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
    assert list(counts.values()) == [7, 20, 3, 2, 4, 4, 6, 2]
    # What is looked for among all words counts, and one measure of a ranking.
    means = everything.means()
    assert means["synonyms"] == everything["synonyms@10"].score
    both = [everything[name].score for name in ("Google semantic", "Google syntactic")]
    assert means["analogy"] == pytest.approx(np.mean(both))
    part = collect_rows(as_vectors(common), battery.words)
    assert len(part) < len(common) / 2
    unchanged = {"part": lambda _, rows: rows}
    again = battery.run_all({"part": part}, as_vectors(common), unchanged)[0]["part"]
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
    parts = [result[name] for name in ("2013/FNWN", "2013/OnWN", "2013/headlines")]
    assert result["STS 2013"].score == pytest.approx(np.mean([part.score for part in parts]))
    assert result["STS 2013"].total == 189 + 561 + 750
    with pytest.raises(KeyError):
        result["STS 2011"]


def test_undefined_scores_become_null_and_leave_the_mean():
    tasks = [
        WordSimilarity("known", [("a", "b"), ("a", "c"), ("b", "c")], [1, 2, 3]),
        WordSimilarity("unknown", [("x", "y"), ("y", "z")], [1, 2]),
    ]
    vectors = (["a", "b", "c"], np.array([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0]]))
    result = evaluate(vectors, Battery(tasks), name="<i>")
    page = result._repr_html_()
    assert "<i>" not in page
    assert page.count("<tr>") == len(tasks) + 1
    assert f"similarity {result['known'].score:.2f}" in repr(result)
    assert math.isnan(result["unknown"].score)
    assert result.to_dict()["results"][1]["score"] is None
    assert result.means()["similarity"] == result["known"].score
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    nothing = evaluate((["q"], np.ones((1, 2))), Battery(tasks))
    assert nothing.means() == {}


def test_unknown_tasks_are_refused():
    with pytest.raises(InvalidInputError, match="unknown task 'spelling'; choose from"):
        load_battery(["spelling"])
    with pytest.raises(InvalidInputError, match="no tasks were given"):
        load_battery([])


def test_without_data_only_what_packages_carry_is_run(tmp_path, monkeypatch):
    pytest.importorskip("gensim")
    monkeypatch.delenv("CONCEPTOR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    battery = load_battery(FAMILIES, offline=True)
    assert [task.dataset for task in battery.tasks] == [
        "WS", "SimLex", "Google semantic", "Google syntactic",
        "Google semantic, first 30,000", "Google syntactic, first 30,000",
    ]  # fmt: skip
    assert len(battery.missing) == 31
