"""Shards: files on any fsspec file system, read and written by the ordinary readers and writers."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import fsspec
import numpy as np
from fsspec.implementations.local import LocalFileSystem

from conceptor.base.errors import ConceptorError, InvalidInputError, hide_password
from conceptor.base.files import name_in_errors
from conceptor.vectors.files import open_vectors
from conceptor.vectors.formats.format import Columns
from conceptor.vectors.formats.npy import words_path
from conceptor.vectors.target import has_known_suffix
from conceptor.vectors.vectors import Rows, Vectors

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# Keys under which file systems report that a file has changed, most reliable first.
_STAMPS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")
# Later words are longer by this many standard errors, if shards continue one sorted list.
_LONGER = 3.0


@dataclass(frozen=True)
class Shard:
    """One file of many."""

    fs: Any  # its file system
    path: str
    name: str  # relative to the common directory; the output gets the same name
    size: int  # in bytes
    state: str  # its size and a stamp that changes with its content
    column: Columns = None
    rows: str | None = None

    def __str__(self) -> str:
        is_local = isinstance(self.fs, LocalFileSystem)
        return self.path if is_local else str(self.fs.unstrip_protocol(self.path))

    @contextmanager
    def open(self) -> Iterator[Vectors]:
        """Yield the vectors of this file, from a temporary copy if it is not on this machine."""
        with local_copy(self.fs, self.path) as path:
            yield open_vectors(path, column=self.column, rows=self.rows)


@contextmanager
def local_copy(fs: Any, path: str) -> Iterator[Path]:  # noqa: ANN401
    """Yield a local path: the file's own, or that of a temporary copy, with its words file."""
    if isinstance(fs, LocalFileSystem):
        yield Path(path)
        return
    with TemporaryDirectory(prefix="conceptor-") as folder:
        copy = Path(folder) / PurePosixPath(path).name
        fs.get_file(path, str(copy))
        words = str(PurePosixPath(path).with_name(words_path(copy).name))
        if copy.suffix == ".npy" and fs.exists(words):
            fs.get_file(words, str(words_path(copy)))
        yield copy


@contextmanager
def publishing(fs: Any, path: str) -> Iterator[Path]:  # noqa: ANN401
    """Yield a local path to write to; after the block everything written appears at `path`.

    A local file is written in place by the ordinary, atomic writers. Any other is uploaded under a
    temporary name and moved, which every store does atomically.
    """
    if isinstance(fs, LocalFileSystem):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        yield Path(path)
        return
    with TemporaryDirectory(prefix="conceptor-") as folder:
        yield Path(folder) / PurePosixPath(path).name
        fs.makedirs(str(PurePosixPath(path).parent), exist_ok=True)
        for file in Path(folder).iterdir():
            target = PurePosixPath(path).with_name(file.name)
            beside = str(target.with_name(f".{file.name}.{secrets.token_hex(4)}.partial"))
            fs.put_file(str(file), beside)
            fs.mv(beside, str(target))


def open_file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path there."""
    try:
        with name_in_errors(hide_password(url)):
            fs, path = fsspec.core.url_to_fs(url)
    except ImportError as error:  # which names the missing package
        raise InvalidInputError(f"{url}: {error}") from None
    except ValueError as error:
        # An error about the port shows the part of a password after a colon.
        reason = "not an address, or its password needs percent-encoding"
        raise InvalidInputError(f"{url}: {reason if '@' in url else error}") from None
    fs.invalidate_cache()
    return fs, str(path)


def find_shards(source: Paths, column: Columns = None, rows: str | None = None) -> list[Shard]:
    """List the shards in a file, a directory, a pattern, or several of these, without duplicates.

    A directory means all vectors files below it, except those whose names start with a dot
    or an underscore. Directories and patterns are sorted by name, numbers by value (`part-2`
    before `part-10`); a list keeps its order.
    """
    sources = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    shards: dict[str, Shard] = {}
    for each in sources:
        fs, path = open_file_system(os.fspath(each))
        with name_in_errors(hide_password(os.fspath(each))):
            root, files = _list_files(fs, path, os.fspath(each))
        # Every second part is a number.
        order = {
            file: [int(part) if i % 2 else part for i, part in enumerate(parts)]
            for file in files
            for parts in [re.split(r"([0-9]+)", file)]
        }
        for file in sorted(files, key=order.__getitem__):
            name, info = str(PurePosixPath(file).relative_to(root)), files[file]
            stamp = next((info[key] for key in _STAMPS if info.get(key) is not None), "")
            state = f"{info.get('size')} {stamp}"
            shard = Shard(fs, file, name, info.get("size") or 0, state, column, rows)
            shards.setdefault(str(shard), shard)
    names = [shard.name for shard in shards.values()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(
            f"{twice}: shards with this name come from two directories; pass a parent of both"
        )
    return list(shards.values())


def _list_files(fs: Any, path: str, name: str) -> tuple[str, dict[str, Mapping[str, Any]]]:  # noqa: ANN401
    """Return the common directory, and file information by path, for a path or pattern."""
    if any(sign in path for sign in "*?[") and not fs.exists(path):
        parts = PurePosixPath(path).parts
        first = next(i for i, part in enumerate(parts) if any(sign in part for sign in "*?["))
        matches = fs.glob(path, detail=True)
        files = {file: info for file, info in matches.items() if info["type"] == "file"}
        if not files:
            raise InvalidInputError(f"{name}: no file matches")
        return str(PurePosixPath(*parts[:first])), files
    if fs.isdir(path):
        files = {}
        for file, info in fs.find(path, detail=True).items():
            parts = PurePosixPath(file).relative_to(path).parts
            is_hidden = any(part[0] in "._" for part in parts)
            is_words = file.endswith(".words.txt")
            if not is_hidden and not is_words and has_known_suffix(Path(file)):
                files[file] = info
        if not files:
            raise InvalidInputError(f"{name}: no vectors files in this directory")
        suffixes = {PurePosixPath(file).suffix for file in files}
        if len(suffixes) > 1:
            raise InvalidInputError(
                f"{name}: contains {' and '.join(sorted(suffixes))} files; select one kind with a "
                "pattern such as 'shards/*.parquet'"
            )
        return path, files
    if not fs.exists(path):
        raise InvalidInputError(f"{name}: no such file or directory")
    return str(PurePosixPath(path).parent), {path: fs.info(path)}


def open_shards(shards: Sequence[Shard]) -> Vectors:
    """Return the shards as `Vectors`, one after the other, with the facts of the first readable."""

    def read() -> Iterator[Rows]:
        for shard in shards:
            with shard.open() as vectors:
                yield from vectors.read()

    errors = []
    for shard in shards:
        try:
            with shard.open() as first:
                _ = first.first_words  # while it is open
            break
        except (ConceptorError, OSError) as error:
            errors.append(error)
    else:
        raise errors[0]
    facts: dict[str, Any] = {"count": None, "estimate": None, "files": (), "costly": False}
    ranked = _continue_one_list(shards)
    return replace(first, name=str(shards[0]), read=read, ranked=ranked, **facts)


def _continue_one_list(shards: Sequence[Shard]) -> bool:
    """Return whether the shards, in order, may be one list sorted by frequency.

    Frequent words are short. If shards continue one list, the last starts with longer words
    than the first; if rows were distributed over shards, all start alike.
    """
    if len(shards) == 1:
        return True
    lengths = []
    for shard in (shards[0], shards[-1]):
        words: list[str] = []
        with suppress(ConceptorError, OSError), shard.open() as vectors:
            words = vectors.first_words if vectors.has_words else []
        lengths.append(np.array([len(word) for word in words]))
    first, last = lengths
    if min(len(first), len(last)) < 2:
        return False
    error = np.sqrt(first.var() / len(first) + last.var() / len(last))
    return bool(last.mean() - first.mean() > _LONGER * error)
