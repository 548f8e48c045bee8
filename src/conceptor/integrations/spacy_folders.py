"""Find a saved spaCy pipeline in the folder of its package, without importing spaCy."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["find_pipeline", "is_pipeline"]


def is_pipeline(folder: Path) -> bool:
    """Return whether a folder is a saved pipeline."""
    return (folder / "config.cfg").is_file() and (folder / "vocab").is_dir()


def find_pipeline(folder: Path) -> Path | None:
    """Return the saved pipeline in a folder; None if there is none.

    It is the folder itself, or inside it: a package has it in `name/name-version`, and the package
    may be in a subfolder, next to its metadata.
    """
    if is_pipeline(folder):
        return folder
    if not folder.is_dir():
        return None
    inside = chain(folder.glob("*/config.cfg"), folder.glob("*/*/config.cfg"))
    found = sorted(each.parent for each in inside if is_pipeline(each.parent))
    if len(found) > 1:
        names = ", ".join(str(each.relative_to(folder)) for each in found)
        raise InvalidInputError(f"{folder}: contains several spaCy pipelines, {names}; name one")
    return found[0] if found else None
