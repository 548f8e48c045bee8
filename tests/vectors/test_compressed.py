"""Compressed files are read whole or refused."""

from __future__ import annotations

import bz2
import lzma
import zipfile

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.vectors.whole import read_all


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
                read_all(open_vectors(path, on_error=on_error))


@pytest.mark.parametrize("module", [bz2, lzma])
def test_a_damaged_second_stream_is_an_error_not_the_end(module, tmp_path):
    lines = [b"".join(b"w%d %d 1\n" % (i, i) for i in range(n, n + 500)) for n in (0, 500)]
    first, second = map(module.compress, lines)
    path = tmp_path / "x"
    path.write_bytes(first + bytes(4) + second + bytes(8))  # zeros may pad streams
    assert len(read_all(open_vectors(path))[0]) == 1000
    for at in (*range(20), *range(20, len(second), 41)):
        damaged = bytearray(second)
        damaged[at] ^= 0xFF
        path.write_bytes(first + damaged)
        try:
            assert len(read_all(open_vectors(path))[0]) == 1000
        except InvalidInputError as error:
            assert "damaged compressed data" in str(error) or at > 0  # noqa: PT017
    for size in (1, 3, 10, len(second) // 2, len(second) - 1):
        path.write_bytes(first + second[:size])
        with pytest.raises(InvalidInputError, match="damaged compressed data"):
            read_all(open_vectors(path))


def test_zip_archives_hold_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("folder/", b"")
        archive.writestr("folder/a.txt", b"a 1 2\n")
    assert read_all(open_vectors(tmp_path / "x.zip"))[0] == ["a"]
    with zipfile.ZipFile(tmp_path / "x.zip", "a") as archive:
        archive.writestr("b.txt", b"a 1 2\n")
    with pytest.raises(InvalidInputError, match="zip archive of 2 files"):
        open_vectors(tmp_path / "x.zip")
