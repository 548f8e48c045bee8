"""Weights, apertures and `inspect` on the command line."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from conceptor import AffineMap, ConceptorNegation
from conceptor.base.errors import MissingExtraError
from conceptor.cli.app import app
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
    assert json.loads(run.stdout)["aperture"] == pytest.approx(expected.aperture_)
    assert found.provenance["aperture"] == pytest.approx(expected.aperture_)


def test_the_paper_is_one_flag_away(folder):
    run = call("fit", "sorted.bin", "paper.st", "--paper", "--force", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert "enwiki_vocab_min200.txt was not found" in run.stderr
    _, vectors = read_all(open_vectors(folder / "sorted.bin"))
    expected = ConceptorNegation(2.0, power=1, unit=False).fit(vectors)
    found = AffineMap.load(folder / "paper.st")
    np.testing.assert_allclose(found.matrix, expected.map_.matrix, atol=1e-10)


def test_a_purpose_is_short_for_a_method(folder):
    for name, flags in (
        ("for.bin", ["--for", "words"]),
        ("m.bin", ["--method", "cn:lengths=unit"]),
    ):
        run = call("postprocess", "sorted.bin", name, "--force", *flags, cwd=folder)
        assert run.returncode == 0, run.stderr
    assert (folder / "for.bin").read_bytes() == (folder / "m.bin").read_bytes()
    both = ["--for", "words", "--method", "cn"]
    run = call("postprocess", "sorted.bin", "out.bin", *both, cwd=folder)
    assert run.returncode == 2
    assert "--for already sets the method" in run.stderr


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
        (["postprocess", "sorted.bin", "o.bin", "--paper", "--aperture", "3"], "--paper"),
        (["postprocess", "sorted.bin", "o.bin", "--paper", "--method", "abtt"], "--paper"),
        (["postprocess", "sorted.bin", "o.bin", "--aperture", "wide"], "number"),
        (["postprocess", "sorted.bin", "o.bin", "--aperture", "nan"], "number"),
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
    assert "should gain on similarity" in shown.stdout


def test_inspect_shows_lengths_of_any_scale(folder, tmp_path):
    rows = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    words = [f"w{i}" for i in range(50)]
    for name, scale in (("small.bin", 1e-30), ("large.bin", 1e37)):
        write_vectors(tmp_path / name, [(words, (rows * scale).astype(np.float32))], count=50)
        shown = call("inspect", name, cwd=tmp_path).stdout
        mean = np.linalg.norm(rows.astype(np.float64) * scale, axis=1).mean()
        assert f" {mean:.4g} " in shown


def test_inspect_prints_json_that_every_reader_takes(tmp_path):
    (tmp_path / "one.txt").write_text("one 1 2 3\n")
    run = call("inspect", "one.txt", "--json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "NaN" not in run.stdout
    assert json.loads(run.stdout)["before"]["isoscore"] is None


def test_inspect_says_what_was_odd_about_a_file(tmp_path):
    (tmp_path / "odd.txt").write_text("a 1 2\nb 2 1\na 3 3\nc nan 1\nd 4 1\ne 1 5\n")
    stopped = call("inspect", "odd.txt", cwd=tmp_path)
    assert stopped.returncode == 2
    assert "--on-error skip" in stopped.stderr
    run = call("inspect", "odd.txt", "--on-error", "skip", "--json", cwd=tmp_path)
    converted = call("convert", "odd.txt", "o.bin", "--on-error", "skip", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["count"] == 4
    sides = (
        [line for line in each.stderr.splitlines() if "warning" in line]
        for each in (run, converted)
    )  # what rows are taken for is no warning
    warnings, same = sides
    assert warnings == same
    assert "1 duplicate words" in run.stderr
    assert "1 bad rows skipped" in run.stderr


def test_inspect_without_a_file_needs_the_demo_extra(monkeypatch):
    monkeypatch.setattr("conceptor.data.registry._package_file", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"conceptor\[demo\]"):
        app(["inspect"], standalone_mode=False)


@pytest.mark.parametrize("columns", ["abc", "0", "\u0663"])
def test_odd_widths_of_the_terminal(columns, tmp_path):
    vectors = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
    write_vectors(tmp_path / "v.txt", [([f"w{i}" for i in range(300)], vectors)])
    (tmp_path / "pairs.tsv").write_text("".join(f"w{i}\tw{i + 1}\t{i % 7}\n" for i in range(99)))
    environment = os.environ | {"COLUMNS": columns}
    run = processes.call("evaluate", "v.txt", "--pairs", "pairs.tsv", cwd=tmp_path, env=environment)
    assert run.returncode == 0, run.stderr
    assert "pairs.tsv" in run.stdout
