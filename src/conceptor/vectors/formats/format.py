"""What the rest of the library knows about a file format."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from conceptor.algebra.affine_map import AffineMap
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import Progress
from conceptor.vectors.formats.head import Head
from conceptor.vectors.vectors import Findings, RowKind, Vectors

Chunks = Iterator[tuple[Sequence[str], NDArray[Any]]]
# The user's choice of columns: a name, patterns separated by commas, or several names.
Columns: TypeAlias = str | Sequence[Hashable] | None
FLOAT32 = "float32"
# Bytes that are read and decoded at a time.
BLOCK_BYTES = 4 << 20


@dataclass(frozen=True)
class Target:
    """Where and how vectors are written."""

    path: Path | None  # None is standard output
    format: Format
    compression: str | None  # gzip, bzip2, xz, zstd or zip
    # How numbers are stored; None is the source's type for a copy of a table or a folder, else
    # float32.
    dtype: str | None
    dimension: int
    count: int | None  # the number of rows, if it is known
    has_words: bool
    kind: RowKind

    @property
    def files(self) -> list[Path]:
        """The files that are written: the target, then the file of its words, if there is one."""
        if self.path is None:
            return []
        words_path = self.format.words_path if self.has_words else None
        return [self.path] if words_path is None else [self.path, words_path(self.path)]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format: how it is recognized, read and written."""

    name: str  # as in `--format` and in messages
    # The first bytes of a file; or a function of the beginning of a file or folder.
    magic: bytes = b""
    recognize: Callable[[Head], bool] | None = None
    # A function of the beginning of a file, the findings for bad rows, and the user's choice of
    # columns. Its result yields rows as they are stored; `open_vectors` checks them: NaN, words
    # that are not UTF-8 (decoded with `surrogateescape`), repeated words.
    open: Callable[[Head, Findings, Columns], Vectors]
    # Writes labels and rows atomically; returns the number of rows.
    write: Callable[[Target, Chunks], int] | None = None
    # Writes a copy of a source of this format, perhaps with a map applied to its vectors, for files
    # that hold more than labels and rows; returns the number of rows.
    rewrite: Callable[[Vectors, Target, AffineMap | None, Progress], int] | None = None
    description: str = ""  # for the table in docs/reference/formats.md
    suffixes: tuple[str, ...] = ()  # of targets
    kept_suffixes: tuple[
        str, ...
    ] = ()  # of another format; they mean this one if the source has it
    dtypes: tuple[str, ...] = (FLOAT32,)  # that it can store
    read_dtypes: tuple[str, ...] = ()  # further types that it can read
    wordless: bool = False  # whether rows can be stored without words
    streamed: bool = False  # written strictly from beginning to end, so that it can be compressed
    is_text: bool = False  # whether it can be written to standard output
    is_counted: bool = False  # whether it begins with the number of vectors
    is_folder: bool = False
    words_path: Callable[[Path], Path] | None = None  # the separate file for words, if it has one


def check_finite(words: Sequence[str] | None, rows: NDArray[Any], dtype: str = FLOAT32) -> None:
    """Raise, naming the word, if a vector cannot be stored."""
    dtype = dtype if dtype.startswith("float") else FLOAT32
    limit = np.finfo(dtype).max
    with np.errstate(invalid="ignore"):
        # A comparison with NaN is false.
        if rows.max(initial=0) <= limit and rows.min(initial=0) >= -limit:
            return
        bad = int(np.argmin((np.abs(rows) <= limit).all(axis=1)))
    name = "a vector" if words is None else f"the vector of {words[bad]!r}"
    raise InvalidInputError(f"{name} has NaN, Inf or a number too large for {dtype}")


def refuse_word(word: str, problem: str, where: str) -> NoReturn:
    """Raise for a word that could not be read back."""
    spaces = ", or open with --replace-spaces _" if " " in word else ""
    raise InvalidInputError(
        f"the word {word!r} contains {problem}, which {where} cannot store; "
        f"write .parquet or .feather{spaces}"
    )
