"""The sources of a model: the name of a transformer, and lines of text files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["model_name", "read_lines"]

# The folder of a model in the hub's cache: models--OWNER--NAME/snapshots/COMMIT.
_CACHED = re.compile(r"models--(.+)--(.+)")
# The title of a model's card, if it is a name and not a sentence.
_TITLE = re.compile(r"^# +(\S+) *$", re.MULTILINE)


def model_name(name: str | os.PathLike[str]) -> str:
    """Return a model's name: on the hub, else its card's title, else its folder's name."""
    folder = Path(name)
    if not folder.exists():
        return str(name)
    for part in folder.resolve().parts:
        if found := _CACHED.fullmatch(part):
            return f"{found[1]}/{found[2]}"
    card = folder / "README.md"
    title = _TITLE.search(card.read_text("utf-8", errors="replace")) if card.is_file() else None
    return title[1] if title else folder.resolve().name


def read_lines(source: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a text file, or of all text files of a folder, in order of their names."""
    path = Path(source)
    if not path.exists():
        raise InvalidInputError(f"{source}: no such file or folder of sentences")
    files = [path] if path.is_file() else sorted(path.rglob("*.txt"))
    if not files:
        raise InvalidInputError(f"{source}: contains no .txt file; name a file or another folder")
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as lines:
            yield from lines
