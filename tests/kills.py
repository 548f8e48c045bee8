"""Kill `postprocess` while it writes, and look at what is left.

    python -m tests.kills 1000 [SEED]

Prints how many kills came while the output was being written, and how often the old file, the new
one, or an array whose words do not belong to it (which reading refuses) was found. Anything else
raises.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.processes import call, command, start

NAMES = ["o.bin", "o.npy", "o.safetensors", "o.txt.gz", "o.parquet"]
ROWS, DIMENSION = 30_000, 100


class Killing:
    """An input, and for each target what it holds before and after."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self._folder = folder
        self._source = folder / "in.bin"
        self._out = folder / "out"
        self._out.mkdir()
        rng = np.random.default_rng(seed)
        self._words = [f"w{i}" for i in range(ROWS)]
        vectors = rng.standard_normal((ROWS, DIMENSION), dtype=np.float32)
        write_vectors(self._source, [(self._words, vectors)])
        self._seconds: dict[str, float] = {}
        self._wanted: dict[str, list[dict[str, bytes]]] = {}
        for name in NAMES:
            started = time.monotonic()
            # Within this process, where no import adds to the time that writing takes.
            done = call(*self._arguments(name))
            assert done.returncode == 0, done.stderr
            self._seconds[name] = (time.monotonic() - started) / 5
            self._wanted[name] = [self._old(name), self._found()]
            self._clear()

    def _arguments(self, name: str) -> list[object]:
        return ["postprocess", self._source, self._out / name, "--force", "--paper"]

    def _old(self, name: str) -> dict[str, bytes]:
        """Return an older file of other words; make it once."""
        other = self._folder / f"old-{name}"
        other.mkdir()
        write_vectors(other / name, [(["old", "er"], np.ones((2, 3)))], count=2)
        return {file.name: file.read_bytes() for file in other.iterdir()}

    def _found(self) -> dict[str, bytes]:
        files = [file for file in self._out.iterdir() if not file.name.endswith(".partial")]
        return {file.name: file.read_bytes() for file in files}

    def _clear(self) -> None:
        for file in self._out.iterdir():
            file.unlink()

    def kill(self) -> tuple[bool, str]:
        """Kill one run; return whether it was writing, and what is left."""
        name = self._rng.choice(NAMES)
        old, new = self._wanted[name]
        self._clear()
        for file, content in old.items():
            (self._out / file).write_bytes(content)
        with start(command(*self._arguments(name)), stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and not list(self._out.glob(".*.partial")):
                time.sleep(0.001)
            time.sleep(self._rng.random() * self._seconds[name])
            process.send_signal(signal.SIGKILL)
        writing = any(self._out.glob(".*.partial"))
        found = self._found()
        if found in (old, new):
            return writing, "old" if found == old else "new"
        try:
            open_vectors(self._out / name).read()
        except InvalidInputError as error:
            if name == "o.npy" and "not the words that" in str(error):
                return writing, "refused"
        raise AssertionError(f"{name} is neither the old file nor the new one")


def run(count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """Kill so many runs; return the outcomes."""
    killing = Killing(folder, seed)
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        writing, left = killing.kill()
        outcomes[left] += 1
        outcomes["while writing"] += writing
    return outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        numbers = [int(each) for each in sys.argv[1:]]
        print(dict(run(numbers[0], Path(place), *numbers[1:])))
        print(f"{(time.monotonic() - began) / 60:.1f} minutes")
