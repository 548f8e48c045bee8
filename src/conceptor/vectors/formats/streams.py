"""Bytes of a file through any compression.

Reading detects the compression by the first bytes; writing chooses it by the target's name.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

from conceptor.base.errors import InvalidInputError, MissingExtraError

_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
_MAGIC = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
    "zip": b"PK\x03\x04",  # can only be read
}
# Compressed bytes to read at a time: even of a hostile file, about 100 MB come out of them.
_PIECE = 1 << 13
# Bytes to write at a time. With more, Linux looks for large free pages, which takes longer.
_WRITE_SIZE = 1 << 18


def split_compression(path: Path) -> tuple[Path, str | None]:
    """Split `x.txt.gz` into `x.txt` and `gzip`."""
    compression = _SUFFIXES.get(path.suffix.lower())
    return (path.with_suffix(""), compression) if compression else (path, None)


class ByteReader(AbstractContextManager["ByteReader"]):
    """A file's bytes, decompressed; damaged data raises `InvalidInputError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.file = path.open("rb")
        first = self.file.read(6)
        self.file.seek(0)
        names = (name for name, magic in _MAGIC.items() if first.startswith(magic))
        self.compression = next(names, None)
        self._pieces = _decompress(self.file, self.compression) if self.compression else iter(())
        self._rest = b""

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def fill(self, buffer: bytearray, start: int) -> int:
        """Fill a buffer from `start` to its end; return how many bytes that were."""
        if self.compression is None:
            # The same memory for each block: new pages would cost more than the copy.
            size = self.file.readinto(memoryview(buffer)[start:])
            self.position += size
            return size
        data = self.read(len(buffer) - start)
        buffer[start : start + len(data)] = data
        return len(data)

    def read(self, size: int) -> bytes:
        """Read exactly `size` bytes, fewer only at the end of the file."""
        if self.compression is None:
            data = self.file.read(size)
        else:
            parts = [self._rest]
            missing = size - len(self._rest)
            try:
                while missing > 0 and (piece := next(self._pieces, None)) is not None:
                    parts.append(piece)
                    missing -= len(piece)
            except (InvalidInputError, MissingExtraError, MemoryError):
                raise
            except Exception as error:
                # Decompressors raise OSError without an errno, EOFError, and their own exceptions;
                # bad data can seek before the start.
                if getattr(error, "errno", None) not in (None, errno.EINVAL):
                    raise
                raise InvalidInputError(
                    f"{self.path}: damaged compressed data after {self.position} bytes ({error}); "
                    "fetch the file again"
                ) from None
            data = b"".join(parts)
            data, self._rest = data[:size], data[size:]
        self.position += len(data)
        return data


def _decompress(file: BinaryIO, compression: str) -> Iterator[bytes]:
    """Yield the content of one or more compressed streams, perhaps padded with zeros.

    The readers of the libraries take damage after the first stream of bzip2 or xz, or a truncated
    frame of zstd, for the end of the file.
    """
    if compression == "zip":
        import zipfile

        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise InvalidInputError(
                f"{file.name}: a zip archive of {len(members)} files; unpack the one you want"
            )
        with archive.open(members[0]) as member:
            while piece := member.read(1 << 20):
                yield piece
        return
    make_decompressor, _ = find_codec(compression)
    decompressor = make_decompressor()
    while data := file.read(_PIECE):
        while data:
            if decompressor.eof:
                data = data.lstrip(b"\0")
                if not data:
                    break
                decompressor = make_decompressor()
            yield decompressor.decompress(data)
            data = decompressor.unused_data if decompressor.eof else b""
    if not decompressor.eof:
        raise EOFError("it ends within a stream")


def find_codec(compression: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return functions that make a decompressor of one stream, and a compressor.

    Levels are fast, because the mantissas of vectors are noise that no level compresses.
    """
    if compression == "gzip":
        import zlib

        bits = 16 + zlib.MAX_WBITS  # with gzip's header
        return lambda: zlib.decompressobj(bits), lambda: zlib.compressobj(1, wbits=bits)
    if compression == "bzip2":
        import bz2

        return bz2.BZ2Decompressor, bz2.BZ2Compressor
    if compression == "xz":
        import lzma

        return lzma.LZMADecompressor, lambda: lzma.LZMACompressor(preset=1)
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstd compression", "zstd") from None
    return (
        lambda: zstandard.ZstdDecompressor().decompressobj(),
        lambda: zstandard.ZstdCompressor().compressobj(),
    )


class ByteWriter(io.FileIO):
    """A raw file whose `write` returns only when everything is written.

    The standard library's buffered files try again after a failed write when they are
    garbage-collected, and report that the file is closed.
    """

    def write(self, data: Any) -> int:  # noqa: ANN401
        """Write all of the data."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[super().write(rest[:_WRITE_SIZE]) :]
        return size
