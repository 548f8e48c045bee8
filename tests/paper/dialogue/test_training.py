"""Trackers that learn, the same way every time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from conceptor import InvalidInputError
from conceptor.paper.dialogue.embedding import Embedding
from conceptor.paper.dialogue.options import Confirm, TrackerOptions, Update
from conceptor.paper.dialogue.tracker import Tracker, predict, score_turns, track
from conceptor.paper.dialogue.training import Examples, TrainingSet, WordTable, train
from conceptor.paper.dialogue.trials import Job, Trial, TrialLog, run_trial, run_trials
from conceptor.paper.dialogue.woz import Corpus, Turn, goal_accuracies, load_corpus
from tests.dialogues import MADE_CORPUS

QUICK = TrackerOptions(epochs=3, batch=32, batches=8, rate=0.01)
EMBEDDING = Embedding.random(12, 0)


def test_the_class_that_is_predicted() -> None:
    shares = torch.tensor(
        [
            [0.5, 0.2, 0.3],
            [0.3, 0.2, 0.5],
            [0.3, 0.4, 0.3],
            [0.005, 0.0, 0.004],  # a softmax again: 0.56, 0.0, 0.44 of what these logs say
        ]
    )
    assert predict(shares.log()).tolist() == [0, 2, 1, 0]
    assert predict(torch.zeros(1, 3)).tolist() == [0]  # as probable as none
    many = torch.zeros(1, 200)  # all below 0.01
    assert predict(many).tolist() == [199]


def test_tracking_side_by_side_is_tracking_one_by_one() -> None:
    generator = torch.Generator().manual_seed(3)
    tracker = Tracker(torch.randn(5, 4, generator=generator), TrackerOptions(), generator)
    lengths = [3, 1, 5, 2]
    scores = 3 * torch.randn(sum(lengths), 6, generator=generator)
    start = torch.tensor([5, 0, 5, 2])
    states, row = [], 0
    for length, state in zip(lengths, start, strict=True):
        for _ in range(length):
            logits = tracker.beliefs(scores[row : row + 1], state[None])
            state = predict(logits)[0]
            states.append(int(state))
            row += 1
    found = track(tracker, scores, lengths, start)
    assert found.tolist() == states
    assert len(set(states)) > 2


def test_examples() -> None:
    table = WordTable(EMBEDDING)
    turns = [
        Turn("cheap cheap", requested=("area", "food"), after={"area": "outside"}),
        Turn("", confirmed=(("area", "south"), ("food", "south"), ("area", "outside"))),
    ]
    found = Examples.from_turns(turns, "area", MADE_CORPUS.values["area"], table)
    assert found.turns.words[0, :3].tolist() == [1, 1, 0]
    assert found.turns.words[1].tolist() == [0] * 40
    asked = EMBEDDING.phrase_vector("area") * (
        EMBEDDING.phrase_vector("area") + EMBEDDING.phrase_vector("food")
    )
    assert found.turns.gates.tolist() == pytest.approx([float(np.mean(asked)), 0.0])
    assert found.turns.confirmed.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert found.after.tolist() == [3, 3]  # outside the ontology is none
    assert table.tensor().shape == (2, 12)
    assert not table.tensor()[0].any()


def test_the_validation_turns_are_split_within_a_dialogue() -> None:
    task = TrainingSet.from_corpus(MADE_CORPUS, "area", EMBEDDING)
    assert (len(task.learned), len(task.held_out), task.lengths) == (16 + 12, 4, [4])
    within = dataclasses.replace(MADE_CORPUS, validate=MADE_CORPUS.validate[:2])
    task = TrainingSet.from_corpus(within, "area", EMBEDDING)
    assert (len(task.learned), len(task.held_out), task.lengths) == (16 + 6, 2, [2])


def test_a_seed_decides_everything() -> None:
    job = Job("x", 4, "area", EMBEDDING)
    (one, weights), (two, again) = (run_trial(MADE_CORPUS, job, QUICK) for _ in range(2))
    assert dataclasses.replace(one, seconds=0) == dataclasses.replace(two, seconds=0)
    assert all((weights[name] == again[name]).all() for name in weights)
    other, _ = run_trial(MADE_CORPUS, dataclasses.replace(job, seed=5), QUICK)
    assert other.curve != one.curve
    assert Trial.from_dict(dataclasses.asdict(one)) == one


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    jobs = [Job("x", seed, "price range", EMBEDDING) for seed in (0, 1)]
    seen: list[tuple[Job, int]] = []
    alone, together = (
        {
            job.seed: (dataclasses.replace(trial, seconds=0), weights)
            for job, trial, weights in run_trials(
                MADE_CORPUS,
                jobs,
                QUICK,
                workers=workers,
                watch=lambda job, number, epoch: seen.append((job, number)),
            )
        }
        for workers in (1, 2)
    )
    for seed, (trial, weights) in alone.items():
        assert together[seed][0] == trial
        assert all((together[seed][1][name] == part).all() for name, part in weights.items())
    assert len(seen) == 2 * 2 * QUICK.epochs


def test_a_study_goes_on_where_it_was_killed(tmp_path) -> None:
    jobs = [Job("x", seed, "area", EMBEDDING) for seed in (0, 1)]
    log = TrialLog(tmp_path / "trials.jsonl", QUICK)
    assert log.finished(jobs) == {}
    trials = [run_trial(MADE_CORPUS, job, QUICK)[0] for job in jobs]
    log.append(jobs[0], trials[0])
    whole = log.path.read_bytes()
    log.append(jobs[1], trials[1])
    # Killed while it wrote: any part of the second line is as if it had never been there.
    for end in (len(whole) + 1, len(log.path.read_bytes()) - 1):
        log.path.write_bytes(log.path.read_bytes()[:end])
        assert log.finished(jobs) == {jobs[0]: trials[0]}
        log.append(jobs[1], trials[1])
        assert log.finished(jobs) == dict(zip(jobs, trials, strict=True))


def test_trials_of_another_study_are_refused(tmp_path) -> None:
    job = Job("x", 0, "area", EMBEDDING)
    log = TrialLog(tmp_path / "trials.jsonl", QUICK)
    log.append(job, run_trial(MADE_CORPUS, job, QUICK)[0])
    other_options = TrialLog(log.path, dataclasses.replace(QUICK, rate=0.02))
    with pytest.raises(InvalidInputError, match="line 1: x, seed 0, area was trained on other"):
        other_options.finished([job])
    other_vectors = dataclasses.replace(job, embedding=Embedding.random(13, 0))
    with pytest.raises(InvalidInputError, match="other vectors"):
        log.finished([other_vectors])
    assert log.finished([dataclasses.replace(job, seed=3)]) == {}
    log.path.write_text("{}\n")
    with pytest.raises(InvalidInputError, match="line 1: not a finished trial"):
        log.finished([job])


def test_a_signature_tells_vectors_apart_but_not_their_rounding(rng) -> None:
    units = rng.standard_normal((40, 9)).astype(np.float32)
    words = [f"w{i}" for i in range(40)]
    one, rounded, other = (
        Embedding(words, u.astype(np.float32)).signature()
        for u in (units, units * (1 + 1e-6), units[::-1])
    )
    np.testing.assert_allclose(one, rounded, rtol=1e-3, atol=1e-3)
    assert not np.allclose(one, other, rtol=1e-3, atol=1e-3)


def test_the_rate_falls_to_zero() -> None:
    """The last step of a decaying rate moves the weights far less than one at a constant rate."""
    task = TrainingSet.from_corpus(MADE_CORPUS, "area", EMBEDDING)
    losses = {}
    for decay in (True, False):
        options = dataclasses.replace(QUICK, epochs=12, patience=12, rate=0.03, decay=decay)
        _, curve, _ = train(task, options, 0)
        losses[decay] = [epoch.held_out_loss for epoch in curve]
    assert losses[True][0] != losses[False][0]
    assert abs(losses[True][-1] - losses[True][-2]) < abs(losses[True][1] - losses[True][0])


def test_the_best_epoch_is_kept_and_training_stops() -> None:
    task = TrainingSet.from_corpus(MADE_CORPUS, "price range", EMBEDDING)
    options = dataclasses.replace(QUICK, epochs=40, patience=2, rate=0.03)
    tracker, curve, kept = train(task, options, 0)
    assert len(curve) in (40, kept + 2)
    best = max(curve, key=lambda epoch: (epoch.accuracy, -epoch.held_out_loss))
    assert curve[kept - 1] == best
    scores = score_turns(tracker, task.held_out.turns, task.table.tensor())
    states = track(tracker, scores, task.lengths, task.held_out.before[:1])
    assert float((states == task.held_out.after).double().mean()) == best.accuracy


@pytest.mark.parametrize("slot", ["price range", "area"])
def test_twenty_dialogues_are_learnt_by_heart(data, slot) -> None:
    corpus = load_corpus(data, offline=True)
    few = corpus.train[:20]
    corpus = Corpus(few, few, few, corpus.values)
    options = TrackerOptions(epochs=10, batch=64, batches=30, rate=0.01)
    trial, _ = run_trial(corpus, Job("x", 0, slot, Embedding.random(25, 0)), options)
    found = goal_accuracies(few, {slot: trial.states})[slot]
    assert found.right == found.total == 50
    assert trial.curve[0].accuracy < 1


@pytest.mark.parametrize("update", list(Update))
@pytest.mark.parametrize("confirm", list(Confirm))
def test_every_variant_learns(update, confirm) -> None:
    options = dataclasses.replace(QUICK, epochs=30, update=update, confirm=confirm)
    trial, _ = run_trial(MADE_CORPUS, Job("x", 0, "price range", EMBEDDING), options)
    assert trial.curve[-1].loss < trial.curve[0].loss / 2


def test_a_slot_that_is_never_set_cannot_be_learnt() -> None:
    with pytest.raises(InvalidInputError, match="turns with the slot set"):
        run_trial(MADE_CORPUS, Job("x", 0, "food", EMBEDDING), QUICK)


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"patience": 0}, {"batches": 0}, {"batch": 1}, {"rate": 0}]
)
def test_options_are_checked(wrong) -> None:
    with pytest.raises(InvalidInputError, match=r"is [01]; it must be"):
        TrackerOptions(**wrong)
