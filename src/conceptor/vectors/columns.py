"""Choose the column of a table that holds the vectors, and the one that labels the rows.

The rules are the same for pandas, Polars, Arrow, Parquet and Feather, as files and as shards. They
use the names and kinds of columns and, for labels, the first rows.
"""

from __future__ import annotations

import re
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.vectors.rows import is_word

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

__all__ = ["Asked", "Column", "ColumnKind", "choose_label", "choose_vectors", "names_ids"]

# The user's choice: a name, patterns separated by commas, or several names.
Asked: TypeAlias = "str | Sequence[Hashable] | None"

# Usual names of the column of labels; the first that exists is taken.
_WORD_NAMES = ("word", "words", "token", "tokens")
_TEXT_NAMES = (
    *("text", "texts", "sentence", "sentences", "content", "document", "passage", "chunk"),
    *("abstract", "body", "title", "query", "question", "description"),
)
# An index holds labels if no other column does. pandas gives a nameless index the last name.
_INDEX_NAMES = ("key", "index", "__index_level_0__")
# Columns of text that hold ids or paths are not labels.
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|url|uri|path|file|filename|hash|sha\d*|md5)$")
_DIGIT = re.compile(r"\d")
# Name prefixes of dimension columns, before the number: 0, d0, dim_0, x1, emb.0.
_DIMENSION_NAME = re.compile(
    r"(|d|dim|dims|dimension|x|v|e|f|emb|embed|embedding|embeddings|vec|vector|feature|feat"
    r"|component|comp|pc)([_\-. ]?)(\d+)",
    re.IGNORECASE,
)
_LISTED = 12


class ColumnKind(StrEnum):
    """The kind of values in a column."""

    LISTS = "lists of floats"
    FLOATS = "floats"
    INTEGERS = "integers"
    TEXT = "text"
    OTHER = "other values"


class Column(NamedTuple):
    """A column of a table."""

    name: Hashable
    kind: ColumnKind


def choose_vectors(where: object, columns: Sequence[Column], asked: Asked = None) -> list[Hashable]:
    """Return the list column that holds the vectors, or the column of each dimension, in order.

    Without `asked` it is the only list column, else the columns of numbers that are named as
    dimensions. Nothing else is guessed: the error lists the candidates.
    """
    names = [each.name for each in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"{where}: two columns have the name {twice!r}; rename one")
    if asked is not None:
        return _choose_asked(where, columns, asked)
    lists = [each.name for each in columns if each.kind is ColumnKind.LISTS]
    if len(lists) == 1:
        return lists
    if lists:
        raise InvalidInputError(
            f"{where}: several columns may hold the vectors: {_listed(lists)}; choose one with ",
            Setting("column", str(lists[0])),
        )
    found = _find_dimensions(columns)
    if len(found) == 1:
        (group,) = found
        _refuse_integers(where, group)
        return [each.name for each in group]
    _refuse(where, columns, found)
    raise AssertionError  # not reached


def _refuse(where: object, columns: Sequence[Column], groups: Sequence[Sequence[Column]]) -> None:
    """Raise because no column clearly holds vectors; list the columns that might."""
    numbers = [each for each in columns if each.kind is ColumnKind.FLOATS]
    if groups:
        found = " and ".join(f"{group[0].name} to {group[-1].name}" for group in groups)
        said, example = f"several sets of dimensions: {found}", _pattern(groups[0])
    elif numbers:
        said = (
            "found no column of lists, and no columns named as dimensions (0, 1, …, d0, dim_0, "
            f"x1, …); the columns of floats are {_listed([each.name for each in numbers])}"
        )
        example = ",".join(str(each.name) for each in numbers[:2])
    else:
        listed = _listed([f"{each.name} ({each.kind})" for each in columns]) or "none"
        raise InvalidInputError(
            f"{where}: has no vectors: neither a column of lists of floats nor columns of floats; "
            f"its columns are {listed}"
        )
    raise InvalidInputError(
        f"{where}: {said}; choose the columns of the vectors, as in ", Setting("column", example)
    )


def _choose_asked(where: object, columns: Sequence[Column], asked: Asked) -> list[Hashable]:
    """Return the columns that the user chose."""
    names = [each.name for each in columns]
    if isinstance(asked, str):
        patterns = [asked] if asked in names else [each.strip() for each in asked.split(",")]
        matching = [e for e in columns if any(fnmatchcase(str(e.name), p) for p in patterns)]
        exact = [e for e in columns if e.name == asked]
        matching = exact or matching
    else:
        matching = [each for name in asked or () for each in columns if each.name == name]
        missing = [name for name in asked or () if name not in names]
        if missing:
            raise InvalidInputError(f"{where}: no column {missing[0]!r} among {_listed(names)}")
    lists = [each for each in matching if each.kind is ColumnKind.LISTS]
    numbers = [e for e in matching if e.kind in (ColumnKind.FLOATS, ColumnKind.INTEGERS)]
    if len(lists) > 1:
        raise InvalidInputError(
            f"{where}: found several columns of vectors matching {asked!r}: "
            f"{_listed([each.name for each in lists])}; name one with ",
            Setting("column", str(lists[0].name)),
        )
    if not lists and not numbers:
        usable = [e.name for e in columns if e.kind in (ColumnKind.LISTS, ColumnKind.FLOATS)]
        held = f"; {matching[0].name} holds {matching[0].kind}" if matching else ""
        raise InvalidInputError(
            f"{where}: found no columns of vectors matching {asked!r} among {_listed(names)}{held}"
            f"; lists of floats or floats are in {_listed(usable) or 'none of them'}"
        )
    if lists:
        return [lists[0].name]
    _refuse_integers(where, numbers, f"matches {asked!r} but ")
    return [each.name for each in numbers]


def _refuse_integers(where: object, group: Sequence[Column], why: str = "") -> None:
    """Raise for integers among dimensions: they may be ids, and would become floats."""
    for each in group:
        if each.kind is ColumnKind.INTEGERS:
            raise InvalidInputError(
                f"{where}: {each.name} {why}is a column of integers, but dimensions are floats; "
                "convert it to floats if it belongs to the vectors, else choose the others with ",
                Setting("column", "PATTERN"),
            )


def _find_dimensions(columns: Sequence[Column]) -> list[list[Column]]:
    """Return the sets of columns of numbers that are named 0 to n − 1, or 1 to n."""
    groups: dict[tuple[str, ...], dict[int, Column]] = {}
    for each in columns:
        if each.kind not in (ColumnKind.FLOATS, ColumnKind.INTEGERS):
            continue
        match = _DIMENSION_NAME.fullmatch(str(each.name))
        if match:
            groups.setdefault(match.groups()[:2], {})[int(match[3])] = each
    return [
        [group[number] for number in sorted(group)]
        for group in groups.values()
        if len(group) > 1 and min(group) in (0, 1) and max(group) - min(group) == len(group) - 1
    ]


def _pattern(group: Sequence[Column]) -> str:
    return re.sub(r"\d+$", "*", str(group[0].name))


def choose_label(
    columns: Sequence[Column], sample: Callable[[list[Hashable]], dict[Hashable, Sequence[str]]]
) -> Hashable | None:
    """Return the column that labels the rows with words or texts; None if there is none.

    It is one with a usual name (`word`, `text`, `sentence`, …), else the only other column of text
    whose values are neither ids nor a few classes, else an index. `sample` returns the first
    values of some columns.
    """
    text = [each.name for each in columns if each.kind is ColumnKind.TEXT]
    by_name = {str(name).lower(): name for name in reversed(text)}
    for usual in (*_WORD_NAMES, *_TEXT_NAMES):
        if usual in by_name:
            return by_name[usual]
    free = [name for name in text if str(name) not in _INDEX_NAMES and not names_ids(name)]
    index = [by_name[usual] for usual in _INDEX_NAMES if usual in by_name][:1]
    values = sample([*free, *index]) if free or index else {}
    plausible = [name for name in free if _may_label(values[name])]
    if index and (not plausible or _may_label(values[index[0]])):
        return index[0]
    return plausible[0] if len(plausible) == 1 else None


def names_ids(name: Hashable) -> bool:
    """Return whether a column's name says that it holds ids or paths."""
    return _ID_NAME.search(str(name).lower()) is not None


def _may_label(values: Sequence[str]) -> bool:
    """Return whether values are labels: neither a few classes nor ids with digits."""
    ids = sum(bool(_DIGIT.search(value)) and is_word(value) for value in values)
    return 2 * len(set(values)) >= len(values) and 2 * ids < max(1, len(values))


def refuse_label(where: object, columns: Sequence[Column]) -> InvalidInputError:
    """Return the error for a table whose rows need labels but have none."""
    text = [each.name for each in columns if each.kind is ColumnKind.TEXT]
    found = f"its columns of text are {_listed(text)}" if text else "it has no column of text"
    return InvalidInputError(
        f"{where}: it is unclear which column holds the words or texts of the rows; {found}; "
        "name the column word or text"
    )


def _listed(names: Sequence[Hashable]) -> str:
    shown = ", ".join(map(str, names[:_LISTED]))
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown
