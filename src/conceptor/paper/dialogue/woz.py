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

from conceptor.base.errors import InvalidInputError
from conceptor.data import registry as datasets

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

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
    content = _json(path)
    informable = content.get("informable") if isinstance(content, dict) else None
    if not isinstance(informable, dict):
        raise InvalidInputError(f"{path}: not an ontology, no 'informable' slots")
    values: dict[str, tuple[str, ...]] = {}
    for slot in SLOTS:
        named = informable.get(slot)
        if not named or not isinstance(named, list) or not all(isinstance(v, str) for v in named):
            raise InvalidInputError(f"{path}: the slot {slot!r} has no list of values")
        values[slot] = (*dict.fromkeys(v for v in named if v != DONTCARE), DONTCARE)
    return values


def read_dialogues(path: str | os.PathLike[str]) -> list[Dialogue]:
    """Read the dialogues of a file in the format of WOZ 2.0.

    Each turn's `transcript`, `system_acts` and `turn_label` are used; goals accumulate from the
    last (`belief_state` disagrees with it on a few turns).
    """
    content = _json(path)
    if not isinstance(content, list) or not content:
        raise InvalidInputError(f"{path}: not a list of dialogues")
    dialogues = []
    for number, entry in enumerate(content):
        turns = entry.get("dialogue") if isinstance(entry, dict) else None
        if not isinstance(turns, list) or not turns:
            raise InvalidInputError(f"{path}: entry {number} has no turns under 'dialogue'")
        dialogues.append(_dialogue(turns, f"{path}: dialogue {number}"))
    return dialogues


def _dialogue(entries: Sequence[object], where: str) -> Dialogue:
    turns = []
    goals: Mapping[str, str] = {}
    for number, entry in enumerate(entries):
        place = f"{where}, turn {number}"
        acts = system_acts(_field(entry, "system_acts", list, place))
        before = goals
        goals = {**before, **dict(_read_labels(_field(entry, "turn_label", list, place), place))}
        turns.append(Turn(_field(entry, "transcript", str, place), *acts, before, goals))
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


def _read_labels(labels: Sequence[object], place: str) -> list[tuple[str, str]]:
    informed = []
    for label in labels:
        match label:
            case [str() as slot, str() as value]:
                informed += [(slot, value)] if slot in SLOTS else []
            case _:
                raise InvalidInputError(f"{place}: turn_label {label} is not a pair of strings")
    return informed


def _field(entry: object, name: str, kind: type, place: str) -> Any:  # noqa: ANN401
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind):
        what = "text" if kind is str else "list"
        raise InvalidInputError(f"{place}: no {what} {name!r}")
    return value


def _json(path: str | os.PathLike[str]) -> object:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidInputError(f"{path}: not JSON ({error})") from error
