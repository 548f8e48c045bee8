"""WOZ 2.0: typed dialogues of people looking for a restaurant.

Wen et al. (2017), with the ontology of DSTC2. A turn holds a tracker's input (the user's words and
the system's acts before them) and the user's goals after it.
"""

from __future__ import annotations

import itertools
import json
import string
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.data import registry as datasets

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


SLOTS = ("food", "price range", "area")
DONTCARE = "dontcare"
FILES = (
    "dialogue/woz_train_en.json",
    "dialogue/woz_validate_en.json",
    "dialogue/woz_test_en.json",
    "dialogue/ontology_dstc2_en.json",
)
LONGEST = 40
_REQUESTABLE = ("address", "phone", "postcode")
_PUNCTUATION = str.maketrans("", "", string.punctuation.replace("'", ""))


def tokens(text: str) -> tuple[str, ...]:
    """Return at most 40 lower-case tokens; ASCII punctuation is deleted, not turned into spaces."""
    return tuple(text.translate(_PUNCTUATION).lower().replace("'", "").split()[:LONGEST])


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's words, the preceding system acts, and the goals before and after.

    Attributes
    ----------
    transcript : str
    requested : tuple of str
        Slots that the system just asked for.
    confirmed : tuple of (slot, value)
        Values that the system just asked the user to confirm.
    before, after : mapping of slot to value
        The accumulated goals, as annotated, including values outside the ontology.
    """

    transcript: str
    requested: tuple[str, ...] = ()
    confirmed: tuple[tuple[str, str], ...] = ()
    before: Mapping[str, str] | None = None
    after: Mapping[str, str] | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The user's words."""
        return tokens(self.transcript)


Dialogue = tuple[Turn, ...]


@dataclass(frozen=True, eq=False)
class Corpus:
    """The three splits of WOZ 2.0, and the possible values of each slot (with `dontcare`)."""

    train: Sequence[Dialogue]
    validate: Sequence[Dialogue]
    test: Sequence[Dialogue]
    values: Mapping[str, tuple[str, ...]]

    @property
    def spoken(self) -> list[str]:
        """The words of all turns, one after another."""
        dialogues = itertools.chain(self.train, self.validate, self.test)
        return [word for dialogue in dialogues for turn in dialogue for word in turn.tokens]

    @property
    def words(self) -> frozenset[str]:
        """Every word that a tracker looks up: in turns, slots and values."""
        named = [word for slot, values in self.values.items() for word in (slot, *values)]
        return frozenset(self.spoken).union(*map(phrase, named))


def phrase(name: str) -> tuple[str, ...]:
    """Return the words of a slot or value; `dontcare` is two words."""
    return ("dont", "care") if name == DONTCARE else tokens(name)


def load_corpus(
    data: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    progress: datasets.Bars | None = None,
) -> Corpus:
    """Return the corpus, downloading its files if necessary."""
    paths = [datasets.fetch(name, data, offline=offline, progress=progress) for name in FILES]
    train, validate, test = map(read_dialogues, paths[:3])
    return Corpus(train, validate, test, read_ontology(paths[3]))


def read_ontology(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each slot, `dontcare` last."""
    named = json.loads(Path(path).read_text(encoding="utf-8"))["informable"]
    return {
        slot: (*dict.fromkeys(v for v in named[slot] if v != DONTCARE), DONTCARE) for slot in SLOTS
    }


def read_dialogues(path: str | os.PathLike[str]) -> list[Dialogue]:
    """Read the dialogues of a file of WOZ 2.0, whose bytes the registry has verified.

    Each turn's `transcript`, `system_acts` and `turn_label` are used; goals accumulate from the
    last (`belief_state` disagrees with it on a few turns).
    """
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return [_dialogue(entry["dialogue"]) for entry in content]


def _dialogue(entries: Sequence[Mapping[str, Any]]) -> Dialogue:
    turns = []
    goals: Mapping[str, str] = {}
    for entry in entries:
        informed = {slot: value for slot, value in entry["turn_label"] if slot in SLOTS}
        before, goals = goals, {**goals, **informed}
        turns.append(Turn(entry["transcript"], *system_acts(entry["system_acts"]), before, goals))
    return tuple(turns)


def system_acts(acts: Sequence[object]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the slots that acts request and the pairs that they confirm; ignore other acts.

    A string is a request for a slot, or, for something the user may ask for (`address`), the pair
    ("request", string); a list of two strings is a confirmation.
    """
    requested, confirmed = [], []
    for act in acts:
        match act:
            case str() if act in SLOTS:
                requested.append(act)
            case str() if act in _REQUESTABLE:
                confirmed.append(("request", act))
            case [str() as slot, str() as value]:
                confirmed.append((slot, value))
    return tuple(requested), tuple(confirmed)


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
