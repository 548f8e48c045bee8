"""The tracker beside its formulas, one turn and value at a time; and trackers that learn."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.paper.woz import Turn
from conceptor.vectors.table import WordVectors
from tests.dialogues import MADE_CORPUS

DIMENSION, VALUES = 5, 4


def setup_module() -> None:
    """Import PyTorch only where the tests run, not in every process that collects them."""
    global torch, QUICK, EMBEDDING, Examples, Tracker, TrackerOptions, known_units
    global phrase_vector, predict, random_units, run_trial, score_turns, split_turns, track, train
    torch = pytest.importorskip("torch")
    from conceptor.paper.tracker import (
        Examples,
        Tracker,
        TrackerOptions,
        known_units,
        phrase_vector,
        predict,
        random_units,
        run_trial,
        score_turns,
        split_turns,
        track,
        train,
    )

    torch.set_num_threads(1)
    QUICK = TrackerOptions(epochs=3, batch=32, batches=8, rate=0.01)
    EMBEDDING = random_units(MADE_CORPUS.words, 12, "random 0")


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


def plain_scores(tracker, turns):
    """Each formula of the docstring, for one turn and one value at a time."""
    scores = torch.zeros(len(turns.words), VALUES + 1)
    for i, words in enumerate(turns.words):
        padded = torch.cat([words, torch.zeros(3, DIMENSION)])
        r = torch.zeros(DIMENSION)
        for layer in tracker.convolutions:
            width = layer.kernel_size[0]
            responses = [
                sum(layer.weight[:, :, k] @ padded[start + k] for k in range(width)) + layer.bias
                for start in range(len(padded) - width + 1)
            ]
            r += torch.stack(responses).relu().amax(0)
        asked = tracker.request_score(tracker.request(turns.gates[i] * r).sigmoid())
        for v, value in enumerate(tracker.values):
            c = tracker.candidate(value).sigmoid()
            scores[i, v] = tracker.score(tracker.hidden(r * c).sigmoid()) + asked[v]
            if not tracker.options.published and turns.confirmed[i, v]:
                scores[i, v] += tracker.confirm_score(tracker.confirm(r).sigmoid())[0]
    return scores


def perturbed(generator, **options):
    """Return a tracker whose biases are not zero, so that a forgotten one is seen."""
    values = torch.randn(VALUES, DIMENSION, generator=generator)
    tracker = Tracker(values, TrackerOptions(**options), generator).eval()
    with torch.no_grad():
        for parameter in tracker.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return tracker


@pytest.mark.parametrize("published", [False, True])
def test_scores_are_those_of_the_formulas(generator, turns, published) -> None:
    tracker = perturbed(generator, published=published)
    fast = score_turns(tracker, turns)
    with torch.no_grad():
        expected = plain_scores(tracker, turns)
    torch.testing.assert_close(fast, expected, rtol=1e-5, atol=1e-5)
    few = turns.take(torch.tensor([4, 1, 0]))
    assert few.words.shape[1] == 2  # as the longest of them
    torch.testing.assert_close(score_turns(tracker, few), fast[[4, 1, 0]])


def test_the_update_is_its_formula(generator) -> None:
    tracker = perturbed(generator)
    scores = torch.randn(6, VALUES + 1, generator=generator)
    before = torch.tensor([0, 1, 2, 3, 4, 4])
    eye = torch.eye(VALUES + 1)
    a, b, c, d = tracker.mixing
    past, current = a * eye + b * (1 - eye), c * eye + d * (1 - eye)
    expected = eye[before] @ past.T + scores @ current.T
    torch.testing.assert_close(tracker.beliefs(scores, before), expected)


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
    units = known_units(WordVectors(words, raw), [*words, "unheard"])
    assert list(units) == ["care", "dont", "huge", "price", "range"]  # zero has no direction
    for row in (0, 5):
        unit = raw[row] / np.abs(raw[row]).max()
        unit /= np.linalg.norm(unit)
        np.testing.assert_allclose(units[words[row]], unit, rtol=1e-6)
    for name, parts in [("price range", ("price", "range")), ("dontcare", ("dont", "care"))]:
        expected = sum(units[part] for part in parts)
        np.testing.assert_array_equal(phrase_vector(units, name), expected)


def test_random_vectors_are_the_same_on_every_machine() -> None:
    vector = random_units(["thai"], 3, "random 5")["thai"]
    np.testing.assert_allclose(vector, [-0.51819170, -0.08752337, 0.85077435], rtol=1e-6)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert (random_units(["thai"], 3, "random 6")["thai"] != vector).all()


def test_examples() -> None:
    turns = [
        Turn("cheap cheap", requested=("area", "food"), after={"area": "outside"}),
        Turn("", confirmed=(("area", "south"), ("food", "south"), ("area", "outside"))),
    ]
    examples = Examples.from_turns(turns, "area", MADE_CORPUS.values["area"], EMBEDDING)
    np.testing.assert_array_equal(examples.words[0, 1], EMBEDDING["cheap"])
    assert not examples.words[0, 2:].any()
    assert not examples.words[1].any()
    area, food = (phrase_vector(EMBEDDING, slot) for slot in ("area", "food"))
    assert examples.gates.tolist() == pytest.approx([float(np.mean(area * (area + food))), 0.0])
    assert examples.confirmed.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert examples.after.tolist() == [3, 3]  # outside the ontology is none


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


@pytest.mark.parametrize("published", [False, True])
def test_both_kinds_learn(published) -> None:
    options = dataclasses.replace(QUICK, epochs=30, published=published)
    trial = run_trial(MADE_CORPUS, ("x", 0, "price range"), EMBEDDING, options)
    assert trial.curve[-1]["loss"] < trial.curve[0]["loss"] / 2


def test_a_slot_that_is_never_set_cannot_be_learned() -> None:
    with pytest.raises(InvalidInputError, match="turns with the slot set"):
        run_trial(MADE_CORPUS, ("x", 0, "food"), EMBEDDING, QUICK)
