"""Run the compiled loops on memory that ends, or begins, at a page nobody may touch.

    python -m tests.kernels.guarded SEED INPUTS

Each array that a loop gets is copied to such memory, so that reading or writing one byte beyond it
kills the process. Files of words, damaged and whole, are read and written, text is counted, and
words are spelt.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

import numpy as np

from conceptor.kernels.build import Kernel

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_lock = threading.Lock()
_rooms: dict[tuple[int, int], np.ndarray] = {}
_calls: dict[str, int] = {}
_keep: list[mmap.mmap] = []


def _region(pages: int) -> np.ndarray:
    """Return memory of some pages between two that cannot be touched."""
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    _keep.append(memory)
    whole = np.frombuffer(memory, dtype=np.uint8)
    for guard in (0, (pages + 1) * PAGE):
        address = ctypes.c_void_p(whole.ctypes.data + guard)
        if _libc.mprotect(address, PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    return whole[PAGE:-PAGE]


def guarded(array: np.ndarray, number: int, *, at_end: bool) -> np.ndarray:
    """Copy an array to memory that ends or begins beside a guard page."""
    pages = max(1, -(-array.nbytes // PAGE))
    if (number, pages) not in _rooms:
        _rooms[number, pages] = _region(pages)
    room = _rooms[number, pages]
    start = len(room) - array.nbytes if at_end else 0
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def install() -> None:
    """Have every loop called with guarded arrays."""
    call = Kernel.__call__

    def guarded_call(self: Kernel, *arguments: object) -> object:
        with _lock:
            _calls[self._name] = count = _calls.get(self._name, 0) + 1
            given = [
                guarded(each, i, at_end=bool(count % 4)) if isinstance(each, np.ndarray) else each
                for i, each in enumerate(arguments)
            ]
            result = call(self, *given)
            for each, copy in zip(arguments, given, strict=True):
                if isinstance(each, np.ndarray) and each.flags.writeable:
                    each[...] = copy
            return result

    Kernel.__call__ = guarded_call


@cache
def _texts() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((8, 5)) * np.geomspace(1e-40, 1e38, 8)[:, np.newaxis]
    rows = [
        f"{word} {' '.join(map(repr, row.astype(np.float32).tolist()))}"
        for word, row in zip(
            ["the", "a\u00a0b", "x y", "1", "", "😀", "w", "z"], values, strict=True
        )
    ]
    text = "\n".join(rows).encode()
    binary = b"".join(b"w%d " % i + row.astype("<f4").tobytes() for i, row in enumerate(values))
    return {"x.txt": text, "x.vec": b"8 5\n" + text, "x.bin": b"8 5\n" + binary}


def main(seed: int, inputs: int) -> None:
    """Read, write, count and spell."""
    from conceptor.base.errors import ConceptorError
    from conceptor.paper.ppmi.counting import cooccurrence
    from conceptor.sentences.spelling import Spelling
    from conceptor.vectors import open_vectors, write_vectors

    install()
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(inputs):
            name, content = rng.choice(list(_texts().items()))
            data = bytearray(content)
            for _ in range(rng.randrange(4)):
                at = rng.randrange(len(data))
                if rng.random() < 0.5:
                    data[at] = rng.choice(b" \t\n\r-+.e0179xX\xff")
                else:
                    del data[at : at + rng.choice((1, 4, 30))]
            path = Path(folder, name)
            path.write_bytes(data)
            try:
                words, vectors = open_vectors(path, on_error="skip").read()
                for target in ("o.txt", "o.bin"):
                    write_vectors(Path(folder, target), [(words, vectors)], force=True)
            except ConceptorError:
                continue
        # Enough words that the tables of words and of pairs have to grow.
        text = " ".join(
            rng.choice(["cat's", "é", f"w{i}", f"{i}", "-", "\n"]) for i in range(60_000)
        )
        cooccurrence([text, text.upper()], window=8, min_count=1, unit="document")
        words = ["".join(rng.choices("abé日 ", k=rng.randrange(9))) for _ in range(40)]
        Spelling(words, np.ones((len(words), 5), dtype=np.float32))([*words, "", "x" * 99])
    print(*sorted(_calls))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
