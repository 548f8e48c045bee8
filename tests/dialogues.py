"""Dialogues made for tests."""

from __future__ import annotations

import itertools

from conceptor.paper.woz import Corpus, Turn

VALUES = {
    "food": ("thai", "modern european", "dontcare"),
    "price range": ("cheap", "expensive", "dontcare"),
    "area": ("north", "south", "dontcare"),
}


def dialogue(*turns: tuple[str, dict[str, str]]) -> tuple[Turn, ...]:
    """Return turns whose goals accumulate: each is what was said, and what that set."""
    goals: dict[str, str] = {}
    made = []
    for said, informed in turns:
        before, goals = goals, goals | informed
        made.append(Turn(said, before=before, after=goals))
    return tuple(made)


_DIALOGUES = [
    dialogue(
        ("hello there", {}),
        (f"something {price} please", {"price range": price}),
        (f"in the {area}", {"area": area}),
        ("what is the address", {}),
    )
    for price, area in itertools.product(("cheap", "expensive"), ("north", "south"))
]
# Dialogues of four turns about every pair of a price and an area, the same in all parts.
MADE_CORPUS = Corpus(_DIALOGUES, _DIALOGUES, _DIALOGUES, VALUES)
