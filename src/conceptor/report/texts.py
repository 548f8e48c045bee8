"""Tables for embeddings of texts: methods, smaller forms, and the scale of cosines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conceptor.algebra.background import percent_below
from conceptor.base.numbers import format_number
from conceptor.concepts.text_neighbours import shorten
from conceptor.evaluation.compare.text_measures import KEPT, RELATED
from conceptor.evaluation.compare.verdict import show_gain
from conceptor.methods import ORIGINAL
from conceptor.report.forms import Cell, Line, Table
from conceptor.report.page import document, glossary, listing, paragraph, table_sections
from conceptor.report.result import Result
from conceptor.report.tables import comparison_csv, comparison_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conceptor.concepts.found import Neighbour
    from conceptor.evaluation.compare.texts import TextComparison

# Characters of a text in a table.
_SHOWN = 160
_SMALLER = {
    "text-pairs": "Smaller: gain on your pairs over the original",
    "text-retrieval": "Smaller: gain on your queries over the original",
}


def text_tables(found: TextComparison) -> list[Table]:
    """Return tables of methods at full size, losses of smaller forms, and label-free measures."""
    tables = [
        table
        for family, table in zip(found.whole.families, comparison_tables(found.whole), strict=True)
        if family in found.labelled
    ]
    tables.append(_unlabelled(found))
    if len(found.forms) > len(found.whole.evaluations):
        tables += [_smaller(found, family) for family in found.labelled]
        tables.append(_smaller_kept(found))
    return tables


def text_result(found: TextComparison, spell: Callable[[str], str]) -> Result:
    """Return a comparison in every format; `spell` writes settings as flags or arguments."""
    closing = [spell(line) for line in found.summary]
    return Result(
        found.to_dict(),
        text_tables(found),
        [found.vectors, *found.notes],
        closing,
        closing[0],
        lambda: comparison_csv([found.comparison]),
        lambda: document(f"conceptor compare: {found.vectors}", text_html(found)),
    )


def text_neighbour_tables(
    found: Mapping[str, Mapping[str, Sequence[Neighbour]]],
) -> list[Table]:
    """Return a table for each text and method, with the scale of cosines if it is known."""
    tables = []
    first = next(iter(found.values()))
    for text in first:
        known = {one.rank for one in first[text]}
        for method, by_text in found.items():
            near = by_text[text]
            means = bool(near) and near[0].p is not None
            names = [method, "row", "cosine", *(["random pairs below"] if means else [])]
            lines = [
                Line(str(place), _neighbour_cells(one, known))
                for place, one in enumerate(near, start=1)
            ]
            tables.append(Table(shorten(text, _SHOWN), names, lines, prose=True))
    return tables


def _neighbour_cells(one: Neighbour, known: set[int]) -> list[Cell]:
    cells = [
        Cell(shorten(one.word, _SHOWN), best=one.rank not in known),
        Cell(f"{one.rank:,}", faint=True),
        Cell(format_number(one.score, 3), faint=True),
    ]
    return cells if one.p is None else [*cells, Cell(percent_below(one.p), faint=True)]


def text_html(found: TextComparison) -> str:
    """Return the content below the title, which `explore` also shows."""
    first, *others = found.summary
    parts = [paragraph(first, "verdict"), *(paragraph(line) for line in others)]
    parts += table_sections(text_tables(found))
    parts.append(glossary(found.methods))
    parts.append(listing("How it was measured", [*found.notes, *map(str, found.cautions)]))
    return "\n".join(part for part in parts if part)


def _unlabelled(found: TextComparison) -> Table:
    """Return the measures of the methods that need no labels."""
    names = found.whole.methods
    means = {name: found.comparison.evaluations[name].means() for name in names}
    lines = [
        Line("neighbours kept, %", [_cell(means[name].get(KEPT, 0.0), 1) for name in names]),
        Line(
            "hubness (skewness)",
            [_cell(found.facts[name].hubness, 2) for name in names],
        ),
        Line(
            "strongest direction, %",
            [_cell(100 * found.facts[name].strongest, 1) for name in names],
        ),
    ]
    if RELATED in means[ORIGINAL]:
        cells = [_cell(means[name][RELATED], 2) for name in names]
        lines.append(Line("related pairs, AUC", cells))
    if found.backgrounds:
        for label, p in (("cosine of a random pair", 0.5), ("of one in 1,000", 0.001)):
            cells = [_cell(float(found.backgrounds[name].cosine(p)), 3) for name in names]
            lines.append(Line(label, cells))
    return Table("Without labels", names, lines)


def _cell(number: float, digits: int) -> Cell:
    return Cell(format_number(number, digits))


def _smaller(found: TextComparison, family: str) -> Table:
    """Return the gains of smaller forms on a family; a row names the stored form."""
    gains = found.comparison.gains(family)

    def cell(name: str | None) -> Cell:
        if name is None or name not in gains:
            return Cell("")
        return Cell(show_gain(gains[name]), best=name == found.verdict.smaller)

    return _grid(found, _SMALLER[family], cell)


def _smaller_kept(found: TextComparison) -> Table:
    def cell(name: str | None) -> Cell:
        if name is None:
            return Cell("")
        kept = found.comparison.evaluations[name].means().get(KEPT, 0.0)
        best = not found.labelled and name == found.verdict.smaller
        return Cell(format_number(kept, 1), best=best)

    return _grid(found, "Smaller: neighbours kept, %", cell)


def _grid(found: TextComparison, title: str, cell: Callable[[str | None], Cell]) -> Table:
    """Return a table with one row per size and number type, and one column per method."""
    small = {name: form for name, form in found.forms.items() if not form.whole}
    by_label: dict[str, dict[str, str]] = {}
    for name, form in small.items():
        by_label.setdefault(f"{form.label}, {form.bytes:,} bytes", {})[form.method] = name
    methods = [
        method for method in found.methods if any(method in row for row in by_label.values())
    ]
    lines = [
        Line(label, [cell(row.get(method)) for method in methods])
        for label, row in by_label.items()
    ]
    return Table(title, methods, lines)
