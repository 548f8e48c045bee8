"""`conceptor postprocess` of shards: what it shows, does and refuses."""

from __future__ import annotations

import json
import socket
import sys
from contextlib import suppress
from threading import Thread

import distributed
import numpy as np
import pytest

from conceptor import AffineMap, ConceptorError
from conceptor.distributed import cluster, connect
from conceptor.distributed.processing import MAP_NAME, RECORD
from tests.distributed.shards import names
from tests.processes import call, execute


def test_a_bad_row_and_the_rest_once_it_is_repaired(tmp_path, scheduler):
    folder = tmp_path / "in"
    folder.mkdir()
    rng = np.random.default_rng(0)
    good = rng.standard_normal((4, 300, 8)).astype(np.float32)
    for i, rows in enumerate(good):
        np.save(folder / f"{i}.npy", rows)
    bad = good[2].copy()
    bad[17, 3] = np.nan
    np.save(folder / "2.npy", bad)
    arguments = ["postprocess", folder, tmp_path / "out", "--scheduler", scheduler]
    arguments += ["--method", "abtt"]
    run = call(*arguments)
    assert run.returncode == 2
    dashboard, line = run.stderr.splitlines()
    assert "dashboard at http://127.0.0.1:" in dashboard
    assert "row 18" in line
    assert line.endswith(
        "the other 3 of 4 shards are done: fix this and repeat the same call to finish the rest"
    )
    np.save(folder / "2.npy", good[2])
    run = call(*arguments, "--json", "--save-map", tmp_path / "map.safetensors")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert (report["words"], report["dimension"]) == (1200, 8)
    assert names(tmp_path / "out") == {RECORD, MAP_NAME, *names(folder)}
    map_ = AffineMap.load(tmp_path / "map.safetensors")
    for i, rows in enumerate(good):
        np.testing.assert_allclose(np.load(tmp_path / f"out/{i}.npy"), map_(rows), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["in", "-"], "shards are written to a directory"),
        (["in", "out", "--dtype", "float16"], "--dtype float16 does not apply to shards"),
        (["in/*.npy", "out", "--on-error", "skip"], "--on-error skip does not apply"),
        (
            ["x.bin", "out", "--workers", "2", "--scheduler", "tcp://h:1"],
            "different clusters; choose one",
        ),
    ],
)
def test_what_is_refused_before_any_cluster_is_started(arguments, said, tmp_path):
    (tmp_path / "in").mkdir()
    run = call("postprocess", *arguments, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert said in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_no_scheduler_there(monkeypatch):
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("", 0)) as other:
        # A server of another kind speaks first, as SSH does.
        def greet():
            with suppress(OSError):  # it is closed at the end
                while True:
                    with other.accept()[0] as visitor:
                        visitor.send(b"SSH-2.0-OpenSSH_9.6\r\n")

        Thread(target=greet, daemon=True).start()
        places = {
            "tcp://127.0.0.1:9": "Errno",
            "tcp://no.such.host.invalid:8786": "Errno",
            "tpc://x:1": "unknown address scheme",
            "x": "missing port",
            "tls://127.0.0.1:{silent}": "ssl_context",
            "127.0.0.1:{silent}": "it accepts connections, but does not answer",
            "127.0.0.1:{other}": "Unable to allocate",
        }
        ports = {"silent": silent.getsockname()[1], "other": other.getsockname()[1]}
        for address, reason in places.items():
            said = rf"no Dask scheduler responds at .*\(.*({reason})"
            with pytest.raises(ConceptorError, match=said), connect(address.format(**ports)):
                pass


@pytest.mark.parametrize(
    ("workers", "said"), [(0, "no Dask worker of"), (1, "cannot import conceptor")]
)
def test_workers_that_cannot_work(workers, said, monkeypatch):
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 2.0)
    options = {"processes": False, "dashboard_address": None, "protocol": "tcp"}
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, **options) as local:
        monkeypatch.setitem(sys.modules, "conceptor", None)
        with pytest.raises(ConceptorError, match=said), connect(local.scheduler_address):
            pass


@pytest.mark.parametrize("source", ["*.npy", "."])
def test_without_dask(source, tmp_path):
    """The command line starts without it, and says what to install when it is asked for."""
    code = f"""
import sys
sys.modules["distributed"] = None
sys.argv = ["conceptor", "postprocess", {source!r}, "out"]
from conceptor.cli.app import main
assert "dask" not in sys.modules
main()
"""
    run = execute([sys.executable, "-c", code], cwd=tmp_path)
    assert run.returncode == 1
    assert run.stderr == (
        "conceptor: processing a folder or several files needs an optional dependency; install it "
        "with: pip install 'conceptor[dask]'\n"
    )
