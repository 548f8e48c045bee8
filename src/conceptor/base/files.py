"""Text files read by line, and files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def read_lines(path: str | os.PathLike[str], content: str, missing: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a UTF-8 file that are not blank, without spaces around them.

    Errors call it a file of `content`; `missing` follows "no such file".
    """
    if Path(path).is_dir():
        raise InvalidInputError(f"{path}: is a directory, not a file of {content}")
    try:
        text = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file {missing}") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}, byte {error.start}: not UTF-8") from None
    # str.splitlines would also cut words at U+0085 and U+2028.
    ends = "\n" if "\n" in text else "\r"
    stripped = (line.removesuffix("\r").strip(" \t") for line in text.split(ends))
    return [(number, line) for number, line in enumerate(stripped, start=1) if line]


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


def check_no_loop(path: Path) -> None:
    """Raise for symbolic links that lead back to themselves."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidInputError(f"{path}: a loop of symbolic links; remove it") from None
    except ValueError:
        raise InvalidInputError(f"{str(path)!r}: not a file name") from None


def hidden_name(name: str) -> str:
    """Return the beginning of a temporary name for `name`, short enough to be a name itself."""
    return f".{name.encode(errors='surrogateescape')[:200].decode(errors='ignore')}."


@contextmanager
def replace_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `target`; rename it onto `target` once the block succeeds.

    The bytes reach the disk before the new name does, so neither an exception, a killed process
    nor a power cut leaves half a file under the target's name. An existing file stays until then,
    and its permissions are kept; those of a new one follow the umask. Links are followed.
    """
    check_writable(target)
    target = Path(target).resolve()
    beside = target.with_name(f"{hidden_name(target.name)}{os.urandom(4).hex()}.partial")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)
        yield beside
        publish(beside, target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replace_folder_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty folder beside `target`; rename it to `target` once the block succeeds.

    An existing folder stays until then, and is removed when the new one has its name.
    """
    check_no_loop(Path(target))
    target = Path(target).resolve()
    if target.exists() and not target.is_dir():
        raise InvalidInputError(f"{target}: is a file; name a folder")
    if not target.parent.is_dir():
        raise InvalidInputError(f"{target}: the directory {target.parent} does not exist")
    mark = f"{hidden_name(target.name)}{os.urandom(4).hex()}"
    beside, old = target.with_name(f"{mark}.partial"), target.with_name(f"{mark}.old")
    try:
        beside.mkdir()
        yield beside
        for file in beside.rglob("*"):
            if file.is_file():
                _sync(file)
        if target.exists():
            target.rename(old)
        beside.rename(target)
        _sync(target.parent)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for rest in (beside, old):
            shutil.rmtree(rest, ignore_errors=True)


@contextmanager
def name_in_errors(target: str | os.PathLike[str]) -> Iterator[None]:
    """Name a file in the system's errors, such as a full disk, which name none or another."""
    try:
        yield
    except OSError as error:
        if not error.errno:
            raise
        reason = os.strerror(error.errno)  # without what Arrow adds to it
        raise OSError(error.errno, reason, str(target)) from error


def publish(path: Path, target: str | os.PathLike[str]) -> None:
    """Sync a finished file, then rename it onto `target`, which is on the same disk."""
    target = Path(target)
    _sync(path)
    path.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows cannot open directories
        return
    # Windows syncs only what is open for writing; directories open only for reading.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
