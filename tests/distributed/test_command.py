"""`conceptor postprocess` of shards: what it shows, does and refuses."""

from __future__ import annotations

import json
import socket
import sys
from contextlib import suppress
from threading import Thread

import distributed
import numpy as np
import pyarrow.parquet as pq
import pytest

from conceptor import AffineMap, ConceptorError
from conceptor.distributed import cluster, connect
from conceptor.distributed.processing import MAP_NAME, RECORD
from tests.distributed.shards import names, read_parquet, states, table, write_parquet
from tests.processes import call, execute


def test_the_rest_is_done_once_bad_rows_are_repaired(folder, X, scheduler):
    """Two bad ones: the first is named, the others are done, and the same call does the rest."""
    for number in (2, 4):
        rows = X[100 * number : 100 * number + 100].copy()
        rows[41, 3] = np.nan
        pq.write_table(table(rows, 100 * number), folder / f"in/part-{number}.parquet")
    arguments = ["postprocess", folder / "in", folder / "out", "--scheduler", scheduler]
    arguments += ["--method", "cn:aperture=2:lengths=unit", "--weights", "uniform"]
    run = call(*arguments)
    assert run.returncode == 2
    dashboard, line = run.stderr.splitlines()
    assert "dashboard at http://127.0.0.1:" in dashboard
    assert "in/part-2.parquet, row 42: the vector of 'w241' has NaN" in line
    assert line.endswith(
        "(and 1 more shards); the other 4 of 6 shards are done: "
        "fix this and repeat the same call to finish the rest"
    )
    done = states(folder / "out")
    assert len(done) == 4
    map_ = AffineMap.load(folder / "out" / MAP_NAME)
    for number, repaired in enumerate(write_parquet(folder / "again", X, 6)):
        if number in (2, 4):
            repaired.replace(folder / "in" / repaired.name)
    (folder / "out/part-1.parquet").unlink()
    (folder / "out/.part-2.parquet.partial").touch()  # of a worker that was killed
    run = call(*arguments, "--json", "--save-map", folder / "map.safetensors")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert (report["words"], report["dimension"]) == X.shape
    assert report["remarks"] == ["3 of 6 shards were already done"]
    after = states(folder / "out")
    kept = {name for name in done if done[name] == after[name]}
    assert kept == {f"part-{i}.parquet" for i in (0, 3, 5)}
    assert names(folder / "out") == {RECORD, MAP_NAME, *names(folder / "in")}
    saved = AffineMap.load(folder / "map.safetensors")
    np.testing.assert_array_equal(saved.matrix, map_.matrix)
    written = read_parquet(sorted((folder / "out").glob("part-*")))
    np.testing.assert_allclose(written, map_(X), atol=1e-6)


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
