"""A dialogue with a trained tracker, one line per turn."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import typer

from conceptor.cli.inputs import split_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conceptor.dialogue.saved import BeliefTracker

_END = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
_HOW_TO = f"""Type what a user would say; the tracker's belief is shown after each line.
  system: area             the system has just asked for the area
  system: food=thai        the system has just asked whether the user wants thai food
  new                      start a new dialogue
End with {_END}."""


def converse(tracker: BeliefTracker) -> None:
    """Read turns from standard input and show the belief state after each."""
    from conceptor.dialogue import SLOTS, Turn
    from conceptor.dialogue.woz import system_acts

    if sys.stdin.isatty():
        typer.echo(_HOW_TO, err=True)
    goals: dict[str, str] = {}
    acts: list[object] = []
    for line in _lines():
        if line == "new":
            goals, acts = {}, []
        elif line.startswith("system:"):
            acts = [_act(act) for act in split_list(line.removeprefix("system:"))]
            if not any(system_acts(acts)):
                slots = ", ".join(SLOTS)
                typer.echo(f"conceptor: not a system act; name a slot: {slots}", err=True)
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
                    typer.echo(f"  {slot:<12} {goals.get(slot, '—'):<16} ({shares})")


def _act(act: str) -> object:
    slot, equals, value = (part.strip() for part in act.partition("="))
    return [slot, value] if equals else slot


def _lines() -> Iterator[str]:
    prompt = "> " if sys.stdin.isatty() else ""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid bytes become an unknown word
    while True:
        if prompt:
            typer.echo(prompt, nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()
