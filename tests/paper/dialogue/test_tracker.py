"""The fast model beside the slow one: every formula once more, as loops over numbers."""

from __future__ import annotations

import math
import operator

import pytest
import torch

from conceptor.base.errors import InvalidInputError
from conceptor.kernels import tracker as loops
from conceptor.paper.dialogue import fused
from conceptor.paper.dialogue.fused import decode, draw_half, max_convolution
from conceptor.paper.dialogue.options import Confirm, Initialization, TrackerOptions, Update
from conceptor.paper.dialogue.tracker import Tracker, Utterances

DIMENSION, VALUES = 5, 4


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(7)


@pytest.fixture
def table(generator):
    vectors = torch.randn(12, DIMENSION, generator=generator)
    vectors[0] = 0
    return vectors / vectors.norm(dim=1, keepdim=True).clamp(min=1)


@pytest.fixture
def turns(generator):
    words = torch.zeros(6, 8, dtype=torch.int64)
    for row, length in enumerate((1, 2, 3, 8, 0, 5)):
        words[row, :length] = torch.randint(1, 12, (length,), generator=generator)
    words[3, 1] = words[3, 5] = words[3, 2] = words[3, 6]  # equal windows: shared maxima
    gates = torch.tensor([0.0, 0.3, 0.0, -0.2, 0.1, 0.0])
    confirmed = torch.zeros(6, VALUES)
    confirmed[1, 2] = confirmed[3, 0] = confirmed[3, 1] = 1
    return Utterances(words, gates, confirmed)


@pytest.fixture
def doubles(monkeypatch):
    """Differences need float64, for which Numba compiles the same loops anew."""
    monkeypatch.setattr(fused, "kernels", loops)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def naive_utterance(tracker, words, table):
    """Convolve with explicit padding, add the bias, rectify, and only then take the maximum."""
    vectors = [table[word].tolist() for word in words.tolist()] + [[0.0] * DIMENSION] * 3
    total = [0.0] * DIMENSION
    for number, slices in enumerate(tracker.filters):
        for f in range(DIMENSION):
            responses = []
            for start in range(len(vectors) - len(slices) + 1):
                response = tracker.filter_biases[number, 0, f].item()
                for place in range(len(slices)):
                    for d in range(DIMENSION):
                        response += vectors[start + place][d] * slices[place, d, f].item()
                responses.append(max(response, 0.0))
            total[f] += max(responses)
    return total


def naive_layer(weight, bias, inputs):
    return [
        sigmoid(sum(w * x for w, x in zip(row, inputs, strict=True)) + b)
        for row, b in zip(weight.tolist(), bias.tolist(), strict=True)
    ]


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


def naive_scores(tracker, turns, table):
    found = []
    for words, gate, confirmed in zip(
        turns.words, turns.gates.tolist(), turns.confirmed.tolist(), strict=True
    ):
        r = naive_utterance(tracker, words, table)
        asked = naive_layer(tracker.request, tracker.request_bias, [gate * x for x in r])
        scores = []
        for v, value in enumerate(tracker.values.tolist()):
            c = naive_layer(tracker.candidate, tracker.candidate_bias, value)
            h = naive_layer(tracker.hidden, tracker.hidden_bias, list(map(operator.mul, r, c)))
            score = dot(tracker.score.tolist(), h) + tracker.score_bias.item()
            score += dot(tracker.request_score[v].tolist(), asked)
            score += tracker.request_score_bias[v].item()
            if tracker.confirm is Confirm.WORKING and confirmed[v]:
                heard = naive_layer(tracker.confirmation, tracker.confirmation_bias, r)
                score += dot(tracker.confirmation_score.tolist(), heard)
                score += tracker.confirmation_score_bias.item()
            scores.append(score)
        found.append([*scores, 0.0])
    return torch.tensor(found)


def perturbed(generator, **options):
    """Return a tracker whose biases are not zero, so that a forgotten one is seen."""
    values = torch.randn(VALUES, DIMENSION, generator=generator)
    tracker = Tracker(values, TrackerOptions(**options), generator).eval()
    with torch.no_grad():
        for parameter in tracker.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return tracker


@pytest.mark.parametrize("confirm", list(Confirm))
@pytest.mark.parametrize("start", list(Initialization))
def test_scores_are_those_of_the_loops(generator, table, turns, confirm, start) -> None:
    tracker = perturbed(generator, confirm=confirm, start=start)
    with torch.no_grad():
        fast = tracker.turn_scores(turns, table)
    torch.testing.assert_close(fast, naive_scores(tracker, turns, table), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("update", [Update.CONSTRAINED, Update.FULL])
def test_a_new_tracker_keeps_its_belief_unless_a_score_is_clearly_higher(generator, update) -> None:
    values = torch.randn(VALUES, DIMENSION, generator=generator)
    tracker = Tracker(values, TrackerOptions(update=update, trust=3.0), generator)
    before = torch.arange(VALUES + 1)
    for score, changed in ((2.9, False), (3.1, True)):
        scores = torch.zeros(VALUES + 1, VALUES + 1)
        scores[:, 0] = score
        believed = tracker.beliefs(scores, before).argmax(1)
        assert believed.tolist() == ([0] * len(before) if changed else before.tolist())


@pytest.mark.parametrize("trust", [-0.1, float("inf"), float("nan")])
def test_trust_is_a_number_of_0_or_more(trust) -> None:
    with pytest.raises(InvalidInputError, match="trust"):
        TrackerOptions(trust=trust)


def test_the_update_without_matrices_is_that_with_them(generator) -> None:
    tracker = perturbed(generator)
    scores = torch.randn(6, VALUES + 1, generator=generator)
    before = torch.tensor([0, 1, 2, 3, 4, 4])
    eye = torch.eye(VALUES + 1)
    a, b, c, d = tracker.mixing
    past, current = a * eye + b * (1 - eye), c * eye + d * (1 - eye)
    torch.testing.assert_close(
        tracker.beliefs(scores, before), eye[before] @ past.T + scores @ current.T
    )
    full = perturbed(generator, update=Update.FULL)
    with torch.no_grad():
        full.past.copy_(past)
        full.current.copy_(current)
    torch.testing.assert_close(full.beliefs(scores, before), tracker.beliefs(scores, before))


def test_alpha_mixes_the_belief_before_with_the_scores(generator) -> None:
    tracker = perturbed(generator, update=Update.ALPHA)
    scores = torch.randn(2, VALUES + 1, generator=generator)
    alpha = sigmoid(tracker.mixing.item())
    expected = alpha * scores + (1 - alpha) * torch.eye(VALUES + 1)[[1, VALUES]]
    torch.testing.assert_close(tracker.beliefs(scores, torch.tensor([1, VALUES])), expected)


@pytest.mark.parametrize("halved", [False, True])
def test_the_decoder_and_its_derivative(generator, halved, doubles) -> None:
    def drawn(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    inputs = [drawn(3, 4), drawn(5, 4), drawn(6, 4), drawn(6), drawn(6)]
    units = draw_half(6, 5, generator) if halved else None
    r, c, weight, bias, out = inputs
    hidden = torch.sigmoid(torch.einsum("bd,vd,hd->bvh", r, c, weight) + bias)
    kept = torch.ones(5, 6, dtype=torch.float64)
    if units is not None:
        kept = torch.zeros_like(kept).scatter_(1, units, 2.0)
    torch.testing.assert_close(decode(*inputs, units), (hidden * kept) @ out)
    assert torch.autograd.gradcheck(lambda *x: decode(*x, units), inputs)


def test_the_convolution_and_its_derivative(generator, table, turns, doubles) -> None:
    filters = [
        torch.randn(width, DIMENSION, 3, generator=generator, dtype=torch.float64).requires_grad_()
        for width in (1, 2, 3)
    ]
    words = turns.words[[0, 1, 2, 4, 5]]  # no equal windows: differences are defined there

    def run(*filters):
        return max_convolution(words, table.double(), filters)

    assert torch.autograd.gradcheck(run, filters)
    whole = torch.nn.functional.pad(table.double()[turns.words], (0, 0, 0, 3))
    for mine, slices in zip(
        max_convolution(turns.words, table.double(), filters), filters, strict=True
    ):
        theirs = torch.nn.functional.conv1d(whole.mT, slices.permute(2, 1, 0)).amax(2)
        torch.testing.assert_close(mine, theirs)


def test_equal_windows_share_their_derivative(generator, table) -> None:
    """A word said twice is one maximum: its derivative is not counted twice."""
    slices = torch.randn(1, DIMENSION, 3, generator=generator).requires_grad_()
    once, twice = (
        torch.autograd.grad(max_convolution(torch.tensor([said]), table, [slices]).sum(), slices)[0]
        for said in ([3, 0, 0], [3, 3, 0])
    )
    torch.testing.assert_close(once, twice)


@pytest.mark.parametrize("update", list(Update))
def test_derivatives_of_a_whole_tracker(generator, table, turns, update, doubles) -> None:
    tracker = perturbed(generator, update=update).double()
    turns = Utterances(turns.words[:3], turns.gates[:3].double(), turns.confirmed[:3].double())
    before, after = torch.tensor([VALUES, 1, 0]), torch.tensor([2, 1, VALUES])

    def loss(*parameters):
        named = dict(zip((name for name, _ in tracker.named_parameters()), parameters, strict=True))
        logits = torch.func.functional_call(tracker, named, (turns, before, table.double()))
        return torch.nn.functional.cross_entropy(logits, after)

    assert torch.autograd.gradcheck(loss, tuple(tracker.parameters()), fast_mode=True)


def test_the_machine_code_derives_what_the_loops_derive(generator, table, turns, monkeypatch):
    tracker = perturbed(generator).eval()

    def gradients():
        tracker.zero_grad()
        tracker.turn_scores(turns, table).square().sum().backward()
        return [
            parameter.grad.clone()
            for parameter in tracker.parameters()
            if parameter.grad is not None
        ]

    fast = gradients()
    monkeypatch.setattr(fused, "kernels", loops)
    for one, other in zip(fast, gradients(), strict=True):
        torch.testing.assert_close(one, other)


def test_halves_are_halves_and_every_unit_has_its_turn(generator) -> None:
    drawn = draw_half(10, 2000, generator)
    assert drawn.shape == (2000, 5)
    assert all(len(set(row)) == 5 for row in drawn.tolist())
    counts = torch.bincount(drawn.flatten(), minlength=10)
    assert (counts - 1000).abs().max() < 5 * math.sqrt(2000 / 4)


def test_dropout_is_right_on_average(generator, table, turns) -> None:
    """The scores are linear in what is dropped, so their mean is the score without dropout."""
    tracker = perturbed(generator)
    expected = tracker.turn_scores(turns, table)
    tracker.train()
    draws = torch.stack([tracker.turn_scores(turns, table) for _ in range(1500)])
    error = draws.std(0) / math.sqrt(len(draws))
    assert ((draws.mean(0) - expected).abs() <= 5 * error + 1e-4).all()
    assert (draws.std(0)[:, :-1] > 0).all()
