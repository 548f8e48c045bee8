"""Files on any fsspec file system: read in pieces, written whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import hidden_name, publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Keys under which file systems report that a file has changed, most reliable first.
_STAMPS = ("ETag", "etag", "md5Hash", "CRC", "mtime", "LastModified", "last_modified", "created")
# A full disk, quota or file, and a disk that became read-only: errors of writing only.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_LEFTOVER = re.compile(r"^\..+\.partial$")


@dataclass(frozen=True)
class Place:
    """A path on a file system."""

    fs: Any
    path: str

    @classmethod
    def from_path(cls, url: str, options: Mapping[str, Any] | None = None) -> Place:
        """Find the file system of a path or URL, including chains (``zip://*.npy::s3://…``)."""
        try:
            fs, path = fsspec.core.url_to_fs(url, **(options or {}))
        except (ImportError, ValueError) as error:  # the error names the missing package
            raise InvalidInputError(f"{url}: {error}") from None
        return cls(fs, path)

    def __str__(self) -> str:
        return self.path if self.is_local else str(self.fs.unstrip_protocol(self.path))

    def __truediv__(self, name: str) -> Place:
        return Place(self.fs, f"{self.path.rstrip('/')}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether it is on the local file system."""
        return isinstance(self.fs, LocalFileSystem)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def parent(self) -> Place:
        """The directory it is in."""
        return Place(self.fs, str(PurePosixPath(self.path).parent))

    def exists(self) -> bool:
        """Whether the file exists now."""
        self.fs.invalidate_cache()
        return bool(self.fs.exists(self.path))

    def state(self) -> tuple[int, str]:
        """Return the size and change stamp."""
        self.fs.invalidate_cache()
        return parse_state(self.fs.info(self.path))

    def open(self) -> BinaryIO:
        """Open for reading."""
        return cast("BinaryIO", self.fs.open(self.path, "rb"))

    def checksum(self) -> str:
        """Return the SHA-256 of the file."""
        with self.open() as file:
            return hashlib.file_digest(cast("Any", file), "sha256").hexdigest()

    def head(self, size: int) -> bytes:
        """Read the first bytes."""
        with self.open() as file:
            return file.read(size)

    def write(self, data: bytes) -> None:
        """Write these bytes, all or nothing."""
        with publishing(self) as path:
            path.write_bytes(data)

    @contextmanager
    def local_copy(self) -> Iterator[Path]:
        """Yield a local path: the file's own, or that of a temporary copy."""
        if self.is_local:
            yield Path(self.path)
            return
        with TemporaryDirectory(prefix="conceptor-") as folder:
            copy = Path(folder) / self.name
            self.fs.get_file(self.path, str(copy))
            yield copy


def parse_state(info: Mapping[str, Any]) -> tuple[int, str]:
    """Return size and change stamp from a file system's file information."""
    stamp = next((info[key] for key in _STAMPS if info.get(key) is not None), "")
    # A listing may give seconds where the file itself gives a date.
    seconds = stamp.timestamp() if isinstance(stamp, datetime) else stamp
    return int(info.get("size") or 0), str(seconds)


@contextmanager
def publishing(place: Place, check: Callable[[], None] | None = None) -> Iterator[Path]:
    """Yield a local path to write to; after the block the file appears, whole, at `place`.

    `check` is called just before and may still raise. A local file is written in a hidden
    directory next to `place` and renamed; any other is uploaded under a temporary name and moved,
    which every store does atomically. `tidy` removes files that a killed process leaves behind. If
    the disk is full, the error names `place`.
    """
    try:
        with _publishing(place, check) as path:
            yield path
    except OSError as error:
        if error.errno in _FULL:
            raise OSError(error.errno, os.strerror(error.errno), str(place)) from error
        raise


@contextmanager
def _publishing(place: Place, check: Callable[[], None] | None) -> Iterator[Path]:
    if place.is_local:
        folder = Path(place.path).parent
        folder.mkdir(parents=True, exist_ok=True)
        beside = TemporaryDirectory(dir=folder, prefix=hidden_name(place.name), suffix=".partial")
    else:
        beside = TemporaryDirectory(prefix="conceptor-")
    with beside as name:
        path = Path(name) / place.name
        yield path
        if check is not None:
            check()
        if place.is_local:
            publish(path, place.path)
        else:
            _upload(path, place)


def _upload(path: Path, place: Place) -> None:
    beside = place.parent / f"{hidden_name(place.name)}{secrets.token_hex(4)}.partial"
    place.fs.makedirs(place.parent.path, exist_ok=True)
    try:
        place.fs.put_file(str(path), beside.path)
        place.fs.mv(beside.path, place.path)
    finally:
        with suppress(FileNotFoundError):
            place.fs.rm(beside.path)


def tidy(folders: set[str], fs: Any) -> None:  # noqa: ANN401
    """Remove temporary files that killed writers left in these directories."""
    fs.invalidate_cache()
    for folder in folders:
        with suppress(FileNotFoundError):
            for path in fs.ls(folder, detail=False):
                if _LEFTOVER.match(PurePosixPath(path).name):
                    with suppress(FileNotFoundError):
                        fs.rm(path, recursive=True)
