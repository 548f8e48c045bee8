"""Kill writers of folders and files at any call that opens, writes, syncs or renames.

    python -m tests.folder_kills 1000 [SEED]

Each run is a copy of this process (a fork) that kills itself, with no chance to tidy up, at one of
those calls. Prints how often the old target was found, the new one, or, where two names cannot be
swapped in one step, the old folder under a hidden name that the next run names. Anything else
raises.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from conceptor.base import files
from conceptor.base.folders import find_old
from conceptor.vectors import write_vectors
from tests.faults import faults_in
from tests.model_folders import MAKERS, VECTORS, WORDS, content, make_static
from tests.processes import call

CALLS = ("open", "write", "sync", "rename")


class FolderKilling:
    """Inputs, and for each command the old target, the new one and how many calls it makes."""

    def __init__(self, place: Path, seed: int = 0, kinds: tuple[str, ...] = ()) -> None:
        self._rng = random.Random(seed)
        self._place, self._target = place, place / "out" / "target"
        self._place.mkdir(exist_ok=True)
        write_vectors(place / "in.bin", [(WORDS, VECTORS)])
        (place / "pairs.tsv").write_text("".join(f"{word}\t{word}\n" for word in WORDS))
        write_vectors(place / "b.bin", [(WORDS, VECTORS**2)])
        aligned = ("--out-dir", self._target)
        commands: dict[str, list[object]] = {
            "distilled": [],  # as `distill` ends: everything before writes only beside the target
            "hub": ["postprocess", place / "in.bin", self._target, "--format", "hub"],
            "debias": ["debias", place / "in.bin", self._target, "--concept", "a=mot1,mot2,mot5"],
            "align": ["align", place / "in.bin", place / "b.bin", place / "pairs.tsv", *aligned],
        }
        for kind in ("static", "spacy"):
            commands[kind] = ["postprocess", place / kind, self._target, "--weights", "uniform"]
        self._commands = {kind: commands[kind] for kind in kinds or commands}
        self._made = {kind: self._prepare(kind) for kind in self._commands}

    def _prepare(
        self, kind: str
    ) -> tuple[Path, dict[str, bytes], dict[str, bytes], dict[str, int]]:
        """Return the old target, what it holds, what the new one holds, and the calls made."""
        old, other = self._place / f"old-{kind}", VECTORS[::-1]
        if kind in MAKERS:
            MAKERS[kind](old, vectors=other)
            if kind not in ("hub", "distilled"):
                MAKERS[kind](self._place / kind)
        elif kind == "debias":
            write_vectors(self._place / "old.bin", [(WORDS, other)])
            (self._place / "old.bin").rename(old)
        else:
            old.mkdir()
            for name in ("in.bin", "b.bin"):
                write_vectors(old / name, [(WORDS, other)])
        self._begin(old)
        with faults_in(self._place) as faults:
            _run(self._commands[kind], self._target)
        return old, holds(old), holds(self._target), dict(faults.counts)

    def _begin(self, old: Path) -> None:
        shutil.rmtree(self._place / "out", ignore_errors=True)
        (self._place / "out").mkdir()
        (shutil.copytree if old.is_dir() else shutil.copyfile)(old, self._target)

    def kill(self) -> str:
        """Kill one run; return what is left."""
        kind = self._rng.choice(list(self._commands))
        old, before, after, counts = self._made[kind]
        what = self._rng.choice([each for each in CALLS if counts[each]])
        more = 2 if what == "rename" else 0  # without swapping there are two more
        number = self._rng.randint(1, counts[what] + more)
        can_swap = self._rng.random() < 0.7
        self._begin(old)
        ended = self._run_and_die(kind, what, number, can_swap)
        where = f"{kind}, {what} {number} of {counts[what]}, status {ended}"
        if not self._target.exists():
            hidden = find_old(self._target)
            assert not can_swap, where
            assert hidden is not None, where
            assert holds(hidden) == before, where
            return "hidden"
        found = holds(self._target)
        if kind == "align":  # two files, each of them whole
            assert before.keys() == found.keys(), where
            assert all(found[name] in (before[name], after[name]) for name in found), where
            return "old" if found == before else "new"
        assert found in (before, after), where
        return "old" if found == before else "new"

    def _run_and_die(self, kind: str, what: str, number: int, can_swap: bool) -> int:
        """Run a command in a copy of this process that kills itself at a call."""
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1]
        try:
            if not can_swap:
                files.exchange = lambda one, other: False
            with faults_in(self._place) as faults:
                faults.fail_at(what, number, _die)
                _run(self._commands[kind], self._target)
        finally:
            os._exit(0)


def _die() -> BaseException:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def holds(target: Path) -> dict[str, bytes]:
    """Return the files of a target that are not hidden."""
    if target.is_file():
        return {"": target.read_bytes()}
    return {name: each for name, each in content(target).items() if not name.startswith(".")}


def _run(command: list[Any], target: Path) -> None:
    if not command:
        make_static(target)
        return
    done = call(*command, "--force")
    assert done.returncode == 0, done.stderr


def run(count: int, place: Path, seed: int = 0, kinds: tuple[str, ...] = ()) -> Counter[str]:
    """Kill so many runs; return the outcomes."""
    killing = FolderKilling(place, seed, kinds)
    return Counter(killing.kill() for _ in range(count))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        numbers = [int(each) for each in sys.argv[1:]]
        print(dict(run(numbers[0], Path(folder), *numbers[1:])))
        print(f"{(time.monotonic() - began) / 60:.1f} minutes")
