"""The tracker beside every formula once more, as loops over numbers; and trackers that learn."""

from __future__ import annotations

import dataclasses
import math
import operator
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conceptor.base.errors import InvalidInputError
from conceptor.paper.woz import Corpus, Turn, goal_counts, load_corpus
from conceptor.vectors.table import WordVectors
from tests.dialogues import MADE_CORPUS

pytest.importorskip("torch")

import torch

from conceptor.paper.dialogue import run_trial
from conceptor.paper.tracker import (
    Embedding,
    Examples,
    Tracker,
    TrackerOptions,
    predict,
    score_turns,
    split_turns,
    track,
    train,
)

torch.set_num_threads(1)
DIMENSION, VALUES = 5, 4
QUICK = TrackerOptions(epochs=3, batch=32, batches=8, rate=0.01)
EMBEDDING = Embedding.random(12, 0)
UPDATES, CONFIRMS = ("constrained", "full", "alpha"), ("working", "inert")
PRINT = """
from conceptor.paper.tracker import Embedding
print(Embedding.random(3, 5).vector("thai").tobytes().hex())
"""


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(7)


@pytest.fixture
def turns(generator):
    vectors = torch.randn(12, DIMENSION, generator=generator)
    vectors[0] = 0
    numbers = torch.zeros(6, 8, dtype=torch.int64)
    lengths = (1, 2, 3, 8, 0, 5)
    for row, length in enumerate(lengths):
        numbers[row, :length] = torch.randint(1, 12, (length,), generator=generator)
    numbers[3, 1] = numbers[3, 5] = numbers[3, 2] = numbers[3, 6]  # equal windows: shared maxima
    gates = torch.tensor([0.0, 0.3, 0.0, -0.2, 0.1, 0.0])
    confirmed = torch.zeros(6, VALUES)
    confirmed[1, 2] = confirmed[3, 0] = confirmed[3, 1] = 1
    states = torch.zeros(2, 6, dtype=torch.int64)
    words = vectors / vectors.norm(dim=1, keepdim=True).clamp(min=1)
    return Examples(words[numbers], torch.tensor(lengths), gates, confirmed, *states)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def naive_utterance(tracker, words):
    """Convolve with explicit padding, add the bias, rectify, and only then take the maximum."""
    vectors = words.tolist() + [[0.0] * DIMENSION] * 3
    total = [0.0] * DIMENSION
    for layer in tracker.convolutions:
        weights, biases = layer.weight.tolist(), layer.bias.tolist()
        width = layer.kernel_size[0]
        for f in range(DIMENSION):
            responses = []
            for start in range(len(vectors) - width + 1):
                response = biases[f]
                for place in range(width):
                    for d in range(DIMENSION):
                        response += vectors[start + place][d] * weights[f][d][place]
                responses.append(max(response, 0.0))
            total[f] += max(responses)
    return total


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


def naive_layer(layer, inputs):
    rows = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    return [dot(row, inputs) + bias for row, bias in rows]


def naive_scores(tracker, turns):
    scored = []
    for words, gate, confirmed in zip(
        turns.words, turns.gates.tolist(), turns.confirmed.tolist(), strict=True
    ):
        r = naive_utterance(tracker, words)
        asked = list(map(sigmoid, naive_layer(tracker.request, [gate * x for x in r])))
        requested = naive_layer(tracker.request_score, asked)
        scores = []
        for v, value in enumerate(tracker.values.tolist()):
            c = map(sigmoid, naive_layer(tracker.candidate, value))
            product = list(map(operator.mul, r, c))
            hidden = list(map(sigmoid, naive_layer(tracker.hidden, product)))
            score = naive_layer(tracker.score, hidden)[0] + requested[v]
            if tracker.options.confirm == "working" and confirmed[v]:
                heard = list(map(sigmoid, naive_layer(tracker.confirm, r)))
                score += naive_layer(tracker.confirm_score, heard)[0]
            scores.append(score)
        scored.append([*scores, 0.0])
    return torch.tensor(scored)


def perturbed(generator, **options):
    """Return a tracker whose biases are not zero, so that a forgotten one is seen."""
    values = torch.randn(VALUES, DIMENSION, generator=generator)
    tracker = Tracker(values, TrackerOptions(**options), generator).eval()
    with torch.no_grad():
        for parameter in tracker.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return tracker


@pytest.mark.parametrize("confirm", CONFIRMS)
@pytest.mark.parametrize("start", ["scaled", "original"])
def test_scores_are_those_of_the_loops(generator, turns, confirm, start) -> None:
    tracker = perturbed(generator, confirm=confirm, start=start)
    fast = score_turns(tracker, turns)
    torch.testing.assert_close(fast, naive_scores(tracker, turns), rtol=1e-5, atol=1e-5)
    few = turns.take(torch.tensor([4, 1, 0]))
    assert few.words.shape[1] == 2  # as the longest of them
    torch.testing.assert_close(score_turns(tracker, few), fast[[4, 1, 0]])


@pytest.mark.parametrize("update", ["constrained", "full"])
def test_a_new_tracker_keeps_its_belief_unless_a_score_is_clearly_higher(generator, update) -> None:
    values = torch.randn(VALUES, DIMENSION, generator=generator)
    tracker = Tracker(values, TrackerOptions(update=update, trust=3.0), generator)
    before = torch.arange(VALUES + 1)
    for score, changed in ((2.9, False), (3.1, True)):
        scores = torch.zeros(VALUES + 1, VALUES + 1)
        scores[:, 0] = score
        believed = tracker.beliefs(scores, before).argmax(1)
        assert believed.tolist() == ([0] * len(before) if changed else before.tolist())


def test_updates_are_their_formulas(generator) -> None:
    tracker = perturbed(generator)
    scores = torch.randn(6, VALUES + 1, generator=generator)
    before = torch.tensor([0, 1, 2, 3, 4, 4])
    eye = torch.eye(VALUES + 1)
    a, b, c, d = tracker.mixing
    past, current = a * eye + b * (1 - eye), c * eye + d * (1 - eye)
    expected = eye[before] @ past.T + scores @ current.T
    torch.testing.assert_close(tracker.beliefs(scores, before), expected)
    full = perturbed(generator, update="full")
    with torch.no_grad():
        full.past.copy_(past)
        full.current.copy_(current)
    torch.testing.assert_close(full.beliefs(scores, before), expected)
    mixed = perturbed(generator, update="alpha")
    alpha = sigmoid(mixed.mixing.item())
    expected = alpha * scores + (1 - alpha) * eye[before]
    torch.testing.assert_close(mixed.beliefs(scores, before), expected)


def test_dropout_is_right_on_average(generator, turns) -> None:
    """The scores are linear in what is dropped, so their mean is the score without dropout."""
    tracker = perturbed(generator)
    with torch.no_grad():
        expected = tracker.turn_scores(turns)
        tracker.train()
        draws = torch.stack([tracker.turn_scores(turns) for _ in range(500)])
    error = draws.std(0) / math.sqrt(len(draws))
    assert ((draws.mean(0) - expected).abs() <= 5 * error + 1e-4).all()
    assert (draws.std(0)[:, :-1] > 0).all()


def test_the_class_that_is_predicted() -> None:
    shares = torch.tensor(
        [
            [0.5, 0.2, 0.3],
            [0.3, 0.2, 0.5],
            [0.3, 0.4, 0.3],
            [0.005, 0.0, 0.004],  # a softmax again: 0.56, 0.0, 0.44
        ]
    )
    assert predict(shares.log()).tolist() == [0, 2, 1, 0]
    assert predict(torch.zeros(1, 3)).tolist() == [0]  # as probable as none
    assert predict(torch.zeros(1, 200)).tolist() == [199]  # all below 0.01


def test_tracking_side_by_side_is_tracking_one_by_one(generator) -> None:
    tracker = Tracker(torch.randn(5, 4, generator=generator), TrackerOptions(), generator)
    lengths = [3, 1, 5, 2]
    scores = 3 * torch.randn(sum(lengths), 6, generator=generator)
    start = torch.tensor([5, 0, 5, 2])
    states, row = [], 0
    for length, state in zip(lengths, start, strict=True):
        for _ in range(length):
            state = predict(tracker.beliefs(scores[row : row + 1], state[None]))[0]
            states.append(int(state))
            row += 1
    assert track(tracker, scores, lengths, start).tolist() == states
    assert len(set(states)) > 2


def test_vectors_are_units_and_names_plain_sums(rng) -> None:
    words = ["price", "range", "dont", "care", "zero", "huge"]
    raw = rng.standard_normal((6, 8))
    raw[4] = 0
    raw[5] *= 1e300
    embedding = Embedding.from_vectors(WordVectors(words, raw), [*words, "unheard"])
    for row in (0, 5):
        unit = raw[row] / np.abs(raw[row]).max()
        unit /= np.linalg.norm(unit)
        np.testing.assert_allclose(embedding.vector(words[row]), unit, rtol=1e-6)
    for name, parts in [("price range", ("price", "range")), ("dontcare", ("dont", "care"))]:
        expected = sum(embedding.vector(part) for part in parts)
        np.testing.assert_array_equal(embedding.phrase_vector(name), expected)
    assert "zero" not in embedding.units
    assert np.linalg.norm(embedding.vector("zero")) == pytest.approx(1, abs=1e-6)
    with pytest.raises(InvalidInputError, match="none of the dialogues' words"):
        Embedding.from_vectors(WordVectors(["Thai"], np.ones((1, 3))), MADE_CORPUS.words)


@given(st.text())
def test_unknown_words_get_units_too(word) -> None:
    one, other = Embedding.random(7, 0), Embedding.random(7, 1)
    assert np.linalg.norm(one.vector(word)) == pytest.approx(1, abs=1e-6)
    np.testing.assert_array_equal(one.vector(word), Embedding.random(7, 0).vector(word))
    assert (one.vector(word) != other.vector(word)).any()


def test_random_vectors_do_not_depend_on_the_process() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", PRINT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "1"},
    )
    assert shown.stdout.strip() == Embedding.random(3, 5).vector("thai").tobytes().hex()


def test_examples() -> None:
    turns = [
        Turn("cheap cheap", requested=("area", "food"), after={"area": "outside"}),
        Turn("", confirmed=(("area", "south"), ("food", "south"), ("area", "outside"))),
    ]
    examples = Examples.from_turns(turns, "area", MADE_CORPUS.values["area"], EMBEDDING)
    np.testing.assert_array_equal(examples.words[0, 1], EMBEDDING.vector("cheap"))
    assert not examples.words[0, 2:].any()
    assert not examples.words[1].any()
    area, food = EMBEDDING.phrase_vector("area"), EMBEDDING.phrase_vector("food")
    assert examples.gates.tolist() == pytest.approx([float(np.mean(area * (area + food))), 0.0])
    assert examples.confirmed.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert examples.after.tolist() == [3, 3]  # outside the ontology is none


def test_the_validation_turns_are_split_within_a_dialogue() -> None:
    learned, held_out, lengths = split_turns(MADE_CORPUS)
    assert (len(learned), len(held_out), lengths) == (16 + 12, 4, [4])
    within = dataclasses.replace(MADE_CORPUS, validate=MADE_CORPUS.validate[:2])
    learned, held_out, lengths = split_turns(within)
    assert (len(learned), len(held_out), lengths) == (16 + 6, 2, [2])


def test_a_seed_decides_everything() -> None:
    one, two, other = (
        run_trial(MADE_CORPUS, ("x", seed, "area"), EMBEDDING, QUICK) for seed in (4, 4, 5)
    )
    assert (one.states, one.curve, one.kept) == (two.states, two.curve, two.kept)
    assert other.curve != one.curve


def test_the_best_epoch_is_kept_and_training_stops() -> None:
    options = dataclasses.replace(QUICK, epochs=40, patience=2, rate=0.03)
    tracker, curve, best = train(MADE_CORPUS, "price range", EMBEDDING, options, 0)
    assert len(curve) in (40, best + 2)
    expected = max(curve, key=lambda epoch: (epoch["accuracy"], -epoch["held_out_loss"]))
    assert curve[best - 1] == expected
    _, later, lengths = split_turns(MADE_CORPUS)
    values = MADE_CORPUS.values["price range"]
    held_out = Examples.from_turns(later, "price range", values, EMBEDDING)
    states = track(tracker, score_turns(tracker, held_out), lengths, held_out.before[:1])
    assert float((states == held_out.after).double().mean()) == expected["accuracy"]


@pytest.mark.parametrize("slot", ["price range", "area"])
def test_twenty_dialogues_are_learnt_by_heart(data, slot) -> None:
    corpus = load_corpus(data, offline=True)
    few = corpus.train[:20]
    corpus = Corpus(few, few, few, corpus.values)
    options = TrackerOptions(epochs=10, batch=64, batches=30, rate=0.01)
    trial = run_trial(corpus, ("x", 0, slot), Embedding.random(25, 0), options)
    assert goal_counts(few, {slot: trial.states})[slot].sum(1).tolist() == [50, 50]
    assert trial.curve[0]["accuracy"] < 1


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("confirm", CONFIRMS)
def test_every_variant_learns(update, confirm) -> None:
    options = dataclasses.replace(QUICK, epochs=30, update=update, confirm=confirm)
    trial = run_trial(MADE_CORPUS, ("x", 0, "price range"), EMBEDDING, options)
    assert trial.curve[-1]["loss"] < trial.curve[0]["loss"] / 2


def test_a_slot_that_is_never_set_cannot_be_learnt() -> None:
    with pytest.raises(InvalidInputError, match="turns with the slot set"):
        run_trial(MADE_CORPUS, ("x", 0, "food"), EMBEDDING, QUICK)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"patience": 0},
        {"batches": 0},
        {"batch": 1},
        {"rate": 0},
        {"trust": -0.1},
        {"trust": float("nan")},
        {"update": "none"},
        {"start": "zero"},
    ],
)
def test_options_are_checked(wrong) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        TrackerOptions(**wrong)
