"""How often tracked goals are right, and what string matching alone gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conceptor.dialogue.woz import DONTCARE, SLOTS, phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.dialogue.woz import Corpus, Dialogue, Turn

__all__ = ["JOINT", "Accuracy", "goal_accuracies", "string_match"]

JOINT = "joint"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Turns that are right, of those that count."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """100 × right / total."""
        return 100 * self.right / self.total if self.total else float("nan")


def goal_accuracies(
    dialogues: Sequence[Dialogue], states: Mapping[str, Sequence[str | None]]
) -> dict[str, Accuracy]:
    """Return the goal accuracy of each slot, and of all three together if all are given.

    Parameters
    ----------
    dialogues : sequence of dialogues
    states : mapping of slot to values
        Of every turn of the dialogues, one after the other; None is not set.

    Notes
    -----
    A slot counts on turns where its true value is set; the joint goal counts on all. A true value
    outside the ontology is set, and no tracker can be right about it.
    """
    turns = [turn for dialogue in dialogues for turn in dialogue]
    right = {
        slot: [_goal(turn, slot) == value for turn, value in zip(turns, values, strict=True)]
        for slot, values in states.items()
    }
    found = {}
    for slot, hits in right.items():
        counted = [hit for turn, hit in zip(turns, hits, strict=True) if _goal(turn, slot)]
        found[slot] = Accuracy(sum(counted), len(counted))
    if set(states) == set(SLOTS):
        together = [all(hits) for hits in zip(*right.values(), strict=True)]
        found[JOINT] = Accuracy(sum(together), len(together))
    return found


def _goal(turn: Turn, slot: str) -> str | None:
    return (turn.after or {}).get(slot)


def string_match(
    dialogues: Sequence[Dialogue], slot: str, values: Sequence[str]
) -> list[str | None]:
    """Return what a tracker without learning says: the longest value named last, carried on."""
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


def string_match_accuracies(corpus: Corpus, slots: Sequence[str]) -> dict[str, Accuracy]:
    """Return the baseline's goal accuracies on the test dialogues."""
    states = {slot: string_match(corpus.test, slot, corpus.values[slot]) for slot in slots}
    return goal_accuracies(corpus.test, states)
