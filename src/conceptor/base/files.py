"""Read small files; write files and folders atomically."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conceptor.base.errors import InvalidInputError


def read_lines(path: str | os.PathLike[str], missing: str = "") -> list[tuple[int, str]]:
    """Return the non-blank lines of a UTF-8 file, stripped and numbered.

    The error for a missing file adds `missing` after "no such file".
    """
    try:
        text = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
    except (FileNotFoundError, IsADirectoryError):
        raise InvalidInputError(f"{path}: no such file {missing}") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}, byte {error.start}: not UTF-8") from None
    # str.splitlines would also cut words at U+0085 and U+2028. Public word pairs end in \r alone.
    stripped = (line.strip(" \t\r") for line in text.split("\n" if "\n" in text else "\r"))
    return [(number, line) for number, line in enumerate(stripped, start=1) if line]


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Return the content of a JSON file; raise if it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise InvalidInputError(f"{path}: no such file") from None
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path}: not JSON ({error}); fetch it again") from None


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; raise for any other content."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InvalidInputError(f"{path}: expected a JSON object, found a {type(content).__name__}")
    return content


def check_writable(
    target: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Raise if no file can be written there, or if writing it would replace an input."""
    path = Path(target)
    check_no_loop(path)
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a directory; name a file in it")
    if path.exists() and not path.is_file():
        raise InvalidInputError(f"{path}: not a regular file; name one, or use standard output")
    if not path.resolve().parent.is_dir():
        raise InvalidInputError(f"{path}: the directory {path.resolve().parent} does not exist")
    if path.exists() and any(os.path.exists(file) and path.samefile(file) for file in inputs):
        raise InvalidInputError(f"{path}: is the input; write to another file")


def check_new_folder(target: str | os.PathLike[str]) -> Path:
    """Return the resolved path of a new folder; raise if anything is there already."""
    check_no_loop(Path(target))
    path = Path(target).resolve()
    if path.exists():
        raise InvalidInputError(f"{target}: exists; remove it, or name another folder")
    if not path.parent.is_dir():
        raise InvalidInputError(f"{target}: the directory {path.parent} does not exist")
    return path


def check_no_loop(path: Path) -> None:
    """Raise if symbolic links form a loop."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidInputError(f"{path}: a loop of symbolic links; remove it") from None
    except ValueError:
        raise InvalidInputError(f"{str(path)!r}: not a file name") from None


def hidden_name(name: str) -> str:
    """Return a prefix for temporary names, short enough for the file system."""
    return f".{name.encode(errors='surrogateescape')[:200].decode(errors='ignore')}."


@contextmanager
def replace_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `target`; rename it onto `target` once the block succeeds.

    The bytes reach the disk before the new name does, so neither an exception, a killed process
    nor a power cut leaves half a file. Permissions of an existing file are kept, and links are
    followed. Errors of the system, such as a full disk, name the target.
    """
    check_writable(target)
    target = Path(target).resolve()
    beside = target.with_name(f"{hidden_name(target.name)}{os.urandom(4).hex()}.partial")
    try:
        with name_in_errors(target):
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            if target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)
            yield beside
            _sync(beside)
            beside.replace(target)
            _sync(target.parent)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def make_folder_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty folder beside `target`; it gets that name once the block succeeds."""
    path = check_new_folder(target)
    beside = path.with_name(f"{hidden_name(path.name)}{os.urandom(4).hex()}.partial")
    try:
        with name_in_errors(target):
            beside.mkdir()
            yield beside
            for each in (*beside.rglob("*"), beside):
                _sync(each)
            beside.rename(path)
            _sync(path.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def name_in_errors(target: str | os.PathLike[str]) -> Iterator[None]:
    """Put a file's name into system errors that have none, or the name of a temporary file."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if not error.errno or (name is not None and ".partial" not in str(name)):
            raise
        reason = os.strerror(error.errno)  # without Arrow's addition
        raise OSError(error.errno, reason, str(target)) from error


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows cannot open directories
        return
    # Windows syncs only files open for writing; directories open only for reading.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
