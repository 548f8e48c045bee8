"""Bytes of a file through any compression.

Reading detects the compression by the first bytes; writing chooses it by the target's name.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from conceptor.base.errors import InvalidInputError, MissingExtraError

SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
# Compressed bytes to read at a time: even of a hostile file, about 100 MB come out of them.
_PIECE = 1 << 13


def split_compression(path: Path) -> tuple[Path, str | None]:
    """Split `x.txt.gz` into `x.txt` and `gzip`."""
    compression = SUFFIXES.get(path.suffix.lower())
    return (path.with_suffix(""), compression) if compression else (path, None)


class ByteReader:
    """A file's bytes, decompressed; damaged data raises `InvalidInputError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.file = path.open("rb")
        self.compression: str | None = None
        first = self.file.read(6)
        self.file.seek(0)
        for magic, name in _MAGIC.items():
            if first.startswith(magic):
                self.compression = name
                self._pieces = _decompress(self.file, name)
        self._rest = b""

    def __enter__(self) -> ByteReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

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
    make_decompressor, _ = _codec(compression)
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


def _codec(compression: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
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


class _File(io.FileIO):
    """A raw file whose `write` returns only when everything is written.

    The standard library's buffered files try again after a failed write when they are
    garbage-collected, and report that the file is closed.
    """

    def write(self, data: Any) -> int:  # noqa: ANN401
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[super().write(rest) :]
        return size


class _Compressed:
    """Writes through a compressor."""

    def __init__(self, file: BinaryIO, compressor: Any) -> None:  # noqa: ANN401
        self.file, self.compressor = file, compressor

    def write(self, data: bytes) -> int:
        self.file.write(self.compressor.compress(data))
        return len(data)


@contextmanager
def open_byte_writer(
    path: Path, compression: str | None = None, member: str = ""
) -> Iterator[BinaryIO]:
    """Open `path` for writing through `compression`; `member` names the file inside a zip."""
    with ExitStack() as cleanup:
        file: Any = cleanup.enter_context(_File(path, "w"))
        if compression is None:
            yield file
        elif compression == "zip":
            import zipfile

            archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
            cleanup.enter_context(archive)
            content = archive.open(zipfile.ZipInfo(member), "w", force_zip64=True)
            yield cast("BinaryIO", cleanup.enter_context(content))
        else:
            _, make_compressor = _codec(compression)
            compressed = _Compressed(file, make_compressor())
            yield cast("BinaryIO", compressed)
            file.write(compressed.compressor.flush())
