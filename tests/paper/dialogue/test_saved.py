"""Trackers that survive a file, and files that are none."""

from __future__ import annotations

import json

import pytest

from conceptor import InvalidInputError
from conceptor.paper.dialogue.embedding import Embedding
from conceptor.paper.dialogue.options import TrackerOptions, Update
from conceptor.paper.dialogue.saved import BeliefTracker
from conceptor.paper.dialogue.trials import Job, run_trial
from conceptor.paper.dialogue.woz import Turn
from tests.dialogues import MADE_CORPUS

OPTIONS = TrackerOptions(epochs=12, batch=64, batches=20, rate=0.01, update=Update.FULL)


@pytest.fixture(scope="module")
def tracker():
    embedding = Embedding.random(10, 1)
    weights = {
        slot: run_trial(MADE_CORPUS, Job("x", 0, slot, embedding), OPTIONS)[1]
        for slot in ("price range", "area")
    }
    return BeliefTracker.from_parts(
        embedding, MADE_CORPUS.values, weights, OPTIONS, {"method": "x", "seed": 0}
    )


def test_it_tracks_a_dialogue(tracker) -> None:
    beliefs = tracker.listen(Turn("something cheap please"), {})
    assert beliefs["price range"].value == "cheap"
    assert beliefs["area"].value is None
    beliefs = tracker.listen(Turn("in the north"), {"price range": "cheap"})
    assert beliefs["price range"].value == "cheap"
    assert beliefs["area"].value == "north"
    assert sum(beliefs["area"].probabilities.values()) == pytest.approx(1)
    assert beliefs["area"].likeliest(1)[0][0] == "north"


def test_it_survives_a_round_trip(tracker, tmp_path) -> None:
    tracker.save(tmp_path / "a" / "b")
    again = BeliefTracker.load(tmp_path / "a" / "b")
    turn = Turn("unheard words in the south", requested=("area",), confirmed=(("area", "north"),))
    for before in ({}, {"area": "south"}, {"area": "outside"}):
        assert again.listen(turn, before) == tracker.listen(turn, before)
    assert again.provenance == {"method": "x", "seed": 0}
    assert again.options == OPTIONS
    again.save(tmp_path / "c")
    for name in ("tracker.json", "tracker.safetensors"):
        assert (tmp_path / "a" / "b" / name).read_bytes() == (tmp_path / "c" / name).read_bytes()


def test_what_is_no_tracker_is_refused(tracker, tmp_path) -> None:
    with pytest.raises(InvalidInputError, match=r"tracker\.json is missing"):
        BeliefTracker.load(tmp_path)
    tracker.save(tmp_path)
    tensors, description = tmp_path / "tracker.safetensors", tmp_path / "tracker.json"
    whole, said = tensors.read_bytes(), json.loads(description.read_text())
    for damage in (whole[:-3], b"", whole[:50]):
        tensors.write_bytes(damage)
        with pytest.raises(InvalidInputError, match="damaged"):
            BeliefTracker.load(tmp_path)
    tensors.write_bytes(whole)
    for change in (
        {"format": "other"},
        {"slots": {"area": ["north"]}},
        {"slots": {"price range": ["cheap"], "area": ["north"]}},
        {"options": {"update": "none"}},
        {"words": 3},
    ):
        description.write_text(json.dumps(said | change))
        with pytest.raises(InvalidInputError) as caught:
            BeliefTracker.load(tmp_path)
        assert "\n" not in str(caught.value)
    description.write_text("{")
    with pytest.raises(InvalidInputError, match="damaged"):
        BeliefTracker.load(tmp_path)
    tensors.unlink()
    description.write_text(json.dumps(said))
    with pytest.raises(InvalidInputError, match="damaged"):
        BeliefTracker.load(tmp_path)
