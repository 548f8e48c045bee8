"""Whatever fails once, the target is the old one or the new one, and one line says why."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from conceptor.base import files
from conceptor.vectors import open_vectors, write_vectors
from tests.faults import KINDS, faults_in
from tests.kills import KINDS as TARGETS
from tests.kills import run as run_kills
from tests.model_folders import MAKERS, VECTORS, WORDS, content
from tests.platforms import posix_only
from tests.processes import call
from tests.vectors.whole import read_all

# Of a kind with more calls than this, only this many fail in the quick tests, evenly spread.
FEW = 6


def fail_each_call(arguments, begin, folder, config):
    """Run a command, then again for each call of `KINDS`, which fails; yield what is left.

    Everything fails where slow tests are run too.
    """
    begin()
    with faults_in(folder.parent) as faults:
        done = call(*arguments)
    assert done.returncode == 0, done.stderr
    assert all(faults.counts[kind] for kind in ("open", "write", "sync", "rename")), faults.counts
    yield None, done
    for kind, errors in KINDS.items():
        total = faults.counts[kind]
        most = total if config.getoption("markexpr") != "not slow" else FEW
        for number in np.linspace(1, total, min(total, most)).round().astype(int).tolist():
            for error in errors:
                begin()
                with faults_in(folder.parent) as injected:
                    injected.fail_at(kind, number, error)
                    done = call(*arguments)
                where = f"{kind} {number} of {total}: {done.stderr}"
                assert done.returncode in (0, 1, 2, 130), where
                assert "Traceback" not in done.stderr, where
                assert ".partial" not in done.stderr, where
                if done.returncode in (1, 2):
                    assert done.stderr.count("\n") == 1, where
                    assert done.stderr.startswith("conceptor: "), where
                yield where, done


@pytest.mark.parametrize(
    ("name", "older"),
    [
        *[("o.bin", True), ("o.npy", True), ("o.safetensors", True)],
        *[
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("o.txt", True), ("o.txt.gz", True), ("o.txt.zip", True), ("o.npy", False))
        ],
    ],
)
def test_every_call_of_a_file_writer_fails_once(name, older, tmp_path, request):
    write_vectors(tmp_path / "in.txt", [(WORDS, VECTORS)])
    folder = tmp_path / "out"
    target = folder / name
    arguments = ("postprocess", tmp_path / "in.txt", target, "--aperture", "2", "--force")

    def begin():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if older:
            write_vectors(target, [(WORDS[:9], VECTORS[:9])], count=9)

    def read():
        words, vectors = read_all(open_vectors(target))
        return words, vectors.tobytes()

    begin()
    old = read() if older else None
    outcomes = {"old": 0, "new": 0, "refused": 0}
    for where, done in fail_each_call(arguments, begin, folder, request.config):
        if where is None:
            new, names = read(), set(os.listdir(folder))
            continue
        assert set(os.listdir(folder)) <= names, where
        try:
            left = read() if target.exists() else None
        except ValueError as error:
            # Between the two renames, an array may have no words, or others.
            assert name == "o.npy", where
            assert "not the words that" in str(error) or "words are missing" in str(error), where  # noqa: PT017
            outcomes["refused"] += 1
            continue
        assert left in (old, new), where
        assert done.returncode or left == new, where
        outcomes["new" if left == new else "old"] += 1
    assert outcomes["old"] > 10


@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("kind", ["static", "hub", pytest.param("spacy", marks=pytest.mark.slow)])
def test_every_call_of_a_folder_writer_fails_once(kind, can_swap, tmp_path, request, monkeypatch):
    """The folder is the old one or the new one, whole; nothing else is left; one line says why."""
    pytest.importorskip({"static": "tokenizers", "hub": "numpy", "spacy": "spacy"}[kind])
    if not can_swap:
        monkeypatch.setattr(files, "exchange", lambda one, other: False)
    source, folder = tmp_path / "in", tmp_path / "out"
    MAKERS[kind](source)
    target, old = folder / "target", tmp_path / "old"
    MAKERS[kind](old, vectors=VECTORS[::-1])
    hub = ("--format", "hub") if kind == "hub" else ()
    read = tmp_path / "in.in.txt" if kind == "hub" else source
    arguments = ("postprocess", read, target, "--weights", "uniform", "--force", *hub)

    def begin():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(old, target)

    before = content(old)
    outcomes = {"old": 0, "new": 0}
    for where, done in fail_each_call(arguments, begin, folder, request.config):
        if where is None:
            new = content(target)
            continue
        names = [name for name in os.listdir(folder) if name != "target"]
        # What cannot be opened cannot be removed either: a hidden folder may stay.
        assert not names or (where.startswith("open") and names[0].startswith(".target.")), where
        left = content(target)
        assert left in (before, new), where
        assert done.returncode or left == new, where
        outcomes["new" if left == new else "old"] += 1
    assert outcomes["old"] > 10


@posix_only("copies processes")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of copying a process with threads
def test_kills_at_any_call_leave_the_old_target_or_the_new_one(tmp_path):
    kinds = tuple(each for each in TARGETS if each != "spacy")
    outcomes = run_kills(80, tmp_path, kinds=kinds)
    assert sum(outcomes.values()) == 80
    assert outcomes["old"] > 10
