"""Read and write bytes through any compression.

Reading detects the compression by the first bytes; writing chooses it by the target's name.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.files import check_no_loop
from conceptor.base.folders import find_old

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO
    from pathlib import Path

SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_READ_AT_ONCE = 1 << 20
_STORED_AT_ONCE = 1 << 20


def split_compression(path: Path) -> tuple[Path, str | None]:
    """Split `x.txt.gz` into `x.txt` and `gzip`."""
    compression = SUFFIXES.get(path.suffix.lower())
    return (path.with_suffix(""), compression) if compression else (path, None)


def check_readable_file(path: Path) -> None:
    """Raise unless `path` is a regular file, which can be read more than once."""
    check_no_loop(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        old = find_old(path)
        also = f"; an interrupted run left it as {old}" if old is not None else ""
        raise InvalidInputError(f"{path}: no such file{also}") from None
    if stat.S_ISDIR(mode):
        raise InvalidInputError(f"{path}: is a directory; name a file inside it")
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"{path}: not a regular file; use - to read from a pipe")


def detect_compression(path: Path) -> str | None:
    """Return the compression that the first bytes identify, if any."""
    with path.open("rb") as file:
        head = file.read(6)
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


class ByteReader:
    """A file's bytes, decompressed; damaged data raises `InvalidInputError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self._cleanup = ExitStack()
        self._raw = self._cleanup.enter_context(path.open("rb", buffering=0))
        try:
            self._size = os.fstat(self._raw.fileno()).st_size
            self._compression = detect_compression(path)
            with self._report_damage():
                raw = cast("BinaryIO", self._raw)
                self._stream = _open_decompressor(self._cleanup, raw, self._compression)
        except BaseException:
            self._cleanup.close()
            raise

    def __enter__(self) -> ByteReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def read(self, size: int) -> bytes:
        """Read exactly `size` bytes, fewer only at the end of the file."""
        parts = []
        while size:
            with self._report_damage():
                part = self._stream.read(min(size, _READ_AT_ONCE * 64))
                if not part:
                    self._check_end()
                    break
            parts.append(part)
            self.position += len(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, view: memoryview) -> int:
        """Fill `view`; return how many bytes were read, fewer only at the end of the file."""
        filled = 0
        while filled < len(view):
            with self._report_damage():
                count = self._stream.readinto(view[filled:])  # type: ignore[attr-defined]
                if not count:
                    self._check_end()
                    break
            filled += count
        self.position += filled
        return filled

    def fraction_read(self) -> float:
        """Return how much of the file on disk has been read."""
        return self._raw.tell() / max(self._size, 1)

    def _check_end(self) -> None:
        if self._compression == "zstd":
            _check_zstd_complete(cast("BinaryIO", self._raw))

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            yield
        except InvalidInputError:
            raise
        except Exception as error:
            # Decompressors raise OSError without an errno, EOFError, and their own exceptions.
            if isinstance(error, (MemoryError, MissingExtraError)) or _is_system_error(error):
                raise
            raise InvalidInputError(
                f"{self.path}: damaged compressed data after {self.position} bytes ({error}); "
                "fetch the file again"
            ) from None


def _is_system_error(error: Exception) -> bool:
    """Return whether the system failed, not the data; bad data can seek before the start."""
    return getattr(error, "errno", None) not in (None, errno.EINVAL)


def _open_decompressor(cleanup: ExitStack, raw: BinaryIO, compression: str | None) -> BinaryIO:
    if compression is None:
        return raw
    stream: BinaryIO
    if compression == "gzip":
        import gzip

        stream = cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    elif compression == "bzip2":
        import bz2

        stream = cast("BinaryIO", _Streams(raw, bz2.BZ2Decompressor))
    elif compression == "xz":
        import lzma

        stream = cast("BinaryIO", _Streams(raw, lzma.LZMADecompressor))
    elif compression == "zstd":
        decompressor = _zstandard().ZstdDecompressor()
        stream = decompressor.stream_reader(raw, read_across_frames=True, closefd=False)
    else:
        import zipfile

        archive = cleanup.enter_context(zipfile.ZipFile(raw))
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise InvalidInputError(
                f"{raw.name}: a zip archive of {len(members)} files; unpack the one you want"
            )
        stream = cast("BinaryIO", archive.open(members[0]))
    return cleanup.enter_context(stream)


class _Streams(io.RawIOBase):
    """One or more bzip2 or xz streams, perhaps padded with zeros.

    The standard library's readers treat damaged data after the first stream as the end of the file.
    """

    def __init__(self, raw: BinaryIO, make_decompressor: Callable[[], Any]) -> None:
        self._raw = raw
        self._make = make_decompressor
        self._decompressor = make_decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:  # noqa: ANN401
        while True:
            data = b""
            if self._decompressor.eof:
                rest = self._decompressor.unused_data
                while not (data := rest.lstrip(b"\0")):
                    if not (rest := self._raw.read(_READ_AT_ONCE)):
                        return 0
                self._decompressor = self._make()
            elif self._decompressor.needs_input and not (data := self._raw.read(_READ_AT_ONCE)):
                raise EOFError("it ends within a stream")
            if part := self._decompressor.decompress(data, len(view)):
                view[: len(part)] = part
                return len(part)


def _check_zstd_complete(raw: BinaryIO) -> None:
    """Raise if the last frame is truncated, which zstandard's reader silently ignores.

    It jumps from header to header (RFC 8878, 3.1.1), which takes almost no time.
    """
    zstandard = _zstandard()
    size = raw.seek(0, os.SEEK_END)
    place = 0
    while place < size:
        raw.seek(place)
        head = raw.read(18)  # the longest header
        if int.from_bytes(head[:4], "little") >> 4 == 0x184D2A5:  # a skippable frame
            place += 8 + int.from_bytes(head[4:8], "little")
            continue
        has_checksum = zstandard.get_frame_parameters(head).has_checksum
        place += zstandard.frame_header_size(head)
        is_last = False
        while not is_last and place <= size:
            raw.seek(place)
            block = int.from_bytes(raw.read(3), "little")
            is_last = bool(block & 1)
            is_one_byte_repeated = block >> 1 & 3 == 1
            place += 3 + (1 if is_one_byte_repeated else block >> 3)
        place += 4 * has_checksum
    if place > size:
        raise EOFError("truncated frame")
    raw.seek(size)


def _zstandard() -> Any:  # noqa: ANN401
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstd compression", "zstd") from None
    return zstandard


@contextmanager
def open_byte_writer(path: Path, compression: str | None, member: str) -> Iterator[BinaryIO]:
    """Open `path` for writing through `compression`; `member` names the file inside a zip.

    Levels are fast, because the mantissas of vectors are noise that no level compresses.
    """
    with ExitStack() as cleanup:
        raw = cleanup.enter_context(path.open("wb", buffering=0))
        file = cast("BinaryIO", _FullWrites(raw))
        stream: object = file
        if compression == "zip":
            import zipfile

            archive = cleanup.enter_context(
                zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
            )
            opened = archive.open(zipfile.ZipInfo(member), "w", force_zip64=True)
            stream = cleanup.enter_context(opened)
        elif compression is not None:
            stream = cleanup.enter_context(_Compressed(file, _compressor(compression)))
        yield cast("BinaryIO", stream)


def _compressor(compression: str) -> Any:  # noqa: ANN401
    if compression == "gzip":
        import zlib

        return zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS)  # with gzip's head and checksum
    if compression == "bzip2":
        import bz2

        return bz2.BZ2Compressor()
    if compression == "xz":
        import lzma

        return lzma.LZMACompressor(preset=1)
    return _zstandard().ZstdCompressor().compressobj()


class _Compressed:
    """A file written through a compressor; its end is written when the block succeeds.

    The standard library's writers have their own buffers. After a failed write they try again when
    they are garbage-collected, and report that the file is closed.
    """

    def __init__(self, file: BinaryIO, compressor: Any) -> None:  # noqa: ANN401
        self._file, self._compressor = file, compressor

    def __enter__(self) -> _Compressed:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._file.write(self._compressor.flush())

    def write(self, data: bytes | memoryview) -> int:
        self._file.write(self._compressor.compress(data))
        return memoryview(data).nbytes


class _FullWrites:
    """A raw file whose `write` returns only when everything is written.

    The system starts to store large parts on disk at once, while the next rows are computed, so
    that the final sync has little left to wait for.
    """

    def __init__(self, raw: FileIO) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> object:
        return getattr(self._raw, name)

    def write(self, data: bytes | memoryview) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[self._raw.write(rest) :]
        if size >= _STORED_AT_ONCE and hasattr(os, "posix_fadvise"):  # not on macOS and Windows
            with suppress(OSError):  # it is only advice
                place = self._raw.tell() - size
                os.posix_fadvise(self._raw.fileno(), place, size, os.POSIX_FADV_DONTNEED)
        return size
