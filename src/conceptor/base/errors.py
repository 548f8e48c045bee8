"""The errors that users see: one line with the problem, its place, and the fix."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Characters that move a cursor, change colors or reverse text, except tabs and line ends.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# The password in an address; a path has one slash where the address had two.
_PASSWORD = re.compile(r"(\w:/{1,2}[^/\s:@]*):.*@")

# A release of PyTorch with a plain CPU build, and the extras that bring PyTorch. An open range
# would install gigabytes of CUDA libraries.
PLAIN_TORCH = "torch==2.13.0"
_WITH_TORCH = ("dialogue", "sentence-transformers", "static", "torch")


def printable(text: str) -> str:
    """Escape control characters: names and words from files must not control a terminal."""
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def hide_password(text: str) -> str:
    """Replace the password of an address."""
    return _PASSWORD.sub(r"\1:***@", text)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the closest spelling of a wrong name, in brackets; empty if none is close."""
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def plain_markdown(text: str) -> str:
    """Return an untrusted name as one line without markup, for a card that is published."""
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "'")):
        text = text.replace(sign, written)
    return printable(" ".join(text.split()))


class ConceptorError(Exception):
    """Base class of the errors this library raises on purpose (exit code 1)."""

    def __init__(self, message: str) -> None:
        super().__init__(hide_password(message.replace("\n", "\\n")))


class InvalidInputError(ConceptorError, ValueError):
    """The input or the call is wrong; the message explains why (exit code 2)."""


class MissingExtraError(ConceptorError, ImportError):
    """An optional dependency is not installed (exit code 1)."""

    def __init__(self, purpose: str, extra: str) -> None:
        torch = f" {PLAIN_TORCH}" if extra in _WITH_TORCH else ""
        super().__init__(
            f"{purpose} needs an optional dependency; install it with: "
            f"pip install 'conceptor[{extra}]'{torch}"
        )
