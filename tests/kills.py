"""Kill writers of files and folders at any call that opens, writes, syncs or renames.

    python -m tests.kills 1000 [SEED]

Each run is a copy of this process (a fork) that kills itself, with no chance to tidy up, at one of
those calls. Prints how often the old target (of folders: none) was left, the new one, or an array
whose words do not belong to it, which reading refuses. Anything else raises.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.faults import faults_in
from tests.model_folders import VECTORS, WORDS, content, make_static
from tests.processes import call
from tests.vectors.whole import read_all

CALLS = ("open", "write", "sync", "rename")
# By target. Not text: the threads of Polars do not survive a fork.
SOURCES = {"o.bin": "in.bin", "o.npy": "in.bin", "static": "static"}


def visible(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that are not hidden."""
    return {name: each for name, each in content(folder).items() if not name.startswith(".")}


def run(count: int, place: Path, seed: int = 0) -> Counter[str]:
    """Kill this many runs; return the outcomes."""
    rng, out = random.Random(seed), place / "out"
    write_vectors(place / "in.bin", [(WORDS, VECTORS)])
    make_static(place / "static")

    def begin(target: str) -> None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        if target != "static":
            write_vectors(out / target, [(WORDS[::-1], VECTORS)], count=len(WORDS))

    def write(target: str) -> None:
        arguments = (place / SOURCES[target], out / target, "--weights", "uniform", "--force")
        done = call("postprocess", *arguments)
        assert done.returncode == 0, done.stderr

    @cache
    def prepare(target: str) -> tuple[dict[str, bytes], dict[str, bytes], dict[str, int]]:
        begin(target)
        before = visible(out)
        with faults_in(place) as faults:
            write(target)
        return before, visible(out), faults.counts

    def kill() -> str:
        target = rng.choice(list(SOURCES))
        before, after, counts = prepare(target)
        what = rng.choice([each for each in CALLS if counts[each]])
        number = rng.randint(1, counts[what])
        begin(target)
        child = os.fork()
        if not child:
            try:
                with faults_in(place) as faults:
                    faults.fail_at(what, number, lambda: os.kill(os.getpid(), signal.SIGKILL))
                    write(target)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        left = visible(out)
        if left in (before, after):
            return "old" if left == before else "new"
        assert target == "o.npy", f"{target}, {what} {number} of {counts[what]}"
        with pytest.raises(InvalidInputError, match="not the words that"):
            read_all(open_vectors(out / target))
        return "refused"

    return Counter(kill() for _ in range(count))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        numbers = [int(each) for each in sys.argv[1:]]
        print(dict(run(numbers[0], Path(folder), *numbers[1:])))
