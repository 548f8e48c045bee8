"""A format is one module: one from outside is found wherever those of the library are."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.base.registry import Registry
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.formats import Format, register, registry
from tests.processes import conceptor, execute

ROOT = Path(__file__).parents[2]
TOY = """
import json
from contextlib import contextmanager

import numpy as np

from conceptor.base.files import replace_atomically
from conceptor.vectors.formats import Format
from conceptor.vectors.source import Chunk, LocatedChunk, VectorSource
from conceptor.vectors.words import PackedWords


class ToySource(VectorSource):
    format = "toy"

    def __init__(self, path):
        self._rows = json.loads(path.read_bytes()[4:])
        super().__init__(path, len(next(iter(self._rows.values()))), np.dtype(np.float32))

    def _decode(self):
        words = PackedWords.from_words(self._rows)
        rows = np.array(list(self._rows.values()), dtype=np.float32)
        yield LocatedChunk(Chunk(words, rows), np.arange(1, len(rows) + 1))


class ToyWriter:
    def __init__(self, path):
        self._path, self._rows = path, {}

    def encode(self, chunk):
        return dict(zip(chunk.words, chunk.vectors.tolist(), strict=True))

    def write(self, encoded):
        self._rows |= encoded

    def finish(self, count):
        self._path.write_text("TOY:" + json.dumps(self._rows))


@contextmanager
def open_writer(target, dimension, count):
    with replace_atomically(target.path) as path:
        yield ToyWriter(path)


FORMAT = Format(
    name="toy",
    description="words and numbers as JSON",
    recognise=lambda head: head.data.startswith(b"TOY:"),
    open=lambda head, wordless: ToySource(head.path),
    open_writer=open_writer,
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
    assert "toy stores float32 only" in refused.stderr
    refused = conceptor("convert", "in.txt", "y", "--format", "no", cwd=tmp_path, env=installed)
    assert "projector, toy\n" in refused.stderr


def test_the_shell_completes_it(installed) -> None:
    asked = {
        "_CONCEPTOR_COMPLETE": "complete_bash",
        "COMP_WORDS": "conceptor convert --format t",
        "COMP_CWORD": "3",
    }
    assert conceptor(env=installed | asked).stdout.split() == ["toy"]


def test_the_docs_list_it(installed) -> None:
    """And the page has the same table, without it."""
    pytest.importorskip("mkdocs")
    code = "import hooks, sys; sys.stdout.reconfigure(encoding='utf-8'); print(hooks.formats())"
    shown = execute([sys.executable, "-c", code], env=installed, cwd=ROOT / "docs").stdout
    assert "| `toy` | `.toy` | words and numbers as JSON | float32 |\n" in shown
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    page = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    assert hooks.on_page_markdown(page) == page
    assert "| `toy` |" not in page


def test_a_program_can_register_one(tmp_path, monkeypatch) -> None:
    own = Registry("conceptor.formats", registry._FORMATS.values())
    monkeypatch.setattr(registry, "_FORMATS", own)
    namespace: dict[str, object] = {}
    exec(TOY, namespace)
    register(namespace["FORMAT"])
    write_vectors(tmp_path / "x.toy", [(["a", "b"], np.eye(2))])
    source = open_vectors(tmp_path / "x.toy")
    words, vectors = source.read()
    assert (source.format, words, vectors.tolist()) == ("toy", ["a", "b"], [[1, 0], [0, 1]])


@pytest.mark.parametrize("clash", [{"name": "npy"}, {"name": "new", "suffixes": (".bin",)}])
def test_two_formats_do_not_share_a_name(clash) -> None:
    with pytest.raises(InvalidInputError, match="another format of vectors has this name"):
        register(Format(**clash))


def test_every_format_is_complete() -> None:
    """It is read or written, says which files it reads, and can be named or kept."""
    for each in registry.all_formats():
        assert each.recognise is not None
        assert each.description
        assert each.open or each.open_writer
        assert each.suffixes or each.kept_suffixes or each.is_folder
        assert bool(each.rewrite) != bool(each.open_writer)
