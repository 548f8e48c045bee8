"""Write vectors to a file that appears complete or not at all."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections import deque
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from itertools import chain
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.base.files import name_in_errors, replace_atomically
from conceptor.base.threads import one_blas_thread, ordered_map, processors
from conceptor.vectors import arrow, npy, projector, safetensors, text, word2vec_binary
from conceptor.vectors.detect import STREAMED, TEXT_FORMATS
from conceptor.vectors.encoding import SCALE, Encoding
from conceptor.vectors.source import Chunk, check_finite
from conceptor.vectors.static_model import FolderWriter
from conceptor.vectors.streams import open_byte_writer
from conceptor.vectors.words import PackedWords
from conceptor.vectors.words_file import BOM, checksum, words_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from conceptor.vectors.chunks import Transform
    from conceptor.vectors.target import Target

# Formats that can hold rows without words.
WORDLESS = (npy.FORMAT, arrow.PARQUET, arrow.FEATHER)
_COUNT_DIGITS = 12
_COPIED_AT_ONCE = 1 << 20


class Writer(Protocol):
    """Takes chunks in two steps: several threads encode, one writes in order."""

    def encode(self, chunk: Chunk) -> Any:  # noqa: ANN401
        """Turn a chunk into what `write` takes; safe to call from several threads."""

    def write(self, encoded: Any) -> None:  # noqa: ANN401
        """Append to the file."""

    def finish(self, count: int) -> None:
        """Complete the file, which has `count` vectors."""


class RowWriter:
    """Text and word2vec binary: rows of bytes, perhaps after a line `count dimension`."""

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
        # Buffers are reused once written: fresh memory costs as much as the writing.
        self._spare: deque[NDArray[np.uint8]] = deque()
        self._expected = count
        self._is_first = file_format == text.GLOVE
        if file_format == text.GLOVE:
            return
        if count is None and not seekable:
            raise InvalidInputError(
                f"{file_format} begins with the number of vectors, which cannot be filled in later "
                "in a compressed file or a pipe; pass count"
            )
        digits = f"{0:0{_COUNT_DIGITS}d}" if count is None else str(count)
        stream.write(f"{digits} {dimension}\n".encode())

    def encode(self, chunk: Chunk) -> NDArray[np.uint8]:
        """Check that the format can store the rows; return them as bytes."""
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
        """Append the bytes and take their buffer back."""
        if self._is_first:
            _protect_bom(self._stream, encoded[:3].tobytes())
            self._is_first = False
        self._stream.write(encoded.data)
        if isinstance(encoded.base, np.ndarray):
            self._spare.append(encoded.base)

    def finish(self, count: int) -> None:
        """Fill in the count, or check the one given at the start."""
        if self._format == text.GLOVE:
            return
        if self._expected is None:
            self._stream.seek(0)
            self._stream.write(f"{count:0{_COUNT_DIGITS}d}".encode())
        elif self._expected != count:
            raise InvalidInputError(f"count is {self._expected}, but there were {count} vectors")


class ArrayWriter:
    """`.npy` and safetensors: a matrix after a header of fixed length, and words as lines.

    Lines go to another file; those of safetensors are moved to the end of the first. None for
    `words` leaves them out.
    """

    def __init__(
        self,
        stream: BinaryIO,
        words: BinaryIO | None,
        file_format: str,
        encoding: Encoding,
    ) -> None:
        self._stream = stream
        self._words = words
        self._is_npy = file_format == npy.FORMAT
        self._encoding = encoding
        self._scales: list[NDArray[np.float32]] = []
        self._hash = hashlib.sha256()
        self._is_first = True
        self.finish(0)

    def encode(self, chunk: Chunk) -> tuple[bytes, NDArray[Any], NDArray[np.float32]]:
        """Return the words as lines, the numbers as they are stored, and their scales."""
        check_finite(chunk, self._encoding.stored)
        lines = b""
        if self._words is not None:
            _check_words(chunk.words, "words file")
            lines = "".join(f"{word}\n" for word in chunk.words).encode()
        codes, scales = self._encoding.encode(chunk.vectors)
        if self._encoding.has_scales and self._is_npy:
            records = np.empty(len(codes), dtype=self._encoding.record)
            records[self._encoding.field], records[SCALE] = codes, scales
            codes = records
        return lines, codes, scales

    def write(self, encoded: tuple[bytes, NDArray[Any], NDArray[np.float32]]) -> None:
        """Append words and rows."""
        lines, vectors, scales = encoded
        if self._encoding.has_scales and not self._is_npy:
            self._scales.append(scales)
        if self._words is not None:
            if self._is_first and self._is_npy:
                _protect_bom(self._words, lines)
            self._is_first = False
            self._hash.update(lines)
            self._words.write(lines)
        self._stream.write(vectors.data)

    def finish(self, count: int) -> None:
        """Fill in the count, and what ties the words to the matrix."""
        encoding = self._encoding
        dtype = encoding.record if encoding.has_scales else encoding.stored
        if self._words is None:
            header = npy.make_header(count, encoding.dimension, dtype)
        elif self._is_npy:
            header = npy.make_header(count, encoding.dimension, dtype, checksum(self._hash))
        else:
            size = self._words.tell()
            header = safetensors.make_header(count, encoding, size)
            self._words.seek(0)
            shutil.copyfileobj(self._words, self._stream, _COPIED_AT_ONCE)
            if self._scales:
                self._stream.write(bytes(safetensors.padding(count * encoding.width + size)))
                self._stream.write(np.concatenate(self._scales).data)
        self._stream.seek(0)
        self._stream.write(header)


class _TargetNamingWriter:
    """A writer whose errors, such as a full disk, name the target.

    The system names no file, or the temporary one. Errors from elsewhere in the block, such as
    reading, are left alone.
    """

    def __init__(self, target: Path | str, opened: AbstractContextManager[Writer]) -> None:
        self._target = target
        self._context = opened

    def __enter__(self) -> _TargetNamingWriter:
        with self._name_target():
            self._writer = self._context.__enter__()
        return self

    def __exit__(self, *raised: Any) -> bool | None:  # noqa: ANN401
        with self._name_target():
            return self._context.__exit__(*raised)

    def encode(self, chunk: Chunk) -> Any:  # noqa: ANN401
        """Turn a chunk into what `write` takes."""
        return self._writer.encode(chunk)

    def write(self, encoded: Any) -> None:  # noqa: ANN401
        """Append to the file."""
        with self._name_target():
            self._writer.write(encoded)

    def finish(self, count: int) -> None:
        """Complete the file."""
        with self._name_target():
            self._writer.finish(count)

    def _name_target(self) -> AbstractContextManager[None]:
        return name_in_errors(self._target)


def _protect_bom(stream: BinaryIO, data: bytes) -> None:
    """Write a byte-order mark before a first word that begins with one, as readers drop one."""
    if data.startswith(BOM):
        stream.write(BOM)


def _check_words(words: PackedWords, file_format: str) -> None:
    """Raise, naming the word, if a word could not be read back from this format."""
    forbidden = {word2vec_binary.FORMAT: b" \n", "words file": b"\r\n"}.get(file_format, b"\n")
    row = words.first_with(forbidden)
    problem = "a space or newline" if b" " in forbidden else "a line break"
    if row < 0 and file_format in TEXT_FORMATS:
        row, problem = _first_ambiguous(words, file_format)
    if row >= 0:
        spaces = ', or open with replace_spaces="_"' if " " in words[row] else ""
        raise InvalidInputError(
            f"the word {words[row]!r} contains {problem}, which {file_format} cannot store; "
            f"write .parquet or .feather{spaces}"
        )


def _first_ambiguous(words: PackedWords, file_format: str) -> tuple[int, str]:
    """Find a word that would be split in the wrong place when the line is read."""
    rest = words
    done = 0
    while (row := rest.first_with(b" \t")) >= 0:
        word = rest.raw(row)
        if word[:1] in b" \t" or word[-1:] in b" \t":
            return done + row, "a leading or trailing blank"
        tail = word.replace(b"\t", b" ").rpartition(b" ")[2]
        if file_format == text.GLOVE and text.is_number(tail):
            return done + row, "a blank followed by a number"
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
    dtype: str = "float32",
    has_words: bool = True,
) -> Iterator[Writer]:
    """Yield a writer; the target appears, complete and synced, when the block succeeds.

    None is standard output.
    """
    if file_format in (*STREAMED, projector.FORMAT) and dtype != "float32":
        raise InvalidInputError(
            f"{file_format} stores float32 only; for {dtype} write .npy, .safetensors, .parquet "
            "or .feather"
        )
    if compression and file_format not in STREAMED:
        raise InvalidInputError(f"{target}: {file_format} cannot be compressed with {compression}")
    encoding = Encoding(dtype, dimension)
    opened = _open_writer(target, file_format, compression, encoding, count, has_words)
    with _TargetNamingWriter(target or "standard output", opened) as writer:
        yield writer


@contextmanager
def _open_writer(
    target: Path | None,
    file_format: str,
    compression: str | None,
    encoding: Encoding,
    count: int | None,
    has_words: bool,
) -> Iterator[Writer]:
    dimension = encoding.dimension
    if target is None:
        yield RowWriter(sys.stdout.buffer, file_format, dimension, count, seekable=False)
        sys.stdout.buffer.flush()
        return
    with ExitStack() as stack:
        if (words_file := _words_file(target, file_format, has_words)) is not None:
            # Entered first, so renamed last: whatever ends the process in between, the new array's
            # checksum tells that the words beside it are not its own.
            beside = stack.enter_context(replace_atomically(words_file))
        path = stack.enter_context(replace_atomically(target))
        if file_format in STREAMED:
            member = target.name.removesuffix(".zip")
            stream = stack.enter_context(open_byte_writer(path, compression, member))
            yield RowWriter(stream, file_format, dimension, count, seekable=compression is None)
        elif file_format in (arrow.PARQUET, arrow.FEATHER):
            table = arrow.ArrowWriter(path, file_format, encoding, has_words=has_words)
            stack.callback(table.close)
            yield table
        else:
            stream = stack.enter_context(open_byte_writer(path, None, ""))
            words: BinaryIO | None = None
            if words_file is not None:
                words = stack.enter_context(open_byte_writer(beside, None, ""))
            elif has_words:
                words = cast("BinaryIO", stack.enter_context(TemporaryFile(dir=target.parent)))
            if file_format == projector.FORMAT:
                yield projector.ProjectorWriter(stream, cast("BinaryIO", words))  # not `WORDLESS`
            else:
                yield ArrayWriter(stream, words, file_format, encoding)


def output_files(target: Path, file_format: str, *, has_words: bool = True) -> list[Path]:
    """Return the files that writing `target` creates."""
    words_file = _words_file(target, file_format, has_words)
    return [target] if words_file is None else [target, words_file]


def _words_file(target: Path, file_format: str, has_words: bool) -> Path | None:
    """Return the file beside `target` that its words go to, if the format has one."""
    if not has_words:
        return None
    if file_format == projector.FORMAT:
        return projector.metadata_path(target)
    return words_path(target) if file_format == npy.FORMAT else None


def write_chunks(
    chunks: Iterable[tuple[Sequence[str], Any]],
    target: Target,
    count: int | None = None,
    transform: Transform | None = None,
    *,
    dimension: int | None = None,
    threads: int | None = None,
) -> int:
    """Write chunks in order, transforming and encoding several at a time; return the row count.

    Parameters
    ----------
    chunks
        Words and rows.
    target
        From `plan_target`.
    count
        How many rows there will be, if known.
    transform
        A function of words and rows that returns rows of `dimension` numbers.
    """
    stream = iter(chunks)
    first = next(stream, None)
    if first is None:
        raise InvalidInputError(f"{target.path or 'standard output'}: no vectors to write")
    written = 0
    opened: AbstractContextManager[Writer]
    if target.model is not None and target.path is not None:
        opened = nullcontext(FolderWriter(target.model, target.path, target.dtype))
    else:
        opened = open_writer(
            target.path,
            target.format,
            target.compression,
            dimension or int(first[1].shape[1]),
            count=count,
            dtype=target.dtype,
            has_words=target.has_words,
        )
    with one_blas_thread(), opened as writer:

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
