"""Read the user's relevance judgements, and find the judged documents in the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.integrations.stores import StoredVectors
from conceptor.vectors.columns import names_ids

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from conceptor.vectors.vectors import Vectors

# In the place of a column: documents are named by their rows, from 1.
ROWS = "rows"


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """Queries, and the rows of the documents that are relevant to each.

    `named_by` is the column of the store whose ids name the documents, or "rows".
    """

    queries: list[str]
    relevant: list[NDArray[np.int64]]
    named_by: str = ROWS


class _Judged(NamedTuple):
    line: int
    query: str
    document: str
    grade: float


def read_judgements(
    queries: str | os.PathLike[str],
    relevant: str | os.PathLike[str],
    store: Vectors,
    rows: int,
    id_column: str | None = None,
) -> JudgedQueries:
    """Read `id<TAB>query` lines, and `id<TAB>document[<TAB>grade]` lines.

    A document is its row in the store, from 1, or its id in a column of the store. A grade of 0 or
    below means not relevant. Queries without a relevant document are left out.
    """
    asked: dict[str, str] = {}
    for number, line in _lines(queries):
        name, tab, text = line.partition("\t")
        if not tab or not text.strip():
            raise InvalidInputError(f"{queries}, line {number}: expected an id, a tab and a query")
        asked[name.strip()] = text.strip()
    judged = [_read_line(relevant, number, line) for number, line in _lines(relevant)]
    for each in judged:
        if each.query not in asked:
            raise InvalidInputError(
                f"{relevant}, line {each.line}: {queries} has no query with the id {each.query!r}"
            )
    named_by, places = _find_documents(relevant, judged, store, rows, id_column)
    found: dict[str, set[int]] = {name: set() for name in asked}
    for each in judged:
        if each.grade > 0:
            found[each.query].add(places[each.document])
    kept = [name for name in asked if found[name]]
    if not kept:
        raise InvalidInputError(f"{relevant}: no query has a relevant document")
    listed = [np.array(sorted(found[name]), dtype=np.int64) for name in kept]
    return JudgedQueries([asked[name] for name in kept], listed, named_by)


def _lines(path: str | os.PathLike[str]) -> list[tuple[int, str]]:
    file = Path(path)
    if not file.is_file():
        raise InvalidInputError(f"{path}: no such file")
    text = file.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff")
    return [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]


def _read_line(relevant: str | os.PathLike[str], number: int, line: str) -> _Judged:
    query, *rest = (field.strip() for field in line.split("\t"))
    try:
        document, grade = rest[0], float(rest[1]) if len(rest) > 1 else 1.0
    except (IndexError, ValueError):
        document = ""
    if not document:
        raise InvalidInputError(
            f"{relevant}, line {number}: expected a query's id, a tab and a document's row or id"
        )
    return _Judged(number, query, document, grade)


def _find_documents(
    relevant: str | os.PathLike[str],
    judged: list[_Judged],
    store: Vectors,
    rows: int,
    id_column: str | None,
) -> tuple[str, dict[str, int]]:
    """Return how the judgements name documents, and the row of each.

    Without a named column, the names must fit rows, or the ids of one column. If they fit several
    and mean different documents, the user must choose.
    """
    lines = {each.document: each.line for each in reversed(judged)}
    usable = store.id_columns if isinstance(store, StoredVectors) else []
    if id_column is not None and id_column != ROWS and id_column not in usable:
        raise InvalidInputError(
            f"{store.name}: {id_column} is not a column of ids; columns of text or whole numbers "
            f"are: {', '.join(usable) or 'none'}"
        )
    tried = [id_column] if id_column else [ROWS, *filter(names_ids, usable)]
    ways = {
        way: _as_rows(lines, rows)
        if way == ROWS and way not in usable
        else _as_ids(store, way, lines, must_differ=way == id_column)
        for way in tried
    }
    complete = [way for way in tried if len(ways[way]) == len(lines)]
    if not complete:
        best = max(tried, key=lambda way: len(ways[way]))
        name = next(name for name in lines if name not in ways[best])
        may_name = usable and id_column is None
        raise InvalidInputError(
            f"{relevant}, line {lines[name]}: there is no document {name!r}; ",
            *_describe(tried, rows),
            *(["; name a column of ids with ", Setting("id_column", "NAME")] if may_name else []),
        )
    other = [way for way in complete if ways[way] != ways[complete[0]]]
    if other:
        raise InvalidInputError(
            f"{relevant}: its documents may be rows of the store, or ids of its column {other[0]}; "
            "choose with ",
            Setting("id_column", complete[0]),
            " or ",
            Setting("id_column", other[0]),
        )
    return complete[0], ways[complete[0]]


def _describe(tried: list[str], rows: int) -> list[str]:
    said = [f"the store has rows 1 to {rows}"] if ROWS in tried else []
    columns = [way for way in tried if way != ROWS]
    if columns:
        said.append(f"it is not in the column {' or '.join(columns)}")
    return [", and ".join(said)]


def _as_rows(names: Iterable[str], rows: int) -> dict[str, int]:
    """Return the rows of names that are row numbers."""
    short = (name for name in names if len(name) < 16)  # Python refuses thousands of digits
    numbers = {name: int(name) for name in short if name.isascii() and name.isdigit()}
    return {name: number - 1 for name, number in numbers.items() if 1 <= number <= rows}


def _as_ids(
    store: Vectors, column: str, names: dict[str, int], *, must_differ: bool
) -> dict[str, int]:
    """Return the rows of names that are ids; none if an id is not unique."""
    assert isinstance(store, StoredVectors)
    found: dict[str, int] = {}
    for row, value in enumerate(store.ids(column)):
        name = value.strip()
        if name not in names:
            continue
        if name in found and must_differ:
            raise InvalidInputError(
                f"{store.name}: the column {column} has {name!r} in rows {found[name] + 1} and "
                f"{row + 1}; ids must be unique"
            )
        if name in found:
            return {}
        found[name] = row
    return found
