"""Loops as machine code: the same as Numba's own, kept on disk, and safe to call."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conceptor import kernels
from conceptor.kernels import build as native
from conceptor.kernels import stored
from conceptor.kernels import words as word_kernels
from conceptor.kernels.build import Kernel
from tests.platforms import linux_only, posix_only

LOOPS = "conceptor.kernels.words"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Keep code where the test can see it, and nowhere else."""
    monkeypatch.setattr(stored, "cache_directories", lambda: [tmp_path / "kept"])
    monkeypatch.setattr(stored, "shipped_directory", lambda: tmp_path / "shipped")
    return tmp_path / "kept"


def hash_words() -> Kernel:
    signature = "void(uint8[:], int64[:], uint64[:], uint64[:], uint32[:])"
    return Kernel(LOOPS, "hash_words", signature)


def hashed(kernel) -> list[int]:
    words = np.frombuffer(b"onetwothree", dtype=np.uint8)
    hashes, more = np.zeros(3, dtype=np.uint64), np.zeros(3, dtype=np.uint32)
    kernel(words, np.array([0, 3, 6, 11]), np.array([1, 2], dtype=np.uint64), hashes, more)
    return hashes.tolist() + more.tolist()


def test_code_is_compiled_once_and_kept(places, monkeypatch):
    expected = hashed(word_kernels.hash_words)
    assert hashed(hash_words()) == expected
    (kept,) = places.iterdir()
    assert kept.name.startswith("words.hash_words-")

    def compiled_again(self, machine):
        raise AssertionError("compiled again")

    monkeypatch.setattr(Kernel, "_compile", compiled_again)
    assert hashed(hash_words()) == expected


def test_where_nothing_can_be_kept_it_still_runs(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(stored, "cache_directories", lambda: [tmp_path / "file" / "below"])
    assert hashed(hash_words()) == hashed(word_kernels.hash_words)


def test_where_this_way_is_closed_numba_runs_the_loops(places, monkeypatch):
    def closed(self, machine):
        raise RuntimeError

    monkeypatch.setattr(Kernel, "_compile", closed)
    assert hashed(hash_words()) == hashed(word_kernels.hash_words)
    assert not places.exists()


def test_where_code_is_not_flat_llvmlite_links_it(places, monkeypatch):
    """As on other systems: object code is kept, and linked again in the next process."""

    def refuse(code, name):
        raise native.NotFlatError

    monkeypatch.setattr(native, "flatten", refuse)
    monkeypatch.setattr(native, "place", None)
    for _ in range(2):
        assert hashed(hash_words()) == hashed(word_kernels.hash_words)
    (kept,) = places.iterdir()
    assert stored.load(kept.name)[:4] == b"\x7fELF" or not native.IS_FLAT


@pytest.mark.parametrize("closed", ["_linker", "place", "_processor", "_machine"])
def test_whatever_a_new_release_breaks_numba_runs_the_loops(places, monkeypatch, closed):
    """Such as an llvmlite without MCJIT, or a system that forbids new executable memory."""

    def broken(*arguments):
        raise AttributeError("no longer there")

    def refuse(code, name):
        raise native.NotFlatError

    if closed == "_linker":
        monkeypatch.setattr(native, "flatten", refuse)
    monkeypatch.setattr(stored if closed == "_processor" else native, closed, broken)
    stored.fingerprint.cache_clear()
    assert hashed(hash_words()) == hashed(word_kernels.hash_words)
    stored.fingerprint.cache_clear()


@linux_only("has ELF")
def test_only_code_that_is_self_contained_becomes_an_image(monkeypatch):
    if not native.IS_FLAT:
        pytest.skip("for x86-64")
    code = hash_words()._compile(native._machine())
    image = native.flatten(code, "hash_words")
    assert image.startswith(native.MAGIC)
    with pytest.raises(native.NotFlatError, match="no function other"):
        native.flatten(code, "other")
    for other in (b"MZ" + code[2:], code[:18] + b"\xb7\0" + code[20:]):  # Windows; ARM
        with pytest.raises(native.NotFlatError, match="not an object file"):
            native.flatten(other, "hash_words")
    import llvmlite.binding as llvm

    calls = llvm.parse_assembly(
        "declare i64 @outside(i64)\n"
        "define i64 @f(i64 %x) {\n %y = call i64 @outside(i64 %x)\n ret i64 %y\n}"
    )
    with pytest.raises(native.NotFlatError, match="outside"):
        native.flatten(native._machine().emit_object(calls), "f")


def test_every_loop_becomes_an_image_here():
    """Otherwise everyday commands would import llvmlite; a loop that becomes memset is no image."""
    if not native.IS_FLAT:
        pytest.skip("for Linux on x86-64")
    for kernel in [each for each in vars(kernels).values() if isinstance(each, Kernel)]:
        kernel._function  # noqa: B018 - compiled by now
        assert stored.load(kernel._file_name()).startswith(native.MAGIC), kernel._name


@pytest.mark.skipif(not native.IS_FLAT, reason="for Linux on x86-64")
def test_code_of_the_wheel_is_used_where_it_fits(places, monkeypatch):
    """Whole, of these sources, on a processor that has the instructions; else it is compiled."""
    name = hash_words().shipped_name
    (shipped := places.with_name("shipped")).mkdir()
    (shipped / name).write_bytes(stored.pack(name, hash_words().make_shipped()))
    expected = hashed(word_kernels.hash_words)
    assert hashed(hash_words()) == expected
    assert not places.exists(), "not compiled"
    whole = (shipped / name).read_bytes()
    (shipped / name).write_bytes(whole[:-1] + b"x")
    assert stored.load_shipped(name) is None
    (shipped / name).write_bytes(whole)
    assert stored.load_shipped(name) is not None
    monkeypatch.setattr(stored, "_processor", lambda: [b"model name: old", b"flags: sse2 popcnt"])
    assert stored.load_shipped(name) is None
    assert hashed(hash_words()) == expected
    assert len(list(places.iterdir())) == 1, "compiled"


def test_other_sources_compilers_and_processors_have_other_code(monkeypatch):
    before = stored.fingerprint.__wrapped__(LOOPS)
    assert stored.fingerprint.__wrapped__("conceptor.kernels.parse") != before
    monkeypatch.setattr(stored, "_version_file", lambda name: b"another")
    assert stored.fingerprint.__wrapped__(LOOPS) != before


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
        "from conceptor.kernels.image import IS_FLAT\n"
        "assert 'llvmlite' not in sys.modules or not IS_FLAT\n"
    )
    kernels.first_beyond(np.zeros((1, 1), dtype=np.float32), 1.0)  # compiled by now
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture
def cached(places):
    """Return the file that caches one loop, its content, and what the loop gives."""
    expected = hashed(hash_words())
    (file,) = places.iterdir()
    return file, file.read_bytes(), expected


def test_damaged_code_is_compiled_again_and_never_linked(cached, monkeypatch):
    file, whole, expected = cached
    rng = random.Random(0)
    linked = []
    link = native._link
    monkeypatch.setattr(native, "_link", lambda code, name: linked.append(code) or link(code, name))
    monkeypatch.setattr(Kernel, "_compile", lambda self, machine: whole[stored._DIGEST_BYTES :])
    for damaged in (b"", b"x", whole[:20], whole[:-1], whole[: len(whole) // 2], whole + b"x"):
        file.write_bytes(damaged)
        assert hashed(hash_words()) == expected
        assert file.read_bytes() == whole, "cached again"
    for _ in range(200):
        flipped = bytearray(whole)
        flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        file.write_bytes(flipped)
        assert stored.load(file.name) is None
    assert set(linked) == {whole[stored._DIGEST_BYTES :]}


def test_code_of_another_loop_is_not_taken(cached):
    file, whole, _ = cached
    file.with_name("words.other-0.o").write_bytes(whole)
    assert stored.load(file.name) is not None
    assert stored.load("words.other-0.o") is None


def test_code_that_cannot_be_linked_is_compiled_again(cached, monkeypatch):
    _, _, expected = cached
    link, compiled = native._link, []

    def link_new(code, name):
        if not compiled:
            raise RuntimeError("from another version of LLVM")
        return link(code, name)

    compile_ = Kernel._compile
    monkeypatch.setattr(native, "_link", link_new)
    monkeypatch.setattr(
        Kernel, "_compile", lambda self, machine: compiled.append(1) or compile_(self, machine)
    )
    assert hashed(hash_words()) == expected
    assert compiled


@posix_only("has owners and permissions")
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_places_that_others_can_write_are_not_used(cached, mode, monkeypatch):
    file, _, expected = cached
    file.parent.chmod(mode)
    assert stored.load(file.name) is None
    file.parent.chmod(0o700)
    file.chmod(0o666)
    assert stored.load(file.name) is None
    assert hashed(hash_words()) == expected
    assert stored.load(file.name) is not None, "replaced by one that only we can write"
    assert file.stat().st_mode & 0o777 == 0o644
    monkeypatch.setattr(os, "geteuid", lambda: 12345)  # as if the file were another user's
    assert (stored.load(file.name) is None) == (file.stat().st_uid != 0)


def test_a_relative_cache_directory_is_ignored(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", "/home/someone")
    assert Path("/home/someone/.cache/conceptor/kernels") in stored.cache_directories()
    monkeypatch.setenv("HOME", "relative")
    assert all(place.is_absolute() for place in stored.cache_directories())

    def nobody():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert stored.cache_directories() == [Path(stored.__file__).parent / "__pycache__"]


@pytest.mark.slow
def test_without_a_home_a_cache_or_numba_s_compiler_switched_on(tmp_path):
    """A user without an entry, a read-only installation, `NUMBA_DISABLE_JIT=1`, no cache at all."""
    program = (
        "import sys, numpy as np, pathlib\n"
        "from conceptor.kernels import first_beyond, stored\n"
        "stored._is_private = lambda found: False\n"
        "def nobody(): raise RuntimeError\n"
        "pathlib.Path.home = nobody\n"
        "assert first_beyond(np.array([[1, 9]], dtype=np.float32), 2.0) == 0\n"
        "assert first_beyond._function.__qualname__ == 'Kernel._callable.<locals>.call'\n"
    )
    clean = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        env=clean | {"NUMBA_DISABLE_JIT": "1"},
        cwd=tmp_path,
    )
    assert list(tmp_path.iterdir()) == []
