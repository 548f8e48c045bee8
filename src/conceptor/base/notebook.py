"""HTML for results shown in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return a small table of names and values."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(_short(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{body}</tbody></table>"


def html_grid(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with several columns, figures to the right."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _cell(value: object) -> str:
    side = "left" if isinstance(value, str) else "right"
    return f"<td style='text-align:{side}'>{escape(_short(value))}</td>"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
