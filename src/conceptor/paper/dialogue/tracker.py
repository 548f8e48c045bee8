"""The Neural Belief Tracker: predicts a user's goal for one slot from words and system acts.

A new implementation of Mrkšić & Vulić (2018), "Fully Statistical Neural Belief Tracking".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from conceptor.paper.dialogue.fused import decode, draw_half, max_convolution
from conceptor.paper.dialogue.options import Confirm, Initialization, TrackerOptions, Update

if TYPE_CHECKING:
    from collections.abc import Sequence


HIDDEN = 100
WIDTHS = (1, 2, 3)
LEAST = 0.01  # below this probability no value is predicted
_CHUNK = 256


@dataclass(frozen=True, eq=False)
class Utterances:
    """The input of a tracker: turns as tensors.

    `words` (turns × positions) are rows of a table of word vectors, 0 for padding after the last;
    `gates` (turns) measure how much the system's requests are about this slot; `confirmed` (turns ×
    values) is 1 if the system just asked the user to confirm this value.
    """

    words: Tensor
    gates: Tensor
    confirmed: Tensor

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: Tensor | slice) -> Utterances:
        return Utterances(self.words[rows], self.gates[rows], self.confirmed[rows])


class Tracker(nn.Module):
    """A tracker for one slot, whose candidate values have these fixed vectors (V × D).

    The generator draws the initial weights and the dropout.

    ``r`` is the utterance: the sum of convolutions of width 1, 2 and 3 with D filters, each with
    bias, ReLU and maximum over positions with padding. Bias and ReLU are monotonic, so they come
    after the maximum. The scores of a turn are ``y_v = d_v + q_v + conf_v``, and 0 for none (the
    last class): d from words (`fused.decode`), q from requests, conf from confirmations. The
    belief is ``softmax(W_past b + W_cur y)``.
    """

    values: Tensor

    def __init__(self, values: Tensor, options: TrackerOptions, generator: torch.Generator) -> None:
        super().__init__()
        count, dimension = values.shape
        self.update, self.confirm, self.start = options.update, options.confirm, options.start
        self.generator = generator
        self.register_buffer("values", values)
        self.filters = nn.ParameterList(
            nn.Parameter(torch.empty(width, dimension, dimension)) for width in WIDTHS
        )
        self.filter_biases = nn.Parameter(torch.full((len(WIDTHS), 1, dimension), 0.1))
        for weights in self.filters:
            nn.init.trunc_normal_(weights, std=0.1, a=-0.2, b=0.2, generator=self.generator)
        # The length of their inputs does not depend on the dimension, so the gain undoes the
        # division.
        self.candidate = self._normal(dimension, dimension, gain=dimension**0.5)
        self.candidate_bias = nn.Parameter(torch.zeros(dimension))
        self.hidden = self._normal(HIDDEN, dimension, gain=dimension**0.5)
        self.hidden_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.score = self._normal(HIDDEN)
        self.score_bias = nn.Parameter(torch.zeros(()))
        # Its input is a mean over dimensions, so the gain undoes the division.
        self.request = self._normal(HIDDEN, dimension, gain=dimension)
        self.request_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.request_score = self._normal(count, HIDDEN)
        self.request_score_bias = nn.Parameter(torch.zeros(count))
        if self.confirm is Confirm.WORKING:
            self.confirmation = self._normal(HIDDEN, dimension)
            self.confirmation_bias = nn.Parameter(torch.zeros(HIDDEN))
            self.confirmation_score = self._normal(HIDDEN)
            self.confirmation_score_bias = nn.Parameter(torch.zeros(()))
        match self.update:
            case Update.CONSTRAINED:  # past: diagonal, elsewhere; current: diagonal, elsewhere
                self.mixing = self._normal(4)
                if self.start is not Initialization.ORIGINAL:
                    with torch.no_grad():
                        self.mixing.copy_(torch.tensor([options.trust, 0.0, 1.0, 0.0]))
            case Update.FULL:
                self.past = self._normal(count + 1, count + 1)
                self.current = self._normal(count + 1, count + 1)
                if self.start is not Initialization.ORIGINAL:
                    nn.init.eye_(self.current)
                    with torch.no_grad():
                        self.past.copy_(options.trust * self.current)
            case Update.ALPHA:
                self.mixing = self._normal(1)

    def _normal(self, *shape: int, gain: float = 1.0) -> nn.Parameter:
        scale = gain * shape[-1] ** -0.5 if self.start is not Initialization.ORIGINAL else 1.0
        return nn.Parameter(torch.randn(shape, generator=self.generator) * scale)

    @property
    def none(self) -> int:
        """The class for a slot that is not set."""
        return len(self.values)

    def utterance(self, words: Tensor, table: Tensor) -> Tensor:
        """Return r for each turn."""
        responses = max_convolution(words, table, list(self.filters))
        return torch.relu(responses + self.filter_biases).sum(0)

    def turn_scores(self, turns: Utterances, table: Tensor) -> Tensor:
        """Return the scores of every class, without any belief: shape (turns, V + 1)."""
        r = self.utterance(turns.words, table)
        candidates = torch.sigmoid(self.values @ self.candidate.T + self.candidate_bias)
        units = draw_half(HIDDEN, len(candidates), self.generator) if self.training else None
        scores = decode(r, candidates, self.hidden, self.hidden_bias, self.score, units)
        scores = scores + self.score_bias
        asked = torch.sigmoid((turns.gates[:, None] * r) @ self.request.T + self.request_bias)
        scores = scores + self._drop_out(asked) @ self.request_score.T + self.request_score_bias
        if self.confirm is Confirm.WORKING:
            heard = self._drop_out(torch.sigmoid(r @ self.confirmation.T + self.confirmation_bias))
            heard = heard @ self.confirmation_score + self.confirmation_score_bias
            scores = scores + turns.confirmed * heard[:, None]
        return nn.functional.pad(scores, (0, 1))

    def beliefs(self, scores: Tensor, before: Tensor) -> Tensor:
        """Return the logits of the belief after each turn; `before` are classes."""
        past = nn.functional.one_hot(before, self.none + 1).to(scores.dtype)
        match self.update:
            case Update.CONSTRAINED:
                # W = (a − b) I + b 11ᵀ needs no matrix.
                a, b, c, d = self.mixing.unbind()
                return (a - b) * past + b + (c - d) * scores + d * scores.sum(1, keepdim=True)
            case Update.FULL:
                return past @ self.past.T + scores @ self.current.T
            case Update.ALPHA:
                alpha = torch.sigmoid(self.mixing)
                return alpha * scores + (1 - alpha) * past

    def forward(self, turns: Utterances, before: Tensor, table: Tensor) -> Tensor:
        """Return the logits of the belief after each turn."""
        return self.beliefs(self.turn_scores(turns, table), before)

    def _drop_out(self, active: Tensor) -> Tensor:
        if not self.training:
            return active
        keep = torch.rand(active.shape, generator=self.generator) < 0.5
        return active * keep * 2


@torch.no_grad()
def score_turns(tracker: Tracker, turns: Utterances, table: Tensor) -> Tensor:
    """Return the turn scores without dropout; they do not depend on the previous belief."""
    tracker.eval()
    starts = range(0, len(turns), _CHUNK)
    return torch.cat([tracker.turn_scores(turns[slice(i, i + _CHUNK)], table) for i in starts])


def predict(logits: Tensor) -> Tensor:
    """Return the most probable value if it reaches 0.01 and the probability of none, else none."""
    probabilities = torch.softmax(logits, 1)
    best, value = probabilities[:, :-1].max(1)
    none = probabilities.shape[1] - 1
    return torch.where((best >= probabilities[:, none]) & (best >= LEAST), value, none)


@torch.no_grad()
def track(tracker: Tracker, scores: Tensor, lengths: Sequence[int], start: Tensor) -> Tensor:
    """Return the class after each turn, with each dialogue continuing its own predictions.

    `scores` are the turn scores of all dialogues in order, `lengths` their numbers of turns, and
    `start` their initial classes. They advance in parallel, one step per turn of the longest.
    """
    count = torch.tensor(lengths)
    first = count.cumsum(0) - count
    states = torch.empty(len(scores), dtype=torch.int64)
    before = start.clone()
    for turn in range(int(count.max())):
        going = count > turn
        rows = first[going] + turn
        states[rows] = before[going] = predict(tracker.beliefs(scores[rows], before[going]))
    return states
