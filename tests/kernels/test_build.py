"""Loops as machine code: the same as Numba's own, kept on disk, and safe to call."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from conceptor import kernels
from conceptor.kernels import build as native
from conceptor.kernels import words as word_kernels
from conceptor.kernels.build import Kernel

LOOPS = "conceptor.kernels.words"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Keep code where the test can see it, and nowhere else."""
    monkeypatch.setattr(native, "_cache_directories", lambda: [tmp_path / "kept"])
    return tmp_path / "kept"


def hash_words() -> Kernel:
    return Kernel(LOOPS, "hash_words", "void(uint8[:], int64[:], uint64[:])")


def hashed(kernel) -> list[int]:
    words = np.frombuffer(b"onetwothree", dtype=np.uint8)
    hashes = np.zeros(3, dtype=np.uint64)
    kernel(words, np.array([0, 3, 6, 11]), hashes)
    return hashes.tolist()


def test_code_is_compiled_once_and_kept(places, monkeypatch):
    expected = hashed(word_kernels.hash_words)
    assert hashed(hash_words()) == expected
    (kept,) = places.iterdir()
    assert kept.name.startswith("words.hash_words-")

    def compiled_again(self):
        raise AssertionError("compiled again")

    monkeypatch.setattr(Kernel, "_compile", compiled_again)
    assert hashed(hash_words()) == expected


def test_where_nothing_can_be_kept_it_still_runs(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(native, "_cache_directories", lambda: [tmp_path / "file" / "below"])
    assert hashed(hash_words()) == hashed(word_kernels.hash_words)


def test_where_this_way_is_closed_numba_runs_the_loops(places, monkeypatch):
    def closed(self):
        raise RuntimeError

    monkeypatch.setattr(Kernel, "_compile", closed)
    assert hashed(hash_words()) == hashed(word_kernels.hash_words)
    assert not places.exists()


def test_other_sources_compilers_and_processors_have_other_code(monkeypatch):
    before = native._fingerprint.__wrapped__(LOOPS)
    assert native._fingerprint.__wrapped__("conceptor.kernels.parse") != before
    monkeypatch.setattr(native, "_version_file", lambda name: b"another")
    assert native._fingerprint.__wrapped__(LOOPS) != before


def test_arrays_of_another_kind_never_reach_the_code():
    values = np.zeros((4, 6), dtype=np.float32)
    assert kernels.first_beyond(values, 1.0) == -1
    for wrong in (values.astype(np.float64), values[:, ::2], values[0]):
        with pytest.raises((ctypes.ArgumentError, TypeError)):
            kernels.first_beyond(wrong, 1.0)
    with pytest.raises(ValueError, match="argument"):
        kernels.first_beyond(values)


def test_kept_code_needs_no_numba():
    program = (
        "import sys, numpy as np\n"
        "from conceptor.kernels import first_beyond\n"
        "assert first_beyond(np.array([[1, 9]], dtype=np.float32), 2.0) == 0\n"
        "assert 'numba' not in sys.modules and 'sklearn' not in sys.modules\n"
    )
    kernels.first_beyond(np.zeros((1, 1), dtype=np.float32), 1.0)  # compiled by now
    subprocess.run([sys.executable, "-c", program], check=True)
