"""Talk to a dialogue state tracker on standard input."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from conceptor.paper.dialogue.woz import SLOTS, Turn, system_acts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conceptor.paper.dialogue.saved import BeliefTracker

_END = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
_HOW_TO = f"""Type what a user would say; the tracker's belief is shown after each line.
  system: area             the system just asked for the area
  system: food=thai        the system just asked whether the user wants thai food
  new                      start a new dialogue
End with {_END}."""


def converse(tracker: BeliefTracker) -> None:
    """Read turns from standard input and show the belief state after each."""
    if sys.stdin.isatty():
        print(_HOW_TO, file=sys.stderr)
    goals: dict[str, str] = {}
    acts: list[object] = []
    for line in _lines():
        if line == "new":
            goals, acts = {}, []
        elif line.startswith("system:"):
            said = line.removeprefix("system:").split(",")
            acts = [_act(act) for act in said if act.strip()]
            if not any(system_acts(acts)):
                slots = ", ".join(SLOTS)
                print(f"conceptor: not a system act; name a slot: {slots}", file=sys.stderr)
        else:
            beliefs = tracker.listen(Turn(line, *system_acts(acts)), goals)
            goals = {slot: b.value for slot, b in beliefs.items() if b.value is not None}
            acts = []
            for slot in SLOTS:
                if slot in beliefs:
                    shares = ", ".join(
                        f"{value or 'not set'} {share:.0%}"
                        for value, share in beliefs[slot].likeliest()
                    )
                    print(f"  {slot:<12} {goals.get(slot, '—'):<16} ({shares})", flush=True)


def _act(act: str) -> object:
    slot, equals, value = (part.strip() for part in act.partition("="))
    return [slot, value] if equals else slot


def _lines() -> Iterator[str]:
    prompt = "> " if sys.stdin.isatty() else ""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid bytes become an unknown word
    while True:
        if prompt:
            print(prompt, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()
