"""Accuracy of tracked goals, and the string matching baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conceptor.paper.dialogue.woz import DONTCARE, SLOTS, phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from conceptor.paper.dialogue.woz import Corpus, Dialogue

JOINT = "joint"
# The joint goal over the turns with a goal, as in the public code.
JOINT_WHEN_SET = "joint, goal set"


@dataclass(frozen=True, slots=True)
class GoalAccuracy:
    """The number of correct turns, and of all turns that count."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """100 × right / total."""
        return 100 * self.right / self.total if self.total else float("nan")


def goal_counts(
    dialogues: Sequence[Dialogue], states: Mapping[str, Sequence[str | None]]
) -> dict[str, NDArray[np.int64]]:
    """Return the correct turns and the turns that count in each dialogue, by slot and jointly.

    Parameters
    ----------
    dialogues : sequence of dialogues
    states : mapping of slot to values
        The values after every turn, in order; None for not set.

    Returns
    -------
    dict of str to array of shape (2, dialogues)
        A slot counts on turns where its true value is set; the joint goal, if all three slots are
        given, counts on all turns, and under `JOINT_WHEN_SET` on those where any is set. A true
        value outside the ontology counts as set, and no tracker can get it right.
    """
    turns = [turn for dialogue in dialogues for turn in dialogue]
    first = np.cumsum([0, *(len(dialogue) for dialogue in dialogues)])[:-1]
    right, is_set = {}, {}
    for slot, values in states.items():
        goals = [(turn.after or {}).get(slot) for turn in turns]
        right[slot] = np.array([goal == value for goal, value in zip(goals, values, strict=True)])
        is_set[slot] = np.array([bool(goal) for goal in goals])
    counted = {slot: (right[slot], is_set[slot]) for slot in states}
    if set(states) == set(SLOTS):
        together = np.all(list(right.values()), axis=0)
        counted[JOINT] = (together, np.ones_like(together))
        counted[JOINT_WHEN_SET] = (together, np.any(list(is_set.values()), axis=0))
    return {
        goal: np.add.reduceat(np.array([hits & counts, counts], dtype=np.int64), first, axis=1)
        for goal, (hits, counts) in counted.items()
    }


def goal_accuracies(
    dialogues: Sequence[Dialogue], states: Mapping[str, Sequence[str | None]]
) -> dict[str, GoalAccuracy]:
    """Return the goal accuracy of each slot, and the joint accuracy if all three are given."""
    return {
        goal: GoalAccuracy(int(right.sum()), int(total.sum()))
        for goal, (right, total) in goal_counts(dialogues, states).items()
    }


def string_match(
    dialogues: Sequence[Dialogue], slot: str, values: Sequence[str]
) -> list[str | None]:
    """Track without learning: after each turn, the longest value named in it, else unchanged."""
    names = {value: phrase(value) for value in values if value != DONTCARE}
    states: list[str | None] = []
    for dialogue in dialogues:
        state = None
        for turn in dialogue:
            said = turn.tokens
            named = [
                (len(" ".join(name)), position, value)
                for value, name in names.items()
                for position in range(len(said) - len(name) + 1)
                if said[position : position + len(name)] == name
            ]
            state = max(named)[2] if named else state
            states.append(state)
    return states


def string_match_accuracies(corpus: Corpus, slots: Sequence[str]) -> dict[str, GoalAccuracy]:
    """Return the baseline's goal accuracies on the test dialogues."""
    states = {slot: string_match(corpus.test, slot, corpus.values[slot]) for slot in slots}
    return goal_accuracies(corpus.test, states)
