"""Tables of neighbors, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from conceptor.algebra.background import percent_below
from conceptor.base.numbers import format_number
from conceptor.concepts.lookup import shorten
from conceptor.concepts.neighbors import Neighbor
from conceptor.report.tables import Cell, Line, Table

ByMethod = Mapping[str, Mapping[str, Sequence[Neighbor]]]
# Characters of a text in a table.
_SHOWN = 160


def neighbor_tables(neighbors: ByMethod) -> list[Table]:
    """Return a table for each word, with the neighbors that each method finds.

    Neighbors that the first method does not find are highlighted.
    """
    tables = []
    for word in next(iter(neighbors.values())):
        columns = [neighbors[method][word] for method in neighbors]
        first = {one.word for one in columns[0]}
        lines = []
        for place, row in enumerate(zip_longest(*columns), start=1):
            cells: list[Cell] = []
            for one in row:
                cells += [Cell("")] * 3 if one is None else [
                    Cell(one.word, best=one.word not in first),
                    Cell(format_number(one.score, 3), faint=True),
                    Cell(f"{one.rank:,}", faint=True),
                ]  # fmt: skip
            lines.append(Line(str(place), cells))
        names = [name for method in neighbors for name in (method, "score", "rank")]
        tables.append(Table(word, names, lines, span=3))
    return tables


def text_neighbor_tables(neighbors: ByMethod) -> list[Table]:
    """Return a table for each text and method, with the scale of cosines if it is known."""
    tables = []
    first = next(iter(neighbors.values()))
    for text in first:
        ranks = {one.rank for one in first[text]}
        for method, by_text in neighbors.items():
            lines = []
            for place, one in enumerate(by_text[text], start=1):
                cells = [
                    Cell(shorten(one.word, _SHOWN), best=one.rank not in ranks),
                    Cell(f"{one.rank:,}", faint=True),
                    Cell(format_number(one.score, 3), faint=True),
                ]
                cells += [] if one.p is None else [Cell(percent_below(one.p), faint=True)]
                lines.append(Line(str(place), cells))
            names = [method, "row", "cosine", "random pairs below"]
            columns = names[: len(lines[0].cells)] if lines else names[:3]
            tables.append(Table(shorten(text, _SHOWN), columns, lines, prose=True))
    return tables
