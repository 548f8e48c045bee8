"""What a command may be called with: shards, pipelines, addresses, sizes, names of methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import conceptor.cli.concepts
import conceptor.cli.files
import conceptor.cli.inspection
import conceptor.cli.static_models  # noqa: F401 - registers the command
from conceptor.base.errors import InvalidInputError
from conceptor.cli.app import app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


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
    whole = str(shards.parent / "whole.npy")
    expected = json.loads(run("inspect", whole, "--json"))
    near = json.loads(run("neighbors", whole, "3", "--json"))
    for source in (str(shards), f"{shards}/*.npy"):
        inspected = json.loads(run("inspect", source, "--json"))
        assert inspected["count"] == 200
        for name in ("norms", "eigenvalues", "isoscore"):
            assert inspected["before"][name] == pytest.approx(expected["before"][name], rel=1e-6)
        assert json.loads(run("neighbors", source, "3", "--json")).keys() == near.keys()


def test_a_spacy_pipeline_is_for_python(tmp_path: Path) -> None:
    (tmp_path / "vocab").mkdir()
    with pytest.raises(InvalidInputError, match=r"a spaCy pipeline; .*spacy.load"):
        run("inspect", str(tmp_path))


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
    target = [] if command == "inspect" else [str(tmp_path / "out")]
    result = CliRunner().invoke(app, [command, address, *target])
    assert result.exit_code
    assert result.exception is not None
    assert "cr" not in f"{result.exception}{result.output}".replace("percent-encod", "")


def test_too_little_memory_for_workers_is_refused(shards: Path) -> None:
    with pytest.raises(InvalidInputError, match="200 MB; it must be at least 500 MB"):
        run("postprocess", str(shards), str(shards.parent / "out"), "--memory", "200MB")
