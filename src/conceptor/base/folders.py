"""Folders as targets: which may be replaced, and which files are copied."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import check_no_loop, name_in_errors

# The argument is a path relative to a folder.
Belongs = Callable[[Path], bool]

# Files that people read and programs do not load; any folder may contain them.
_FOR_READERS = re.compile(
    r"(README|LICEN[CS]E|NOTICE|COPYING|CITATION)[\w.-]*|\.gitattributes", re.I
)


def is_for_readers(name: str) -> bool:
    """Return whether a file of this name is a card or a license, which any model may have."""
    return _FOR_READERS.fullmatch(name) is not None


def check_folder(
    target: str | os.PathLike[str],
    kind: str,
    parts_of: Callable[[Path], Belongs | None],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    force: bool,
) -> None:
    """Raise unless a folder of a `kind`, such as "static model", may be written there.

    Nothing else may be lost: `force` replaces only a folder for which `parts_of` returns a test,
    and only if all its files pass. The target must not be, contain or lie inside an input.
    """
    path = Path(target)
    check_no_loop(path)
    whole = path.resolve()
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{target}: is a file; name a folder")
    if not whole.parent.is_dir():
        raise InvalidInputError(f"{target}: the directory {whole.parent} does not exist")
    for source in (Path(each).resolve() for each in inputs):
        if source.is_relative_to(whole) or (source.is_dir() and whole.is_relative_to(source)):
            raise InvalidInputError(
                f"{target}: is the input, contains it or is inside it; write to another folder"
            )
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not force:
        raise InvalidInputError(f"{target}: exists; use --force to replace it")
    belongs = parts_of(path)
    if belongs is None:
        raise InvalidInputError(
            f"{target}: exists and is not a {kind}, so it is not replaced; name another folder"
        )
    for file in sorted(path.rglob("*")):
        if not belongs(file.relative_to(path)):
            raise InvalidInputError(
                f"{target}: holds {file.relative_to(path)}, which is not part of a {kind} and "
                "would be lost; move it, or name another folder"
            )


def copy_folder(source: Path, target: Path, belongs: Belongs, named: Path) -> None:
    """Copy the files of a folder that belong to it; other files are not copied.

    Outputs are published. So a link is followed only to files in the same folder, or in the store
    of a Hugging Face cache, whose folders are made of links. Any other link that belongs to the
    folder is an error. `named` is the name in write errors.
    """
    root = source.resolve()
    allowed = [root]
    if root.parent.name == "snapshots":
        allowed.append(root.parents[1] / "blobs")
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root)
        is_part = all(map(belongs, (place, *place.parents[:-1])))
        if not is_part or (path.is_dir() and not path.is_symlink()):
            continue
        file = path.resolve()
        if not any(file.is_relative_to(each) for each in allowed) or not file.is_file():
            raise InvalidInputError(
                f"{source / place}: not a regular file of this folder, so it is not copied; put "
                "the file itself there, or remove it"
            )
        with name_in_errors(named):
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            (target / place).write_bytes(file.read_bytes())
