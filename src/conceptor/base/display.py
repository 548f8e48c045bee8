"""Results as people read them: numbers in text, and HTML tables in notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape


def format_number(number: float, digits: int = 2) -> str:
    """Return a number with this many digits after the point; a dash if it is undefined."""
    return "—" if math.isnan(number) else f"{number:.{digits}f}".replace("-", "−")


def format_signed(number: float, digits: int = 2) -> str:
    """Return a number with its sign, plus or minus; a dash if it is undefined."""
    return "—" if math.isnan(number) else f"{number:+.{digits}f}".replace("-", "−")


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return a small table of names and values."""
    return html_grid(title, (), rows.items())


def html_grid(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with several columns, numbers to the right."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _cell(value: object) -> str:
    text, side = str(value), "left" if isinstance(value, str) else "right"
    if isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, int):
        text = f"{value:,}"
    return f"<td style='text-align:{side}'>{escape(text)}</td>"
