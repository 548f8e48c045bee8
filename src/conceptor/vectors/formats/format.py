"""What the rest of the library knows about a file format."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import name_in_errors, replace_atomically
from conceptor.base.progress import Progress
from conceptor.base.threads import ordered_map
from conceptor.vectors.formats.head import BOM, Head
from conceptor.vectors.formats.streams import ByteWriter, find_codec
from conceptor.vectors.vectors import Findings, RowKind, Vectors

Chunks = Iterator[tuple[Sequence[str], NDArray[Any]]]
# The user's choice of columns: a name, patterns separated by commas, or several names.
Columns: TypeAlias = str | Sequence[Hashable] | None
FLOAT32 = "float32"
# Bytes that are read and decoded at a time.
BLOCK_BYTES = 4 << 20
_COUNT_DIGITS = 12


@dataclass(frozen=True)
class Target:
    """Where and how vectors are written."""

    path: Path | None  # None is standard output
    format: Format
    compression: str | None  # gzip, bzip2, xz or zstd
    dtype: str | None  # None is the source's for a copy of a table or a folder, else float32
    dimension: int
    count: int | None  # the number of rows, if it is known
    has_words: bool
    kind: RowKind
    digits: int | None = None  # significant digits of text; None is as many as float32 needs

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
    recognize: Callable[[Head], object]  # by the beginning of a file or folder
    # Yields rows as they are stored; `open_vectors` checks them: NaN, words that are not UTF-8
    # (decoded with `surrogateescape`), repeated words.
    open: Callable[[Head, Findings, Columns], Vectors]
    # Writes labels and rows atomically; returns the number of rows.
    write: Callable[[Target, Chunks], int] | None = None
    # Writes a copy of a source of this format with new rows, for files that hold more than rows.
    rewrite: Callable[[Vectors, Target, Progress], int] | None = None
    description: str = ""  # for the table in docs/reference/formats.md
    suffixes: tuple[str, ...] = ()  # of targets
    dtypes: tuple[str, ...] = (FLOAT32,)  # that it can store
    wordless: bool = False  # whether rows can be stored without words
    streamed: bool = False  # written strictly from beginning to end, so that it can be compressed
    is_text: bool = False  # whether it can be written to standard output
    is_counted: bool = False  # whether it begins with the number of vectors
    is_folder: bool = False
    words_path: Callable[[Path], Path] | None = None  # the separate file for words, if it has one


def starts_with(magic: bytes) -> Callable[[Head], bool]:
    """Return a function that recognizes a file by its first bytes."""
    return lambda head: head.data.startswith(magic)


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


@contextmanager
def _open_stream(target: Target) -> Iterator[BinaryIO]:
    if target.path is None:
        with name_in_errors("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
    else:
        with replace_atomically(target.path) as path, ByteWriter(path, "w") as stream:
            yield stream


def write_rows(
    target: Target,
    chunks: Chunks,
    encode: Callable[[Sequence[str], NDArray[np.float32]], bytes],
) -> int:
    """Write rows of bytes, after a header if the format has one; return the number of rows.

    If the count is not known before, the header is filled in last and has the same length for any
    count. Binary files get zeros before it, because word2vec's own reader would take a space after
    it as part of the first word; text, where no reader minds, gets spaces after it.
    """
    name, has_header, count = target.format.name, target.format.is_counted, target.count
    dimension = target.dimension
    if dimension == 1 and not has_header:
        raise InvalidInputError(
            f"{name} looks like a list of counts if vectors have one number; write .vec, "
            "which has a header"
        )
    if has_header and count is None and (target.path is None or target.compression):
        raise InvalidInputError(
            f"{name} begins with the number of vectors, which cannot be filled in later in a "
            "compressed file or a pipe; pass count"
        )

    def late_header(count: int) -> bytes:
        if not target.format.is_text:
            return f"{count:0{_COUNT_DIGITS}d} {dimension}\n".encode()
        width = _COUNT_DIGITS + 1 + len(str(dimension))
        return f"{count} {dimension}".ljust(width).encode() + b"\n"

    def encode_chunk(chunk: tuple[Sequence[str], NDArray[np.float32]]) -> tuple[int, bytes]:
        words, rows = chunk
        check_finite(words, rows)
        return len(words), encode(words, np.ascontiguousarray(rows, dtype=np.float32))

    written = 0
    compressor = find_codec(target.compression)[1]() if target.compression else None
    with _open_stream(target) as stream:
        beginning = b""
        if has_header:
            beginning = late_header(0) if count is None else b"%d %d\n" % (count, dimension)
        for count_of_chunk, data in ordered_map(encode_chunk, chunks):
            if not has_header and not written and data.startswith(BOM):
                beginning = BOM  # readers drop one
            for part in (beginning, data):
                stream.write(compressor.compress(part) if compressor else part)
            beginning = b""
            written += count_of_chunk
        if compressor:
            stream.write(compressor.flush())
        if has_header and count is None:
            stream.seek(0)
            stream.write(late_header(written))
        elif has_header and written != count:
            raise InvalidInputError(f"count is {count}, but there were {written} vectors")
    return written
