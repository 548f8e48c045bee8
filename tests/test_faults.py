"""Whatever fails once, the target is absent or whole, nothing else stays, and one line says why."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from conceptor.base import files
from conceptor.vectors import open_vectors, write_vectors
from tests.faults import KINDS, faults_in
from tests.folder_kills import run as run_folder_kills
from tests.kills import run as run_kills
from tests.model_folders import MAKERS, content
from tests.model_folders import VECTORS as MODEL_VECTORS
from tests.platforms import posix_only
from tests.processes import call

WORDS = [f"w{i}" for i in range(300)]
# They share a direction, so that there is no doubt about it and one line is one failure.
VECTORS = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32) + 3
OLD = (WORDS[:9], VECTORS[:9])
# Of a kind with more calls than this, only so many fail in the quick tests, evenly spread.
FEW = 6


def read(path):
    words, vectors = open_vectors(path).read()
    return words, vectors.tobytes()


@pytest.fixture
def source(tmp_path):
    write_vectors(tmp_path / "in.txt", [(WORDS, VECTORS)])
    return tmp_path / "in.txt"


def with_older(*names):
    return [(name, True) for name in names]


@pytest.mark.parametrize(("name", "older"), with_older("o.bin", "o.npy", "o.safetensors"))
def test_much_fails_once(name, older, source, tmp_path, request):
    """Everything, where slow tests are run too: these few are among them then."""
    slow_too = request.config.getoption("markexpr") != "not slow"
    fail_once(name, source, tmp_path, older=older, most=10**6 if slow_too else FEW)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "older"),
    [*with_older("o.txt", "o.txt.gz", "o.txt.zip"), ("o.bin", False), ("o.npy", False)],
)
def test_everything_fails_once(name, older, source, tmp_path):
    fail_once(name, source, tmp_path, older=older, most=10**6)


def fail_once(name, source, tmp_path, *, older, most):
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / name
    arguments = ("postprocess", source, target, "--aperture", "2", "--force")

    def begin():
        for file in folder.iterdir():
            file.unlink()
        if older:
            write_vectors(target, [OLD], count=9)
        return set(os.listdir(folder))

    begin()
    with faults_in(tmp_path) as faults:
        assert call(*arguments).returncode == 0
    new, files = read(target), set(os.listdir(folder))
    assert all(faults.counts[kind] for kind in KINDS), faults.counts
    outcomes = {"old": 0, "new": 0, "refused": 0}
    for kind, errors in KINDS.items():
        total = faults.counts[kind]
        numbers = np.linspace(1, total, min(total, most)).round().astype(int)
        for number in numbers.tolist():
            for error in errors:
                before = begin()
                old = read(target) if older else None
                with faults_in(tmp_path) as injected:
                    injected.fail_at(kind, number, error)
                    done = call(*arguments)
                where = f"{kind} {number} of {total}: {done.stderr}"
                assert done.returncode in (0, 1, 2, 130), where
                assert "Traceback" not in done.stderr, where
                if done.returncode in (1, 2):
                    assert done.stderr.count("\n") == 1, where
                    assert done.stderr.startswith("conceptor: "), where
                left = set(os.listdir(folder))
                assert left <= before | files, where
                outcomes[check(target, old, new, where)] += 1
                if done.returncode == 0:
                    assert read(target) == new, where
    assert outcomes["old"] > 10
    # An array without its words, or with other words, is possible between the two renames.
    assert outcomes["refused"] == 0 or name == "o.npy"


@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("kind", ["static", "hub", pytest.param("spacy", marks=pytest.mark.slow)])
def test_every_call_of_a_folder_writer_fails_once(kind, can_swap, tmp_path, request, monkeypatch):
    """The folder is the old one or the new one, whole; nothing else is left; one line says why."""
    pytest.importorskip({"static": "tokenizers", "hub": "numpy", "spacy": "spacy"}[kind])
    if not can_swap:
        monkeypatch.setattr(files, "exchange", lambda one, other: False)
    slow_too = request.config.getoption("markexpr") != "not slow"
    source, folder = tmp_path / "in", tmp_path / "out"
    MAKERS[kind](source)
    folder.mkdir()
    target, old = folder / "target", tmp_path / "old"
    MAKERS[kind](old, vectors=MODEL_VECTORS[::-1])
    hub = ("--format", "hub") if kind == "hub" else ()
    read = tmp_path / "in.in.txt" if kind == "hub" else source
    arguments = ("postprocess", read, target, "--weights", "uniform", "--force", *hub)

    def begin():
        shutil.rmtree(folder)
        folder.mkdir()
        shutil.copytree(old, target)

    begin()
    with faults_in(tmp_path) as faults:
        done = call(*arguments)
    assert done.returncode == 0, done.stderr
    new, before = content(target), content(old)
    assert all(faults.counts[each] for each in ("open", "write", "sync", "rename")), faults.counts
    outcomes = {"old": 0, "new": 0}
    for call_kind, errors in KINDS.items():
        total = faults.counts[call_kind]
        most = total if slow_too else FEW
        for number in np.linspace(1, total, min(total, most)).round().astype(int).tolist():
            for error in errors:
                begin()
                with faults_in(tmp_path) as injected:
                    injected.fail_at(call_kind, number, error)
                    done = call(*arguments)
                where = f"{call_kind} {number} of {total}: {done.stderr}"
                assert done.returncode in (0, 1, 2, 130), where
                assert "Traceback" not in done.stderr, where
                assert ".partial" not in done.stderr, where
                left = [name for name in os.listdir(folder) if name != "target"]
                # What cannot be opened cannot be removed either: a hidden folder may stay.
                assert not left or (call_kind == "open" and left[0].startswith(".target.")), where
                found = content(target)
                assert found in (before, new), where
                outcomes["new" if found == new else "old"] += 1
                assert done.returncode or found == new, where
    assert outcomes["old"] > 10


def check(target, old, new, where):
    """Return whether the old file or the new one is there; raise for anything else."""
    if not target.exists():
        assert old is None, where
        return "old"
    try:
        found = read(target)
    except ValueError as error:
        assert "not the words that" in str(error) or "its words are missing" in str(error), where  # noqa: PT017
        return "refused"
    assert found in (old, new), where
    return "new" if found == new else "old"


@posix_only("sends signals")
@pytest.mark.slow
def test_kills_while_writing_leave_the_old_file_or_the_new_one(tmp_path):
    outcomes = run_kills(10, tmp_path)
    assert outcomes["while writing"] >= 2, "a good part must come while it is written"
    assert outcomes["old"] + outcomes["new"] + outcomes["refused"] == 10


@posix_only("copies processes")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of copying a process with threads
def test_kills_at_any_call_leave_the_old_target_or_the_new_one(tmp_path):
    kinds = ("static", "distilled", "hub", "debias", "align")
    outcomes = run_folder_kills(60, tmp_path, kinds=kinds)
    assert outcomes["old"] + outcomes["new"] + outcomes["hidden"] == 60
    assert outcomes["old"] > 10
