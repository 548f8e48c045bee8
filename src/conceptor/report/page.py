"""A comparison as a self-contained web page with tables and charts."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from conceptor.report.tables import TITLES, Table, comparison_tables, sentence_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.comparing.words import Comparison
    from conceptor.evaluation.statistics import Interval

_STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1c1e21, #e4e6eb); --faint: light-dark(#6b7280,
#9ca3af); --line: light-dark(#d6d9de, #3d4148); --gain: light-dark(#0f766e, #2dd4bf);
--loss: light-dark(#b45309, #fbbf24); --page: light-dark(#ffffff, #17191c); }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .8rem; text-align: right; } th:first-child, td:first-child
{ text-align: left; padding-left: 0; } thead th { border-bottom: 1px solid var(--line); }
tr.summary:not(tr.summary + tr.summary) td { border-top: 1px solid var(--line); }
.best { font-weight: 700; color: var(--gain); } .faint, .note { color: var(--faint); }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg .faint { fill: var(--faint); }
div.wide { overflow-x: auto; }
"""


def page(
    comparison: Comparison, sentences: Comparison | None = None, *, by_task: bool = False
) -> str:
    """Return a complete HTML document, including sentence encoders if they were compared."""
    title = f"conceptor compare: {comparison.vectors}"
    parts = [
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
        f"<title>{escape(title)}</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style>\n<h1>{escape(title)}</h1>",
        *_notes(comparison),
        *_sections(comparison, comparison_tables(comparison, by_task=by_task)),
    ]
    if sentences is not None:
        parts += _sections(sentences, sentence_tables(sentences, by_task=by_task))
        parts += _notes(sentences)
    if comparison.missing:
        listed = "".join(
            f"<li>{escape(name)}: {escape(why)}</li>" for name, why in comparison.missing.items()
        )
        parts.append(f"<h2>Not found</h2><ul>{listed}</ul>")
    return "\n".join(parts) + "\n</html>\n"


def _notes(comparison: Comparison) -> list[str]:
    return [f'<p class="note">{escape(note)}</p>' for note in comparison.notes]


def _sections(comparison: Comparison, tables: Sequence[Table]) -> list[str]:
    """Return a heading, a table and a chart for each task."""
    parts = []
    for family, table in zip(comparison.families, tables, strict=True):
        parts.append(f"<h2>{escape(table.title)}</h2>\n{_table(table)}")
        if gains := comparison.gains(family):
            title = f"Gain over {comparison.baseline}, {TITLES.get(family, family)}"
            parts.append(_gain_chart(gains, title))
    return parts


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in ("", *table.columns))
    rows = []
    for line in table.lines:
        cells = "".join(
            f'<td class="{"best" if c.best else "faint" if c.faint else ""}">{escape(c.text)}</td>'
            for c in line.cells
        )
        kind = ' class="summary"' if line.summary else ""
        rows.append(f"<tr{kind}><td>{escape(line.label)}</td>{cells}</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _gain_chart(gains: Mapping[str, Interval], title: str) -> str:
    """Draw each method's gain over the baseline with its interval, on one axis through zero."""
    ends = [0.0, *(end for i in gains.values() for end in (i.low, i.high, i.difference))]
    ends = [end for end in ends if not math.isnan(end)]
    low, high = min(ends), max(ends)
    margin = 0.06 * (high - low) or 1.0
    low, high = low - margin, high + margin
    left, width, row, top = 130, 520, 26, 12
    height = top + row * len(gains) + 30

    def x(value: float) -> float:
        return round(left + width * (value - low) / (high - low), 1)

    shapes = []
    for tick in _ticks(low, high):
        shapes.append(
            f'<line x1="{x(tick)}" x2="{x(tick)}" y1="{top}" y2="{height - 28}" '
            f'stroke="var({"--ink" if tick == 0 else "--line"})"/>'
            f'<text class="faint" x="{x(tick)}" y="{height - 12}" text-anchor="middle">'
            f"{tick:+g}</text>"
        )
    for position, (method, interval) in enumerate(gains.items()):
        y = top + row * position + row / 2
        colour = "--gain" if interval.low > 0 else "--loss" if interval.high < 0 else "--faint"
        shapes.append(f'<text x="0" y="{y + 4}">{escape(method)}</text>')
        if math.isnan(interval.low) or math.isnan(interval.difference):
            continue
        shapes.append(
            f'<line x1="{x(interval.low)}" x2="{x(interval.high)}" y1="{y}" y2="{y}" '
            f'stroke="var({colour})" stroke-width="2"/>'
            f'<circle cx="{x(interval.difference)}" cy="{y}" r="4.5" fill="var({colour})">'
            f"<title>{escape(method)}: {interval.difference:+.2f} "
            f"[{interval.low:+.2f}, {interval.high:+.2f}]</title></circle>"
        )
    label = escape(f"{title}, with 95% intervals")
    return (
        f'<div class="wide"><svg role="img" aria-label="{label}" width="{left + width + 20}" '
        f'height="{height}">{"".join(shapes)}</svg></div>'
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between the ends, about six, zero among them."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    first = int(low // step) + 1
    return [round(step * k, 10) for k in range(first, int(high // step) + 1)]
