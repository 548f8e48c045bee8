"""WOZ 2.0: typed dialogues of people looking for a restaurant.

Wen et al. (2017), with the ontology of DSTC2.
"""

from __future__ import annotations

import itertools
import json
import string
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conceptor.base.progress import Progress, silent
from conceptor.data import registry
from conceptor.data.word_lists import Directory

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    # The correct turns and the turns that count, in each dialogue.
    Counts = NDArray[np.int64]

SLOTS = ("food", "price range", "area")
JOINT = "joint"
DONTCARE = "dontcare"
FILES = ("woz_train_en", "woz_validate_en", "woz_test_en", "ontology_dstc2_en")
LONGEST = 40
_PUNCTUATION = str.maketrans("", "", string.punctuation.replace("'", ""))


class FewWordsWarning(UserWarning):
    """Many of the words spoken in the dialogues have no vector."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's words, and the goals before and after, also with values outside the ontology.

    `requested` are slots that the system just asked for, and `confirmed` slots and values that it
    asked the user to confirm.
    """

    transcript: str
    requested: tuple[str, ...] = ()
    confirmed: tuple[tuple[str, str], ...] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)

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
        names = [word for slot, values in self.values.items() for word in (slot, *values)]
        return frozenset(self.spoken).union(*map(phrase, names))


def tokens(text: str) -> tuple[str, ...]:
    """Return at most 40 lower-case tokens; ASCII punctuation is deleted, not turned into spaces."""
    return tuple(text.translate(_PUNCTUATION).lower().replace("'", "").split()[:LONGEST])


def phrase(name: str) -> tuple[str, ...]:
    """Return the words of a slot or value; `dontcare` is two words."""
    return ("dont", "care") if name == DONTCARE else tokens(name)


def load_corpus(
    data: Directory = None, *, offline: bool = False, progress: Progress = silent
) -> Corpus:
    """Return the corpus, downloading its files if necessary."""
    paths = [
        registry.fetch(f"dialogue/{name}.json", data, offline=offline, progress=progress)
        for name in FILES
    ]
    train, validate, test = map(read_dialogues, paths[:3])
    ontology = json.loads(paths[3].read_text(encoding="utf-8"))["informable"]
    plain = {slot: dict.fromkeys(v for v in ontology[slot] if v != DONTCARE) for slot in SLOTS}
    values = {slot: (*names, DONTCARE) for slot, names in plain.items()}
    return Corpus(train, validate, test, values)


def read_dialogues(path: str | os.PathLike[str]) -> list[Dialogue]:
    """Read a file of WOZ 2.0, whose bytes the registry has verified.

    Goals accumulate from `turn_label`; `belief_state` disagrees with it on a few turns.
    """
    dialogues = []
    for entry in json.loads(Path(path).read_text(encoding="utf-8")):
        turns = []
        goals: dict[str, str] = {}
        for turn in entry["dialogue"]:
            informed = {slot: value for slot, value in turn["turn_label"] if slot in SLOTS}
            before, goals = goals, goals | informed
            acts = turn["system_acts"]
            requested = tuple(act for act in acts if act in SLOTS)
            confirmed = tuple(tuple(act) for act in acts if isinstance(act, list))
            turns.append(Turn(turn["transcript"], requested, confirmed, before, goals))
        dialogues.append(tuple(turns))
    return dialogues


def goal_counts(
    dialogues: Sequence[Dialogue], states: Mapping[str, Sequence[str | None]]
) -> dict[str, Counts]:
    """Return the correct turns and the turns that count in each dialogue, by slot and jointly.

    `states` are the values after every turn (None: not set). A slot counts on turns where its true
    value is set, also outside the ontology; the joint goal, of all three slots, on all turns.
    """
    turns = [turn for dialogue in dialogues for turn in dialogue]
    first = np.cumsum([0, *(len(dialogue) for dialogue in dialogues)])[:-1]
    counted = {}
    for slot, values in states.items():
        goals = [turn.after.get(slot) for turn in turns]
        right = np.array([goal == value for goal, value in zip(goals, values, strict=True)])
        counted[slot] = right, np.array([bool(goal) for goal in goals])
    if set(states) == set(SLOTS):
        together = np.all([right for right, _ in counted.values()], axis=0)
        counted[JOINT] = together, np.ones_like(together)
    return {
        goal: np.add.reduceat(np.array([right & counts, counts], dtype=np.int64), first, axis=1)
        for goal, (right, counts) in counted.items()
    }


def percent(counts: Counts) -> float:
    """Return the accuracy over all dialogues, nan if no turn counts."""
    right, total = counts.sum(1).tolist()
    return 100 * right / total if total else float("nan")


def string_match(dialogues: Sequence[Dialogue], values: Sequence[str]) -> list[str | None]:
    """Track without learning: after each turn, the longest value named in it, else unchanged."""
    names = {value: phrase(value) for value in values if value != DONTCARE}
    states: list[str | None] = []
    for dialogue in dialogues:
        state = None
        for turn in dialogue:
            words = turn.tokens
            mentions = [
                (len(" ".join(name)), position, value)
                for value, name in names.items()
                for position in range(len(words) - len(name) + 1)
                if words[position : position + len(name)] == name
            ]
            state = max(mentions)[2] if mentions else state
            states.append(state)
    return states
