"""Whatever fails once, the target is the old one or the new one, and one line says why."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import pytest

from conceptor.vectors import open_vectors, write_vectors
from tests.faults import KINDS, faults_in
from tests.kills import run as run_kills
from tests.kills import visible
from tests.model_folders import VECTORS, WORDS, content, make_static
from tests.platforms import posix_only
from tests.processes import call
from tests.vectors.whole import read_all

# Of a kind with more calls than this, only this many fail in the quick tests, evenly spread.
FEW = 4


SLOW = [("o.txt", True), ("o.txt.gz", True), ("o.npy", False)]


@pytest.mark.parametrize(
    ("name", "older"),
    [
        *[("o.bin", True), ("o.npy", True), ("static", False)],
        *[pytest.param(*case, marks=pytest.mark.slow) for case in SLOW],
    ],
)
def test_every_call_of_a_writer_fails_once(name, older, tmp_path, request):
    source, folder = tmp_path / ("in" if name == "static" else "in.txt"), tmp_path / "out"
    if name == "static":
        pytest.importorskip("tokenizers")
        make_static(source)
    else:
        write_vectors(source, [(WORDS, VECTORS)])
    arguments = ("postprocess", source, folder / name, "--weights", "uniform", "--force")

    def begin():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if older:
            write_vectors(folder / name, [(WORDS[:9], VECTORS[:9])], count=9)

    begin()
    old, outcomes = visible(folder), {"old": 0, "new": 0, "refused": 0}
    with faults_in(tmp_path) as faults:
        done = call(*arguments)
    assert done.returncode == 0, done.stderr
    assert all(faults.counts[kind] for kind in ("open", "write", "sync", "rename")), faults.counts
    new = visible(folder)
    for kind, errors in KINDS.items():
        total = faults.counts[kind]
        most = total if request.config.getoption("markexpr") != "not slow" else FEW
        numbers = np.linspace(1, total, min(total, most)).round().astype(int).tolist()
        for number, error in itertools.product(numbers, errors):
            begin()
            with faults_in(tmp_path) as injected:
                injected.fail_at(kind, number, error)
                done = call(*arguments)
            where = f"{kind} {number} of {total}: {done.stderr}"
            assert done.returncode in (0, 1, 2, 130), where
            assert "Traceback" not in done.stderr, where
            assert ".partial" not in done.stderr, where
            if done.returncode in (1, 2):
                assert done.stderr.count("\n") == 1, where
                assert done.stderr.startswith("conceptor: "), where
            left = visible(folder)
            # What cannot be opened cannot be removed either: a hidden folder may stay.
            assert left == content(folder) or (name, kind) == ("static", "open"), where
            if left in (old, new):
                assert done.returncode or left == new, where
                outcomes["new" if left == new else "old"] += 1
                continue
            # Between the two renames, an array may have no words, or others.
            assert name == "o.npy", where
            with pytest.raises(ValueError, match=r"not the words that|words are missing"):
                read_all(open_vectors(folder / name))
            outcomes["refused"] += 1
    assert outcomes["old"] > 5


@posix_only("copies processes")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of copying a process with threads
def test_kills_at_any_call_leave_the_old_target_or_the_new_one(tmp_path):
    outcomes = run_kills(80, tmp_path)
    assert sum(outcomes.values()) == 80
    assert outcomes["old"] > 10
    assert outcomes["refused"] > 0, "also between the two renames of an array"
