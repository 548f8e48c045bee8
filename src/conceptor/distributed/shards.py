"""Finding shards, ordering them, and opening each in its format."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.distributed.content import NpyContent, WordFileContent
from conceptor.distributed.parquet import ParquetContent
from conceptor.distributed.storage import Place, parse_state
from conceptor.vectors.formats import arrow, npy
from conceptor.vectors.formats.registry import choose_format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conceptor.distributed.content import Content

    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Shard:
    """One file of many.

    Attributes
    ----------
    place
        Its location.
    name
        Its path relative to the common directory; the output gets the same name.
    size, stamp
        Its bytes, and a timestamp or checksum that shows whether it has changed.
    column
        The column that holds the vectors, if it must be named.
    """

    place: Place
    name: str
    size: int
    stamp: str
    column: str | None = None

    @property
    def content(self) -> Content:
        """The shard opened in its format, which is recognised by its first bytes."""
        head = self.place.head(6)
        if head.startswith(arrow.PARQUET_MAGIC):
            return ParquetContent(self.place, self.column)
        if self.column is not None:
            raise InvalidInputError(
                f"{self.place}: only Parquet shards have columns; remove ",
                Setting("column", self.column),
            )
        if head.startswith(npy.MAGIC):
            return NpyContent(self.place)
        return WordFileContent(self.place)

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was listed."""
        if self.place.state() != (self.size, self.stamp):
            raise InvalidInputError(
                f"{self.place}: changed while it was being processed; repeat the same call"
            )


def find_shards(
    source: Paths, column: str | None = None, options: Mapping[str, Any] | None = None
) -> list[Shard]:
    """List the shards in a file, a directory, a pattern, or several of these, without duplicates.

    A directory means all vectors files below it, except those whose names start with a dot
    or an underscore. Directories and patterns are sorted by name, numbers by value (`part-2`
    before `part-10`); a list keeps its order.
    """
    several = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    found: dict[tuple[str, str], Shard] = {}
    for one in several:
        place = Place.from_path(os.fspath(one), options)
        for root, path, info in _list_files(place):
            size, stamp = parse_state(info)
            name = str(PurePosixPath(path).relative_to(root))
            shard = Shard(Place(place.fs, path), name, size, stamp, column)
            found.setdefault((str(shard.place), path), shard)
    shards = list(found.values())
    names = [shard.name for shard in shards]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(
            f"{twice}: shards with this name come from two directories; pass a parent of both"
        )
    return shards


def _list_files(place: Place) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return root, path and file information of the files a path or pattern matches, sorted."""
    place.fs.invalidate_cache()
    if _has_wildcard(place.path) and not place.fs.exists(place.path):
        parts = PurePosixPath(place.path).parts
        first = next(i for i, part in enumerate(parts) if _has_wildcard(part))
        root = str(PurePosixPath(*parts[:first]))
        found = place.fs.glob(place.path, detail=True)
        files = {path: info for path, info in found.items() if info["type"] == "file"}
        if not files:
            raise InvalidInputError(f"{place}: no file matches")
    elif place.fs.isdir(place.path):
        root = place.path
        found = place.fs.find(place.path, detail=True)
        files = {path: info for path, info in found.items() if _is_shard(path, root)}
        formats = {choose_format(Path(path))[0].name for path in files}
        if not files:
            raise InvalidInputError(f"{place}: no vectors files in this directory")
        if len(formats) > 1:
            raise InvalidInputError(
                f"{place}: contains {' and '.join(sorted(formats))} files; select one kind with a "
                "pattern such as 'shards/*.parquet'"
            )
    elif place.fs.exists(place.path):
        root, files = place.parent.path, {place.path: place.fs.info(place.path)}
    else:
        raise InvalidInputError(f"{place}: no such file or directory")
    return [(root, path, files[path]) for path in sorted(files, key=_natural_key)]


def _has_wildcard(text: str) -> bool:
    return any(character in text for character in "*?[")


def _is_shard(path: str, root: str) -> bool:
    if any(part[0] in "._" for part in PurePosixPath(path).relative_to(root).parts):
        return False
    try:
        choose_format(Path(path))
    except InvalidInputError:
        return False
    return True


def _natural_key(path: str) -> list[tuple[int, str]]:
    """Return a sort key that compares runs of digits by value."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.findall(r"[0-9]+|[^0-9]+", path)
    ]
