"""Numbers as people read them: one minus sign, and a dash for undefined values."""

from __future__ import annotations

import math

__all__ = ["format_number", "format_signed"]


def format_number(number: float, digits: int = 2) -> str:
    """Return a number with this many digits after the point; a dash if it is undefined."""
    return "—" if math.isnan(number) else f"{number:.{digits}f}".replace("-", "−")


def format_signed(number: float, digits: int = 2) -> str:
    """Return a number with its sign, plus or minus; a dash if it is undefined."""
    return "—" if math.isnan(number) else f"{number:+.{digits}f}".replace("-", "−")
