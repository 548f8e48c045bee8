"""WOZ 2.0 as it is, and files that are not."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.paper.dialogue.woz import (
    SLOTS,
    goal_accuracies,
    load_corpus,
    read_dialogues,
    string_match_accuracies,
    system_acts,
    tokens,
)


@pytest.fixture(scope="module")
def corpus(data):
    return load_corpus(data, offline=True)


@pytest.mark.parametrize(
    ("part", "dialogues", "turns", "requests", "confirms"),
    [
        ("train", 600, 2536, 412, 26),
        ("validate", 200, 830, 135, 10),
        ("test", 400, 1646, 249, 20),
    ],
)
def test_counts(corpus, part, dialogues, turns, requests, confirms) -> None:
    found = getattr(corpus, part)
    flat = [turn for dialogue in found for turn in dialogue]
    assert (len(found), len(flat)) == (dialogues, turns)
    assert sum(bool(turn.requested) for turn in flat) == requests
    assert sum(any(slot != "request" for slot, _ in turn.confirmed) for turn in flat) == confirms


def test_the_ontology(corpus) -> None:
    assert {slot: len(values) for slot, values in corpus.values.items()} == {
        "food": 92,
        "price range": 4,
        "area": 6,
    }
    assert all(values[-1] == "dontcare" for values in corpus.values.values())
    assert {"afghan", "range", "dont", "care", "eritrean"} <= corpus.words


def test_string_matching_and_the_turns_that_count(corpus) -> None:
    found = string_match_accuracies(corpus, SLOTS)
    assert {goal: accuracy.total for goal, accuracy in found.items()} == {
        "food": 1246,
        "price range": 1115,
        "area": 1149,
        "joint": 1646,
        "joint, goal set": 1646,
    }
    assert {goal: round(accuracy.percent, 1) for goal, accuracy in found.items()} == {
        "food": 83.5,
        "price range": 49.4,
        "area": 83.5,
        "joint": 51.3,
        "joint, goal set": 51.3,
    }


def test_the_gold_goals_are_right_but_for_values_outside_the_ontology(corpus) -> None:
    turns = [turn for dialogue in corpus.test for turn in dialogue]
    gold = {
        slot: [v if (v := turn.after.get(slot)) in corpus.values[slot] else None for turn in turns]
        for slot in SLOTS
    }
    missed = {goal: a.total - a.right for goal, a in goal_accuracies(corpus.test, gold).items()}
    assert missed == {"food": 1, "price range": 4, "area": 1, "joint": 6, "joint, goal set": 6}


def test_tokens() -> None:
    said = "Don't  you have a well-known, CHEAP place?\n"
    assert tokens(said) == ("dont", "you", "have", "a", "wellknown", "cheap", "place")
    assert tokens(" ".join(["word"] * 50)) == ("word",) * 40
    assert tokens("?!") == ()


@given(st.text())
def test_tokens_of_anything(text) -> None:
    found = tokens(text)
    assert len(found) <= 40
    assert all(token and not set(token) & set(string.punctuation) for token in found)
    assert tokens(" ".join(found)) == tokens(" ".join(found).lower())


def test_system_acts() -> None:
    acts = ["area", "phone", ["food", "thai"], "name", ["a", "b", "c"], 7, "price range"]
    requested, confirmed = system_acts(acts)
    assert requested == ("area", "price range")
    assert confirmed == (("request", "phone"), ("food", "thai"))


def turn(**fields: object) -> dict[str, object]:
    return {"transcript": "hello", "system_acts": [], "turn_label": [], **fields}


def test_goals_accumulate_and_change(tmp_path) -> None:
    labels = [
        [["food", "thai"], ["request", "phone"]],
        [],
        [["food", "dontcare"], ["area", "north"]],
    ]
    path = tmp_path / "d.json"
    path.write_text(json.dumps([{"dialogue": [turn(turn_label=label) for label in labels]}]))
    (found,) = read_dialogues(path)
    assert [t.before for t in found] == [{}, {"food": "thai"}, {"food": "thai"}]
    assert found[2].after == {"food": "dontcare", "area": "north"}
