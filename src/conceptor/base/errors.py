"""The errors users meet: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

import re

# What moves a cursor, changes colours or reverses text, but for tabs and line ends.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Escape control characters: names and words from files must not command a terminal."""
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


class ConceptorError(Exception):
    """Base class of the errors this library raises on purpose (exit code 1)."""


class InvalidInputError(ConceptorError, ValueError):
    """The input or the call is wrong, and the message says how (exit code 2)."""


class MissingExtraError(ConceptorError, ImportError):
    """An optional dependency is not installed (exit code 1)."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional dependency; install it with: "
            f"pip install 'conceptor[{extra}]' (in a clone: pip install '.[{extra}]')"
        )
