"""Weights, apertures and `inspect` on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conceptor import AffineMap, ConceptorNegation
from conceptor.vectors import open_vectors, write_vectors
from conceptor.weights import rank_weights
from tests import processes
from tests.vectors.whole import read_all


def call(*arguments: object, cwd):
    """Call it as on a machine without network, data directory or cache."""
    bare = processes.bare_machine(cwd.parent / "cache")
    return processes.call(*arguments, cwd=cwd, env=bare)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file sorted by frequency and the same file in alphabetical order."""
    path = tmp_path_factory.mktemp("usage")
    rng = np.random.default_rng(5)
    words = [f"w{i}" for i in range(400)]
    vectors = rng.standard_normal((400, 8)) + np.linspace(3, 1, 400)[:, None]
    rows = vectors.astype(np.float32)
    write_vectors(path / "sorted.bin", [(words, rows)], count=400)
    order = np.argsort(words)
    write_vectors(path / "abc.bin", [([words[i] for i in order], rows[order])], count=400)
    (path / "counts.txt").write_text("".join(f"w{i} {1000 - i}\n" for i in range(400)))
    return path


def test_the_default_weighs_by_rank_and_chooses_the_aperture(folder):
    run = call("fit", "sorted.bin", "map.st", "--json", "--force", cwd=folder)
    assert run.returncode == 0, run.stderr
    _, rows = read_all(open_vectors(folder / "sorted.bin"))
    expected = ConceptorNegation("auto").fit(rows, sample_weight=rank_weights(0, 400))
    found = AffineMap.load(folder / "map.st")
    np.testing.assert_allclose(found.matrix, expected.map_.matrix, atol=1e-10)
    assert json.loads(run.stdout)["aperture"] == pytest.approx(expected.solution_.aperture)
    assert found.provenance["aperture"] == pytest.approx(expected.solution_.aperture)


def test_an_alphabetical_file_is_noticed(folder):
    run = call("postprocess", "abc.bin", "out.bin", "--force", cwd=folder)
    assert run.returncode == 0
    assert "alphabetical order" in run.stderr
    assert "wordfreq:en" in run.stderr
    assert "enwiki_vocab_min200.txt" in run.stderr
    run = call("fit", "abc.bin", "abc.st", "--weights", "counts.txt", "--force", cwd=folder)
    assert run.returncode == 0
    assert "alphabetical" not in run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["postprocess", "abc.bin", "o.bin", "--weights", "zipf"], "alphabetical order"),
        (["postprocess", "sorted.bin", "o.bin", "--weights", "wordfreq:xx"], "no language 'xx'"),
        (["postprocess", "sorted.bin", "o.bin", "--method", "cn:aperture=wide"], "aperture"),
        (["postprocess", "sorted.bin", "o.bin", "--method", "cn:aperture=nan"], "aperture"),
        (["inspect", "nothing.bin"], "no such file"),
        (["inspect", "abc.bin", "--weights", "zipf"], "abc.bin: the words are in alphabetical"),
        (["inspect", "sorted.bin", "--weights", "nofile"], "nofile"),
        (["inspect", "sorted.bin", "--plot", "figure.xyz"], "figure.xyz"),
        (["compare", "sorted.bin", "--methods", "cn:aperture=-1"], "aperture"),
    ],
)
def test_wrong_calls_end_in_one_line(arguments, message, folder):
    pytest.importorskip("wordfreq")
    before = sorted(path.name for path in folder.iterdir())
    run = call(*arguments, cwd=folder)
    assert run.returncode == 2, run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stderr.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before


def test_inspect_prints_json_and_draws(folder):
    run = call("inspect", "sorted.bin", "--json", "--plot", "figure.svg", cwd=folder)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["count"], found["dimension"], found["weights"]) == (400, 8, "zipf")
    assert len(found["gate"]) == 8
    assert 0 < found["before"]["isoscore"] < 1
    assert (folder / "figure.svg").read_text().lstrip().startswith("<?xml")
    shown = call("inspect", "sorted.bin", cwd=folder)
    assert "suggested aperture" in shown.stdout
    assert "should gain on word similarity" in shown.stdout


def test_inspect_prints_json_that_every_reader_takes(tmp_path):
    (tmp_path / "one.txt").write_text("one 1 2 3\n")
    run = call("inspect", "one.txt", "--json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "NaN" not in run.stdout
    assert json.loads(run.stdout)["before"]["isoscore"] is None
