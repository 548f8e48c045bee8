"""Kill writers of files and folders at any call that opens, writes, syncs or renames.

    python -m tests.kills 1000 [SEED]

Each run is a copy of this process (a fork) that kills itself, with no chance to tidy up, at one of
those calls. Prints how often the old target was left, the new one, an array whose words do not
belong to it (which reading refuses), or, where two names cannot be swapped in one step, the old
folder under a hidden name. Anything else raises.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from conceptor.base import files
from conceptor.base.errors import InvalidInputError
from conceptor.vectors import open_vectors, write_vectors
from tests.faults import faults_in
from tests.model_folders import MAKERS, VECTORS, WORDS, content, make_static
from tests.processes import call
from tests.vectors.whole import read_all

CALLS = ("open", "write", "sync", "rename")
# Not text: the threads of Polars do not survive a fork.
KINDS = ("o.bin", "o.npy", "o.safetensors", "static", "distilled", "hub", "spacy")


class Killing:
    """Inputs, and for each kind of target the old one, the new one and the calls of a run."""

    def __init__(self, place: Path, seed: int = 0, kinds: tuple[str, ...] = KINDS) -> None:
        self._rng = random.Random(seed)
        self._place, self._out = place, place / "out"
        write_vectors(place / "in.bin", [(WORDS, VECTORS)])
        self._prepared = {kind: self._prepare(kind) for kind in kinds}

    def _prepare(self, kind: str) -> tuple[Path, dict[str, bytes], dict[str, int]]:
        """Return the folder of the old target, the content of the new one, and the calls made."""
        old, other = self._place / f"old-{kind}", VECTORS[::-1]
        old.mkdir()
        if kind in MAKERS:
            MAKERS[kind](self._place / kind)
            MAKERS[kind](old / kind, vectors=other)
        else:
            write_vectors(old / kind, [(WORDS, other)], count=len(WORDS))
        self._begin(old)
        with faults_in(self._place) as faults:
            self._run(kind)
        return old, visible(self._out), dict(faults.counts)

    def _begin(self, old: Path) -> None:
        shutil.rmtree(self._out, ignore_errors=True)
        shutil.copytree(old, self._out)

    def _run(self, kind: str) -> None:
        if kind == "distilled":  # as `distill` ends: everything before writes only beside it
            make_static(self._out / kind)
            return
        source = self._place / (kind if kind in ("static", "spacy") else "in.bin")
        more = ("--format", "hub") if kind == "hub" else ()
        target = self._out / kind
        done = call("postprocess", source, target, "--weights", "uniform", "--force", *more)
        assert done.returncode == 0, done.stderr

    def kill(self) -> str:
        """Kill one run; return what is left."""
        kind = self._rng.choice(list(self._prepared))
        old, after, counts = self._prepared[kind]
        before = visible(old)
        what = self._rng.choice([each for each in CALLS if counts[each]])
        more = 2 if what == "rename" else 0  # without swapping there are two more
        number = self._rng.randint(1, counts[what] + more)
        can_swap = self._rng.random() < 0.7
        self._begin(old)
        child = os.fork()
        if not child:
            try:
                if not can_swap:
                    files.exchange = lambda one, other: False
                with faults_in(self._place) as faults:
                    faults.fail_at(what, number, lambda: os.kill(os.getpid(), signal.SIGKILL))
                    self._run(kind)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        left = visible(self._out)
        if left in (before, after):
            return "old" if left == before else "new"
        where = f"{kind}, {what} {number} of {counts[what]}"
        if kind == "o.npy":
            with pytest.raises(InvalidInputError, match="not the words that"):
                read_all(open_vectors(self._out / kind))
            return "refused"
        (hidden,) = self._out.glob(f".{kind}.*.old")
        assert not can_swap, where
        assert content(hidden) == content(old / kind), where
        return "hidden"


def visible(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that are not hidden."""
    return {name: each for name, each in content(folder).items() if not name.startswith(".")}


def run(count: int, place: Path, seed: int = 0, kinds: tuple[str, ...] = KINDS) -> Counter[str]:
    """Kill this many runs; return the outcomes."""
    killing = Killing(place, seed, kinds)
    return Counter(killing.kill() for _ in range(count))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        numbers = [int(each) for each in sys.argv[1:]]
        print(dict(run(numbers[0], Path(folder), *numbers[1:])))
