"""Read text files line by line; write files that appear complete or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conceptor.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def read_lines(path: str | os.PathLike[str], content: str, missing: str) -> list[tuple[int, str]]:
    """Return the non-blank lines of a UTF-8 file, stripped and numbered.

    Error messages name the `content` of the file, and add `missing` after "no such file".
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
    found = read_json(path)
    if not isinstance(found, dict):
        raise InvalidInputError(f"{path}: expected a JSON object, found a {type(found).__name__}")
    return found


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


# Files and folders that are being written; code that exits at once removes them first.
_unfinished: set[Path] = set()


def remove_at_end(path: Path) -> None:
    """Remove a temporary file even if the process exits at once."""
    _unfinished.add(path)


def remove_unfinished() -> None:
    """Remove unfinished files and folders; call it before an exit that skips clean-up."""
    for path in list(_unfinished):
        with suppress(OSError):
            path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)


@contextmanager
def replace_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `target`; rename it onto `target` once the block succeeds.

    The bytes reach the disk before the new name does, so neither an exception, a killed process
    nor a power cut leaves half a file under the target's name. An existing file stays until then,
    and its permissions are kept; a new file follows the umask. Links are followed.
    """
    check_writable(target)
    target = Path(target).resolve()
    beside = target.with_name(f"{hidden_name(target.name)}{os.urandom(4).hex()}.partial")
    remove_at_end(beside)
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)
        yield beside
        publish(beside, target)
    finally:
        beside.unlink(missing_ok=True)
        _unfinished.discard(beside)


@contextmanager
def replace_folder_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty folder beside `target`; it gets that name once the block succeeds.

    An existing folder stays until then: the two swap names in one step, and the old one is
    removed. Where the file system cannot swap names, the old folder is renamed first; a process
    killed between the two renames leaves it as a hidden `.old`, which the next run reports.
    """
    check_no_loop(Path(target))
    named, target = target, Path(target).resolve()
    if target.exists() and not target.is_dir():
        raise InvalidInputError(f"{target}: is a file; name a folder")
    if not target.parent.is_dir():
        raise InvalidInputError(f"{target}: the directory {target.parent} does not exist")
    mark = f"{hidden_name(target.name)}{os.urandom(4).hex()}"
    beside, old = target.with_name(f"{mark}.partial"), target.with_name(f"{mark}.old")
    remove_at_end(beside)
    try:
        with name_in_errors(named):
            beside.mkdir()
            if target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode) | stat.S_IRWXU)
        yield beside
        with name_in_errors(named):
            for each in (*beside.rglob("*"), beside):
                _sync(each)
            _give_name(beside, target, old)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for rest in (beside, old):
            shutil.rmtree(rest, ignore_errors=True)
        _unfinished.discard(beside)


def _give_name(beside: Path, target: Path, old: Path) -> None:
    """Rename a finished folder; swap it with an existing one, or move that one to `old`."""
    if target.exists() and not exchange(beside, target):
        target.rename(old)
    if not target.exists():
        beside.rename(target)
    _sync(target.parent)


def exchange(one: Path, other: Path) -> bool:
    """Swap the names of two folders in one step; return whether that was possible here."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2  # Linux
    except (AttributeError, OSError, TypeError):
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), swap) == 0)


@contextmanager
def name_in_errors(target: str | os.PathLike[str], inside: Path | None = None) -> Iterator[None]:
    """Put a file's name into system errors, such as a full disk, that lack it or name another file.

    With `inside`, replace only the names of files in that folder.
    """
    try:
        yield
    except OSError as error:
        if not error.errno:
            raise
        if inside is not None and not str(error.filename).startswith(str(inside)):
            raise
        reason = os.strerror(error.errno)  # without Arrow's addition
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
    # Windows syncs only files open for writing; directories open only for reading.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
