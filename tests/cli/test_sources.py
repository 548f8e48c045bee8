"""What a command may be called with: shards, pipelines, addresses, sizes, names of methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.processes import assert_one_line, call


def run(*arguments: object) -> object:
    shown = call(*arguments, "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    pytest.importorskip("dask")
    folder = tmp_path / "shards"
    folder.mkdir()
    rows = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
    np.save(tmp_path / "whole.npy", rows)
    np.save(folder / "part-1.npy", rows[:120])
    np.save(folder / "part-2.npy", rows[120:])
    return folder


def test_inspect_and_neighbors_read_shards_like_the_whole_file(shards: Path) -> None:
    whole = shards.parent / "whole.npy"
    expected, near = run("inspect", whole), run("neighbors", whole, "3")
    for source in (shards, f"{shards}/*.npy"):
        inspected = run("inspect", source)
        assert inspected["count"] == 200
        for name in ("norms", "eigenvalues", "isoscore"):
            assert inspected["before"][name] == pytest.approx(expected["before"][name], rel=1e-6)
        assert run("neighbors", source, "3").keys() == near.keys()


def test_a_spacy_pipeline_is_for_python(tmp_path: Path) -> None:
    (tmp_path / "vocab").mkdir()
    shown = call("inspect", tmp_path)
    assert_one_line(shown, "a spaCy pipeline; ")
    assert "spacy.load" in shown.stderr


@pytest.mark.parametrize("password", ["cret", "cret%zcret", "cret/cret", "cr et"])
@pytest.mark.parametrize(
    ("command", "scheme"),
    [
        ("attach", "postgresql"),
        ("inspect", "postgresql"),
        ("inspect", "ftp"),
        ("postprocess", "ftp"),
    ],
)
def test_no_message_shows_a_password(
    command: str, scheme: str, password: str, tmp_path: Path
) -> None:
    pytest.importorskip("psycopg")
    pytest.importorskip("dask")
    address = f"{scheme}://user:{password}@localhost:1/db"
    target = [] if command == "inspect" else [tmp_path / "out"]
    shown = call(command, address, *target)
    assert shown.returncode in (1, 2)
    assert "Traceback" not in shown.stderr
    assert "cr" not in f"{shown.stdout}{shown.stderr}".replace("percent-encod", "")


def test_too_little_memory_for_workers_is_refused(shards: Path) -> None:
    shown = call("postprocess", shards, shards.parent / "out", "--memory", "200MB")
    assert_one_line(shown, "200 MB; it must be at least 500 MB")
