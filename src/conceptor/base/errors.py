"""The errors users meet: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What moves a cursor, changes colours or reverses text, but for tabs and line ends.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Escape control characters: names and words from files must not command a terminal."""
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return what is spelled most like a wrong name, in brackets; nothing if nothing is."""
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


class Setting(NamedTuple):
    """A parameter that a message speaks of; each front end spells it in its own way.

    Without a value it stands for the parameter as such.
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        """Spell it as an argument in Python."""
        return self.name if self.value is None else f"{self.name}={_quoted(self.value)}"


def _quoted(value: object) -> str:
    return f'"{_one_line(value)}"' if isinstance(value, str) else repr(value)


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n")


class Message(str):
    """One line for users that may speak of settings; as a string it is in the words of Python."""

    parts: tuple[str | Setting, ...]

    def __new__(cls, *parts: object) -> Self:
        """Join parts: settings, other messages, and whatever has a text."""
        flat: list[str | Setting] = []
        for part in parts:
            if isinstance(part, Message):
                flat.extend(part.parts)
            else:
                flat.append(part if isinstance(part, Setting) else _one_line(str(part)))
        text = super().__new__(cls, "".join(map(str, flat)))
        text.parts = tuple(flat)
        return text

    def spelled(self, spell: Callable[[Setting], str]) -> str:
        """Return the text with each setting in the words of a front end."""
        return "".join(spell(part) if isinstance(part, Setting) else part for part in self.parts)


def plain_markdown(text: str) -> str:
    """Return a name from elsewhere as one line that is no markup, in a card that is published."""
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "'")):
        text = text.replace(sign, written)
    return printable(" ".join(text.split()))


class ConceptorError(Exception):
    """Base class of the errors this library raises on purpose (exit code 1)."""

    def __init__(self, *parts: object) -> None:
        self.message = Message(*parts)
        super().__init__(self.message)


class InvalidInputError(ConceptorError, ValueError):
    """The input or the call is wrong, and the message says how (exit code 2)."""


class MissingExtraError(ConceptorError, ImportError):
    """An optional dependency is not installed (exit code 1)."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional dependency; install it with: "
            f"pip install 'conceptor[{extra}]'"
        )
