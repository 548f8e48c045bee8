"""Results as one self-contained web page: a verdict, tables, charts, neighbours."""

from __future__ import annotations

import math
from html import escape
from importlib import resources
from itertools import zip_longest
from typing import TYPE_CHECKING

from conceptor.algebra.recipes import METHODS
from conceptor.methods import ORIGINAL
from conceptor.report.charts import gain_chart, gate_chart, spectrum_chart
from conceptor.report.tables import (
    TITLES,
    comparison_tables,
    coverage_note,
    sentence_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conceptor.concepts.found import Neighbour
    from conceptor.evaluation.compare.words import Comparison
    from conceptor.evaluation.statistics import Interval
    from conceptor.report.forms import Table

# The name of a family in a sentence.
_SUBJECTS = {"sts": "sentences", "analogy": "analogies", "sts-b": "STS benchmark"}
_UNITS = "points × 100"


def comparison_html(
    comparison: Comparison,
    sentences: Comparison | None = None,
    *,
    by_task: bool = False,
    one_file: bool = True,
) -> str:
    """Return the content below the title, which `explore` also shows.

    It includes sentence encoders if they were compared. Without `one_file`, columns are files
    instead of methods.
    """
    parts = [
        paragraph(line, kind)
        for line, kind in zip(verdict(comparison), ("verdict", "note"), strict=False)
    ]
    tables = comparison_tables(comparison, by_task=by_task, one_file=one_file)
    parts += _sections(comparison, tables)
    if sentences is not None:
        parts += _sections(sentences, sentence_tables(sentences, by_task=by_task))
    parts += _directions(comparison)
    if len(comparison.examples) == 2:
        parts.append(_neighbours(comparison.examples))
    parts.append(glossary(comparison.methods) if one_file else "")
    notes = [*comparison.notes, *coverage_note(comparison.evaluations.values())]
    notes += sentences.notes if sentences is not None else ()
    parts.append(listing("How it was fitted", notes))
    missing = (f"{name}: {why}" for name, why in comparison.missing.items())
    parts.append(listing("Not found", missing))
    return "\n".join(part for part in parts if part)


def main_method(methods: Iterable[str]) -> str | None:
    """Return the method that a report is about: `cn`, else the last one except `original`."""
    names = [name for name in methods if name != ORIGINAL]
    return next(
        (name for name in names if name.split(":")[0] == "cn"), names[-1] if names else None
    )


def verdict(comparison: Comparison) -> list[str]:
    """Return whether the main method helps, with its gains; nothing without a baseline.

    A gain or a loss is clear if its interval excludes zero. The method helps if there is a clear
    gain; clear losses are named as well.
    """
    method = main_method(comparison.methods)
    found = {
        _SUBJECTS.get(family, family): gain
        for family in comparison.families
        if (gain := comparison.gains(family).get(method or "")) is not None
        and not math.isnan(gain.difference)
    }
    if not found:
        return []
    gained, lost, open_ = (
        {name: gain for name, gain in found.items() if gain.sign == sign} for sign in (1, -1, 0)
    )
    if gained and lost:
        answer = f"It helps and it costs: better {_list(gained)}; worse {_list(lost)}"
    elif gained:
        answer = f"Yes, it helps: {_list(gained)}"
    elif lost:
        answer = f"Not on these vectors: {_list(lost)}"
    else:
        answer = f"Not on these vectors: no difference is clear ({_list(open_)})"
    doubt = f"; not clear: {_list(open_)}" if open_ and (gained or lost) else ""
    return [
        f"{answer}{doubt}.",
        f"{method} against {comparison.baseline}: {_UNITS}, 95% intervals.",
    ]


def _list(gains: Mapping[str, Interval]) -> str:
    return ", ".join(
        f"{name} {_one(gain.difference, sign=True)} [{_one(gain.low)}, {_one(gain.high)}]"
        for name, gain in gains.items()
    )


def _one(number: float, *, sign: bool = False) -> str:
    text = f"{number:+.1f}" if sign else f"{number:.1f}"
    return text.replace("-", "−")


def document(title: str, body: str) -> str:
    """Return a complete page with its style."""
    style = resources.files("conceptor.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{style}</style>\n</head>\n"
        f'<body>\n<main class="report">\n<h1>{escape(title)}</h1>\n{body}\n</main>\n</body>\n'
        "</html>\n"
    )


def paragraph(text: str, kind: str = "note") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>'


def section(title: str, body: str) -> str:
    """Return a section with its heading; nothing without content."""
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>" if body else ""


def table_sections(tables: Iterable[Table]) -> list[str]:
    """Return a section for each table."""
    return [section(table.title, page_table(table)) for table in tables]


def listing(title: str, lines: Iterable[str]) -> str:
    """Return a section with a list; nothing without lines."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return section(title, f"<ul>{items}</ul>" if items else "")


def _sections(comparison: Comparison, tables: Sequence[Table]) -> list[str]:
    """Return a heading, a table and a chart for each task."""
    parts = []
    for family, table in zip(comparison.families, tables, strict=True):
        chart = ""
        if gains := comparison.gains(family):
            title = f"Gain over {comparison.baseline}, {TITLES.get(family, family)}"
            chart = f'<div class="forest">{gain_chart(gains, title, _UNITS)}</div>'
        parts.append(section(table.title, page_table(table) + chart))
    return parts


def page_table(table: Table) -> str:
    """Return a table that scrolls by itself if it is wide."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = []
    for line in table.lines:
        cells = "".join(
            f'<td class="{"best" if c.best else "faint" if c.faint else ""}">{escape(c.text)}</td>'
            for c in line.cells
        )
        kind = ' class="summary"' if line.summary else ""
        rows.append(f'<tr{kind}><th scope="row">{escape(line.label)}</th>{cells}</tr>')
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Table">'
        f"<table><thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _directions(comparison: Comparison) -> list[str]:
    """Return charts of the directions: the spectrum of the main method, the gates of all."""
    method = main_method(comparison.solutions)
    if method is None:
        return []
    solution = comparison.solutions[method]
    values = solution.spectrum.values
    sides = {"before": values, "after": solution.gate**2 * values}
    shares = {name: side / (side.sum() or 1.0) for name, side in sides.items()}
    gates = {name: each.gate for name, each in comparison.solutions.items() if each.gate.max() <= 1}
    charts = (
        "<div class=pair>"
        f"<figure><figcaption>Spectrum used by {escape(method)}</figcaption>"
        f"{spectrum_chart(shares)}</figure>"
        "<figure><figcaption>Gate: the share of each direction that is kept</figcaption>"
        f"{gate_chart(gates)}</figure></div>"
    )
    return [section("Directions", charts)]


def _neighbours(found: Mapping[str, Mapping[str, Sequence[Neighbour]]]) -> str:
    """Return the neighbours of some words before and after; mark new and lost ones."""
    before, after = (found[name] for name in found)
    names = [escape(name) for name in found]
    parts = []
    for word, old in before.items():
        new = after[word]
        sides = [{each.word for each in side} for side in (old, new)]
        rows = "".join(
            f"<tr>{_near(left, sides[1], 'gone')}{_near(right, sides[0], 'new')}</tr>"
            for left, right in zip_longest(old, new)
        )
        head = "".join(f'<th scope="col" class="word">{name}</th>' for name in names)
        parts.append(
            f"<table><caption>{escape(word)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    return section("Neighbours", f'<div class="pair">{"".join(parts)}</div>')


def _near(one: Neighbour | None, other_side: set[str], kind: str) -> str:
    if one is None:
        return "<td></td>"
    sign = {"new": "+ new", "gone": "− gone"}[kind]
    mark = "" if one.word in other_side else f' <span class="moved {kind}">{sign}</span>'
    return f'<td class="word">{escape(one.word)}{mark}</td>'


def glossary(methods: Iterable[str]) -> str:
    """Explain the methods in the comparison."""
    steps = dict.fromkeys(step.split(":")[0] for method in methods for step in method.split("+"))
    known = {name: METHODS[name].description for name in steps if name in METHODS}
    if ORIGINAL in steps:
        known = {ORIGINAL: "the vectors without post-processing"} | known
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in known.items()
    )
    return section("Methods", f"<dl>{items}</dl>" if items else "")
