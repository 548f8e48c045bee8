"""Folders as targets: which may be replaced, which files are copied, what a killed run leaves."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError, Setting
from conceptor.base.files import check_no_loop, hidden_name, name_in_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # The argument is a path relative to a folder.
    Belongs = Callable[[Path], bool]

_COPIED_AT_ONCE = 1 << 20
# Files that people read and programs do not load; any folder may contain them.
_FOR_READERS = re.compile(
    r"(README|LICEN[CS]E|NOTICE|COPYING|CITATION)[\w.-]*|\.gitattributes", re.I
)


def is_for_readers(name: str) -> bool:
    """Return whether a file of this name is a card or a licence, which any model may have."""
    return _FOR_READERS.fullmatch(name) is not None


def check_folder(
    target: str | os.PathLike[str],
    kind: str,
    parts_of: Callable[[Path], Belongs | None],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    force: bool,
) -> None:
    """Raise unless a folder may be written there without losing anything else.

    Parameters
    ----------
    kind
        The kind of thing that is written, such as "static model".
    parts_of
        Returns a test for the files in a folder that belong to such a thing; None if the folder
        does not hold one. `force` replaces nothing else.
    inputs
        Files and folders that are read: the target must not be, contain or lie inside any of them.
    """
    path = Path(target)
    check_no_loop(path)
    if path.is_symlink() and not path.exists():
        raise InvalidInputError(f"{target}: a broken link; remove it")
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{target}: is a file; name a folder")
    parent = path.resolve().parent
    if not parent.is_dir():
        raise InvalidInputError(f"{target}: the directory {parent} does not exist")
    if (old := find_old(path)) is not None:
        raise InvalidInputError(
            f"{target}: an interrupted run left its folder as {old}; rename or remove that first"
        )
    for each in inputs:
        given = Path(each)
        if given.is_dir() and _is_within(path, given):
            raise InvalidInputError(
                f"{target}: is the input, or inside it; write to another folder"
            )
        if given.exists() and _is_within(given, path):
            raise InvalidInputError(
                f"{target}: is the input, or contains it; write to another folder"
            )
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not force:
        raise InvalidInputError(f"{target}: exists; use ", Setting("force", True), " to replace it")
    belongs = parts_of(path)
    if belongs is None:
        raise InvalidInputError(
            f"{target}: exists and is not a {kind}, so it is not replaced; name another folder"
        )
    if (other := _first_other(path, belongs)) is not None:
        raise InvalidInputError(
            f"{target}: holds {other}, which is not part of a {kind} and would be lost; move it, "
            "or name another folder"
        )


def _first_other(folder: Path, belongs: Belongs) -> Path | None:
    """Return an entry of a folder that does not belong to the thing in it; None if all do."""
    for place, folders, files in os.walk(folder):
        here = Path(place).relative_to(folder)
        for name in sorted((*files, *folders)):
            if not belongs(here / name):
                return here / name
    return None


def _is_within(path: Path, folder: Path) -> bool:
    """Return whether a path is a folder or inside it, after following links."""
    if not folder.exists():
        return False
    whole = path.resolve()
    return any(each.exists() and each.samefile(folder) for each in (whole, *whole.parents))


def find_old(target: Path) -> Path | None:
    """Return where a killed run left the folder that it was replacing; None if it is in place.

    This can only happen on file systems that cannot swap two names in one step.
    """
    target = target.resolve()
    if target.exists() or not target.parent.is_dir():
        return None
    left = re.compile(re.escape(hidden_name(target.name)) + r"[0-9a-f]{8}\.old")
    found = (each for each in target.parent.iterdir() if left.fullmatch(each.name))
    return next(found, None)


def copy_folder(source: Path, target: Path, belongs: Belongs, named: Path) -> None:
    """Copy the files of a folder that belong to it; other files are not copied.

    Outputs are published. So a link is followed only to files in the same folder, or in the store
    of a Hugging Face cache, whose folders are made of links. Any other link that
    belongs to the folder is an error.

    Parameters
    ----------
    named
        The name to show in write errors instead of `target`.
    """
    root = source.resolve()
    allowed = [root]
    if root.parent.name == "snapshots":
        allowed.append(root.parents[1] / "blobs")
    for place, folders, files in os.walk(root):
        here = Path(place).relative_to(root)
        # os.walk lists links to folders as folders, and does not enter them.
        folders[:] = [each for each in folders if belongs(here / each)]
        for name in sorted([*files, *(each for each in folders if Path(place, each).is_symlink())]):
            if not belongs(here / name):
                continue
            real = Path(place, name).resolve()
            if not any(real.is_relative_to(each) for each in allowed):
                raise InvalidInputError(
                    f"{source / here / name}: a link to another place is not copied; put "
                    "the file itself there, or remove the link"
                )
            _copy(real, target / here / name, source / here / name, named)


def _copy(real: Path, copy: Path, name: Path, named: Path) -> None:
    """Copy one regular file; read errors name the file, write errors name the target."""
    if not real.exists() or not stat.S_ISREG(real.stat().st_mode):
        raise InvalidInputError(f"{name}: not a regular file; remove it")
    with real.open("rb") as source:
        with name_in_errors(named):
            copy.parent.mkdir(parents=True, exist_ok=True)
            written = copy.open("wb", buffering=0)
        with written:
            while rest := memoryview(source.read(_COPIED_AT_ONCE)):
                while rest:
                    with name_in_errors(named):
                        rest = rest[written.write(rest) :]
