"""The errors users meet: one line that says what is wrong, where, and what to do."""

from __future__ import annotations


class ConceptorError(Exception):
    """Base class of the errors this library raises on purpose (exit code 1)."""


class InvalidInputError(ConceptorError, ValueError):
    """The input or the call is wrong, and the message says how (exit code 2)."""


class MissingExtraError(ConceptorError, ImportError):
    """An optional dependency is not installed (exit code 1)."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional dependency; install it with: "
            f"pip install 'conceptor[{extra}]'"
        )
