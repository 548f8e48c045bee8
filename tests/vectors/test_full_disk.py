"""What cannot be written names its target and leaves nothing behind."""

from __future__ import annotations

import errno
from contextlib import contextmanager

import numpy as np
import pytest

from conceptor.base.errors import ConceptorError
from conceptor.vectors import write_vectors
from tests.platforms import posix_only

NAMES = [
    "x.bin", "x.vec", "x.txt", "x.txt.gz", "x.txt.bz2", "x.txt.xz", "x.txt.zst",
    "x.npy", "x.parquet", "x.feather",
]  # fmt: skip
WORDS = [f"w{i}" for i in range(2000)]
VECTORS = np.random.default_rng(0).standard_normal((2000, 20), dtype=np.float32)


@contextmanager
def largest_file(size):
    """Let writing fail at this size, as it fails on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@posix_only("limits the size of files")
@pytest.mark.parametrize("name", NAMES)
def test_a_write_that_fails_names_the_target(name, tmp_path):
    target = tmp_path / name
    write_vectors(target, [(WORDS, VECTORS)])
    size = target.stat().st_size
    for file in tmp_path.iterdir():
        file.unlink()
    for limit in (1, size // 2, size - 1):  # at its beginning, in its midst, when it is closed
        with pytest.raises(OSError, match="File too large") as caught, largest_file(limit):
            write_vectors(target, [(WORDS, VECTORS)])
        assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(target))
        assert caught.value.strerror == "File too large"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.bin", "x.npy", "x.feather"])
def test_what_fails_elsewhere_does_not_name_the_target(name, tmp_path):
    def chunks():
        yield WORDS, VECTORS
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(ConceptorError, match=r"^the vectors to write: Input/output error"):
        write_vectors(tmp_path / name, chunks())
    assert list(tmp_path.iterdir()) == []
