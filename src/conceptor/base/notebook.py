"""HTML for results shown in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return a small table of names and values."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(_short(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{body}</tbody></table>"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
