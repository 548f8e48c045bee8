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

from conceptor import ConceptorNegation
from conceptor.distributed import connect
from conceptor.distributed.processing import MAP_NAME, RECORD
from tests.distributed.shards import names, read_parquet, states, transform, vectors, write_parquet
from tests.platforms import posix_only
from tests.processes import command, conceptor, start, until

SHARDS = 20
SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    with connect(workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Twenty shards of 5,000 vectors."""
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
@pytest.mark.parametrize("ends", ["Ctrl-C", pytest.param("a killed worker", marks=SLOW)])
def test_workers_that_do_not_get_to_start(ends, tmp_path, many):
    _, paths = many
    arguments = ["postprocess", paths[0], tmp_path / "out", "--workers", 1]
    options = {"stderr": -1, "text": True, "start_new_session": True}
    with start(command(*arguments), **options) as process:

        def starting():
            assert process.poll() is None
            for child in psutil.Process(process.pid).children():
                with suppress(psutil.Error):
                    if any("spawn_main" in part for part in child.cmdline()):
                        return child.pid
            return None

        worker = until(starting)
        if ends == "Ctrl-C":  # a terminal sends it to all processes
            os.killpg(process.pid, signal.SIGINT)
        else:
            os.kill(worker, signal.SIGKILL)
        _, stderr = process.communicate()
    assert "Traceback" not in stderr
    if ends == "Ctrl-C":
        assert process.returncode in (130, -signal.SIGINT)
        return
    assert process.returncode == 1
    assert stderr.startswith("conceptor: the local workers could not be started (")
    assert stderr.count("\n") == 1


def parts(folder):
    return [folder / f"part-{i}.parquet" for i in range(SHARDS)]


@posix_only("sends signals")
@pytest.mark.parametrize("when", [pytest.param("moments", marks=SLOW), "writing"])
def test_workers_killed_during_the_work(when, client, many, tmp_path):
    X, paths = many
    fractions = {}
    victims = pids(client)

    def kill(label, fraction, words):
        fractions.setdefault(label, fraction)
        while label == when and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    before = set(victims)
    report = transform(paths, tmp_path / "out", progress=kill)
    assert fractions[when] < 1
    until(lambda: not pids(client) & before)
    assert report.words == len(X)
    assert report.remarks == []
    assert names(tmp_path / "out") == {RECORD, MAP_NAME, *(path.name for path in paths)}
    expected = ConceptorNegation(aperture=2.0).fit_transform(X)
    np.testing.assert_allclose(
        read_parquet(parts(tmp_path / "out")), expected, atol=1e-5, rtol=1e-6
    )


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
    value = 1 if cluster == "--workers" else request.getfixturevalue("processes")
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
    expected = ConceptorNegation(aperture=2.0).fit_transform(X)
    np.testing.assert_allclose(
        read_parquet(parts(tmp_path / "out")), expected, atol=1e-5, rtol=1e-6
    )
