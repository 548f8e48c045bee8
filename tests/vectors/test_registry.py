"""A format is one module: one from outside is found wherever those of the library are."""

from __future__ import annotations

import os

import numpy as np
import pytest

from conceptor.vectors import write_vectors
from tests.processes import conceptor

TOY = """
import json

import numpy as np

from conceptor.base.files import replace_atomically
from conceptor.vectors.formats import Format
from conceptor.vectors.vectors import Rows, Vectors


def open_toy(head, findings, column):
    table = json.loads(head.path.read_bytes()[4:])
    rows = np.array(list(table.values()), dtype=np.float32)
    read = lambda: iter([Rows(list(table), rows)])
    return Vectors(str(head.path), rows.shape[1], read, findings=findings)


def write_toy(target, chunks):
    table = {}
    with replace_atomically(target.path) as path:
        for words, rows in chunks:
            table |= dict(zip(words, rows.tolist(), strict=True))
        path.write_text("TOY:" + json.dumps(table))
    return len(table)


FORMAT = Format(
    name="toy",
    description="words and numbers as JSON",
    recognize=lambda head: head.data.startswith(b"TOY:"),
    open=open_toy,
    write=write_toy,
    suffixes=(".toy",),
)
"""


@pytest.fixture
def installed(tmp_path) -> dict[str, str]:
    """An environment with a package of one module that adds the format as an entry point."""
    place = tmp_path / "site"
    (place / "toy-1.dist-info").mkdir(parents=True)
    (place / "toy.py").write_text(TOY)
    (place / "toy-1.dist-info" / "METADATA").write_text("Name: toy\nVersion: 1\n")
    (place / "toy-1.dist-info" / "entry_points.txt").write_text(
        "[conceptor.formats]\ntoy = toy:FORMAT\n"
    )
    paths = [str(place), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def test_a_format_of_another_package_is_found(installed, tmp_path) -> None:
    write_vectors(tmp_path / "in.txt", [(["a", "b"], np.eye(2))])
    for arguments in (
        ("convert", "in.txt", "x.toy"),
        ("convert", "in.txt", "also-toy", "--format", "toy"),
        ("convert", "x.toy", "back.txt"),
        ("postprocess", "x.toy", "x.unknown", "--method", "abtt:n_directions=1"),
    ):
        done = conceptor(*arguments, cwd=tmp_path, env=installed)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.toy").read_text() == 'TOY:{"a": [1.0, 0.0], "b": [0.0, 1.0]}'
    assert (tmp_path / "also-toy").read_bytes() == (tmp_path / "x.toy").read_bytes()
    assert (tmp_path / "back.txt").read_bytes() == (tmp_path / "in.txt").read_bytes()
    assert (tmp_path / "x.unknown").read_text().startswith("TOY:")
    refused = conceptor(
        "convert", "in.txt", "y.toy", "--dtype", "int8", cwd=tmp_path, env=installed
    )
    assert "toy stores only float32" in refused.stderr
    refused = conceptor("convert", "in.txt", "y", "--format", "no", cwd=tmp_path, env=installed)
    assert "glove-text, toy\n" in refused.stderr
