"""Choose the columns of an Arrow table that hold the vectors, and the one that labels the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum, auto
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError
from conceptor.vectors.vectors import is_word

if TYPE_CHECKING:
    from conceptor.vectors.formats.format import Columns

# Of the column of labels; the first that exists is chosen.
_LABEL_NAMES = (
    *("word", "words", "token", "tokens"),
    *("text", "texts", "sentence", "sentences", "content", "document", "passage", "chunk"),
    *("abstract", "body", "title", "query", "question", "description"),
)
INDEX = "__index_level_0__"  # of pandas, in files
_INDEX_NAMES = ("key", "index", INDEX)
# Columns of text that hold ids or paths are not labels.
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|url|uri|path|file|filename|hash|sha\d*|md5)$")
# Name prefixes of dimension columns, before the number: 0, d0, dim_0, x1, emb.0.
_DIMENSION_NAME = re.compile(
    r"(|d|dim|dims|dimension|x|v|e|f|emb|embed|embedding|embeddings|vec|vector|feature|feat"
    r"|component|comp|pc)([_\-. ]?)(\d+)",
    re.IGNORECASE,
)
_TEXT_TYPES = ("string", "large_string", "string_view")
_MOST_LISTED = 12


class ColumnKind(StrEnum):
    """The kind of values in a column."""

    LISTS, FLOATS, INTEGERS, TEXT, OTHER = auto(), auto(), auto(), auto(), auto()

    @classmethod
    def of(cls, type_: Any) -> ColumnKind:  # noqa: ANN401
        """Return the kind of an Arrow type."""
        from pyarrow import types

        if is_list(type_):
            return cls.LISTS if types.is_floating(type_.value_type) else cls.OTHER
        if types.is_floating(type_):
            return cls.FLOATS
        if types.is_integer(type_) or types.is_decimal(type_):
            return cls.INTEGERS
        values = type_.value_type if types.is_dictionary(type_) else type_
        return cls.TEXT if str(values) in _TEXT_TYPES else cls.OTHER


_NUMBERS = (ColumnKind.FLOATS, ColumnKind.INTEGERS)


def is_list(type_: Any) -> bool:  # noqa: ANN401
    """Return whether an Arrow type is one of lists: any kind of them, and views."""
    return "list" in str(type_).partition("<")[0]


def choose_vectors(
    where: str, kinds: Mapping[str, ColumnKind], choice: Columns = None
) -> list[str]:
    """Return the list column that holds the vectors, or the column of each dimension, in order.

    Without the user's choice it is the only list column, else columns named as dimensions.
    """
    columns = _listed([*kinds]) or "none"
    if choice is None:
        names = list(kinds)
    elif not isinstance(choice, str):
        names = [str(name) for name in choice]
    elif choice in kinds:
        names = [choice]
    else:
        patterns = [each.strip() for each in choice.split(",")]
        names = [name for name in kinds if any(fnmatchcase(name, each) for each in patterns)]
    groups = [[name] for name in names if kinds.get(name) is ColumnKind.LISTS]
    if not groups and choice is None:
        groups = _find_dimensions(kinds)
    elif not groups:
        numbers = [name for name in names if kinds.get(name) in _NUMBERS]
        groups = [numbers] if numbers and (isinstance(choice, str) or numbers == names) else []
    if not groups:
        raise InvalidInputError(
            f"{where}: has no vectors: no column of lists of floats, and no columns of floats "
            f"named as dimensions (0, 1, …, d0, dim_0, x1, …); its columns are {columns}; choose "
            "the columns with --column, as in --column 'd*'"
            if choice is None
            else f"{where}: found no columns of vectors matching {choice!r} among {columns}"
        )
    if len(groups) > 1:
        candidates = _listed([" to ".join(dict.fromkeys((each[0], each[-1]))) for each in groups])
        example = groups[0][0] if len(groups[0]) == 1 else re.sub(r"\d+$", "*", groups[0][0])
        raise InvalidInputError(
            f"{where}: several columns may hold the vectors: {candidates}; choose with --column "
            f"{example}"
        )
    for name in groups[0]:
        if kinds[name] is ColumnKind.INTEGERS:  # they may be ids
            raise InvalidInputError(
                f"{where}: {name} is a column of integers, but dimensions are floats; convert it, "
                "or choose others with --column PATTERN"
            )
    return groups[0]


def _find_dimensions(kinds: Mapping[str, ColumnKind]) -> list[list[str]]:
    """Return the sets of columns of numbers that are named 0 to n − 1, or 1 to n."""
    groups: dict[tuple[str, ...], dict[int, str]] = {}
    for name, kind in kinds.items():
        match = _DIMENSION_NAME.fullmatch(name)
        if match and kind in _NUMBERS:
            groups.setdefault(match.groups()[:2], {})[int(match[3])] = name
    return [
        [group[number] for number in sorted(group)]
        for group in groups.values()
        if len(group) > 1 and min(group) in (0, 1) and max(group) - min(group) == len(group) - 1
    ]


def choose_label(
    kinds: Mapping[str, ColumnKind], sample: Callable[[list[str]], dict[str, list[str | None]]]
) -> str | None:
    """Return the column that labels the rows with words or texts; None if there is none.

    It is one with a usual name, else the only other column of text whose values are neither ids nor
    a few classes, else an index. `sample` returns the first values of several columns.
    """
    texts = [name for name, kind in kinds.items() if kind is ColumnKind.TEXT]
    by_name = {name.lower(): name for name in reversed(texts)}
    for usual in _LABEL_NAMES:
        if usual in by_name:
            return by_name[usual]
    index = [by_name[usual] for usual in _INDEX_NAMES if usual in by_name][:1]
    others = [name for name in texts if name not in _INDEX_NAMES and not names_ids(name)]
    values = sample([*others, *index]) if others or index else {}
    plausible = [name for name in others if _may_label(values[name])]
    if index and (not plausible or _may_label(values[index[0]])):
        return index[0]
    return plausible[0] if len(plausible) == 1 else None


def names_ids(name: str) -> bool:
    """Return whether a column has the name of a column of ids or paths."""
    return _ID_NAME.search(name.lower()) is not None


def _may_label(values: Sequence[str | None]) -> bool:
    """Return whether values are labels: neither a few classes nor ids with digits."""
    texts = [value or "" for value in values]
    ids = sum(bool(re.search(r"\d", value)) and is_word(value) for value in texts)
    return 2 * len(set(texts)) >= len(texts) and 2 * ids < max(1, len(texts))


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_MOST_LISTED], *(["…"] if len(names) > _MOST_LISTED else [])])
