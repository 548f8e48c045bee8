"""Accuracies by hand, on dialogues made for it."""

from __future__ import annotations

import pytest

from conceptor.paper.dialogue.woz import goal_accuracies, goal_counts, string_match
from tests.dialogues import VALUES, dialogue

# Four turns, then two. Goals after each:
#   food   -     thai      thai   thai        | -     corsican (outside the ontology)
#   price  -     -         cheap  dontcare    | -     -
#   area   north north     north  north       | -     -
DIALOGUES = [
    dialogue(
        ("the north side please", {"area": "north"}),
        ("thai food", {"food": "thai"}),
        ("cheap", {"price range": "cheap"}),
        ("any price", {"price range": "dontcare"}),
    ),
    dialogue(("hello", {}), ("a corsican place", {"food": "corsican"})),
]
SAID = {
    "food": [None, "thai", "thai", "modern european", None, None],
    "price range": [None, "cheap", "cheap", "dontcare", None, None],
    "area": ["north", "north", "south", "north", None, None],
}


def test_goal_accuracies_by_hand() -> None:
    found = goal_accuracies(DIALOGUES, SAID)
    # food: of turns 2, 3, 4 and 6 it is right on 2 and 3: the value outside the ontology counts.
    assert (found["food"].right, found["food"].total) == (2, 4)
    # price range: set on turns 3 and 4 only; the wrong guess on turn 2 does not count.
    assert (found["price range"].right, found["price range"].total) == (2, 2)
    assert (found["area"].right, found["area"].total) == (3, 4)
    # joint: turns 1 and 5 are right; 2 has a price too early, 3 the area, 4 the food, 6 the food.
    assert (found["joint"].right, found["joint"].total) == (2, 6)
    assert found["joint"].percent == pytest.approx(100 / 3)
    # Turn 5, right because nothing is set, does not count in the public code.
    when_set = found["joint, goal set"]
    counts = goal_counts(DIALOGUES, SAID)
    is_set = [bool(turn.after) for dialogue in DIALOGUES for turn in dialogue]
    assert when_set.total == sum(is_set) < 6
    for goal, (right, total) in counts.items():
        assert right.shape == total.shape == (len(DIALOGUES),)
        assert (right.sum(), total.sum()) == (found[goal].right, found[goal].total)


def test_the_joint_goal_needs_all_slots() -> None:
    assert set(goal_accuracies(DIALOGUES, {"food": SAID["food"]})) == {"food"}


def test_states_for_every_turn_are_needed() -> None:
    with pytest.raises(ValueError, match="shorter"):
        goal_accuracies(DIALOGUES, {"food": SAID["food"][:-1]})


def test_string_matching_carries_on_and_takes_the_longest_name() -> None:
    said = dialogue(
        ("modern place", {}),
        ("Thai or modern European food?", {}),
        ("i dont care", {}),
        ("no, thai! thai.", {}),
        ("thaiish", {}),
    )
    expected = [None, "modern european", "modern european", "thai", "thai"]
    assert string_match([said], "food", VALUES["food"]) == expected
    assert string_match([said, said], "food", VALUES["food"]) == expected * 2
