"""Real processes: workers and clients are killed, and the result is whole and the same."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress

import numpy as np
import psutil
import pytest
from distributed import Client, Security

from conceptor import ConceptorNegation, Moments
from conceptor.base.errors import InvalidInputError
from conceptor.distributed import connect, moments, transform
from conceptor.distributed.processing import MAP_NAME, RECORD
from tests.distributed.shards import (
    DIMENSION,
    assert_close,
    names,
    read_parquet,
    states,
    vectors,
    write_parquet,
)
from tests.platforms import posix_only
from tests.processes import command, conceptor, start, until

SHARDS = 40


@pytest.fixture(scope="module")
def client():
    with connect(workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Forty shards of 5,000 vectors."""
    folder = tmp_path_factory.mktemp("many")
    X = vectors(SHARDS * 5_000)
    return X, write_parquet(folder / "in", X, SHARDS)


def pids(client):
    """The processes of the two workers, once both answer."""

    def answering():
        found = set(client.run(os.getpid, on_error="ignore").values())
        return found if len(found) == 2 else None

    return until(answering)


def test_a_stranger_cannot_use_the_local_cluster(client):
    address = client.scheduler_info()["address"]
    assert address.startswith("tls://127.0.0.1:")
    with pytest.raises(OSError, match=r"Timed out|closed|does not match"):
        Client(address.replace("tls://", "tcp://"), timeout=2, set_as_default=False)
    with pytest.raises(OSError, match=r"Timed out|closed|does not match"):
        Client(address, timeout=2, set_as_default=False, security=Security.temporary())


@posix_only("sends signals")
def test_workers_killed_while_they_start_are_one_line(tmp_path, many):
    _, paths = many
    arguments = ["postprocess", paths[0], tmp_path / "out", "--workers", 1]
    with start(command(*arguments), stderr=-1, text=True) as process:

        def starting():
            assert process.poll() is None
            for child in psutil.Process(process.pid).children():
                with suppress(psutil.Error):
                    if any("spawn_main" in part for part in child.cmdline()):
                        return child.pid
            return None

        os.kill(until(starting), signal.SIGKILL)
        _, stderr = process.communicate()
    assert process.returncode == 1
    assert stderr.startswith("conceptor: the local workers could not be started (")
    assert stderr.count("\n") == 1


class Killer:
    """Kills the workers of a cluster once work is under way."""

    def __init__(self, client):
        self.victims = pids(client)
        self.fraction = None

    def __call__(self, label, fraction, words):
        if self.fraction is None:
            self.fraction = fraction
            for victim in self.victims:
                os.kill(victim, signal.SIGKILL)


def parts(folder):
    return [folder / f"part-{i}.parquet" for i in range(SHARDS)]


@posix_only("sends signals")
def test_workers_killed_during_the_moments(client, many):
    X, paths = many
    undisturbed = moments(paths)
    assert_close(undisturbed, Moments.from_vectors(X))
    killer = Killer(client)
    disturbed = moments(paths, progress=killer)
    assert killer.fraction < 1
    until(lambda: not pids(client) & killer.victims)
    np.testing.assert_array_equal(disturbed.scatter, undisturbed.scatter)
    np.testing.assert_array_equal(disturbed.mean, undisturbed.mean)


@posix_only("sends signals")
def test_workers_killed_during_the_transform(client, many, cn, tmp_path):
    X, paths = many
    killer = Killer(client)
    report = transform(cn.map_, paths, tmp_path / "out", progress=killer)
    assert killer.fraction < 1
    until(lambda: not pids(client) & killer.victims)
    assert report.words == len(X)
    assert names(tmp_path / "out") == {RECORD, *(path.name for path in paths)}
    np.testing.assert_allclose(
        read_parquet(parts(tmp_path / "out")), cn.transform(X), atol=1e-5, rtol=1e-6
    )


def test_a_bad_row_on_workers(client, folder, cn):
    np.save(folder / "in/a.npy", np.full((3, DIMENSION), np.inf))
    np.save(folder / "in/b.npy", np.ones((3, DIMENSION)))
    with pytest.raises(InvalidInputError, match=r"in/a.npy, row 1: the vector of .* has Inf"):
        transform(cn.map_, folder / "in/*.npy", folder / "out")
    assert names(folder / "out") == {RECORD, "b.npy"}


def recorded(out):
    """The shards that the record of a directory lists as done."""
    record = out / RECORD
    return json.loads(record.read_text())["done"] if record.exists() else {}


def killed_midway(arguments, out):
    """Kill the command once the first shards are done, and return these."""
    for _ in range(5):
        with start(command("postprocess", *arguments)) as process:
            try:
                until(lambda process=process: recorded(out) or process.poll() is not None)
            finally:
                process.kill()
        done = recorded(out)
        if process.returncode == -signal.SIGKILL and 0 < len(done) < SHARDS:
            return {name: state for name, state in states(out).items() if name in done}
        shutil.rmtree(out)  # everything was done before the kill; try again
    raise TimeoutError


@posix_only("sends signals")
@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["--workers", "--scheduler"])
def test_a_killed_client_goes_on_where_it_was(cluster, many, tmp_path, request):
    X, paths = many
    # One worker of its own: more of them take as long to start as all else, and those of the
    # scheduler are two.
    value = 1 if cluster == "--workers" else request.getfixturevalue("scheduler")
    arguments = [f"{paths[0].parent}/*.parquet", tmp_path / "out", cluster, value]
    arguments += ["--method", "cn:aperture=2:lengths=unit", "--weights", "uniform"]
    done = killed_midway(arguments, tmp_path / "out")
    run = conceptor("postprocess", *arguments, "--json")
    assert run.returncode == 0, run.stderr
    assert "dashboard at http://127.0.0.1:" in run.stderr
    report = json.loads(run.stdout)
    assert report["words"] == len(X)
    assert "shards were already done" in "".join(report["remarks"])
    after = states(tmp_path / "out")
    assert {name: after[name] for name in done} == done
    files = {RECORD, MAP_NAME, *(path.name for path in paths)}
    until(lambda: names(tmp_path / "out") == files)
    cn = ConceptorNegation(aperture=2.0).fit(X)
    np.testing.assert_allclose(
        read_parquet(parts(tmp_path / "out")), cn.transform(X), atol=1e-5, rtol=1e-6
    )
