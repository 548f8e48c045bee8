"""Belief states over dialogues, and how often they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from conceptor.dialogue.tracker import Tracker, Utterances

__all__ = ["carried", "predicted", "scores_of"]

LEAST = 0.01
_CHUNK = 256


@torch.no_grad()
def scores_of(tracker: Tracker, turns: Utterances, table: Tensor) -> Tensor:
    """Return the turn scores without dropout; they do not depend on the belief before."""
    tracker.eval()
    parts = [
        tracker.turn_scores(turns[slice(start, start + _CHUNK)], table)
        for start in range(0, len(turns), _CHUNK)
    ]
    return torch.cat(parts)


def predicted(logits: Tensor) -> Tensor:
    """Return the most probable value if no less probable than none and than 0.01, else none."""
    probabilities = torch.softmax(logits, 1)
    best, value = probabilities[:, :-1].max(1)
    none = probabilities.shape[1] - 1
    return torch.where((best >= probabilities[:, none]) & (best >= LEAST), value, none)


@torch.no_grad()
def carried(tracker: Tracker, scores: Tensor, lengths: Sequence[int], start: Tensor) -> Tensor:
    """Return the class after each turn, every dialogue going on from its own predictions.

    Parameters
    ----------
    tracker : Tracker
    scores : tensor of shape (turns, V + 1)
        Of dialogues one after the other.
    lengths : sequence of int
        Their numbers of turns.
    start : int64 tensor of shape (dialogues,)
        The class each begins with.

    Notes
    -----
    Dialogues go side by side, so there are as many steps as the longest has turns.
    """
    count = torch.tensor(lengths)
    first = count.cumsum(0) - count
    states = torch.empty(len(scores), dtype=torch.int64)
    before = start
    for turn in range(int(count.max())):
        going = count > turn
        rows = first[going] + turn
        after = predicted(tracker.beliefs(scores[rows], before[going]))
        states[rows] = after
        before = before.clone()
        before[going] = after
    return states
