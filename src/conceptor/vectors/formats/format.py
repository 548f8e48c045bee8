"""The description of a file format that the rest of the library uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.base.progress import Progress
    from conceptor.vectors.columns import Asked
    from conceptor.vectors.formats.head import Head
    from conceptor.vectors.source import Chunk, VectorSource
    from conceptor.vectors.target import Target
    from conceptor.vectors.vectors import Vectors

FLOAT32 = "float32"


class Writer(Protocol):
    """Takes chunks in two steps: several threads encode, one writes in order."""

    def encode(self, chunk: Chunk) -> Any:  # noqa: ANN401
        """Encode a chunk for `write`; safe to call from several threads."""

    def write(self, encoded: Any) -> None:  # noqa: ANN401
        """Append to the file."""

    def finish(self, count: int) -> None:
        """Complete the file, which has `count` vectors."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format: how it is recognised, read and written.

    Attributes
    ----------
    name
        As in `--format` and in messages.
    description
        The files that can be read, for the table in docs/reference/formats.md; if the format is
        only written, what to do instead.
    recognise, open
        Functions of the beginning of a file (or of a folder): whether it has this format, and the
        source that reads it; `open` also gets whether words may be missing. A format without `open`
        is only written.
    open_column
        For tables: like `open`, but with the column that holds the vectors.
    open_writer
        A function of target, dimension and number of vectors (None if unknown) that returns a
        context manager of a `Writer`; when its block succeeds, the target appears, complete.
    rewrite
        Writes a copy of the source's file with a map applied to all vectors in it, for files with
        more than rows and words; returns the number of words.
    suffixes
        The file extensions of targets of this format.
    kept_suffixes
        Suffixes of another format that mean this one if the source has this format.
    dtypes, read_dtypes
        The types of numbers it can store, and further types it can read.
    wordless
        Whether rows can be stored without words.
    streamed
        Whether it is written strictly from beginning to end, so that it can be compressed.
    is_text
        Whether it can be written to standard output.
    is_counted
        Whether it begins with the number of vectors.
    is_folder
        Whether it is a folder rather than a file.
    words_path
        A function of the target that returns the separate file for its words, if it has one.
    check_source
        Raises if vectors of a source (None for vectors in memory) cannot be written in it.
    check_target
        Raises if another file would be affected by writing a target.
    """

    name: str
    description: str = ""
    recognise: Callable[[Head], bool] | None = None
    open: Callable[[Head, bool], VectorSource] | None = None
    open_column: Callable[[Head, bool, Asked], VectorSource] | None = None
    open_writer: Callable[[Target, int, int | None], AbstractContextManager[Writer]] | None = None
    rewrite: Callable[[Vectors, Path, AffineMap | None, Progress], int] | None = None
    suffixes: tuple[str, ...] = ()
    kept_suffixes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = (FLOAT32,)
    read_dtypes: tuple[str, ...] = ()
    wordless: bool = False
    streamed: bool = False
    is_text: bool = False
    is_counted: bool = False
    is_folder: bool = False
    words_path: Callable[[Path], Path] | None = None
    check_source: Callable[[VectorSource | None], None] | None = None
    check_target: Callable[[Target], None] | None = None

    @property
    def is_read(self) -> bool:
        """Whether files, not folders, of this format are read."""
        return self.open is not None and not self.is_folder

    @property
    def is_written(self) -> bool:
        """Whether files, not folders, of this format are written."""
        return (self.open_writer or self.rewrite) is not None and not self.is_folder


def starts_with(magic: bytes) -> Callable[[Head], bool]:
    """Return a recogniser of files that begin with these bytes."""
    return lambda head: head.data.startswith(magic)
