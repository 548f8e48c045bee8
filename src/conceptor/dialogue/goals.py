"""Accuracy of tracked goals, and the string matching baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.dialogue.woz import DONTCARE, SLOTS, phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.dialogue.woz import Corpus, Dialogue

JOINT = "joint"


@dataclass(frozen=True, slots=True)
class GoalAccuracy:
    """Number of correct turns out of those that count."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """100 × right / total."""
        return 100 * self.right / self.total if self.total else float("nan")


def goal_accuracies(
    dialogues: Sequence[Dialogue], states: Mapping[str, Sequence[str | None]]
) -> dict[str, GoalAccuracy]:
    """Return the goal accuracy of each slot, and the joint accuracy if all three are given.

    Parameters
    ----------
    dialogues : sequence of dialogues
    states : mapping of slot to values
        The values after every turn, in order; None for not set.

    Notes
    -----
    A slot counts on turns where its true value is set; the joint goal counts on all turns. A true
    value outside the ontology counts as set, and no tracker can get it right.
    """
    turns = [turn for dialogue in dialogues for turn in dialogue]
    right, counted = {}, {}
    for slot, values in states.items():
        goals = [(turn.after or {}).get(slot) for turn in turns]
        right[slot] = [goal == value for goal, value in zip(goals, values, strict=True)]
        counted[slot] = [hit for goal, hit in zip(goals, right[slot], strict=True) if goal]
    if set(states) == set(SLOTS):
        counted[JOINT] = [all(hits) for hits in zip(*right.values(), strict=True)]
    return {goal: GoalAccuracy(sum(hits), len(hits)) for goal, hits in counted.items()}


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
