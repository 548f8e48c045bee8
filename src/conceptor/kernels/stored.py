"""Find machine code: in the wheel, or in a cache of code compiled on this machine.

Cached code is loaded only if its SHA-256 is the one stored with it, and only from files and
directories that this user (or root) owns and no one else can write. In all other cases, and after
any error, it is compiled again. Code in the wheel is as trustworthy as the package around it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from conceptor.base.files import replace_atomically
from conceptor.kernels.image import IS_FLAT

_DIGEST_BYTES = hashlib.sha256().digest_size
# The packages that produce object code from the loops.
_OWN_SOURCES = ("build.py", "image.py", "jit.py", "stored.py")
# The target of code in a wheel, in LLVM's terms, and Linux's names for its instructions.
SHIPPED_FOR = "x86-64-v3"
_NEEDED = {b"avx2", b"bmi1", b"bmi2", b"f16c", b"fma", b"abm", b"movbe", b"xsave", b"popcnt"}


@cache
def fingerprint(module: str) -> str:
    """Hash the sources, compilers and processor, so that outdated code is never loaded."""
    parts = (_version_file("numba"), _version_file("llvmlite"), *_processor())
    return hashlib.sha256(b"\0".join((source_hash(module).encode(), *parts))).hexdigest()[:24]


@cache
def source_hash(module: str) -> str:
    """Hash the loops and the compilers."""
    loops = find_spec(module)
    own = (Path(__file__).with_name(name).read_bytes() for name in _OWN_SOURCES)
    sources = (Path(str(loops and loops.origin)).read_bytes(), *own)
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:24]


def shipped_directory() -> Path:
    """Return the folder of code in a wheel."""
    return Path(__file__).with_name("images")


def load_shipped(name: str) -> bytes | None:
    """Return code that came with the package, if this processor can run it."""
    if not IS_FLAT or not (file := shipped_directory() / name).exists():
        return None
    return unpack(name, file.read_bytes()) if set(_processor()[-1].split()) >= _NEEDED else None


@cache
def _processor() -> list[bytes]:
    """Return a description of this processor's instructions, if possible without llvmlite."""
    if IS_FLAT:
        with suppress(OSError), open("/proc/cpuinfo", "rb") as file:
            # Lines of the first processor; other lines, such as the clock's, change all the time.
            lines = file.read(1 << 13).split(b"\n\n")[0].splitlines()
            found = [line for line in lines if line.startswith((b"model name", b"flags"))]
            if len(found) == 2:
                return found
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return [
        part.encode() for part in (llvm.get_default_triple(), llvm.get_host_cpu_name(), features)
    ]


def _version_file(package: str) -> bytes:
    """Return a stamp of a package's version, without importing it or reading metadata."""
    spec = find_spec(package)
    return Path(str(spec and spec.origin)).with_name("_version.py").read_bytes()


def cache_directories() -> list[Path]:
    """Return where machine code is cached: beside the package, or in the user's cache.

    A relative `XDG_CACHE_HOME` is ignored, as its specification demands: otherwise code would be
    loaded from the current directory.
    """
    places = [Path(__file__).parent / "__pycache__"]
    with suppress(RuntimeError):  # no HOME, and no entry in the list of users
        cached = Path(os.environ.get("XDG_CACHE_HOME") or "")
        home = cached if cached.is_absolute() else Path.home() / ".cache"
        places.append(home / "conceptor" / "kernels")
    return [place for place in places if place.is_absolute()]


def _is_private(found: os.stat_result) -> bool:
    """Return whether only this user, or root, can have written a file or directory."""
    if not hasattr(os, "geteuid"):  # Windows: both places are the user's own
        return True
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def load(name: str) -> bytes | None:
    """Return cached code that is private and undamaged."""
    for directory in cache_directories():
        with suppress(OSError), (directory / name).open("rb") as file:
            is_private = _is_private(directory.stat()) and _is_private(os.fstat(file.fileno()))
            if is_private and (code := unpack(name, file.read())):
                return code
    return None


def store(name: str, code: bytes) -> None:
    """Cache code for the next process, which compiles again if no directory is writable."""
    for directory in cache_directories():
        with suppress(OSError):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(directory.stat()):
                with replace_atomically(directory / name) as beside:
                    beside.write_bytes(pack(name, code))
                    beside.chmod(0o644)  # not writable for the group, whatever the umask
                return


def pack(name: str, code: bytes) -> bytes:
    """Put a hash of the name and the code before it, so that files cannot be confused."""
    return hashlib.sha256(name.encode() + b"\0" + code).digest() + code


def unpack(name: str, content: bytes) -> bytes | None:
    """Return the code that was packed under this name, unless it is damaged."""
    code = content[_DIGEST_BYTES:]
    return code if content == pack(name, code) else None
