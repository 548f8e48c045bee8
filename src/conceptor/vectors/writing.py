"""Vectors into a file that appears whole or not at all."""

from __future__ import annotations

import os
import sys
from collections import deque
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import replace_atomically
from conceptor.base.threads import ordered_map, processors
from conceptor.vectors import arrow, npy, safetensors, text, word2vec_binary
from conceptor.vectors.detect import STREAMED, TEXT_FORMATS
from conceptor.vectors.source import Chunk, check_finite
from conceptor.vectors.streams import byte_writer
from conceptor.vectors.words import PackedWords
from conceptor.vectors.words_file import BOM, words_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.chunks import Transform
    from conceptor.vectors.target import Target

_COUNT_DIGITS = 12


class Writer(Protocol):
    """Takes chunks in two steps, so that threads can encode while one writes in order."""

    def encode(self, chunk: Chunk) -> Any:  # noqa: ANN401
        """Turn a chunk into what `write` takes; safe to call from several threads."""

    def write(self, encoded: Any) -> None:  # noqa: ANN401
        """Append to the file."""

    def finish(self, count: int) -> None:
        """Complete the file, which holds `count` vectors."""


class RowWriter:
    """Text and word2vec binary: bytes behind each other, perhaps after a `count dimension` line."""

    def __init__(
        self,
        stream: BinaryIO,
        file_format: str,
        dimension: int,
        count: int | None,
        *,
        seekable: bool,
    ) -> None:
        self._stream = stream
        self._format = file_format
        self._dimension = dimension
        self._rows = word2vec_binary if file_format == word2vec_binary.FORMAT else text
        # Buffers come back once written: asking the system for fresh memory costs as much as
        # writing it.
        self._spare: deque[NDArray[np.uint8]] = deque()
        self._promised = count
        self._is_front = file_format == text.GLOVE
        if file_format == text.GLOVE:
            return
        if count is None and not seekable:
            raise InvalidInputError(
                f"{file_format} begins with the number of vectors: give `count`, since it cannot "
                "be filled in later in a compressed file or a pipe"
            )
        digits = f"{0:0{_COUNT_DIGITS}d}" if count is None else str(count)
        stream.write(f"{digits} {dimension}\n".encode())

    def encode(self, chunk: Chunk) -> NDArray[np.uint8]:
        """Return the rows as bytes, once the words are known to survive."""
        check_finite(chunk, np.dtype(np.float32))
        _check_words(chunk.words, self._format)
        buffer = self._buffer(self._rows.encoded_size(chunk))
        return buffer[: self._rows.encode(chunk, buffer)]

    def _buffer(self, size: int) -> NDArray[np.uint8]:
        with suppress(IndexError):
            while len(spare := self._spare.pop()) < size:
                pass
            return spare
        return np.empty(size + size // 16, dtype=np.uint8)

    def write(self, encoded: NDArray[np.uint8]) -> None:
        """Append the bytes, after which they are no longer the caller's."""
        if self._is_front:
            _guard_front(self._stream, encoded[:3].tobytes())
            self._is_front = False
        self._stream.write(encoded.data)
        if isinstance(encoded.base, np.ndarray):
            self._spare.append(encoded.base)

    def finish(self, count: int) -> None:
        """Fill in the count, or check the one that was promised."""
        if self._format == text.GLOVE:
            return
        if self._promised is None:
            self._stream.seek(0)
            self._stream.write(f"{count:0{_COUNT_DIGITS}d}".encode())
        elif self._promised != count:
            raise InvalidInputError(f"{self._promised} vectors were promised, {count} came")


class ArrayWriter:
    """`.npy` and safetensors: a matrix behind a header of fixed length, words in another file."""

    def __init__(
        self,
        stream: BinaryIO,
        words: BinaryIO,
        header: Callable[[int], bytes],
        dtype: np.dtype[Any],
    ) -> None:
        self._stream = stream
        self._words = words
        self._header = header
        self._is_front = True
        self._dtype = dtype
        stream.write(header(0))

    def encode(self, chunk: Chunk) -> tuple[bytes, NDArray[Any]]:
        """Return the lines of words and the numbers as they are stored."""
        check_finite(chunk, self._dtype)
        _check_words(chunk.words, "words file")
        lines = "".join(f"{word}\n" for word in chunk.words).encode()
        return lines, np.ascontiguousarray(chunk.vectors, dtype=self._dtype)

    def write(self, encoded: tuple[bytes, NDArray[Any]]) -> None:
        """Append words and rows."""
        lines, vectors = encoded
        if self._is_front:
            _guard_front(self._words, lines)
            self._is_front = False
        self._words.write(lines)
        self._stream.write(vectors.data)

    def finish(self, count: int) -> None:
        """Fill in the count."""
        self._stream.seek(0)
        self._stream.write(self._header(count))


class _Named:
    """A file's writer whose failures, a full disk say, name the target.

    The system names no file, or the hidden one beside it. What fails elsewhere in the block, such
    as reading, is left as it is.
    """

    def __init__(self, target: Path, opened: AbstractContextManager[Writer]) -> None:
        self._target = target
        self._opened = opened

    def __enter__(self) -> _Named:
        with self._failures():
            self._writer = self._opened.__enter__()
        return self

    def __exit__(self, *raised: Any) -> bool | None:  # noqa: ANN401
        with self._failures():
            return self._opened.__exit__(*raised)

    def encode(self, chunk: Chunk) -> Any:  # noqa: ANN401
        """Turn a chunk into what `write` takes."""
        return self._writer.encode(chunk)

    def write(self, encoded: Any) -> None:  # noqa: ANN401
        """Append to the file."""
        with self._failures():
            self._writer.write(encoded)

    def finish(self, count: int) -> None:
        """Complete the file."""
        with self._failures():
            self._writer.finish(count)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not error.errno:
                raise
            said = os.strerror(error.errno)  # Arrow has its own words around it
            raise OSError(error.errno, said, str(self._target)) from error


def _guard_front(stream: BinaryIO, data: bytes) -> None:
    """Write a byte-order mark before a first word that begins with one: readers drop one."""
    if data.startswith(BOM):
        stream.write(BOM)


def _check_words(words: PackedWords, file_format: str) -> None:
    """Raise, naming the word, where a format could not give a word back as it is."""
    forbidden = {word2vec_binary.FORMAT: b" \n", "words file": b"\r\n"}.get(file_format, b"\n")
    row = words.first_with(forbidden)
    problem = "a space or newline" if b" " in forbidden else "a line break"
    if row < 0 and file_format in TEXT_FORMATS:
        row, problem = _first_not_textual(words, file_format)
    if row >= 0:
        spaces = ', or open with replace_spaces="_"' if " " in words[row] else ""
        raise InvalidInputError(
            f"the word {words[row]!r} holds {problem}, which {file_format} cannot carry; "
            f"write .parquet or .feather{spaces}"
        )


def _first_not_textual(words: PackedWords, file_format: str) -> tuple[int, str]:
    """Find a word that would be split elsewhere when the line is read."""
    rest = words
    done = 0
    while (row := rest.first_with(b" \t")) >= 0:
        word = rest.raw(row)
        if word[:1] in b" \t" or word[-1:] in b" \t":
            return done + row, "a blank at its end"
        tail = word.replace(b"\t", b" ").rpartition(b" ")[2]
        if file_format == text.GLOVE and text.is_number(tail):
            return done + row, "a blank and then a number"
        done += row + 1
        rest = rest[row + 1 :]
    return -1, ""


@contextmanager
def open_writer(
    target: Path | None,
    file_format: str,
    compression: str | None,
    dimension: int,
    *,
    count: int | None = None,
    dtype: np.dtype[Any] | None = None,
) -> Iterator[Writer]:
    """Yield a writer; the target appears, complete and on disk, when the block succeeds.

    None is standard output.
    """
    dtype = np.dtype("<f4") if dtype is None else dtype.newbyteorder("<")
    if file_format in STREAMED and dtype.itemsize != 4:
        raise InvalidInputError(
            f"{file_format} stores float32; float16 goes into .npy, "
            ".safetensors, .parquet and .feather"
        )
    if compression and file_format not in STREAMED:
        raise InvalidInputError(f"{target}: {file_format} is not written inside {compression}")
    if target is None:
        yield RowWriter(sys.stdout.buffer, file_format, dimension, count, seekable=False)
        sys.stdout.buffer.flush()
        return
    opened = _file_writer(target, file_format, compression, dimension, count, dtype)
    with _Named(target, opened) as writer:
        yield writer


@contextmanager
def _file_writer(
    target: Path,
    file_format: str,
    compression: str | None,
    dimension: int,
    count: int | None,
    dtype: np.dtype[Any],
) -> Iterator[Writer]:
    with ExitStack() as stack:
        path = stack.enter_context(replace_atomically(target))
        if file_format in STREAMED:
            member = target.name.removesuffix(".zip")
            stream = stack.enter_context(byte_writer(path, compression, member))
            yield RowWriter(stream, file_format, dimension, count, seekable=compression is None)
        elif file_format in (arrow.PARQUET, arrow.FEATHER):
            table = arrow.ArrowWriter(path, file_format, dimension, dtype)
            stack.callback(table.close)
            yield table
        else:
            module = npy if file_format == npy.FORMAT else safetensors
            beside = stack.enter_context(replace_atomically(words_path(target)))
            stream = stack.enter_context(byte_writer(path, None, ""))
            words = stack.enter_context(byte_writer(beside, None, ""))
            yield ArrayWriter(
                stream, words, lambda rows: module.header(rows, dimension, dtype), dtype
            )


def files_of(target: Path, file_format: str) -> list[Path]:
    """Return the files that writing `target` makes."""
    beside = [words_path(target)] if file_format in (npy.FORMAT, safetensors.FORMAT) else []
    return [target, *beside]


def write_chunks(
    chunks: Iterable[tuple[Sequence[str], Any]],
    target: Target,
    count: int | None = None,
    transform: Transform | None = None,
    *,
    dimension: int | None = None,
    threads: int | None = None,
) -> int:
    """Write chunks in order, several transformed and encoded at a time; return how many rows.

    Parameters
    ----------
    chunks
        Words and rows.
    target
        From `plan_target`.
    count
        How many rows will come, where that is known.
    transform
        A function of words and rows that gives rows of `dimension` numbers.
    """
    stream = iter(chunks)
    first = next(stream, None)
    if first is None:
        raise InvalidInputError(f"{target.path or 'standard output'}: there is nothing to write")
    written = 0
    with (
        threadpool_limits(1),
        open_writer(
            target.path,
            target.format,
            target.compression,
            dimension or int(first[1].shape[1]),
            count=count,
            dtype=np.dtype(target.dtype),
        ) as writer,
    ):

        def encode(chunk: tuple[Sequence[str], Any]) -> tuple[int, Any]:
            words, rows = chunk
            if transform is not None:
                rows = transform(words, rows)
            return len(words), writer.encode(Chunk(PackedWords.from_words(words), rows))

        for rows, encoded in ordered_map(encode, chain([first], stream), threads or processors()):
            writer.write(encoded)
            written += rows
        writer.finish(written)
    return written
