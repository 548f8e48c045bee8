"""What the rest of the library needs to know about a format of vectors files."""

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
        """Turn a chunk into what `write` takes; safe to call from several threads."""

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
        As `--format` and messages have it.
    description
        Which files are read, for the table in docs/reference/formats.md; if none are, what to do
        instead.
    recognise, open
        Functions of the beginning of a file (or of a folder): whether it has this format, and the
        source that reads it; `open` is also told whether words may be missing. A format without
        `open` is only written.
    open_column
        For tables: like `open`, but told which column holds the vectors.
    open_writer
        A function of target, dimension and number of vectors (None if unknown) that returns a
        context manager of a `Writer`; when its block succeeds, the target appears, complete.
    rewrite
        Writes the source's file again, with a map applied to all vectors in it, where that is
        more than rows and words; returns the number of words.
    suffixes
        How targets of this format are named.
    kept_suffixes
        Suffixes of another format that mean this one if the source has it.
    dtypes, read_dtypes
        The types of numbers it can store, and those that it is read with besides.
    wordless
        Whether rows can be stored without words.
    streamed
        Whether it is written from beginning to end, so that it can be compressed.
    is_text
        Whether it can be written to standard output.
    is_counted
        Whether it begins with the number of vectors.
    is_folder
        Whether it is a folder rather than a file.
    words_path
        A function of the target that names the file its words are written to, if it is another.
    check_source
        Raises if vectors of some source (None for those in memory) cannot be written in it.
    check_target
        Raises if something else is in the way of a target.
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
