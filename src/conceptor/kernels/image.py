"""Machine code as one block of bytes that runs wherever it is placed.

A loop calls nothing, so its object file (ELF, x86-64) can be linked once, when it is compiled: its
sections are laid out one after another and the distances between them filled in. Loading is then a
copy into executable memory, which needs neither LLVM nor its Python side.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from typing import NamedTuple

# Whether code for this system can be linked in advance.
IS_FLAT = sys.platform == "linux" and os.uname().machine == "x86_64"
MAGIC = b"conceptor image\n"
_HEAD = struct.Struct(f"<{len(MAGIC)}sQ")  # and the offset of the function
# Constants of the System V ABI and its supplement for AMD64.
_IDENTITY = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_AMD64, _RELOCATIONS, _SYMBOLS = 62, 4, 2
_WRITABLE, _LOADED = 1, 2
_RELATIVE = {2, 4}  # PC32 and PLT32: 32 bits, target + addend - place

# Mappings live as long as the process: functions may be called at any time.
_placed: list[mmap.mmap] = []


class NotFlatError(ValueError):
    """Raised for code that is not self-contained, or for another kind of processor."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def flatten(code: bytes, name: str) -> bytes:
    """Link an object file whose function `name` refers to nothing outside it."""
    if not code.startswith(_IDENTITY) or struct.unpack_from("<H", code, 18)[0] != _AMD64:
        raise NotFlatError("not an object file for x86-64")
    sections = _sections(code)
    image, places = bytearray(), dict[int, int]()
    for number, each in enumerate(sections):
        if each.flags & _LOADED and each.size:
            if each.flags & _WRITABLE:
                raise NotFlatError("it has data to write to")
            image += bytes(-len(image) % max(each.alignment, 1))
            places[number] = len(image)
            image += code[each.offset : each.offset + each.size]
    for each in sections:
        if each.kind == _RELOCATIONS and each.info in places:
            symbols = sections[each.link]
            for at in range(each.offset, each.offset + each.size, 24):
                offset, info, addend = struct.unpack_from("<QQq", code, at)
                if info & 0xFFFFFFFF not in _RELATIVE:
                    raise NotFlatError(f"it has a relocation of kind {info & 0xFFFFFFFF}")
                target = _place(code, symbols, info >> 32, places)
                place = places[each.info] + offset
                struct.pack_into("<i", image, place, target + addend - place)
    return _HEAD.pack(MAGIC, _entry(code, sections, name, places)) + bytes(image)


def _sections(code: bytes) -> list[_Section]:
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    return [
        _Section(*struct.unpack_from("<IIQQQQIIQQ", code, start + i * size)) for i in range(count)
    ]


def _place(code: bytes, symbols: _Section, number: int, places: dict[int, int]) -> int:
    """Return where a symbol is in the image."""
    section, value = struct.unpack_from("<HQ", code, symbols.offset + 24 * number + 6)
    if section not in places:
        raise NotFlatError("it refers to something outside")
    return places[section] + int(value)


def _entry(code: bytes, sections: list[_Section], name: str, places: dict[int, int]) -> int:
    """Return where the function begins."""
    for symbols in sections:
        if symbols.kind == _SYMBOLS:
            names = sections[symbols.link].offset
            for number in range(symbols.size // 24):
                (at,) = struct.unpack_from("<I", code, symbols.offset + 24 * number)
                if code[names + at :].startswith(name.encode() + b"\0"):
                    return _place(code, symbols, number, places)
    raise NotFlatError(f"it has no function {name}")


def place(image: bytes) -> int:
    """Copy an image into new executable memory; return the function's address."""
    _, entry = _HEAD.unpack_from(image)
    code = image[_HEAD.size :]
    memory = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE)
    memory[:] = code
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if protect(address, len(code), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "mprotect")
    _placed.append(memory)
    return address + int(entry)
