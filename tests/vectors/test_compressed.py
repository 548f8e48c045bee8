"""Compressed files are read whole or refused."""

from __future__ import annotations

import bz2
import lzma
import tracemalloc
import zipfile

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.paper.ppmi.text import read_blocks
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.streams import ByteReader


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst"])
def test_a_truncated_file_is_an_error_not_a_shorter_file(compression, tmp_path):
    path = tmp_path / f"x.txt.{compression}"
    words = [f"w{i}" for i in range(20_000)]
    write_vectors(path, [(words, np.random.default_rng(0).random((20_000, 9), dtype=np.float32))])
    whole = path.read_bytes()
    for size in (20, 1000, len(whole) // 2, len(whole) - 2000, len(whole) - 1):
        path.write_bytes(whole[:size])
        for on_error in ("raise", "skip"):
            with pytest.raises(
                InvalidInputError, match=r"damaged compressed.*fetch the file again"
            ):
                open_vectors(path, on_error=on_error).read()
        with pytest.raises(InvalidInputError, match="damaged compressed data"):
            list(read_blocks(path))


@pytest.mark.parametrize("module", [bz2, lzma])
def test_a_damaged_second_stream_is_an_error_not_the_end(module, tmp_path):
    lines = [b"".join(b"w%d %d 1\n" % (i, i) for i in range(n, n + 500)) for n in (0, 500)]
    first, second = map(module.compress, lines)
    path = tmp_path / "x"
    path.write_bytes(first + bytes(4) + second + bytes(8))  # zeros may pad streams
    assert len(open_vectors(path).words) == 1000
    for at in (*range(20), *range(20, len(second), 41)):
        damaged = bytearray(second)
        damaged[at] ^= 0xFF
        path.write_bytes(first + damaged)
        try:
            assert len(open_vectors(path).words) == 1000, "only what does not matter was damaged"
        except InvalidInputError as error:
            assert "damaged compressed data" in str(error) or at > 0  # noqa: PT017
    for size in (1, 3, 10, len(second) // 2, len(second) - 1):
        path.write_bytes(first + second[:size])
        with pytest.raises(InvalidInputError, match="damaged compressed data"):
            open_vectors(path).read()


@pytest.mark.parametrize("options", [{}, {"write_checksum": True}, {"write_content_size": False}])
def test_zstd_in_several_frames_and_cut_anywhere(options, tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "x"

    def frame(content):
        return zstandard.ZstdCompressor(**options).compress(content)

    skipped = b"\x5e\x2a\x4d\x18\x03\x00\x00\x00abc"
    noise = np.random.default_rng(0).bytes(300)
    frames = [frame(b"a 1 2\n" * 50_000), frame(b""), skipped, frame(noise), skipped]
    whole = b"".join(frames)
    ends = {sum(map(len, frames[:n])) for n in range(1, len(frames) + 1)}
    for size in range(4, len(whole) + 1):
        path.write_bytes(whole[:size])
        with ByteReader(path) as reader:
            if size in ends:
                assert reader.read(1 << 20) == (b"a 1 2\n" * 50_000 + noise)[: reader.position]
                assert reader.read(1) == b""
                assert reader.fraction_read() == 1
            else:
                with pytest.raises(InvalidInputError, match="damaged compressed data"):
                    reader.read(1 << 20)


def test_zstd_that_shrinks_much_is_not_held_at_once(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "x"
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as stream:
        for _ in range(256):
            stream.write(bytes(1 << 20))
    piece = memoryview(bytearray(1 << 20))
    tracemalloc.start()
    try:
        with ByteReader(path) as reader:
            assert sum(iter(lambda: reader.readinto(piece), 0)) == 256 << 20
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_zip_archives_hold_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("folder/", b"")
        archive.writestr("folder/a.txt", b"a 1 2\n")
    assert open_vectors(tmp_path / "x.zip").words == ["a"]
    with zipfile.ZipFile(tmp_path / "x.zip", "a") as archive:
        archive.writestr("b.txt", b"a 1 2\n")
    with pytest.raises(InvalidInputError, match="zip archive of 2 files"):
        open_vectors(tmp_path / "x.zip")
