"""Tracking belief states over dialogues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from conceptor.dialogue.tracker import Tracker, Utterances

__all__ = ["predict", "score_turns", "track"]

LEAST = 0.01
_CHUNK = 256


@torch.no_grad()
def score_turns(tracker: Tracker, turns: Utterances, table: Tensor) -> Tensor:
    """Return the turn scores without dropout; they do not depend on the previous belief."""
    tracker.eval()
    parts = [
        tracker.turn_scores(turns[slice(start, start + _CHUNK)], table)
        for start in range(0, len(turns), _CHUNK)
    ]
    return torch.cat(parts)


def predict(logits: Tensor) -> Tensor:
    """Return the most probable value if at least as probable as none and 0.01, else none."""
    probabilities = torch.softmax(logits, 1)
    best, value = probabilities[:, :-1].max(1)
    none = probabilities.shape[1] - 1
    return torch.where((best >= probabilities[:, none]) & (best >= LEAST), value, none)


@torch.no_grad()
def track(tracker: Tracker, scores: Tensor, lengths: Sequence[int], start: Tensor) -> Tensor:
    """Return the class after each turn, with each dialogue continuing its own predictions.

    Parameters
    ----------
    tracker : Tracker
    scores : tensor of shape (turns, V + 1)
        The turn scores of all dialogues, in order.
    lengths : sequence of int
        Number of turns of each dialogue.
    start : int64 tensor of shape (dialogues,)
        The initial class of each dialogue.

    Notes
    -----
    Dialogues advance in parallel, so there are as many steps as the longest has turns.
    """
    count = torch.tensor(lengths)
    first = count.cumsum(0) - count
    states = torch.empty(len(scores), dtype=torch.int64)
    before = start
    for turn in range(int(count.max())):
        going = count > turn
        rows = first[going] + turn
        after = predict(tracker.beliefs(scores[rows], before[going]))
        states[rows] = after
        before = before.clone()
        before[going] = after
    return states
